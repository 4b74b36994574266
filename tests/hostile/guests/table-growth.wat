;; Grows a table by four billion elements, and then element by element.
(module
    (memory (export "memory") 1)
    (data (i32.const 1024) "1\00")
    (table $t 0 funcref)
    (func (export "alloc") (param i32) (result i32) (i32.const 16384))
    (func (export "express") (param $input i32) (param $length i32) (result i32)
        (if (i32.ne (table.grow $t (ref.null func) (i32.const -1)) (i32.const -1)) (then (unreachable)))
        (loop (br_if 0 (i32.ne (table.grow $t (ref.null func) (i32.const 1)) (i32.const -1))))
        (if (i32.ne (table.size $t) (i32.const 10000)) (then (unreachable)))
        (i32.const 1024)))
