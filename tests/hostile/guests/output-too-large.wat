;; Returns one byte more than 16 MiB of output.
(module
    (memory (export "memory") 258)
    (data (i32.const 1024) "1\00")
    (func (export "alloc") (param i32) (result i32) (i32.const 16384))
    (func (export "express") (param $input i32) (param $length i32) (result i32)
        (memory.fill (i32.const 65536) (i32.const 0x61) (i32.const 16777217)) (i32.store8 (i32.const 65536) (i32.const 0x22)) (i32.store8 (i32.const 16842752) (i32.const 0x22))
        (i32.const 65536)))
