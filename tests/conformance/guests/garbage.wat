;; Answers with text that is no JSON, whatever it is asked.
;; fails: input.sample
(module (memory (export "memory") 20)
  (func (export "alloc") (param i32) (result i32) (i32.const 65536))
  (func (export "express") (param i32 i32) (result i32) (i32.const 0))
  (data (i32.const 0) "done\00"))
