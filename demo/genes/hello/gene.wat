;; A gene that greets people and remembers whom it greeted last:
;;
;;   {"name":"Ada"}  ->  {"greeting":"Hello, Ada!"}         the first time
;;   {"name":"Ada"}  ->  {"greeting":"Welcome back, Ada!"}  right after
;;
;; It keeps the name in its agent's memory, so it knows it in the next run, too.
;; The name is used as JSON spells it, escapes and all: it never leaves JSON.
(module
  (import "rotifer" "readMemory" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "rotifer" "writeMemory" (func $write (param i32 i32 i32 i32) (result i32)))

  ;; Where things lie in memory, in bytes:
  ;;      0  texts
  ;;   1024  the write request, built below
  ;;   4096  the host's responses, at most 8192 bytes
  ;;  16384  the output
  ;;  65536  the input
  (memory (export "memory") 2)
  (data (i32.const 0) "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  (data (i32.const 64) "{\22name\22:\22")                            ;; 9 bytes
  (data (i32.const 128) "{\22key\22:\22greeting/last-name\22}")       ;; 28 bytes
  (data (i32.const 256) "{\22greeting\22:\22Hello, ")                ;; 20 bytes
  (data (i32.const 320) "{\22greeting\22:\22Welcome back, ")         ;; 27 bytes
  (data (i32.const 384) "!\22}\00")                                  ;; 4 bytes
  (data (i32.const 512) "{\22__rotifer_error\22:{\22message\22:\22input must be {\5c\22name\5c\22: a string of 1 to 512 bytes}\22}}\00")
  (data (i32.const 1024) "{\22key\22:\22greeting/last-name\22,\22category\22:\22CONTEXT\22,\22value\22:\22")  ;; 58 bytes

  ;; The host asks where to put the input: always there, with as many pages behind it as it takes.
  (func (export "alloc") (param $length i32) (result i32)
    (local $missing i32)
    (local.set $missing
      (i32.sub (i32.add (i32.shr_u (local.get $length) (i32.const 16)) (i32.const 2)) (memory.size)))
    (if (i32.gt_s (local.get $missing) (i32.const 0))
      (then
        (if (i32.eq (memory.grow (local.get $missing)) (i32.const -1)) (then (unreachable)))))
    (i32.const 65536))

  (func (export "express") (param $input i32) (param $length i32) (result i32)
    (local $name i32) (local $end i32) (local $result i32) (local $value_end i32) (local $out i32)

    ;; The input is compact JSON: {"name":"…"} and nothing else.
    (if (i32.lt_u (local.get $length) (i32.const 12)) (then (return (i32.const 512))))
    (if (i32.eqz (call $starts_with (local.get $input) (i32.const 64) (i32.const 9))) (then (return (i32.const 512))))
    (local.set $name (i32.add (local.get $input) (i32.const 9)))
    (local.set $end (call $string_end (local.get $name) (i32.add (local.get $input) (local.get $length))))
    (if (i32.ne (i32.add (local.get $end) (i32.const 2)) (i32.add (local.get $input) (local.get $length)))
      (then (return (i32.const 512))))
    (if (i32.gt_u (i32.sub (local.get $end) (local.get $name)) (i32.const 512)) (then (return (i32.const 512))))

    ;; What does the memory say? A missing entry is null, not an error.
    (local.set $result (call $read (i32.const 128) (i32.const 28) (i32.const 4096) (i32.const 8192)))
    (if (i32.lt_s (local.get $result) (i32.const 0)) (then (return (call $failed (local.get $result)))))

    ;; Finish the write request: the value goes in base64.
    (i32.store16 (local.get $end) (i32.const 0))  ;; the encoder reads up to two bytes beyond the name
    (local.set $value_end
      (call $base64 (local.get $name) (i32.sub (local.get $end) (local.get $name)) (i32.const 1082)))
    (i32.store16 (local.get $value_end) (i32.const 0x7d22))  ;; "}

    ;; Greet: an entry holding the same value has the same "value":"…" in it, which is 9 bytes before the base64.
    (local.set $out (i32.const 16384))
    (if (call $contains (i32.const 4096) (local.get $result)
                        (i32.const 1073) (i32.sub (local.get $value_end) (i32.const 1072)))
      (then
        (memory.copy (local.get $out) (i32.const 320) (i32.const 27))
        (local.set $out (i32.add (local.get $out) (i32.const 27))))
      (else
        (memory.copy (local.get $out) (i32.const 256) (i32.const 20))
        (local.set $out (i32.add (local.get $out) (i32.const 20)))))
    (memory.copy (local.get $out) (local.get $name) (i32.sub (local.get $end) (local.get $name)))
    (local.set $out (i32.add (local.get $out) (i32.sub (local.get $end) (local.get $name))))
    (memory.copy (local.get $out) (i32.const 384) (i32.const 4))

    ;; Remember the name. CONTEXT, not PREFERENCE: it comes from the input, which anybody may have written.
    (local.set $result
      (call $write (i32.const 1024) (i32.sub (local.get $value_end) (i32.const 1022)) (i32.const 4096) (i32.const 8192)))
    (if (i32.lt_s (local.get $result) (i32.const 0)) (then (return (call $failed (local.get $result)))))
    (i32.const 16384))

  ;; The host left {"__rotifer_error":…} where its response would be, and handing that on says why the run failed.
  ;; Only for -4, when the run's time is up, it leaves nothing: then the number is all there is to return.
  (func $failed (param $result i32) (result i32)
    (select (local.get $result) (i32.const 4096) (i32.eq (local.get $result) (i32.const -4))))

  ;; Where the JSON string that begins at $at ends: its closing quote, or $end.
  (func $string_end (param $at i32) (param $end i32) (result i32)
    (local $byte i32)
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        (local.set $byte (i32.load8_u (local.get $at)))
        (br_if $done (i32.eq (local.get $byte) (i32.const 0x22)))
        ;; a backslash takes the byte after it along
        (local.set $at (i32.add (local.get $at)
          (select (i32.const 2) (i32.const 1) (i32.eq (local.get $byte) (i32.const 0x5c)))))
        (br $next)))
    (local.get $at))

  (func $starts_with (param $text i32) (param $start i32) (param $length i32) (result i32)
    (loop $next
      (if (i32.eqz (local.get $length)) (then (return (i32.const 1))))
      (local.set $length (i32.sub (local.get $length) (i32.const 1)))
      (br_if $next (i32.eq (i32.load8_u (i32.add (local.get $text) (local.get $length)))
                           (i32.load8_u (i32.add (local.get $start) (local.get $length))))))
    (i32.const 0))

  (func $contains (param $text i32) (param $length i32) (param $part i32) (param $part_length i32) (result i32)
    (loop $next
      (if (i32.lt_u (local.get $length) (local.get $part_length)) (then (return (i32.const 0))))
      (if (call $starts_with (local.get $text) (local.get $part) (local.get $part_length))
        (then (return (i32.const 1))))
      (local.set $text (i32.add (local.get $text) (i32.const 1)))
      (local.set $length (i32.sub (local.get $length) (i32.const 1)))
      (br $next))
    (unreachable))

  ;; Write base64 at $to, three bytes to four characters, and return its end.
  (func $base64 (param $from i32) (param $length i32) (param $to i32) (result i32)
    (local $bits i32) (local $shift i32)
    (loop $group
      (local.set $bits (i32.or (i32.shl (i32.load8_u (local.get $from)) (i32.const 16))
                       (i32.or (i32.shl (i32.load8_u offset=1 (local.get $from)) (i32.const 8))
                               (i32.load8_u offset=2 (local.get $from)))))
      (local.set $shift (i32.const 18))
      (loop $character
        (i32.store8 (local.get $to)
          (i32.load8_u (i32.and (i32.shr_u (local.get $bits) (local.get $shift)) (i32.const 63))))
        (local.set $to (i32.add (local.get $to) (i32.const 1)))
        (local.set $shift (i32.sub (local.get $shift) (i32.const 6)))
        (br_if $character (i32.ge_s (local.get $shift) (i32.const 0))))
      (local.set $from (i32.add (local.get $from) (i32.const 3)))
      (local.set $length (i32.sub (local.get $length) (i32.const 3)))
      (br_if $group (i32.gt_s (local.get $length) (i32.const 0))))
    ;; what the last group lacks is written as =
    (if (i32.le_s (local.get $length) (i32.const -1))
      (then (i32.store8 (i32.sub (local.get $to) (i32.const 1)) (i32.const 0x3d))))
    (if (i32.le_s (local.get $length) (i32.const -2))
      (then (i32.store8 (i32.sub (local.get $to) (i32.const 2)) (i32.const 0x3d))))
    (local.get $to)))
