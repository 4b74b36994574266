;; Exits with status 0 and an output, and expects to go on.
(module
    (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (memory (export "memory") 1)
    (data (i32.const 1024) "1")
    (func (export "_start")
        (i32.store (i32.const 0) (i32.const 1024)) (i32.store (i32.const 4) (i32.const 1)) (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))
        (call $exit (i32.const 0))
        (loop (br 0))))
