;; Writes preferences of 16 bytes until an agent with 16 KiB has no byte left, then each of them anew, and one that would
;; be a byte larger.
(module
    (import "rotifer" "writeMemory" (func $write (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (data (i32.const 1024) "1\00")
    (data (i32.const 0) "{\"key\":\"aaa\",\"value\":\"AAAAAAAAAAAAAAAAAA==\",\"category\":\"PREFERENCE\"}")
    (data (i32.const 128) "{\"key\":\"aaa\",\"value\":\"AAAAAAAAAAAAAAAAAAA=\",\"category\":\"PREFERENCE\"}")
    (global $n (mut i32) (i32.const 0))
    (func (export "alloc") (param i32) (result i32) (i32.const 16384))
    (func (export "express") (param $input i32) (param $length i32) (result i32)
        (loop (i32.store8 (i32.const 8) (i32.add (i32.const 97) (i32.rem_u (i32.div_u (global.get $n) (i32.const 256)) (i32.const 4))))
            (i32.store8 (i32.const 9) (i32.add (i32.const 97) (i32.rem_u (i32.div_u (global.get $n) (i32.const 16)) (i32.const 16))))
            (i32.store8 (i32.const 10) (i32.add (i32.const 97) (i32.rem_u (global.get $n) (i32.const 16))))
            (if (i32.le_s (call $write (i32.const 0) (i32.const 68) (i32.const 2048) (i32.const 4096)) (i32.const 0)) (then (unreachable)))
            (global.set $n (i32.add (global.get $n) (i32.const 1))) (br_if 0 (i32.lt_u (global.get $n) (i32.const 2048))))
        (if (i32.ne (call $write (i32.const 128) (i32.const 68) (i32.const 2048) (i32.const 4096)) (i32.const -8)) (then (unreachable)))
        (i32.const 1024)))
