;; Carries a section that looks like the host's own.
;; fails: module.sections
(module
  (@custom "rotifer.source" "not MessagePack")
  (memory (export "memory") 20)
  (func (export "express") (param i32 i32) (result i32) (local.get 0)))
