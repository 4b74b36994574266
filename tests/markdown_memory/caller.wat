;; Calls one of the four functions of `rotifer.ext.markdown` with a request from its input.
;;
;;   in   ["write" | "update" | "read" | "search", room for the response in MiB: 0 to 9, the request]
;;   out  [the result as "+000" for all that are not negative, else "-0NN", the response or the error's payload, or null where there is none]
(module
  (import "rotifer.ext.markdown" "memory_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "rotifer.ext.markdown" "memory_update" (func $update (param i32 i32 i32 i32) (result i32)))
  (import "rotifer.ext.markdown" "memory_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "rotifer.ext.markdown" "memory_search" (func $search (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 256)
  (func (export "alloc") (param i32) (result i32) (i32.const 0x1000))
  (func $digit (param $at i32) (param $value i32) (param $unit i32)
    (i32.store8 (local.get $at) (i32.add (i32.const 48)
      (i32.rem_u (i32.div_u (local.get $value) (local.get $unit)) (i32.const 10)))))
  (func (export "express") (param $at i32) (param $len i32) (result i32)
    (local $request i32) (local $room i32) (local $end i32) (local $result i32) (local $size i32)
    ;; behind the name: `",` ROOM `,`
    (local.set $request (i32.add (local.get $at) (i32.const 2)))
    (loop $name
      (local.set $request (i32.add (local.get $request) (i32.const 1)))
      (br_if $name (i32.ne (i32.load8_u (local.get $request)) (i32.const 34))))
    (local.set $room (i32.mul (i32.const 0x100000)
      (i32.sub (i32.load8_u offset=2 (local.get $request)) (i32.const 48))))
    (local.set $request (i32.add (local.get $request) (i32.const 4)))
    (local.set $end (i32.sub (i32.add (local.get $at) (local.get $len)) (i32.const 1)))
    (local.set $result (call $one (i32.load8_u offset=2 (local.get $at)) (local.get $request)
      (i32.sub (local.get $end) (local.get $request)) (i32.const 0x600009) (local.get $room)))
    (local.set $size (local.get $result))
    (i64.store (i32.const 0x600000) (i64.const 0x00003030302b225b)) ;; ["+000
    (if (i32.lt_s (local.get $result) (i32.const 0)) (then
      (i32.store8 (i32.const 0x600002) (i32.const 45))
      (local.set $size (i32.const 0))
      (loop $payload
        (if (i32.load8_u offset=0x600009 (local.get $size)) (then
          (local.set $size (i32.add (local.get $size) (i32.const 1)))
          (br $payload))))
      (call $digit (i32.const 0x600004) (i32.sub (i32.const 0) (local.get $result)) (i32.const 10))
      (call $digit (i32.const 0x600005) (i32.sub (i32.const 0) (local.get $result)) (i32.const 1))))
    (i32.store8 (i32.const 0x600006) (i32.const 34))
    (i32.store8 (i32.const 0x600007) (i32.const 44))
    (i32.store8 (i32.const 0x600008) (i32.const 32))
    (if (i32.eqz (local.get $size)) (then
      (i32.store (i32.const 0x600009) (i32.const 0x6c6c756e)) ;; null
      (local.set $size (i32.const 4))))
    (i32.store16 offset=0x600009 (local.get $size) (i32.const 0x005d))
    (i32.const 0x600000))
  (func $one (param $name i32) (param i32 i32 i32 i32) (result i32)
    (if (result i32) (i32.eq (local.get $name) (i32.const 119)) ;; w
      (then (call $write (local.get 1) (local.get 2) (local.get 3) (local.get 4)))
      (else (if (result i32) (i32.eq (local.get $name) (i32.const 117)) ;; u
        (then (call $update (local.get 1) (local.get 2) (local.get 3) (local.get 4)))
        (else (if (result i32) (i32.eq (local.get $name) (i32.const 114)) ;; r
          (then (call $read (local.get 1) (local.get 2) (local.get 3) (local.get 4)))
          (else (call $search (local.get 1) (local.get 2) (local.get 3) (local.get 4))))))))))
