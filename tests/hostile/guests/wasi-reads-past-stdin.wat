;; Reads standard input again and again after its end.
(module
    (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (data (i32.const 1024) "1")
    (func (export "_start")
        (local $n i32)
        (i32.store (i32.const 0) (i32.const 2048)) (i32.store (i32.const 4) (i32.const 1))
        (loop (if (call $fd_read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)) (then (unreachable))) (local.set $n (i32.add (local.get $n) (i32.const 1))) (br_if 0 (i32.lt_u (local.get $n) (i32.const 1000))))
        (if (i32.load (i32.const 8)) (then (unreachable)))
        (i32.store (i32.const 0) (i32.const 1024)) (i32.store (i32.const 4) (i32.const 1)) (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))
