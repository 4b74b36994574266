;; Sends requests that are ordinary but for one detail, first eight that are valid, then 22 that are not; each is read as
;; a write and as a read.
(module
    (import "rotifer" "readMemory" (func $read (param i32 i32 i32 i32) (result i32)))
    (import "rotifer" "writeMemory" (func $write (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (data (i32.const 1024) "1\00")
    (data (i32.const 8192)
        "{\"key\":\"k\",\"value\":\"AQ==\",\"category\":\"CACHE\"}\00"
        "\n{ \"category\" :\t\"CACHE\" ,\r\"value\" : \"\" , \"key\" : \"k\" } \00"
        "{\"key\":\"\\u006b\",\"value\":\"AQ==\",\"category\":\"CACHE\"}\00"
        "{\"\\u006bey\":\"k\",\"value\":\"AQ==\",\"category\":\"CACHE\"}\00"
        "{\"key\":\"\c3\a9\",\"value\":\"AQ==\",\"category\":\"CACHE\"}\00"
        "{\"key\":\"\7f\",\"value\":\"AQ==\",\"category\":\"CACHE\"}\00"
        "{\"key\":\"a\\\\\",\"value\":\"AQ==\",\"category\":\"CACHE\"}\00"
        "{\"key\":\"}\",\"value\":\"\\u0041Q==\",\"category\":\"C\\u0041CHE\"}\00"
        "{\"key\":\"\",\"value\":\"AQ==\",\"category\":\"CACHE\"}\00"
        "{\"key\":1,\"value\":\"AQ==\",\"category\":\"CACHE\"}\00"
        "{\"key\":null,\"value\":\"AQ==\",\"category\":\"CACHE\"}\00"
        "{\"key\":\"\01\",\"value\":\"AQ==\",\"category\":\"CACHE\"}\00"
        "{\"key\":\"\ff\",\"value\":\"AQ==\",\"category\":\"CACHE\"}\00"
        "{\"key\":\"\\ud800\",\"value\":\"AQ==\",\"category\":\"CACHE\"}\00"
        "{\"key\":\"k\",\"value\":\"AQ\",\"category\":\"CACHE\"}\00"
        "{\"key\":\"k\",\"value\":\"AR==\",\"category\":\"CACHE\"}\00"
        "{\"key\":\"k\",\"value\":\"A===\",\"category\":\"CACHE\"}\00"
        "{\"key\":\"k\",\"value\":\"====\",\"category\":\"CACHE\"}\00"
        "{\"key\":\"k\",\"value\":\"AQ= \",\"category\":\"CACHE\"}\00"
        "{\"key\":\"k\",\"value\":\"-_==\",\"category\":\"CACHE\"}\00"
        "{\"key\":\"k\",\"value\":[],\"category\":\"CACHE\"}\00"
        "{\"key\":\"k\",\"value\":\"AQ==\",\"category\":\"cache\"}\00"
        "{\"key\":\"k\",\"value\":\"AQ==\",\"category\":\"CACHES\"}\00"
        "{\"key\":\"k\",\"value\":\"AQ==\",\"category\":\"\"}\00"
        "{\"key\":\"k\",\"value\":\"AQ==\",\"category\":\"CACHE\",}\00"
        "{\"key\":\"k\",\"value\":\"AQ==\",\"category\":\"CACHE\"\00"
        "{\"key\":\"k\",\"value\":\"AQ==\",\"category\":\"CACHE\"}}\00"
        "[{\"key\":\"k\",\"value\":\"AQ==\",\"category\":\"CACHE\"}]\00"
        "\ef\bb\bf{\"key\":\"k\",\"value\":\"AQ==\",\"category\":\"CACHE\"}\00"
        "{'key':'k','value':'AQ==','category':'CACHE'}\00")
    (func (export "alloc") (param i32) (result i32) (i32.const 16384))
    (func (export "express") (param $input i32) (param $length i32) (result i32)
        (local $from i32) (local $to i32)
        (local.set $from (i32.const 8192))
        (loop $next
            (local.set $to (local.get $from))
            (loop (local.set $to (i32.add (local.get $to) (i32.const 1))) (br_if 0 (i32.load8_u (local.get $to))))
            (drop (call $write (local.get $from) (i32.sub (local.get $to) (local.get $from)) (i32.const 32768) (i32.const 4096)))
            (drop (call $read (local.get $from) (i32.sub (local.get $to) (local.get $from)) (i32.const 32768) (i32.const 4096)))
            (local.set $from (i32.add (local.get $to) (i32.const 1)))
            (br_if $next (i32.load8_u (local.get $from))))
        (i32.const 1024)))
