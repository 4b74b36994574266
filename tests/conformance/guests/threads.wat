;; Asks for a feature that the engine has switched off.
;; fails: module.valid
(module (memory (export "memory") 1 1 shared)
  (func (export "express") (param i32 i32) (result i32) (i32.const 0)))
