;; Fills 128 MiB for ever: one instruction, however long it takes.
(module
    (memory (export "memory") 2048)
    (data (i32.const 1024) "1\00")
    (func (export "alloc") (param i32) (result i32) (i32.const 16384))
    (func (export "express") (param $input i32) (param $length i32) (result i32)
        (loop (memory.fill (i32.const 0) (i32.const 1) (i32.const 134217728)) (br 0))
        (i32.const 1024)))
