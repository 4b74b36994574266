;; Traps in functions whose names clear the screen, set its title and forge an error.
(module
    (memory (export "memory") 1)
    (func $inner (@name "\1b[2J\1b]0;owned\07\c2\9b31m\e2\80\ae\0aerror: forged") unreachable)
    (func (export "express") (param i32 i32) (result i32) (call $inner) (i32.const 0)))
