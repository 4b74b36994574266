;; Exports globals and functions with SIMD vectors and references.
(module
    (memory (export "memory") 1)
    (data (i32.const 1024) "1\00")
    (global (export "vector") v128 (v128.const i64x2 1 2))
    (func (export "dot") (param v128 v128) (result v128) (local.get 0))
    (global (export "reference") externref (ref.null extern))
    (func (export "many") (param externref funcref) (result v128 i64 f32) (v128.const i64x2 1 2) (i64.const 1) (f32.const 1))
    (table (export "table") 1 externref)
    (func (export "alloc") (param i32) (result i32) (i32.const 16384))
    (func (export "express") (param $input i32) (param $length i32) (result i32)
        (i32.const 1024)))
