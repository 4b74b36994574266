;; A gene to start from, in WebAssembly text: functions to copy, and an `express` that uses
;; them. It gives back the input of the run before.
;;
;;   in   a string
;;   out  {"before": the string of the last run, or null}
;;
;; README.md one folder up, "The guest ABI", is the reference.

(module
  (type $call (func (param $req i32) (param $req_len i32) (param $out i32) (param $out_cap i32) (result i32)))
  (import "rotifer" "readMemory" (func $readMemory (type $call)))
  (import "rotifer" "writeMemory" (func $writeMemory (type $call)))
  (import "rotifer" "queryMemory" (func $queryMemory (type $call)))
  (import "rotifer" "deleteMemory" (func $deleteMemory (type $call)))
  ;; Functions of a host module that the agent is granted are called alike: put them into the
  ;; table behind these, and a global for each.
  ;; (import "rotifer.ext.json" "getMemory" (func $getMemory (type $call)))
  ;; (import "rotifer.ext.json" "updateMemory" (func $updateMemory (type $call)))
  ;; (import "rotifer.ext.markdown" "memory_write" (func $memory_write (type $call)))
  ;; (import "rotifer.ext.markdown" "memory_update" (func $memory_update (type $call)))
  ;; (import "rotifer.ext.markdown" "memory_read" (func $memory_read (type $call)))
  ;; (import "rotifer.ext.markdown" "memory_search" (func $memory_search (type $call)))
  (table funcref (elem $readMemory $writeMemory $queryMemory $deleteMemory))
  (global $read i32 (i32.const 0)) ;; for $request
  (global $write i32 (i32.const 1))
  (global $query i32 (i32.const 2))
  (global $delete i32 (i32.const 3))

  ;; Page 0 is for texts, each at its address. What is made while running lies above: it is
  ;; appended at $top, and free again at the next input.
  (memory (export "memory") 2)
  (global $heap i32 (i32.const 0x10000))
  (global $top (mut i32) (i32.const 0x10000))

  (data (i32.const 0) "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  (data (i32.const 64) "\"value\":")                                                   ;; 8 bytes
  (data (i32.const 128) "{\"key\":\"echo/last\",\"category\":\"CONTEXT\"}")              ;; 40
  (data (i32.const 192) "{\"key\":\"echo/last\",\"category\":\"CONTEXT\",\"value\":\"")  ;; 49
  (data (i32.const 256) "{\"before\":")                                                ;; 10
  (data (i32.const 272) "null")                                                        ;; 4
  (data (i32.const 512)
    "{\"__rotifer_error\":{\"code\":\"INVALID_INPUT\",\"message\":\"the input must be a string\"}}\00")

  ;; ---- the gene ---------------------------------------------------------------

  (func (export "express") (param $input i32) (param $len i32) (result i32)
    (local $result i32) (local $value i32) (local $output i32) (local $start i32)
    (if (i32.ne (i32.load8_u (local.get $input)) (i32.const 0x22)) (then (return (i32.const 512))))

    ;; what was remembered: the entry's value, decoded, or null. Any gene of the domain may
    ;; have written it: what cannot stand in a string counts as nothing
    (local.set $result (call $request (global.get $read) (i32.const 128) (i32.const 40)))
    (if (i32.lt_s (local.get $result) (i32.const 0)) (then (return (call $give_up (local.get $result)))))
    (local.set $value (call $member (global.get $response) (i32.const 64) (i32.const 8)))
    (local.set $output (global.get $top))
    (call $put (i32.const 256) (i32.const 10))
    (local.set $start (global.get $top))
    (if (local.get $value)
      (then
        (call $put_byte (i32.const 0x22))
        (call $put_from_base64 (i32.add (local.get $value) (i32.const 1))) ;; behind the quote
        (if (call $is_text (i32.add (local.get $start) (i32.const 1)) (global.get $top))
          (then (call $put_byte (i32.const 0x22)))
          (else
            (global.set $top (local.get $start)) ;; take it back
            (call $put (i32.const 272) (i32.const 4)))))
      (else (call $put (i32.const 272) (i32.const 4))))
    (call $put_byte (i32.const 0x7d)) ;; }
    (call $put_byte (i32.const 0))    ;; the host reads the output up to a NUL

    ;; remember the text between the input's quotes, as it is written: the request's beginning,
    ;; the value in base64, a quote and a brace
    (local.set $start (global.get $top))
    (call $put (i32.const 192) (i32.const 49))
    (call $put_base64 (i32.add (local.get $input) (i32.const 1)) (i32.sub (local.get $len) (i32.const 2)))
    (call $put_byte (i32.const 0x22))
    (call $put_byte (i32.const 0x7d))
    (local.set $result
      (call $request (global.get $write) (local.get $start) (i32.sub (global.get $top) (local.get $start))))
    (if (i32.lt_s (local.get $result) (i32.const 0)) (then (return (call $give_up (local.get $result)))))
    (local.get $output))

  ;; ---- memory calls -------------------------------------------------------------

  (global $response (mut i32) (i32.const 0)) ;; of the last call, with a NUL at its end

  ;; Make a call; the result is its own, and $response its response or error object. -1 changed
  ;; nothing: the call is made again with the room that the host names, or twice as much.
  (func $request (param $which i32) (param $req i32) (param $req_len i32) (result i32)
    (local $cap i32) (local $result i32) (local $needed i32)
    (local.set $cap (i32.const 4096))
    (loop $again
      (global.set $response (call $take (i32.add (local.get $cap) (i32.const 1))))
      (i32.store8 (global.get $response) (i32.const 0)) ;; a failure may leave nothing
      (local.set $result
        (call_indirect (type $call)
          (local.get $req) (local.get $req_len) (global.get $response) (local.get $cap) (local.get $which)))
      (if (i32.ge_s (local.get $result) (i32.const 0))
        (then
          (i32.store8 (i32.add (global.get $response) (local.get $result)) (i32.const 0))
          (return (local.get $result))))
      (i32.store8 (i32.add (global.get $response) (local.get $cap)) (i32.const 0))
      (if (i32.eq (local.get $result) (i32.const -1))
        (then
          (local.set $needed (call $first_number (global.get $response)))
          (local.set $cap (i32.shl (local.get $cap) (i32.const 1)))
          (if (i32.gt_u (local.get $needed) (i32.shr_u (local.get $cap) (i32.const 1)))
            (then (local.set $cap (local.get $needed))))
          (br $again))))
    (local.get $result))

  ;; What express returns when a call failed: the host's error object as the output, or the
  ;; result itself where there is none.
  (func $give_up (param $result i32) (result i32)
    (select (global.get $response) (local.get $result) (i32.load8_u (global.get $response))))

  ;; N of "response needs N bytes, out_cap is M": no other digit stands before it. 0 for none.
  (func $first_number (param $p i32) (result i32)
    (local $byte i32) (local $number i32)
    (block $end
      (loop $next
        (local.set $byte (i32.load8_u (local.get $p)))
        (br_if $end (i32.eqz (local.get $byte)))
        (local.set $p (i32.add (local.get $p) (i32.const 1)))
        (local.set $byte (i32.sub (local.get $byte) (i32.const 0x30)))
        (if (i32.lt_u (local.get $byte) (i32.const 10))
          (then
            (local.set $number (i32.add (i32.mul (local.get $number) (i32.const 10)) (local.get $byte)))
            (br $next)))
        (br_if $next (i32.eqz (local.get $number)))))
    (local.get $number))

  ;; ---- room -------------------------------------------------------------------

  ;; Where the host may write the input. One byte more than it asks for is zero, so that
  ;; the end of the input is seen without its length.
  (func (export "alloc") (param $len i32) (result i32)
    (local $at i32)
    (global.set $top (global.get $heap))
    (local.set $at (call $take (i32.add (local.get $len) (i32.const 1))))
    (i32.store8 (i32.add (local.get $at) (local.get $len)) (i32.const 0))
    (local.get $at))

  ;; $len bytes at $top. A trap after a refused growth tells the host that the run's memory
  ;; limit was hit.
  (func $take (param $len i32) (result i32)
    (local $at i32) (local $missing i32)
    (local.set $at (global.get $top))
    (global.set $top (i32.add (local.get $at) (local.get $len)))
    (local.set $missing (i32.sub (global.get $top) (i32.shl (memory.size) (i32.const 16))))
    (if (i32.gt_s (local.get $missing) (i32.const 0))
      (then
        (if (i32.eq
              (memory.grow (i32.shr_u (i32.add (local.get $missing) (i32.const 0xffff)) (i32.const 16)))
              (i32.const -1))
          (then (unreachable)))))
    (local.get $at))

  ;; ---- writing: everything is appended at $top ------------------------------------

  (func $put (param $from i32) (param $len i32)
    (memory.copy (call $take (local.get $len)) (local.get $from) (local.get $len)))

  (func $put_byte (param $byte i32)
    (i32.store8 (call $take (i32.const 1)) (local.get $byte)))

  (func $put_base64 (param $from i32) (param $len i32)
    (local $end i32) (local $word i32) (local $left i32)
    (local.set $end (i32.add (local.get $from) (local.get $len)))
    (block $done
      (loop $three
        (br_if $done (i32.ge_u (local.get $from) (local.get $end)))
        (local.set $left (i32.sub (local.get $end) (local.get $from)))
        (local.set $word (i32.shl (i32.load8_u (local.get $from)) (i32.const 16)))
        (if (i32.gt_u (local.get $left) (i32.const 1))
          (then (local.set $word (i32.or (local.get $word) (i32.shl (i32.load8_u offset=1 (local.get $from)) (i32.const 8))))))
        (if (i32.gt_u (local.get $left) (i32.const 2))
          (then (local.set $word (i32.or (local.get $word) (i32.load8_u offset=2 (local.get $from))))))
        (call $put_byte (i32.load8_u (i32.shr_u (local.get $word) (i32.const 18))))
        (call $put_byte (i32.load8_u (i32.and (i32.shr_u (local.get $word) (i32.const 12)) (i32.const 63))))
        (call $put_byte
          (select
            (i32.load8_u (i32.and (i32.shr_u (local.get $word) (i32.const 6)) (i32.const 63)))
            (i32.const 0x3d)
            (i32.gt_u (local.get $left) (i32.const 1))))
        (call $put_byte
          (select
            (i32.load8_u (i32.and (local.get $word) (i32.const 63)))
            (i32.const 0x3d)
            (i32.gt_u (local.get $left) (i32.const 2))))
        (local.set $from (i32.add (local.get $from) (i32.const 3)))
        (br $three))))

  ;; The bytes of the base64 at $p, which ends at a pad or a quote.
  (func $put_from_base64 (param $p i32)
    (local $letter i32) (local $bits i32) (local $have i32)
    (block $end
      (loop $next
        (local.set $letter (i32.load8_u (local.get $p)))
        (br_if $end (i32.or (i32.eq (local.get $letter) (i32.const 0x22)) (i32.eq (local.get $letter) (i32.const 0x3d))))
        (local.set $p (i32.add (local.get $p) (i32.const 1)))
        (local.set $bits (i32.or (i32.shl (local.get $bits) (i32.const 6)) (call $sextet (local.get $letter))))
        (local.set $have (i32.add (local.get $have) (i32.const 6)))
        (br_if $next (i32.lt_u (local.get $have) (i32.const 8)))
        (local.set $have (i32.sub (local.get $have) (i32.const 8)))
        (call $put_byte (i32.shr_u (local.get $bits) (local.get $have)))
        (br $next))))

  ;; The six bits of a letter of base64.
  (func $sextet (param $letter i32) (result i32)
    (local $i i32)
    (loop $next
      (if (i32.eq (i32.load8_u (local.get $i)) (local.get $letter)) (then (return (local.get $i))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 64))))
    (i32.const 0))

  ;; ---- JSON: compact and well-formed, as the host writes it ----------------------------

  ;; The value of an object's member, or 0; $name is `"name":` with its quotes and colon.
  (func $member (param $object i32) (param $name i32) (param $name_len i32) (result i32)
    (local $p i32)
    (if (i32.ne (i32.load8_u (local.get $object)) (i32.const 0x7b)) (then (return (i32.const 0))))
    (local.set $p (i32.add (local.get $object) (i32.const 1)))
    (loop $next
      (if (i32.ne (i32.load8_u (local.get $p)) (i32.const 0x22)) (then (return (i32.const 0))))
      (if (call $equal (local.get $p) (local.get $name) (local.get $name_len))
        (then (return (i32.add (local.get $p) (local.get $name_len)))))
      (local.set $p (call $after_value (i32.add (call $after_string (local.get $p)) (i32.const 1))))
      (local.set $p (i32.add (local.get $p) (i32.const 1)))
      (br_if $next (i32.eq (i32.load8_u (i32.sub (local.get $p) (i32.const 1))) (i32.const 0x2c))))
    (i32.const 0))

  ;; Where a value ends: at the comma or bracket behind it, or at the text's NUL.
  (func $after_value (param $p i32) (result i32)
    (local $byte i32) (local $depth i32)
    (loop $next
      (local.set $byte (i32.load8_u (local.get $p)))
      (if (i32.eqz (local.get $byte)) (then (return (local.get $p))))
      (if (i32.eq (local.get $byte) (i32.const 0x22))
        (then
          (local.set $p (call $after_string (local.get $p)))
          (br $next)))
      ;; { and [ differ in one bit, and so do } and ]
      (if (i32.eqz (local.get $depth))
        (then
          (if (i32.or
                (i32.eq (local.get $byte) (i32.const 0x2c))
                (i32.eq (i32.and (local.get $byte) (i32.const 0xdf)) (i32.const 0x5d)))
            (then (return (local.get $p))))))
      (local.set $byte (i32.and (local.get $byte) (i32.const 0xdf)))
      (local.set $depth
        (i32.sub
          (i32.add (local.get $depth) (i32.eq (local.get $byte) (i32.const 0x5b)))
          (i32.eq (local.get $byte) (i32.const 0x5d))))
      (local.set $p (i32.add (local.get $p) (i32.const 1)))
      (br $next))
    (unreachable))

  (func $after_string (param $p i32) (result i32)
    (loop $next
      (local.set $p
        (i32.add (local.get $p)
          (select (i32.const 2) (i32.const 1) (i32.eq (i32.load8_u (local.get $p)) (i32.const 0x5c)))))
      (br_if $next (i32.ne (i32.load8_u (local.get $p)) (i32.const 0x22))))
    (i32.add (local.get $p) (i32.const 1)))

  ;; 1 when the bytes from $p to $end can stand between the quotes of a string, as the host
  ;; writes it.
  (func $is_text (param $p i32) (param $end i32) (result i32)
    (local $byte i32) (local $size i32)
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $p) (local.get $end)))
        (local.set $byte (i32.load8_u (local.get $p)))
        (local.set $size (call $character (local.get $p) (local.get $end)))
        (if (i32.eq (local.get $byte) (i32.const 0x5c))
          (then (local.set $size (call $escape (local.get $p) (local.get $end)))))
        (if (i32.or
              (i32.eqz (local.get $size))
              (i32.or (i32.lt_u (local.get $byte) (i32.const 0x20)) (i32.eq (local.get $byte) (i32.const 0x22))))
          (then (return (i32.const 0))))
        (local.set $p (i32.add (local.get $p) (local.get $size)))
        (br $next)))
    (i32.const 1))

  ;; Bytes of the escape at $p: 2, or 6 for \u00..; 0 for none that the host writes.
  (func $escape (param $p i32) (param $end i32) (result i32)
    (local $i i32)
    (if (i32.gt_u (i32.add (local.get $p) (i32.const 2)) (local.get $end)) (then (return (i32.const 0))))
    (loop $next
      (if (i32.eq (i32.load8_u offset=1 (local.get $p)) (i32.load8_u offset=608 (local.get $i)))
        (then (return (i32.const 2))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 8))))
    (if (i32.gt_u (i32.add (local.get $p) (i32.const 6)) (local.get $end)) (then (return (i32.const 0))))
    (if (i32.ne (i32.load (local.get $p)) (i32.const 0x3030755c)) (then (return (i32.const 0)))) ;; \u00
    (select (i32.const 6) (i32.const 0)
      (i32.and (call $is_hex (i32.load8_u offset=4 (local.get $p))) (call $is_hex (i32.load8_u offset=5 (local.get $p))))))
  (data (i32.const 608) "\"\\/bfnrt")

  (func $is_hex (param $byte i32) (result i32)
    (i32.or
      (i32.lt_u (i32.sub (local.get $byte) (i32.const 0x30)) (i32.const 10))
      (i32.lt_u (i32.sub (i32.or (local.get $byte) (i32.const 0x20)) (i32.const 0x61)) (i32.const 6))))

  ;; Bytes of the character of UTF-8 at $p, or 0.
  (func $character (param $p i32) (param $end i32) (result i32)
    (local $byte i32) (local $more i32) (local $code i32) (local $i i32)
    (local.set $byte (i32.load8_u (local.get $p)))
    (if (i32.lt_u (local.get $byte) (i32.const 0x80)) (then (return (i32.const 1))))
    (if (i32.gt_u (i32.sub (local.get $byte) (i32.const 0xc0)) (i32.const 0x37)) (then (return (i32.const 0))))
    (local.set $more
      (i32.add
        (i32.const 1)
        (i32.add (i32.ge_u (local.get $byte) (i32.const 0xe0)) (i32.ge_u (local.get $byte) (i32.const 0xf0)))))
    (if (i32.le_u (i32.sub (local.get $end) (local.get $p)) (local.get $more)) (then (return (i32.const 0))))
    (local.set $code (i32.and (local.get $byte) (i32.shr_u (i32.const 0x3f) (local.get $more))))
    (loop $next
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (local.set $byte (i32.load8_u (i32.add (local.get $p) (local.get $i))))
      (if (i32.ne (i32.and (local.get $byte) (i32.const 0xc0)) (i32.const 0x80)) (then (return (i32.const 0))))
      (local.set $code (i32.or (i32.shl (local.get $code) (i32.const 6)) (i32.and (local.get $byte) (i32.const 0x3f))))
      (br_if $next (i32.lt_u (local.get $i) (local.get $more))))
    (if (i32.lt_u (local.get $code) (i32.load (i32.add (i32.const 640) (i32.shl (local.get $more) (i32.const 2)))))
      (then (return (i32.const 0)))) ;; in more bytes than it takes
    (if (i32.eq (i32.shr_u (local.get $code) (i32.const 11)) (i32.const 0x1b)) (then (return (i32.const 0)))) ;; a surrogate
    (select (i32.const 0) (i32.add (local.get $more) (i32.const 1)) (i32.gt_u (local.get $code) (i32.const 0x10ffff))))
  (data (i32.const 640) "\00\00\00\00\80\00\00\00\00\08\00\00\00\00\01\00") ;; the least code of 1 to 4 bytes

  (func $equal (param $a i32) (param $b i32) (param $len i32) (result i32)
    (loop $next
      (if (i32.ne (i32.load8_u (local.get $a)) (i32.load8_u (local.get $b))) (then (return (i32.const 0))))
      (local.set $a (i32.add (local.get $a) (i32.const 1)))
      (local.set $b (i32.add (local.get $b) (i32.const 1)))
      (local.set $len (i32.sub (local.get $len) (i32.const 1)))
      (br_if $next (local.get $len)))
    (i32.const 1)))
