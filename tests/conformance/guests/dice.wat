;; Answers with a random digit string: another output for the same input.
;; fails: output.same
(module
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (memory (export "memory") 20)
  (func (export "alloc") (param i32) (result i32) (i32.const 65536))
  (func (export "express") (param i32 i32) (result i32)
    (local $at i32)
    (drop (call $random (i32.const 64) (i32.const 16)))
    (loop $next
      (i32.store8 offset=64 (local.get $at)
        (i32.add (i32.const 0x31) (i32.and (i32.load8_u offset=64 (local.get $at)) (i32.const 7))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $at) (i32.const 16))))
    (i32.const 64)))
