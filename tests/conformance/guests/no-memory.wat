;; Keeps its memory to itself.
;; fails: exports.memory
(module (memory 1)
  (func (export "express") (param i32 i32) (result i32) (i32.const 0)))
