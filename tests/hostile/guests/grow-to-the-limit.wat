;; Grows its memory page by page until it is refused, and goes on.
(module
    (memory (export "memory") 1)
    (data (i32.const 1024) "1\00")
    (func (export "alloc") (param i32) (result i32) (i32.const 16384))
    (func (export "express") (param $input i32) (param $length i32) (result i32)
        (loop (br_if 0 (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
        (i32.const 1024)))
