;; Logs nothing at all for ever: the level and the line feed are the host's own bytes.
(module
    (import "rotifer" "log" (func $log (param i32 i32 i32)))
    (memory (export "memory") 1)
    (data (i32.const 1024) "1\00")
    (func (export "alloc") (param i32) (result i32) (i32.const 16384))
    (func (export "express") (param $input i32) (param $length i32) (result i32)
        (loop (call $log (i32.const 1) (i32.const 0) (i32.const 0)) (br 0))
        (i32.const 1024)))
