;; Guesses how long an input can be.
;; fails: input.large
(module (memory (export "memory") 1)
  (func (export "alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "express") (param i32 i32) (result i32) (i32.const 0))
  (data (i32.const 0) "true\00"))
