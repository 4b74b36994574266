;; Has the response written over the request, twice, and over the code's own data.
(module
    (import "rotifer" "readMemory" (func $read (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (data (i32.const 1024) "1\00")
    (data (i32.const 0) "{\"key\":\"k\"}")
    (func (export "alloc") (param i32) (result i32) (i32.const 16384))
    (func (export "express") (param $input i32) (param $length i32) (result i32)
        (if (i32.ne (call $read (i32.const 0) (i32.const 11) (i32.const 0) (i32.const 4)) (i32.const 4)) (then (unreachable)))
        (if (i32.ne (call $read (i32.const 0) (i32.const 4) (i32.const 0) (i32.const 65536)) (i32.const -10)) (then (unreachable)))
        (i32.const 0)))
