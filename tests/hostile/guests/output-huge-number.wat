;; Returns a whole number of a million digits.
(module
    (memory (export "memory") 17)
    (data (i32.const 1024) "1\00")
    (func (export "alloc") (param i32) (result i32) (i32.const 16384))
    (func (export "express") (param $input i32) (param $length i32) (result i32)
        (memory.fill (i32.const 4096) (i32.const 0x39) (i32.const 1000000))
        (i32.const 4096)))
