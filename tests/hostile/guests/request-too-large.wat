;; Passes a request of 2 MiB and one byte more, all of it blanks.
(module
    (import "rotifer" "readMemory" (func $read (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 34)
    (data (i32.const 1024) "1\00")
    (func (export "alloc") (param i32) (result i32) (i32.const 16384))
    (func (export "express") (param $input i32) (param $length i32) (result i32)
        (memory.fill (i32.const 65536) (i32.const 0x20) (i32.const 2097153))
        (drop (call $read (i32.const 65536) (i32.const 2097153) (i32.const 2048) (i32.const 4096)))
        (i32.const 1024)))
