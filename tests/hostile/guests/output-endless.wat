;; Has 64 MiB of output without a NUL.
(module
    (memory (export "memory") 1024)
    (data (i32.const 1024) "1\00")
    (func (export "alloc") (param i32) (result i32) (i32.const 16384))
    (func (export "express") (param $input i32) (param $length i32) (result i32)
        (memory.fill (i32.const 0) (i32.const 0x20) (i32.const 67108864))
        (i32.const 0)))
