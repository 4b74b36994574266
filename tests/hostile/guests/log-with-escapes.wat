;; Logs what would clear the screen and forge an error.
(module
    (import "rotifer" "log" (func $log (param i32 i32 i32)))
    (memory (export "memory") 1)
    (data (i32.const 1024) "1\00")
    (data (i32.const 0) "\1b[2J\1b]0;owned\07\0d\0aerror: forged\c2\9b1m\e2\80\ae")
    (func (export "alloc") (param i32) (result i32) (i32.const 16384))
    (func (export "express") (param $input i32) (param $length i32) (result i32)
        (call $log (i32.const 1) (i32.const 0) (i32.const 36))
        (i32.const 1024)))
