;; Works once in an instance.
;; fails: express.again
(module (memory (export "memory") 20)
  (global $used (mut i32) (i32.const 0))
  (func (export "alloc") (param i32) (result i32) (i32.const 65536))
  (func (export "express") (param i32 i32) (result i32)
    (if (global.get $used) (then (unreachable)))
    (global.set $used (i32.const 1))
    (i32.const 0))
  (data (i32.const 0) "true\00"))
