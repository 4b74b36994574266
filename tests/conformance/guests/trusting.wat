;; Takes for granted that its input is {"n": …}.
;; fails: input.small
;; input: {"n":1}
(module (memory (export "memory") 20)
  (func (export "alloc") (param i32) (result i32) (i32.const 65536))
  (func (export "express") (param $in i32) (param $len i32) (result i32)
    (if (i32.ne (i32.load8_u offset=2 (local.get $in)) (i32.const 0x6e)) (then (unreachable)))
    (i32.const 0))
  (data (i32.const 0) "true\00"))
