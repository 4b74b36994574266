;; Has the entries that it writes and reads put over the very requests, at every distance; in between its entry must be
;; what it wrote.
(module
    (import "rotifer" "readMemory" (func $read (param i32 i32 i32 i32) (result i32)))
    (import "rotifer" "writeMemory" (func $write (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (data (i32.const 1024) "1\00")
    (data (i32.const 0) "{\"key\":\"k\",\"value\":\"AAAA\",\"category\":\"CACHE\"}")
    (data (i32.const 64) "{\"key\":\"k\"}")
    (func $check (param i32) (if (i32.le_s (local.get 0) (i32.const 45)) (then (unreachable))))
    (func (export "alloc") (param i32) (result i32) (i32.const 16384))
    (func (export "express") (param $input i32) (param $length i32) (result i32)
        (local $distance i32) (local $same i32)
        (local.set $distance (i32.const -50))
        (loop
            (memory.copy (i32.const 8192) (i32.const 0) (i32.const 45))
            (call $check (call $write (i32.const 8192) (i32.const 45) (i32.add (i32.const 8192) (local.get $distance)) (i32.const 4096)))
            (memory.copy (i32.const 8192) (i32.const 64) (i32.const 11))
            (call $check (call $read (i32.const 8192) (i32.const 11) (i32.add (i32.const 8192) (local.get $distance)) (i32.const 4096)))
            (local.set $same (call $read (i32.const 64) (i32.const 11) (i32.const 32768) (i32.const 4096)))
            (loop ;; both responses are the same, byte for byte
                (local.set $same (i32.sub (local.get $same) (i32.const 1)))
                (if (i32.ne (i32.load8_u (i32.add (i32.const 32768) (local.get $same)))
                        (i32.load8_u (i32.add (i32.add (i32.const 8192) (local.get $distance)) (local.get $same)))) (then (unreachable)))
                (br_if 0 (local.get $same)))
            (local.set $distance (i32.add (local.get $distance) (i32.const 1)))
            (br_if 0 (i32.lt_s (local.get $distance) (i32.const 50))))
        (i32.const 1024)))
