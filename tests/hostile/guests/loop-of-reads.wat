;; Reads for ever, whatever a read answers: -4 does not end it.
(module
    (import "rotifer" "readMemory" (func $read (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (data (i32.const 1024) "1\00")
    (data (i32.const 0) "{\"key\":\"k\"}")
    (func (export "alloc") (param i32) (result i32) (i32.const 16384))
    (func (export "express") (param $input i32) (param $length i32) (result i32)
        (loop (drop (call $read (i32.const 0) (i32.const 11) (i32.const 2048) (i32.const 4096))) (br 0))
        (i32.const 1024)))
