;; Returns NaN.
(module
    (memory (export "memory") 1)
    (data (i32.const 1024) "1\00")
    (data (i32.const 4096) "NaN\00")
    (func (export "alloc") (param i32) (result i32) (i32.const 16384))
    (func (export "express") (param $input i32) (param $length i32) (result i32)
        (i32.const 4096)))
