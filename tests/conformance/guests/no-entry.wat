;; Spells its entry another way.
;; fails: exports.entry
(module (memory (export "memory") 1)
  (func (export "run") (param i32 i32) (result i32) (i32.const 0)))
