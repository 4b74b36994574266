;; Starts with more memory than a gene gets.
;; fails: memory.size
(module (memory (export "memory") 5000)
  (func (export "express") (param i32 i32) (result i32) (i32.const 0)))
