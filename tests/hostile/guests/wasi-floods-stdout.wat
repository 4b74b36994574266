;; Prints 1 MiB for ever.
(module
    (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 17)
    (func (export "_start")
        (i32.store (i32.const 4) (i32.const 1048576))
        (loop (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))) (br 0))))
