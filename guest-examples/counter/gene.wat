;; A counter of its own runs.
;;
;;   in   {}
;;   out  {"count": integer}
;;
;; The count is the CONTEXT entry `counter/runs`, in decimal. Reading and writing are two
;; calls, and there is no compare-and-set: of two runs at once both may read the same
;; count, and one run is lost. Keep in memory what may be a little wrong, or run an
;; agent that counts one run at a time.

(module
  (import "rotifer" "readMemory"
    (func $readMemory (param $req i32) (param $req_len i32) (param $out i32) (param $out_cap i32) (result i32)))
  (import "rotifer" "writeMemory"
    (func $writeMemory (param $req i32) (param $req_len i32) (param $out i32) (param $out_cap i32) (result i32)))

  (memory (export "memory") 1)
  (global $response i32 (i32.const 2048))
  (global $response_cap i32 (i32.const 4096)) ;; this gene's entry takes about 600 bytes

  ;; Texts, each at its address.
  (data (i32.const 1024) "\"value\":\"") ;; 9 bytes
  (global $read_request i32 (i32.const 1040)) ;; 43 bytes
  (data (i32.const 1040) "{\"key\":\"counter/runs\",\"category\":\"CONTEXT\"}")
  (global $write_request i32 (i32.const 1088)) ;; 52 bytes, then the value, its quote and a brace
  (data (i32.const 1088) "{\"key\":\"counter/runs\",\"category\":\"CONTEXT\",\"value\":\"")
  (data (i32.const 1216) "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  (global $bad_input i32 (i32.const 1280))
  (data (i32.const 1280)
    "{\"__rotifer_error\":{\"code\":\"INVALID_INPUT\",\"message\":\"the input must be {}\"}}\00")
  (global $output i32 (i32.const 1408)) ;; 9 bytes, then the count and a brace
  (data (i32.const 1408) "{\"count\":")
  (global $digits_end i32 (i32.const 1472)) ;; decimal digits are written down from here

  ;; Where the host may write the input: behind the texts, however long it is.
  (func (export "alloc") (param $len i32) (result i32)
    (local $missing i32) ;; pages
    (local.set $missing
      (i32.sub (i32.add (i32.shr_u (local.get $len) (i32.const 16)) (i32.const 2)) (memory.size)))
    (if (i32.gt_s (local.get $missing) (i32.const 0))
      (then
        (if (i32.eq (memory.grow (local.get $missing)) (i32.const -1)) (then (unreachable)))))
    (i32.const 0x10000))

  (func (export "express") (param $input i32) (param $len i32) (result i32)
    (local $count i64) (local $result i32) (local $digits i32) (local $end i32)
    (if (i32.or
          (i32.ne (local.get $len) (i32.const 2))
          (i32.ne (i32.load16_u (local.get $input)) (i32.const 0x7d7b))) ;; {}
      (then (return (global.get $bad_input))))

    (local.set $result
      (call $readMemory (global.get $read_request) (i32.const 43) (global.get $response) (global.get $response_cap)))
    (if (i32.lt_s (local.get $result) (i32.const 0)) (then (return (call $failed (local.get $result)))))
    (local.set $count (i64.add (call $stored_count (local.get $result)) (i64.const 1)))
    (local.set $digits (call $to_decimal (local.get $count)))

    (local.set $end (call $to_base64 (local.get $digits) (i32.add (global.get $write_request) (i32.const 52))))
    (i32.store16 (local.get $end) (i32.const 0x7d22)) ;; "}
    (local.set $result
      (call $writeMemory
        (global.get $write_request)
        (i32.sub (i32.add (local.get $end) (i32.const 2)) (global.get $write_request))
        (global.get $response) (global.get $response_cap)))
    (if (i32.lt_s (local.get $result) (i32.const 0)) (then (return (call $failed (local.get $result)))))

    (local.set $end (i32.sub (global.get $digits_end) (local.get $digits)))
    (memory.copy (i32.add (global.get $output) (i32.const 9)) (local.get $digits) (local.get $end))
    (i32.store16 offset=9 (i32.add (global.get $output) (local.get $end)) (i32.const 0x007d)) ;; }, NUL
    (global.get $output))

  ;; What express returns when a memory call failed: the error payload as its output, or
  ;; the -4 of a used-up budget, which has none.
  (func $failed (param $result i32) (result i32)
    (select (local.get $result) (global.get $response) (i32.eq (local.get $result) (i32.const -4))))

  ;; The count in the response, or 0 when there is none yet. Any gene of the domain may
  ;; have written the entry: what is not 1 to 18 decimal digits counts as none.
  (func $stored_count (param $len i32) (result i64)
    (local $p i32) (local $byte i32) (local $bits i32) (local $bit_count i32) (local $digits i32) (local $count i64)
    (if (i32.eq (local.get $len) (i32.const 4)) (then (return (i64.const 0)))) ;; null
    ;; no text before it can hold `"value":"`: the key is ours, and quotes in text are escaped
    (local.set $p (global.get $response))
    (loop $search
      (if (i32.eqz (call $at_value (local.get $p)))
        (then
          (local.set $p (i32.add (local.get $p) (i32.const 1)))
          (br $search))))
    (local.set $p (i32.add (local.get $p) (i32.const 9)))

    ;; base64: six bits a letter, a byte whenever there are eight
    (block $end
      (loop $letter
        (local.set $byte (i32.load8_u (local.get $p)))
        (br_if $end (i32.or
          (i32.eq (local.get $byte) (i32.const 0x22))   ;; the closing quote
          (i32.eq (local.get $byte) (i32.const 0x3d)))) ;; padding
        (local.set $bits
          (i32.or (i32.shl (local.get $bits) (i32.const 6)) (call $sextet (local.get $byte))))
        (local.set $bit_count (i32.add (local.get $bit_count) (i32.const 6)))
        (local.set $p (i32.add (local.get $p) (i32.const 1)))
        (br_if $letter (i32.lt_u (local.get $bit_count) (i32.const 8)))
        (local.set $bit_count (i32.sub (local.get $bit_count) (i32.const 8)))
        (local.set $byte
          (i32.sub
            (i32.and (i32.shr_u (local.get $bits) (local.get $bit_count)) (i32.const 0xff))
            (i32.const 0x30)))
        (local.set $digits (i32.add (local.get $digits) (i32.const 1)))
        (if (i32.or
              (i32.gt_u (local.get $byte) (i32.const 9))
              (i32.gt_u (local.get $digits) (i32.const 18)))
          (then (return (i64.const 0))))
        (local.set $count
          (i64.add (i64.mul (local.get $count) (i64.const 10)) (i64.extend_i32_u (local.get $byte))))
        (br $letter)))
    (local.get $count))

  (func $at_value (param $p i32) (result i32)
    (i32.and
      (i64.eq (i64.load (local.get $p)) (i64.load (i32.const 1024)))
      (i32.eq (i32.load8_u offset=8 (local.get $p)) (i32.load8_u (i32.const 1032)))))

  ;; Write the digits of $count so that they end at $digits_end; returns the first.
  (func $to_decimal (param $count i64) (result i32)
    (local $p i32)
    (local.set $p (global.get $digits_end))
    (loop $next
      (local.set $p (i32.sub (local.get $p) (i32.const 1)))
      (i32.store8 (local.get $p)
        (i32.add (i32.wrap_i64 (i64.rem_u (local.get $count) (i64.const 10))) (i32.const 0x30)))
      (local.set $count (i64.div_u (local.get $count) (i64.const 10)))
      (br_if $next (i64.ne (local.get $count) (i64.const 0))))
    (local.get $p))

  ;; Write what lies from $p to $digits_end as base64 at $to; returns where it ends.
  (func $to_base64 (param $p i32) (param $to i32) (result i32)
    (local $bits i32) (local $bit_count i32) (local $start i32)
    (local.set $start (local.get $to))
    (loop $next
      (if (i32.lt_u (local.get $bit_count) (i32.const 6))
        (then
          (if (i32.lt_u (local.get $p) (global.get $digits_end))
            (then
              (local.set $bits
                (i32.or (i32.shl (local.get $bits) (i32.const 8)) (i32.load8_u (local.get $p))))
              (local.set $bit_count (i32.add (local.get $bit_count) (i32.const 8)))
              (local.set $p (i32.add (local.get $p) (i32.const 1))))
            (else ;; the last letter is filled up with zero bits
              (local.set $bits (i32.shl (local.get $bits) (i32.sub (i32.const 6) (local.get $bit_count))))
              (local.set $bit_count (i32.const 6))))))
      (local.set $bit_count (i32.sub (local.get $bit_count) (i32.const 6)))
      (i32.store8 (local.get $to)
        (i32.load8_u offset=1216
          (i32.and (i32.shr_u (local.get $bits) (local.get $bit_count)) (i32.const 0x3f))))
      (local.set $to (i32.add (local.get $to) (i32.const 1)))
      (br_if $next (i32.or (local.get $bit_count) (i32.lt_u (local.get $p) (global.get $digits_end)))))
    (block $padded
      (loop $pad
        (br_if $padded (i32.eqz (i32.and (i32.sub (local.get $to) (local.get $start)) (i32.const 3))))
        (i32.store8 (local.get $to) (i32.const 0x3d))
        (local.set $to (i32.add (local.get $to) (i32.const 1)))
        (br $pad)))
    (local.get $to))

  ;; The six bits of a letter of base64 (64 for what is no letter).
  (func $sextet (param $letter i32) (result i32)
    (local $i i32)
    (loop $next
      (if (i32.eq (i32.load8_u offset=1216 (local.get $i)) (local.get $letter)) (then (return (local.get $i))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 64))))
    (i32.const 64)))
