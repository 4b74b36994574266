;; Sleeps for a day.
(module
    (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (func (export "_start")
        (i64.store (i32.const 24) (i64.const 86400000000000))
        (drop (call $poll (i32.const 0) (i32.const 256) (i32.const 1) (i32.const 512)))))
