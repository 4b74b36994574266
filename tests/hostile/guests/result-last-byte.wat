;; Has its output in the last byte of memory, with no NUL after it.
(module
    (memory (export "memory") 1)
    (data (i32.const 1024) "1\00")
    (func (export "alloc") (param i32) (result i32) (i32.const 16384))
    (func (export "express") (param $input i32) (param $length i32) (result i32)
        (i32.store8 (i32.const 65535) (i32.const 0x37))
        (i32.const 65535)))
