;; Takes every response for an entry, also the null of a missing key.
;; fails: input.sample readMemory.success readMemory.null
(module
  (import "rotifer" "readMemory" (func $read (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 20)
  (func (export "alloc") (param i32) (result i32) (i32.const 65536))
  (func (export "express") (param i32 i32) (result i32)
    (local $result i32)
    (local.set $result (call $read (i32.const 16) (i32.const 11) (i32.const 1024) (i32.const 4096)))
    (if (i32.lt_s (local.get $result) (i32.const 0)) (then (return (local.get $result))))
    (if (i32.ne (i32.load8_u (i32.const 1024)) (i32.const 0x7b)) (then (unreachable)))
    (i32.const 0))
  (data (i32.const 0) "true\00")
  (data (i32.const 16) "{\"key\":\"k\"}"))
