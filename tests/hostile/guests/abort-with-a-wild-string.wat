;; Aborts with strings that lie outside its memory or claim 4 GiB.
(module
    (import "env" "abort" (func $abort (param i32 i32 i32 i32)))
    (memory (export "memory") 1)
    (data (i32.const 1024) "1\00")
    (data (i32.const 12) "\ff\ff\ff\ff")
    (func (export "alloc") (param i32) (result i32) (i32.const 16384))
    (func (export "express") (param $input i32) (param $length i32) (result i32)
        (call $abort (i32.const 16) (i32.const -2) (i32.const 1) (i32.const 2))
        (i32.const 1024)))
