;; Returns 16 MiB of output, the most there may be.
(module
    (memory (export "memory") 258)
    (data (i32.const 1024) "1\00")
    (func (export "alloc") (param i32) (result i32) (i32.const 16384))
    (func (export "express") (param $input i32) (param $length i32) (result i32)
        (memory.fill (i32.const 65536) (i32.const 0x61) (i32.const 16777216)) (i32.store8 (i32.const 65536) (i32.const 0x22)) (i32.store8 (i32.const 16842751) (i32.const 0x22))
        (i32.const 65536)))
