;; Has data for an address outside its memory, so that there can be no instance.
(module
    (memory (export "memory") 1)
    (data (i32.const 1024) "1\00")
    (data (i32.const 65530) "too long a text")
    (func (export "alloc") (param i32) (result i32) (i32.const 16384))
    (func (export "express") (param $input i32) (param $length i32) (result i32)
        (i32.const 1024)))
