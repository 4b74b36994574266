;; The guest of the vectors: makes the calls that its input scripts, and reports what came of them.
;;
;; Input and output are one JSON string each: pairs of lower-case hex digits. Numbers are
;; unsigned 32-bit, little-endian. The script is a row of
;;
;;   01 function repeat req_ptr req_len out_ptr out_cap length bytes   make a call; `function` is one byte:
;;                                                                     0 readMemory, 1 writeMemory, 2 queryMemory,
;;                                                                     3 deleteMemory, 4 readContext
;;   02 pages                                                          grow memory
;;   03                                                                run for ever
;;   00                                                                end
;;
;; Before a call the window [out_ptr, out_ptr + out_cap), the 16 bytes on each side of it and the
;; last 64 bytes of memory are filled with A5, as far as they lie inside memory (the last 64 only
;; when `bytes` do not go there); then `bytes` are put at req_ptr. The call is made `repeat` times, and the last one reported:
;;
;;   result, 1 when all filled bytes outside the window are still A5 (else 0; one byte),
;;   length of what follows, and the window as far as memory goes, without the A5 at its end
;;
;; Memory is 64 MiB at first. Free for requests and windows: 0 to 16 MiB, and 48 MiB to the end.
(module
  (import "rotifer" "readMemory" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "rotifer" "writeMemory" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "rotifer" "queryMemory" (func $query (param i32 i32 i32 i32) (result i32)))
  (import "rotifer" "deleteMemory" (func $delete (param i32 i32 i32 i32) (result i32)))
  (import "rotifer" "readContext" (func $context (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1024 1088)
  (table 5 funcref)
  (elem (i32.const 0) $read $write $query $delete $context)
  (type $call (func (param i32 i32 i32 i32) (result i32)))

  (global $input i32 (i32.const 0x1000000))
  (global $output i32 (i32.const 0x2000000))
  (global $next (mut i32) (i32.const 0)) ;; the byte of the script to read
  (global $end (mut i32) (i32.const 0)) ;; where the output goes on

  (func (export "alloc") (param i32) (result i32)
    global.get $input)

  (func $nibble (param $digit i32) (result i32)
    (i32.sub (local.get $digit)
      (select (i32.const 87) (i32.const 48) (i32.gt_u (local.get $digit) (i32.const 57)))))

  (func $decode (param $length i32) ;; the hex digits of the input, in place, without its quotes
    (local $from i32) (local $to i32)
    (local.set $from (i32.add (global.get $input) (i32.const 1)))
    (local.set $to (global.get $input))
    (loop $pairs
      (if (i32.lt_u (local.get $from) (i32.sub (i32.add (global.get $input) (local.get $length)) (i32.const 2)))
        (then
          (i32.store8 (local.get $to)
            (i32.or
              (i32.shl (call $nibble (i32.load8_u (local.get $from))) (i32.const 4))
              (call $nibble (i32.load8_u offset=1 (local.get $from)))))
          (local.set $from (i32.add (local.get $from) (i32.const 2)))
          (local.set $to (i32.add (local.get $to) (i32.const 1)))
          (br $pairs))))
    (i32.store8 (local.get $to) (i32.const 0)))

  (func $byte (result i32)
    (i32.load8_u (global.get $next))
    (global.set $next (i32.add (global.get $next) (i32.const 1))))

  (func $number (result i32)
    (i32.load (global.get $next))
    (global.set $next (i32.add (global.get $next) (i32.const 4))))

  (func $digit (param $value i32) (result i32)
    (i32.add (local.get $value)
      (select (i32.const 87) (i32.const 48) (i32.gt_u (local.get $value) (i32.const 9)))))

  (func $put_byte (param $value i32)
    (i32.store8 (global.get $end) (call $digit (i32.shr_u (local.get $value) (i32.const 4))))
    (i32.store8 offset=1 (global.get $end) (call $digit (i32.and (local.get $value) (i32.const 15))))
    (global.set $end (i32.add (global.get $end) (i32.const 2))))

  (func $put_number (param $value i32)
    (call $put_byte (i32.and (local.get $value) (i32.const 255)))
    (call $put_byte (i32.and (i32.shr_u (local.get $value) (i32.const 8)) (i32.const 255)))
    (call $put_byte (i32.and (i32.shr_u (local.get $value) (i32.const 16)) (i32.const 255)))
    (call $put_byte (i32.shr_u (local.get $value) (i32.const 24))))

  (func $size (result i64)
    (i64.shl (i64.extend_i32_u (memory.size)) (i64.const 16)))

  (func $inside (param $at i64) (result i32) ;; the address, or the nearest that lies inside memory
    (if (i64.lt_s (local.get $at) (i64.const 0)) (then (local.set $at (i64.const 0))))
    (if (i64.gt_s (local.get $at) (call $size)) (then (local.set $at (call $size))))
    (i32.wrap_i64 (local.get $at)))

  (func $fill (param $from i32) (param $to i32)
    (memory.fill (local.get $from) (i32.const 0xA5) (i32.sub (local.get $to) (local.get $from))))

  (func $intact (param $from i32) (param $to i32) (result i32)
    (loop $bytes
      (if (i32.ge_u (local.get $from) (local.get $to)) (then (return (i32.const 1))))
      (if (i32.ne (i32.load8_u (local.get $from)) (i32.const 0xA5)) (then (return (i32.const 0))))
      (local.set $from (i32.add (local.get $from) (i32.const 1)))
      (br $bytes))
    unreachable)

  (func $call
    (local $function i32) (local $repeat i32)
    (local $req_ptr i32) (local $req_len i32) (local $out_ptr i32) (local $out_cap i32)
    (local $length i32) (local $result i32)
    (local $before i32) (local $window i32) (local $window_end i32) (local $after i32) (local $tail i32)
    (local.set $function (call $byte))
    (local.set $repeat (call $number))
    (local.set $req_ptr (call $number))
    (local.set $req_len (call $number))
    (local.set $out_ptr (call $number))
    (local.set $out_cap (call $number))
    (local.set $length (call $number))
    (local.set $window (call $inside (i64.extend_i32_u (local.get $out_ptr))))
    (local.set $window_end (call $inside
      (i64.add (i64.extend_i32_u (local.get $out_ptr)) (i64.extend_i32_u (local.get $out_cap)))))
    (local.set $before (call $inside (i64.sub (i64.extend_i32_u (local.get $window)) (i64.const 16))))
    (local.set $after (call $inside (i64.add (i64.extend_i32_u (local.get $window_end)) (i64.const 16))))
    (local.set $tail (call $inside (i64.sub (call $size) (i64.const 64))))
    (if (i32.lt_u (local.get $tail) (local.get $window_end)) (then (local.set $tail (local.get $window_end))))
    (if (i32.and
          (i32.ne (local.get $length) (i32.const 0))
          (i32.gt_u (i32.add (local.get $req_ptr) (local.get $length)) (local.get $tail)))
      (then (local.set $tail (call $inside (call $size)))))
    (call $fill (local.get $before) (local.get $after))
    (call $fill (local.get $tail) (call $inside (call $size)))
    (if (local.get $length) ;; copying nothing to beyond memory traps
      (then (memory.copy (local.get $req_ptr) (global.get $next) (local.get $length))))
    (global.set $next (i32.add (global.get $next) (local.get $length)))
    (loop $again
      (local.set $result (call_indirect (type $call)
        (local.get $req_ptr) (local.get $req_len) (local.get $out_ptr) (local.get $out_cap) (local.get $function)))
      (local.set $repeat (i32.sub (local.get $repeat) (i32.const 1)))
      (br_if $again (local.get $repeat)))
    (call $put_number (local.get $result))
    (call $put_byte (i32.and
      (i32.and
        (call $intact (local.get $before) (local.get $window))
        (call $intact (local.get $window_end) (local.get $after)))
      (call $intact (local.get $tail) (call $inside (call $size)))))
    (call $report (local.get $window) (local.get $window_end)))

  (func $report (param $from i32) (param $to i32)
    (block $coarsely ;; eight bytes at a time, which costs little fuel
      (loop $trim
        (br_if $coarsely (i32.lt_u (i32.sub (local.get $to) (local.get $from)) (i32.const 8)))
        (br_if $coarsely (i64.ne
          (i64.load (i32.sub (local.get $to) (i32.const 8)))
          (i64.const 0xA5A5A5A5A5A5A5A5)))
        (local.set $to (i32.sub (local.get $to) (i32.const 8)))
        (br $trim)))
    (block $trimmed
      (loop $trim
        (br_if $trimmed (i32.eq (local.get $from) (local.get $to)))
        (br_if $trimmed (i32.ne (i32.load8_u (i32.sub (local.get $to) (i32.const 1))) (i32.const 0xA5)))
        (local.set $to (i32.sub (local.get $to) (i32.const 1)))
        (br $trim)))
    (call $put_number (i32.sub (local.get $to) (local.get $from)))
    (block $written
      (loop $bytes
        (br_if $written (i32.eq (local.get $from) (local.get $to)))
        (call $put_byte (i32.load8_u (local.get $from)))
        (local.set $from (i32.add (local.get $from) (i32.const 1)))
        (br $bytes))))

  (func (export "express") (param $at i32) (param $length i32) (result i32)
    (local $step i32)
    (call $decode (local.get $length))
    (global.set $next (global.get $input))
    (i32.store8 (global.get $output) (i32.const 0x22)) ;; "
    (global.set $end (i32.add (global.get $output) (i32.const 1)))
    (loop $steps
      (local.set $step (call $byte))
      (if (i32.eq (local.get $step) (i32.const 1)) (then (call $call) (br $steps)))
      (if (i32.eq (local.get $step) (i32.const 2)) (then (drop (memory.grow (call $number))) (br $steps)))
      (if (i32.eq (local.get $step) (i32.const 3)) (then (loop $ever (br $ever)))))
    (i32.store16 (global.get $end) (i32.const 0x0022)) ;; " NUL
    global.get $output))
