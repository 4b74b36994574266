;; Calls itself for ever through a table.
(module
    (memory (export "memory") 1)
    (data (i32.const 1024) "1\00")
    (type $nothing (func))
    (table 1 funcref)
    (elem (i32.const 0) $deeper)
    (func $deeper (call_indirect (type $nothing) (i32.const 0)))
    (func (export "alloc") (param i32) (result i32) (i32.const 16384))
    (func (export "express") (param $input i32) (param $length i32) (result i32)
        (call $deeper)
        (i32.const 1024)))
