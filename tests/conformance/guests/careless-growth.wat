;; Repeats with more room, and looks for its output where its memory ends by then.
;; fails: readMemory.grown readMemory.small readMemory.large
(module
  (import "rotifer" "readMemory" (func $read (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 20)
  (func (export "alloc") (param i32) (result i32) (i32.const 65536))
  (func (export "express") (param i32 i32) (result i32)
    (local $result i32) (local $room i32)
    (local.set $room (i32.const 4096))
    (loop $again
      (local.set $result (call $read (i32.const 16) (i32.const 11) (i32.const 1024) (local.get $room)))
      (if (i32.eq (local.get $result) (i32.const -1))
        (then
          (if (i32.lt_s (memory.grow (i32.const 100)) (i32.const 0)) (then (return (i32.const -1))))
          (local.set $room (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.const 1024)))
          (br $again))))
    (if (i32.lt_s (local.get $result) (i32.const 0)) (then (return (local.get $result))))
    (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.const 16)))
  (data (i32.const 1310704) "true\00")
  (data (i32.const 16) "{\"key\":\"k\"}"))
