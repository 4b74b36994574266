;; Asks for a limit of a million digits.
(module
    (import "rotifer" "queryMemory" (func $query (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 34)
    (data (i32.const 1024) "1\00")
    (data (i32.const 0) "{\"limit\":")
    (func (export "alloc") (param i32) (result i32) (i32.const 16384))
    (func (export "express") (param $input i32) (param $length i32) (result i32)
        (memory.copy (i32.const 65536) (i32.const 0) (i32.const 9))
        (memory.fill (i32.const 65545) (i32.const 0x39) (i32.const 1000000))
        (i32.store8 (i32.const 1065545) (i32.const 0x7d))
        (drop (call $query (i32.const 65536) (i32.const 1000010) (i32.const 2048) (i32.const 4096)))
        (i32.const 1024)))
