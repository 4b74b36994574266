;; Wants the network, and readMemory with a type of its own.
;; fails: imports.offered
(module
  (import "rotifer.net" "fetch" (func (param i32 i32) (result i32)))
  (import "rotifer" "readMemory" (func (param i32) (result i64)))
  (memory (export "memory") 1)
  (func (export "express") (param i32 i32) (result i32) (i32.const 0)))
