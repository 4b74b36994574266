;; Grows its memory for every input.
;; fails: express.again
(module (memory (export "memory") 1)
  (func (export "alloc") (param $len i32) (result i32)
    (i32.shl
      (memory.grow (i32.add (i32.shr_u (local.get $len) (i32.const 16)) (i32.const 1)))
      (i32.const 16)))
  (func (export "express") (param i32 i32) (result i32) (i32.const 0))
  (data (i32.const 0) "true\00"))
