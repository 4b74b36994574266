;; Passes a request that lies outside its memory.
;; fails: requests.pointers
(module
  (import "rotifer" "readMemory" (func $read (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 20)
  (func (export "alloc") (param i32) (result i32) (i32.const 65536))
  (func (export "express") (param i32 i32) (result i32)
    (drop (call $read (i32.const -16) (i32.const 9) (i32.const 1024) (i32.const 4096)))
    (i32.const 0))
  (data (i32.const 0) "true\00"))
