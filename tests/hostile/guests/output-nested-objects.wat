;; Returns a thousand objects inside each other, which a decoder may take and an encoder may not.
(module
    (memory (export "memory") 1)
    (data (i32.const 1024) "1\00")
    (data (i32.const 0) "{\"a\":")
    (global $at (mut i32) (i32.const 4096))
    (func (export "alloc") (param i32) (result i32) (i32.const 16384))
    (func (export "express") (param $input i32) (param $length i32) (result i32)
        (loop (memory.copy (global.get $at) (i32.const 0) (i32.const 5)) (global.set $at (i32.add (global.get $at) (i32.const 5))) (br_if 0 (i32.lt_u (global.get $at) (i32.const 9096))))
        (i32.store8 (i32.const 9096) (i32.const 0x31))
        (memory.fill (i32.const 9097) (i32.const 0x7d) (i32.const 1000))
        (i32.const 4096)))
