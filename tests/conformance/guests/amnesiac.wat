;; Writes an entry, and cannot read what it wrote.
;; fails: memory.remembered readMemory.foreign express.again
(module
  (import "rotifer" "readMemory" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "rotifer" "writeMemory" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 40)
  (func (export "alloc") (param i32) (result i32) (i32.const 65536))
  (func (export "express") (param i32 i32) (result i32)
    (local $result i32)
    (local.set $result (call $read (i32.const 16) (i32.const 11) (i32.const 1024) (i32.const 4096)))
    (if (i32.lt_s (local.get $result) (i32.const 0)) (then (return (local.get $result))))
    (if (i32.ne (local.get $result) (i32.const 4)) (then (unreachable)))
    (local.set $result (call $write (i32.const 32) (i32.const 45) (i32.const 1024) (i32.const 4096)))
    (if (i32.lt_s (local.get $result) (i32.const 0)) (then (return (local.get $result))))
    (i32.const 0))
  (data (i32.const 0) "true\00")
  (data (i32.const 16) "{\"key\":\"k\"}")
  (data (i32.const 32) "{\"key\":\"k\",\"value\":\"MQ==\",\"category\":\"CACHE\"}"))
