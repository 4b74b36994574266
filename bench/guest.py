"""The guests that are timed: one loop, over two guest ABIs.

A guest makes the calls of a *unit* n times, where n is its input, and outputs
`["SUM",RESPONSE]`: the sum of all results as ten digits, and the bytes the last call
answered (`null` before any). So the output proves every call, and the time of n units
less the time of none is the time of the calls alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["OUTPUT_CAP", "Step", "direct_guest", "extism_guest"]

_REQUESTS_AT: Final = 1024
_OUT: Final = 8192
_OUT_CAP: Final = 2048
_HEAD: Final = '["0000000000",'
_HEAD_AT: Final = _OUT - len(_HEAD)
_DIGITS_AT: Final = _HEAD_AT + 2
OUTPUT_CAP: Final = len(_HEAD) + _OUT_CAP + 2
"""Bytes an output and its NUL take at most."""


@dataclass(frozen=True)
class Step:
    """A call of a host function with a fixed request, made `times` times in each unit."""

    module: str
    name: str
    request: bytes
    times: int = 1
    digits_at: int | None = None
    """Where in the request four digits stand that count calls up, so that each call has a key of its own."""
    exchanges: bool = True
    """False for a function that takes four numbers, (1, 2, 3, 4), and answers with one."""


def direct_guest(steps: tuple[Step, ...]) -> str:
    """Return the module as text for hosts of the gene ABI: `alloc`, `express`, a result at an address."""
    imports = "\n".join(
        f'(import "{step.module}" "{step.name}" (func $call{index} (param i32 i32 i32 i32) (result i32)))'
        for index, step in enumerate(steps)
    )
    return f"""(module
{imports}
(memory (export "memory") 1)
{_data(steps)}
(func (export "alloc") (param $len i32) (result i32) (i32.const 16))
(func (export "express") (param $input i32) (param $len i32) (result i32)
  (local $n i32) (local $size i32)
  (loop $digit
    (local.set $n (i32.add
      (i32.mul (local.get $n) (i32.const 10))
      (i32.sub (i32.load8_u (local.get $input)) (i32.const 48))))
    (local.set $input (i32.add (local.get $input) (i32.const 1)))
    (br_if $digit (local.tee $len (i32.sub (local.get $len) (i32.const 1)))))
  (if (i32.lt_s (local.tee $size (call $units (local.get $n))) (i32.const 0)) (then (return (local.get $size))))
  (i32.const {_HEAD_AT}))
{_units(steps)})"""


def extism_guest(steps: tuple[Step, ...]) -> str:
    """Return the same guest for Extism: bytes go through its memory, copied eight at a time as its PDKs do."""
    imports = "\n".join(
        f'(import "{step.module}" "{step.name}" (func $host{index} '
        + ("(param i64) (result i64)))" if step.exchanges else "(param i32 i32 i32 i32) (result i32)))")
        for index, step in enumerate(steps)
    )
    calls = "\n".join(
        f"(func $call{index} (param $request i32) (param $size i32) (param $out i32) (param $cap i32) (result i32)\n"
        + (_EXCHANGE if step.exchanges else _NUMBERS).replace("$host", f"$host{index}")
        for index, step in enumerate(steps)
    )
    return f"""(module
{imports}
{_EXTISM_IMPORTS}
(memory (export "memory") 1)
{_data(steps)}
(func (export "express") (result i32)
  (local $n i32) (local $i i64) (local $size i32) (local $output i64)
  (loop $digit
    (local.set $n (i32.add
      (i32.mul (local.get $n) (i32.const 10))
      (i32.sub (call $input_load_u8 (local.get $i)) (i32.const 48))))
    (local.set $i (i64.add (local.get $i) (i64.const 1)))
    (br_if $digit (i64.lt_u (local.get $i) (call $input_length))))
  (if (i32.lt_s (local.tee $size (call $units (local.get $n))) (i32.const 0)) (then (return (local.get $size))))
  (local.set $output (call $send (i32.const {_HEAD_AT}) (local.get $size)))
  (call $output_set (local.get $output) (i64.extend_i32_u (local.get $size)))
  (i32.const 0))
{_EXTISM_COPIES}
{calls}
{_units(steps)})"""


def _data(steps: tuple[Step, ...]) -> str:
    segments = [f"(data (i32.const {_HEAD_AT}) {_text(_HEAD.encode() + b'null')})"]
    segments += [
        f"(data (i32.const {at}) {_text(step.request)})"
        for at, step in zip(_addresses(steps), steps, strict=True)
        if step.request
    ]
    return "\n".join(segments)


def _addresses(steps: tuple[Step, ...]) -> list[int]:
    at, addresses = _REQUESTS_AT, []
    for step in steps:
        addresses.append(at)
        at += len(step.request) + 8
    return addresses


def _text(data: bytes) -> str:
    return '"' + "".join(f"\\{byte:02x}" for byte in data) + '"'


def _units(steps: tuple[Step, ...]) -> str:
    """`$units(n)` makes the calls, completes the output and returns its length, or a call's negative result."""
    body = "\n".join(
        _call(index, at, step)
        for index, (at, step) in enumerate(zip(_addresses(steps), steps, strict=True))
        for _ in range(step.times)
    )
    return f"""(func $units (param $n i32) (result i32)
  (local $size i32) (local $result i32) (local $sum i64) (local $at i32) (local $count i32)
  (local.set $size (i32.const 4))
  (block $done
    (loop $next
      (br_if $done (i32.eqz (local.get $n)))
{body}
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br $next)))
  (local.set $at (i32.const {_DIGITS_AT + 10}))
  (loop $digit
    (local.set $at (i32.sub (local.get $at) (i32.const 1)))
    (i32.store8 (local.get $at) (i32.wrap_i64 (i64.add (i64.rem_u (local.get $sum) (i64.const 10)) (i64.const 48))))
    (local.set $sum (i64.div_u (local.get $sum) (i64.const 10)))
    (br_if $digit (i32.gt_u (local.get $at) (i32.const {_DIGITS_AT}))))
  (i32.store16 (i32.add (i32.const {_OUT}) (local.get $size)) (i32.const 0x005d))
  (i32.add (local.get $size) (i32.const {len(_HEAD) + 1})))
(func $count_up (param $at i32) (param $count i32)
  (i32.store8 offset=3 (local.get $at) (i32.add (i32.const 48) (i32.rem_u (local.get $count) (i32.const 10))))
  (i32.store8 offset=2 (local.get $at)
    (i32.add (i32.const 48) (i32.rem_u (i32.div_u (local.get $count) (i32.const 10)) (i32.const 10))))
  (i32.store8 offset=1 (local.get $at)
    (i32.add (i32.const 48) (i32.rem_u (i32.div_u (local.get $count) (i32.const 100)) (i32.const 10))))
  (i32.store8 (local.get $at)
    (i32.add (i32.const 48) (i32.rem_u (i32.div_u (local.get $count) (i32.const 1000)) (i32.const 10)))))"""


def _call(index: int, at: int, step: Step) -> str:
    if not step.exchanges:
        return f"""      (local.set $sum (i64.add (local.get $sum) (i64.extend_i32_u
        (call $call{index} (i32.const 1) (i32.const 2) (i32.const 3) (i32.const 4)))))"""
    count = ""
    if step.digits_at is not None:
        count = f"""      (call $count_up (i32.const {at + step.digits_at}) (local.get $count))
      (local.set $count (i32.add (local.get $count) (i32.const 1)))
"""
    arguments = f"(i32.const {at}) (i32.const {len(step.request)}) (i32.const {_OUT}) (i32.const {_OUT_CAP})"
    return f"""{count}      (local.set $size (call $call{index} {arguments}))
      (if (i32.lt_s (local.get $size) (i32.const 0)) (then (return (local.get $size))))
      (local.set $sum (i64.add (local.get $sum) (i64.extend_i32_u (local.get $size))))"""


_NUMBERS: Final = "(call $host (local.get $request) (local.get $size) (local.get $out) (local.get $cap)))"

_EXCHANGE: Final = """  (local $block i64) (local $answer i64)
  (local.set $block (call $send (local.get $request) (local.get $size)))
  (local.set $answer (call $host (local.get $block)))
  (call $free (local.get $block))
  (local.set $size (i32.wrap_i64 (call $length (local.get $answer))))
  (if (i32.gt_u (local.get $size) (local.get $cap)) (then (return (i32.const -1))))
  (call $receive (local.get $answer) (local.get $size) (local.get $out))
  (call $free (local.get $answer))
  (local.get $size))"""

_EXTISM_IMPORTS: Final = """(import "extism:host/env" "input_length" (func $input_length (result i64)))
(import "extism:host/env" "input_load_u8" (func $input_load_u8 (param i64) (result i32)))
(import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
(import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
(import "extism:host/env" "free" (func $free (param i64)))
(import "extism:host/env" "length" (func $length (param i64) (result i64)))
(import "extism:host/env" "load_u8" (func $load_u8 (param i64) (result i32)))
(import "extism:host/env" "load_u64" (func $load_u64 (param i64) (result i64)))
(import "extism:host/env" "store_u8" (func $store_u8 (param i64 i32)))
(import "extism:host/env" "store_u64" (func $store_u64 (param i64 i64)))"""

_EXTISM_COPIES: Final = """(func $send (param $from i32) (param $size i32) (result i64)
  (local $block i64) (local $i i32)
  (local.set $block (call $alloc (i64.extend_i32_u (local.get $size))))
  (block $rest
    (loop $words
      (br_if $rest (i32.gt_u (i32.add (local.get $i) (i32.const 8)) (local.get $size)))
      (call $store_u64
        (i64.add (local.get $block) (i64.extend_i32_u (local.get $i)))
        (i64.load (i32.add (local.get $from) (local.get $i))))
      (local.set $i (i32.add (local.get $i) (i32.const 8)))
      (br $words)))
  (block $done
    (loop $bytes
      (br_if $done (i32.ge_u (local.get $i) (local.get $size)))
      (call $store_u8
        (i64.add (local.get $block) (i64.extend_i32_u (local.get $i)))
        (i32.load8_u (i32.add (local.get $from) (local.get $i))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br $bytes)))
  (local.get $block))
(func $receive (param $block i64) (param $size i32) (param $to i32)
  (local $i i32)
  (block $rest
    (loop $words
      (br_if $rest (i32.gt_u (i32.add (local.get $i) (i32.const 8)) (local.get $size)))
      (i64.store
        (i32.add (local.get $to) (local.get $i))
        (call $load_u64 (i64.add (local.get $block) (i64.extend_i32_u (local.get $i)))))
      (local.set $i (i32.add (local.get $i) (i32.const 8)))
      (br $words)))
  (block $done
    (loop $bytes
      (br_if $done (i32.ge_u (local.get $i) (local.get $size)))
      (i32.store8
        (i32.add (local.get $to) (local.get $i))
        (call $load_u8 (i64.add (local.get $block) (i64.extend_i32_u (local.get $i)))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br $bytes))))"""
