;; Asks for 1 MiB of randomness for ever.
(module
    (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
    (memory (export "memory") 17)
    (func (export "_start")
        (loop (drop (call $random (i32.const 0) (i32.const 1048576))) (br 0))))
