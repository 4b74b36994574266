;; Exits with status 0 in its start function, before the host has called anything.
(module
    (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (memory (export "memory") 1)
    (func $go (call $exit (i32.const 0)))
    (start $go)
    (func (export "_start")
        (unreachable)))
