;; Asks for 4 GiB at once, and for more pages than there are addresses.
(module
    (memory (export "memory") 1)
    (data (i32.const 1024) "1\00")
    (func (export "alloc") (param i32) (result i32) (i32.const 16384))
    (func (export "express") (param $input i32) (param $length i32) (result i32)
        (if (i32.ne (memory.grow (i32.const 65535)) (i32.const -1)) (then (unreachable)))
        (if (i32.ne (memory.grow (i32.const -1)) (i32.const -1)) (then (unreachable)))
        (i32.const 1024)))
