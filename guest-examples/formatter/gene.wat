;; A formatter that remembers how wide its user wants the indentation.
;;
;;   in   {"code": string, "indent"?: 1..8}
;;   out  {"formatted": string, "indent": 1..8}
;;
;; An `indent` that is given is used and remembered, as the PREFERENCE
;; `formatter/indent`. Without one, the remembered width is used, or 2.
;;
;; Depth is counted as Python counts it: a line that starts further right than the
;; one above is one level deeper, a line that starts further left is back at the level
;; that started there. A tab reaches to the next multiple of 8 columns. Lines of
;; nothing but blanks become empty. All else in `code` stays as it is, byte for byte.

(module
  (import "rotifer" "readMemory"
    (func $readMemory (param $req i32) (param $req_len i32) (param $out i32) (param $out_cap i32) (result i32)))
  (import "rotifer" "writeMemory"
    (func $writeMemory (param $req i32) (param $req_len i32) (param $out i32) (param $out_cap i32) (result i32)))

  ;; Page 0 holds texts and the response of a memory call, page 1 the stack of
  ;; columns; input and output lie above.
  (memory (export "memory") 3)
  (global $response i32 (i32.const 1024))
  (global $response_cap i32 (i32.const 4096)) ;; this gene's entry takes about 600 bytes
  (global $columns i32 (i32.const 0x10000))   ;; 16,384 levels: more than 16 MiB of input can open
  (global $top (mut i32) (i32.const 0x20000)) ;; first byte not in use yet

  (global $default_indent i32 (i32.const 2))
  (global $buffer_too_small i32 (i32.const -1))
  (global $budget_exhausted i32 (i32.const -4))

  ;; Texts, each at its address; the dots are filled in before use.
  (data (i32.const 0) "\"code\":")
  (data (i32.const 16) "\"indent\":")
  (data (i32.const 32) "\"value\":")
  (global $read_request i32 (i32.const 48)) ;; 50 bytes
  (data (i32.const 48) "{\"key\":\"formatter/indent\",\"category\":\"PREFERENCE\"}")
  (global $write_request i32 (i32.const 112)) ;; 65 bytes, the value at 59
  (data (i32.const 112) "{\"key\":\"formatter/indent\",\"category\":\"PREFERENCE\",\"value\":\"....\"}")
  (data (i32.const 192) "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  (global $bad_code i32 (i32.const 256))
  (data (i32.const 256)
    "{\"__rotifer_error\":{\"code\":\"INVALID_INPUT\",\"message\":\"code must be a string\"}}\00")
  (global $bad_indent i32 (i32.const 384))
  (data (i32.const 384)
    "{\"__rotifer_error\":{\"code\":\"INVALID_INPUT\",\"message\":\"indent must be a whole number from 1 to 8\"}}\00")
  (global $head i32 (i32.const 512)) ;; 14 bytes
  (data (i32.const 512) "{\"formatted\":\"")
  (global $tail i32 (i32.const 528)) ;; 14 bytes, the digit at 11
  (data (i32.const 528) "\",\"indent\":.}\00")

  ;; The host asks for room for the input once, before express: what was there before is
  ;; done with. One byte more than it asks for is zero, so that the end of the input is
  ;; seen without its length.
  (func (export "alloc") (param $len i32) (result i32)
    (global.set $top (i32.const 0x20000))
    (call $reserve (i32.add (local.get $len) (i32.const 1)))
    (global.set $top (i32.add (global.get $top) (local.get $len)))
    (i32.store8 (global.get $top) (i32.const 0))
    (global.set $top (i32.add (global.get $top) (i32.const 1)))
    (i32.const 0x20000))

  (func (export "express") (param $input i32) (param $len i32) (result i32)
    (local $code i32) (local $given i32) (local $indent i32)

    (local.set $code (call $member (local.get $input) (i32.const 0) (i32.const 7)))
    (if (i32.eqz (local.get $code)) (then (return (global.get $bad_code))))
    (if (i32.ne (i32.load8_u (local.get $code)) (i32.const 0x22)) (then (return (global.get $bad_code))))

    (local.set $given (call $member (local.get $input) (i32.const 16) (i32.const 9)))
    (if (local.get $given)
      (then
        (local.set $indent (call $width (i32.load8_u (local.get $given))))
        (if (i32.or
              (i32.eqz (local.get $indent))
              (call $in_number (i32.load8_u offset=1 (local.get $given))))
          (then (return (global.get $bad_indent))))
        (local.set $indent (call $remember (local.get $indent))))
      (else
        (local.set $indent (call $recall))))

    ;; A failed memory call: pass its error payload on as this gene's own output, which
    ;; the host reports as a rejected input. With -4 there is no payload, and no budget
    ;; to go on with: a negative result ends the run as failed.
    (if (i32.eq (local.get $indent) (global.get $budget_exhausted)) (then (return (local.get $indent))))
    (if (i32.lt_s (local.get $indent) (i32.const 0)) (then (return (global.get $response))))

    (call $format (i32.add (local.get $code) (i32.const 1)) (local.get $indent)))

  ;; ---- memory -------------------------------------------------------------

  ;; Save the width; returns it, or the negative result of the call.
  (func $remember (param $indent i32) (result i32)
    (local $digit i32) (local $result i32)
    (local.set $digit (i32.add (local.get $indent) (i32.const 0x30)))
    ;; base64 of one byte: its upper six bits, its lower two, and two pads
    (i32.store8 offset=59 (global.get $write_request) (call $letter (i32.shr_u (local.get $digit) (i32.const 2))))
    (i32.store8 offset=60 (global.get $write_request) (call $letter (i32.shl (i32.and (local.get $digit) (i32.const 3)) (i32.const 4))))
    (i32.store16 offset=61 (global.get $write_request) (i32.const 0x3d3d)) ;; ==
    (local.set $result
      (call $writeMemory (global.get $write_request) (i32.const 65) (global.get $response) (global.get $response_cap)))
    (select (local.get $result) (local.get $indent) (i32.lt_s (local.get $result) (i32.const 0))))

  ;; Fetch the saved width; returns it, the default, or the negative result of the call.
  (func $recall (result i32)
    (local $result i32) (local $value i32) (local $indent i32)
    (local.set $result
      (call $readMemory (global.get $read_request) (i32.const 50) (global.get $response) (global.get $response_cap)))
    ;; an entry too large for the response is no width
    (if (i32.eq (local.get $result) (global.get $buffer_too_small)) (then (return (global.get $default_indent))))
    (if (i32.lt_s (local.get $result) (i32.const 0)) (then (return (local.get $result))))

    ;; `null`, no entry yet, is no object and has no member
    (local.set $value (call $member (global.get $response) (i32.const 32) (i32.const 8)))
    (if (i32.eqz (local.get $value)) (then (return (global.get $default_indent))))

    ;; Any gene of the domain may have written the entry: what is not one digit from 1
    ;; to 8, two letters of base64 and two pads, is no width.
    (if (i32.or
          (i32.ne (i32.load16_u offset=3 (local.get $value)) (i32.const 0x3d3d))
          (i32.ne (i32.load8_u offset=5 (local.get $value)) (i32.const 0x22)))
      (then (return (global.get $default_indent))))
    (local.set $indent
      (call $width
        (i32.or
          (i32.shl (call $sextet (i32.load8_u offset=1 (local.get $value))) (i32.const 2))
          (i32.shr_u (call $sextet (i32.load8_u offset=2 (local.get $value))) (i32.const 4)))))
    (select (local.get $indent) (global.get $default_indent) (local.get $indent)))

  ;; The width a digit stands for, or 0 when it is none from 1 to 8.
  (func $width (param $digit i32) (result i32)
    (local.set $digit (i32.sub (local.get $digit) (i32.const 0x30)))
    (select (local.get $digit) (i32.const 0)
      (i32.lt_u (i32.sub (local.get $digit) (i32.const 1)) (i32.const 8))))

  ;; The letter of base64 for six bits, and back (64 for what is no letter).
  (func $letter (param $sextet i32) (result i32)
    (i32.load8_u offset=192 (local.get $sextet)))
  (func $sextet (param $letter i32) (result i32)
    (local $i i32)
    (loop $next
      (if (i32.eq (call $letter (local.get $i)) (local.get $letter)) (then (return (local.get $i))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 64))))
    (i32.const 64))

  ;; ---- formatting ---------------------------------------------------------

  ;; Write the output for the string whose text starts at $p; returns where it lies.
  (func $format (param $p i32) (param $indent i32) (result i32)
    (local $output i32) (local $line i32) (local $column i32) (local $level i32) (local $kind i32)
    (local.set $output (global.get $top))
    (call $put (global.get $head) (i32.const 14))
    (local.set $level (global.get $columns)) ;; level 0, at column 0

    (loop $next_line
      ;; where does the line start?
      (local.set $column (i32.const 0))
      (block $text
        (loop $blank
          (local.set $kind (call $kind (local.get $p)))
          (if (i32.eq (local.get $kind) (i32.const 0x20)) ;; space
            (then (local.set $column (i32.add (local.get $column) (i32.const 1))))
            (else
              (br_if $text (i32.ne (local.get $kind) (i32.const 0x09))) ;; tab
              (local.set $column (i32.add (i32.or (local.get $column) (i32.const 7)) (i32.const 1)))))
          (local.set $p (i32.add (local.get $p) (call $size (local.get $p))))
          (br $blank)))

      ;; a line with text: find its level, indent it
      (if (i32.and
            (i32.ne (local.get $kind) (i32.const 0x22))  ;; the end
            (i32.ne (local.get $kind) (i32.const 0x0a))) ;; a line end
        (then
          (local.set $level (call $level (local.get $level) (local.get $column)))
          (call $pad
            (i32.mul
              (i32.shr_u (i32.sub (local.get $level) (global.get $columns)) (i32.const 2))
              (local.get $indent)))))

      ;; the rest of the line, its end included
      (local.set $line (local.get $p))
      (block $end
        (loop $unit
          (local.set $kind (call $kind (local.get $p)))
          (br_if $end (i32.eq (local.get $kind) (i32.const 0x22)))
          (local.set $p (i32.add (local.get $p) (call $size (local.get $p))))
          (br_if $unit (i32.ne (local.get $kind) (i32.const 0x0a)))))
      (call $put (local.get $line) (i32.sub (local.get $p) (local.get $line)))
      (br_if $next_line (i32.ne (local.get $kind) (i32.const 0x22))))

    (i32.store8 offset=11 (global.get $tail) (i32.add (local.get $indent) (i32.const 0x30)))
    (call $put (global.get $tail) (i32.const 14))
    (local.get $output))

  ;; The level of a line that starts at $column. A level is the address of the column
  ;; it starts at; those above it on the stack are the levels around it.
  (func $level (param $level i32) (param $column i32) (result i32)
    (block $found
      (loop $shallower
        (br_if $found (i32.le_u (i32.load (local.get $level)) (local.get $column)))
        (local.set $level (i32.sub (local.get $level) (i32.const 4)))
        (br $shallower)))
    (if (i32.lt_u (i32.load (local.get $level)) (local.get $column))
      (then
        (local.set $level (i32.add (local.get $level) (i32.const 4)))
        (i32.store (local.get $level) (local.get $column))))
    (local.get $level))

  ;; What a string's text holds at $p: 0x22 for its closing quote, 0x0a for the escapes
  ;; \n and \r, 0x09 for \t, 0x5c for any other escape, else the byte itself.
  ;; JSON writers use these short escapes; a \u.... is text.
  (func $kind (param $p i32) (result i32)
    (local $byte i32)
    (local.set $byte (i32.load8_u (local.get $p)))
    (if (i32.eq (local.get $byte) (i32.const 0x5c))
      (then
        (local.set $p (i32.load8_u offset=1 (local.get $p)))
        (if (i32.eq (local.get $p) (i32.const 0x6e)) (then (return (i32.const 0x0a)))) ;; n
        (if (i32.eq (local.get $p) (i32.const 0x72)) (then (return (i32.const 0x0a)))) ;; r
        (if (i32.eq (local.get $p) (i32.const 0x74)) (then (return (i32.const 0x09)))) ;; t
      ))
    (local.get $byte))

  ;; Bytes of the unit at $p: two for an escape (the digits of a \u.... follow as text).
  (func $size (param $p i32) (result i32)
    (i32.add (i32.const 1) (i32.eq (i32.load8_u (local.get $p)) (i32.const 0x5c))))

  ;; ---- output -------------------------------------------------------------

  (func $put (param $from i32) (param $len i32)
    (call $reserve (local.get $len))
    (memory.copy (global.get $top) (local.get $from) (local.get $len))
    (global.set $top (i32.add (global.get $top) (local.get $len))))

  (func $pad (param $len i32)
    (call $reserve (local.get $len))
    (memory.fill (global.get $top) (i32.const 0x20) (local.get $len))
    (global.set $top (i32.add (global.get $top) (local.get $len))))

  ;; Have $len bytes at $top. A trap after a refused growth tells the host that the
  ;; run's memory limit was hit.
  (func $reserve (param $len i32)
    (local $missing i32)
    (local.set $missing
      (i32.sub
        (i32.add (global.get $top) (local.get $len))
        (i32.shl (memory.size) (i32.const 16))))
    (if (i32.gt_s (local.get $missing) (i32.const 0))
      (then
        (if (i32.eq
              (memory.grow (i32.shr_u (i32.add (local.get $missing) (i32.const 0xffff)) (i32.const 16)))
              (i32.const -1))
          (then (unreachable))))))

  ;; ---- JSON: compact and well-formed, as the host writes it ------------------

  ;; The value of an object's member, or 0; $name is `"name":` with its quotes and colon.
  (func $member (param $object i32) (param $name i32) (param $name_len i32) (result i32)
    (local $p i32)
    (if (i32.ne (i32.load8_u (local.get $object)) (i32.const 0x7b)) (then (return (i32.const 0))))
    (local.set $p (i32.add (local.get $object) (i32.const 1)))
    (loop $next
      (if (i32.ne (i32.load8_u (local.get $p)) (i32.const 0x22)) (then (return (i32.const 0))))
      (if (call $equal (local.get $p) (local.get $name) (local.get $name_len))
        (then (return (i32.add (local.get $p) (local.get $name_len)))))
      (local.set $p
        (i32.add
          (call $after_value (i32.add (call $after_string (local.get $p)) (i32.const 1)))
          (i32.const 1)))
      (br_if $next (i32.eq (i32.load8_u (i32.sub (local.get $p) (i32.const 1))) (i32.const 0x2c))))
    (i32.const 0))

  (func $after_value (param $p i32) (result i32)
    (local $byte i32) (local $depth i32)
    (loop $next
      (local.set $byte (i32.load8_u (local.get $p)))
      (if (i32.eq (local.get $byte) (i32.const 0x22))
        (then
          (local.set $p (call $after_string (local.get $p)))
          (br $next)))
      (if (i32.eqz (local.get $depth))
        (then
          (if (i32.or
                (i32.eqz (call $in_number (local.get $byte)))
                (i32.eqz (local.get $byte)))
            (then (return (local.get $p))))))
      ;; { and [ differ in one bit, and so do } and ]
      (local.set $byte (i32.and (local.get $byte) (i32.const 0xdf)))
      (local.set $depth
        (i32.sub
          (i32.add (local.get $depth) (i32.eq (local.get $byte) (i32.const 0x5b)))
          (i32.eq (local.get $byte) (i32.const 0x5d))))
      (local.set $p (i32.add (local.get $p) (i32.const 1)))
      (br $next))
    (unreachable))

  ;; Not a byte that ends a value: , } or ]
  (func $in_number (param $byte i32) (result i32)
    (i32.and
      (i32.ne (local.get $byte) (i32.const 0x2c))
      (i32.ne (i32.and (local.get $byte) (i32.const 0xdf)) (i32.const 0x5d))))

  (func $after_string (param $p i32) (result i32)
    (loop $next
      (local.set $p (i32.add (local.get $p) (call $size (local.get $p))))
      (br_if $next (i32.ne (i32.load8_u (local.get $p)) (i32.const 0x22))))
    (i32.add (local.get $p) (i32.const 1)))

  (func $equal (param $a i32) (param $b i32) (param $len i32) (result i32)
    (loop $next
      (if (i32.ne (i32.load8_u (local.get $a)) (i32.load8_u (local.get $b))) (then (return (i32.const 0))))
      (local.set $a (i32.add (local.get $a) (i32.const 1)))
      (local.set $b (i32.add (local.get $b) (i32.const 1)))
      (local.set $len (i32.sub (local.get $len) (i32.const 1)))
      (br_if $next (local.get $len)))
    (i32.const 1)))
