;; Has all the exports, none with its type.
;; fails: exports.entry exports.alloc exports.initialize
(module (memory (export "memory") 1)
  (func (export "express") (param i64 i64) (result i64) (i64.const 0))
  (func (export "alloc") (param i64) (result i64) (i64.const 0))
  (func (export "_initialize") (result i32) (i32.const 0)))
