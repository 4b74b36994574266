;; Burns what fuel it gets.
;; fails: fuel input.sample
(module (memory (export "memory") 20)
  (func (export "alloc") (param i32) (result i32) (i32.const 65536))
  (func (export "express") (param i32 i32) (result i32) (loop $spin (br $spin)) (i32.const 0)))
