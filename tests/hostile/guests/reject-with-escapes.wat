;; Rejects its input with a message that would clear the screen and forge an error.
(module
    (memory (export "memory") 1)
    (data (i32.const 1024) "1\00")
    (data (i32.const 4096) "{\"__rotifer_error\":{\"message\":\"\\u001b[2J\\u009b31m\\u202e\\nerror: forged\"}}\00")
    (func (export "alloc") (param i32) (result i32) (i32.const 16384))
    (func (export "express") (param $input i32) (param $length i32) (result i32)
        (i32.const 4096)))
