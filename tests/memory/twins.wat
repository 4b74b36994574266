;; Makes the memory calls it is told to, one after another, with the numbers it is told to; may be told to trap or to
;; run for ever instead. PAGES is replaced by the size of its memory.
(module
    (import "twins" "next" (func $next (result i32)))
    (import "twins" "number" (func $number (param i32) (result i32)))
    (import "twins" "done" (func $done (param i32)))
    (import "rotifer" "readMemory" (func $read (param i32 i32 i32 i32) (result i32)))
    (import "rotifer" "writeMemory" (func $write (param i32 i32 i32 i32) (result i32)))
    (import "rotifer" "queryMemory" (func $query (param i32 i32 i32 i32) (result i32)))
    (import "rotifer" "deleteMemory" (func $delete (param i32 i32 i32 i32) (result i32)))
    (type $call (func (param i32 i32 i32 i32) (result i32)))
    (table funcref (elem $read $write $query $delete))
    (memory (export "memory") PAGES)
    (func (export "express") (param i32 i32) (result i32)
        (local $which i32)
        (block $end
            (loop $again
                (local.set $which (call $next))
                (br_if $end (i32.eq (local.get $which) (i32.const -1)))
                (if (i32.eq (local.get $which) (i32.const -2)) (then unreachable))
                (if (i32.eq (local.get $which) (i32.const -3)) (then (loop $ever (br $ever))))
                (call $done (call_indirect (type $call)
                    (call $number (i32.const 0)) (call $number (i32.const 1))
                    (call $number (i32.const 2)) (call $number (i32.const 3))
                    (local.get $which)))
                (br $again)))
        (i32.store (i32.const 0) (i32.const 0x31))
        (i32.const 0)))
