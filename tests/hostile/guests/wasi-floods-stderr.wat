;; Prints 16 MiB to standard error in pieces of 1 MiB, then an output.
(module
    (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 17)
    (data (i32.const 1024) "1")
    (func (export "_start")
        (local $n i32)
        (i32.store (i32.const 4) (i32.const 1048576))
        (loop (drop (call $fd_write (i32.const 2) (i32.const 0) (i32.const 1) (i32.const 8))) (local.set $n (i32.add (local.get $n) (i32.const 1))) (br_if 0 (i32.lt_u (local.get $n) (i32.const 16))))
        (i32.store (i32.const 0) (i32.const 1024)) (i32.store (i32.const 4) (i32.const 1)) (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))
