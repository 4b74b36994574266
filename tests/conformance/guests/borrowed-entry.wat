;; Exports a host function as its entry, which is nobody's gene.
;; fails: exports.entry imports.offered
(module
  (import "rotifer" "express" (func (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (export "express" (func 0)))
