;; Repeats a failed call as it was, until it works.
;; fails: readMemory.small readMemory.large readMemory.-2 readMemory.-4 readMemory.-10 readMemory.-13
(module
  (import "rotifer" "readMemory" (func $read (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 40)
  (func (export "alloc") (param i32) (result i32) (i32.const 65536))
  (func (export "express") (param i32 i32) (result i32)
    (loop $again
      (br_if $again (i32.lt_s
        (call $read (i32.const 16) (i32.const 11) (i32.const 1024) (i32.const 4096))
        (i32.const 0))))
    (i32.const 0))
  (data (i32.const 0) "true\00")
  (data (i32.const 16) "{\"key\":\"k\"}"))
