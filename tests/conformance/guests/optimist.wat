;; Makes all four calls and looks at no result: what is not a response is a trap.
;; fails: readMemory.null
;; fails: readMemory.small readMemory.large readMemory.grown readMemory.-2 readMemory.-4 readMemory.-10 readMemory.-13
;; fails: writeMemory.small writeMemory.grown
;; fails: writeMemory.-2 writeMemory.-4 writeMemory.-8 writeMemory.-10 writeMemory.-13
;; fails: queryMemory.small queryMemory.large queryMemory.grown queryMemory.-2 queryMemory.-4 queryMemory.-10 queryMemory.-13
;; fails: deleteMemory.-2 deleteMemory.-4 deleteMemory.-10 deleteMemory.-12 deleteMemory.-13
(module
  (import "rotifer" "readMemory" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "rotifer" "writeMemory" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "rotifer" "queryMemory" (func $query (param i32 i32 i32 i32) (result i32)))
  (import "rotifer" "deleteMemory" (func $delete (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 40)
  (func (export "alloc") (param i32) (result i32) (i32.const 65536))
  (func $must (param $result i32)
    (if (i32.lt_s (local.get $result) (i32.const 0)) (then (unreachable))))
  (func (export "express") (param i32 i32) (result i32)
    (call $must (call $write (i32.const 32) (i32.const 45) (i32.const 1024) (i32.const 4096)))
    (call $must (call $query (i32.const 0) (i32.const 0) (i32.const 1024) (i32.const 4096)))
    (call $must (call $read (i32.const 16) (i32.const 11) (i32.const 1024) (i32.const 4096)))
    (if (i32.ne (i32.load8_u (i32.const 1024)) (i32.const 0x7b)) (then (unreachable)))
    (call $must (call $delete (i32.const 16) (i32.const 11) (i32.const 1024) (i32.const 4096)))
    (i32.const 0))
  (data (i32.const 0) "true\00")
  (data (i32.const 16) "{\"key\":\"k\"}")
  (data (i32.const 32) "{\"key\":\"k\",\"value\":\"MQ==\",\"category\":\"CACHE\"}"))
