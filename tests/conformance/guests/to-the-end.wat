;; Its output has no NUL: it runs to the end of memory, which is allowed.
;; fails:
(module (memory (export "memory") 20)
  (func (export "alloc") (param i32) (result i32) (i32.const 65536))
  (func (export "express") (param i32 i32) (result i32) (i32.const 1310716))
  (data (i32.const 1310716) "true"))
