;; Copies its input, and cuts every character to its first byte.
;; fails: input.unicode
;; input: {"text":"plain"}
(module (memory (export "memory") 40)
  (func (export "alloc") (param i32) (result i32) (i32.const 65536))
  (func (export "express") (param $in i32) (param $len i32) (result i32)
    (local $end i32) (local $to i32) (local $byte i32)
    (local.set $end (i32.add (local.get $in) (local.get $len)))
    (local.set $to (i32.const 1310720))
    (loop $next
      (local.set $byte (i32.load8_u (local.get $in)))
      (if (i32.ne (i32.and (local.get $byte) (i32.const 0xc0)) (i32.const 0x80))
        (then
          (i32.store8 (local.get $to) (local.get $byte))
          (local.set $to (i32.add (local.get $to) (i32.const 1)))))
      (local.set $in (i32.add (local.get $in) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $in) (local.get $end))))
    (i32.store8 (local.get $to) (i32.const 0))
    (i32.const 1310720)))
