"""Guests as WAT text: each does one thing."""

from __future__ import annotations

import json
from typing import Any

PAGE = 65536


def _escaped(text: str) -> str:
    return "".join(f"\\{byte:02x}" for byte in text.encode())


def constant(output: Any) -> str:
    """Return the same JSON, whatever the input."""
    return f"""(module
      (memory (export "memory") 8)
      (data (i32.const {PAGE}) "{_escaped(json.dumps(output))}\\00")
      (func (export "express") (param i32 i32) (result i32) (i32.const {PAGE})))"""


ECHO = f"""(module
  (memory (export "memory") 8)
  (func (export "alloc") (param i32) (result i32) (i32.const {PAGE}))
  (func (export "express") (param i32 i32) (result i32) (local.get 0)))"""

TRAP = """(module
  (memory (export "memory") 1)
  (func (export "express") (param i32 i32) (result i32) unreachable))"""

LOOP = """(module
  (memory (export "memory") 1)
  (func (export "express") (param i32 i32) (result i32) (loop $for_ever (br $for_ever)) (i32.const 0)))"""


def rejecting(message: str) -> str:
    """Refuse every input."""
    return constant({"__rotifer_error": {"message": message}})


def write(key: str, value: str = "AAAA", category: str = "CONTEXT", **more: Any) -> tuple[str, dict[str, Any]]:
    """Return the call that writes; `value` is base64."""
    return "writeMemory", {"key": key, "value": value, "category": category, **more}


def read(key: str) -> tuple[str, dict[str, Any]]:
    """Return the call that reads."""
    return "readMemory", {"key": key}


def calling(*calls: tuple[str, dict[str, Any]], output: Any = None, ends: str = "") -> str:
    """Make memory calls in turn and return the last one's response, or `output`, or do what `ends` says."""
    names = dict.fromkeys(name for name, _ in calls)
    imports = "\n".join(
        f'(import "rotifer" "{name}" (func ${name} (param i32 i32 i32 i32) (result i32)))' for name in names
    )
    requests = [json.dumps(request) for _, request in calls]
    data = "\n".join(
        f'(data (i32.const {(2 * index + 1) * PAGE}) "{_escaped(request)}")' for index, request in enumerate(requests)
    )
    body = "\n".join(
        f"(drop (call ${name} (i32.const {(2 * index + 1) * PAGE}) (i32.const {len(request.encode())}) "
        f"(i32.const {(2 * index + 2) * PAGE}) (i32.const {PAGE - 1})))"
        for index, ((name, _), request) in enumerate(zip(calls, requests, strict=True))
    )
    text = "" if output is None else f'(data (i32.const 16) "{_escaped(json.dumps(output))}\\00")'
    result = 2 * len(calls) * PAGE if output is None else 16
    return f"""(module {imports}
      (memory (export "memory") {2 * len(calls) + 1})
      {data} {text}
      (func (export "express") (param i32 i32) (result i32)
        {body} {ends}
        (i32.const {result})))"""


def meeting(mine: str, other: str) -> str:
    """Write the key `mine`, then read until there is the key `other`: two of these end only side by side."""
    wanted = json.dumps({"key": other})
    written = json.dumps({"key": mine, "value": "", "category": "CONTEXT"})
    return f"""(module
      (import "rotifer" "writeMemory" (func $write (param i32 i32 i32 i32) (result i32)))
      (import "rotifer" "readMemory" (func $read (param i32 i32 i32 i32) (result i32)))
      (memory (export "memory") 2)
      (func (export "alloc") (param i32) (result i32) (i32.const 32768))
      (data (i32.const 1024) "{_escaped(written)}")
      (data (i32.const 2048) "{_escaped(wanted)}")
      (func (export "express") (param i32 i32) (result i32) (local $length i32)
        (drop (call $write (i32.const 1024) (i32.const {len(written)}) (i32.const 4096) (i32.const 4096)))
        (loop $again
          (local.set $length
            (call $read (i32.const 2048) (i32.const {len(wanted)}) (i32.const {PAGE}) (i32.const {PAGE - 1})))
          (br_if $again (i32.lt_s (local.get $length) (i32.const 5))))
        (i32.const {PAGE})))"""


def filling(times: int, category: str = "CACHE") -> str:
    """Write entries of 1,024 bytes under the keys `fill/0000`, `fill/0001`, … and return the last response."""
    request = json.dumps({"key": "fill/0000", "value": "A" * 1368, "category": category}, separators=(",", ":"))
    at = request.index("0000")
    return f"""(module
      (import "rotifer" "writeMemory" (func $write (param i32 i32 i32 i32) (result i32)))
      (memory (export "memory") 2)
      (func (export "alloc") (param i32) (result i32) (i32.const 32768))
      (data (i32.const 1024) "{request.replace('"', chr(92) + '"')}")
      (func $digit (param $at i32) (param $n i32)
        (i32.store8 (local.get $at) (i32.add (i32.const 48) (i32.rem_u (local.get $n) (i32.const 10)))))
      (func (export "express") (param i32 i32) (result i32) (local $n i32)
        (loop $again
          (call $digit (i32.const {1024 + at + 3}) (local.get $n))
          (call $digit (i32.const {1024 + at + 2}) (i32.div_u (local.get $n) (i32.const 10)))
          (call $digit (i32.const {1024 + at + 1}) (i32.div_u (local.get $n) (i32.const 100)))
          (drop (call $write (i32.const 1024) (i32.const {len(request)}) (i32.const {PAGE}) (i32.const {PAGE - 1})))
          (br_if $again (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const {times}))))
        (i32.const {PAGE})))"""


_CLOCK_KEY = json.dumps({"key": "clock"})
_CLOCK_REQUEST = {"key": "clock", "value": "0000", "category": "CONTEXT"}
_CLOCK_AT = len(f'{{"entryId":"{"0" * 64}","category":"CONTEXT","key":"clock","value":"')
_CLOCK = f"""
  (data (i32.const 4096) "{_escaped(_CLOCK_KEY)}")
  (data (i32.const 16) "true\\00")
  (func (export "alloc") (param i32) (result i32) (i32.const 32768))
  (func $digit (param $at i32) (result i32)
    (i32.sub (i32.load8_u (i32.add (i32.const {PAGE + _CLOCK_AT}) (local.get $at))) (i32.const 48)))
  (func $shown (result i32)
    (if (i32.le_s
          (call $read (i32.const 4096) (i32.const {len(_CLOCK_KEY)}) (i32.const {PAGE}) (i32.const 4096))
          (i32.const 4))
      (then (return (i32.const -1))))
    (i32.add
      (i32.mul (call $digit (i32.const 1)) (i32.const 100))
      (i32.add (i32.mul (call $digit (i32.const 2)) (i32.const 10)) (call $digit (i32.const 3)))))"""
_READ = '(import "rotifer" "readMemory" (func $read (param i32 i32 i32 i32) (result i32)))'


def ticking(last: int) -> str:
    """Write 0, 1, … `last` under the key `clock`, and trap unless each is what it reads right after, twice."""
    request = json.dumps(_CLOCK_REQUEST)
    at = 8192 + request.index("0000")
    return f"""(module {_READ}
      (import "rotifer" "writeMemory" (func $write (param i32 i32 i32 i32) (result i32)))
      (memory (export "memory") 2) {_CLOCK}
      (data (i32.const 8192) "{_escaped(request)}")
      (func $put (param $at i32) (param $n i32)
        (i32.store8 (local.get $at) (i32.add (i32.const 48) (i32.rem_u (local.get $n) (i32.const 10)))))
      (func (export "express") (param i32 i32) (result i32) (local $n i32)
        (loop $again
          (call $put (i32.const {at + 3}) (local.get $n))
          (call $put (i32.const {at + 2}) (i32.div_u (local.get $n) (i32.const 10)))
          (call $put (i32.const {at + 1}) (i32.div_u (local.get $n) (i32.const 100)))
          (drop (call $write (i32.const 8192) (i32.const {len(request)}) (i32.const 16384) (i32.const 4096)))
          (if (i32.ne (call $shown) (local.get $n)) (then unreachable))
          (if (i32.ne (call $shown) (local.get $n)) (then unreachable))
          (br_if $again (i32.le_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const {last}))))
        (i32.const 16)))"""


def watching(last: int) -> str:
    """Read the key `clock` until it is `last`, and trap when it ever goes back."""
    return f"""(module {_READ}
      (memory (export "memory") 2) {_CLOCK}
      (func (export "express") (param i32 i32) (result i32) (local $seen i32) (local $now i32)
        (local.set $seen (i32.const -1))
        (loop $again
          (if (i32.lt_s (local.tee $now (call $shown)) (local.get $seen)) (then unreachable))
          (local.set $seen (local.get $now))
          (br_if $again (i32.lt_s (local.get $now) (i32.const {last}))))
        (i32.const 16)))"""


_READS, _ASKS = (
    """(import "rotifer" "readMemory" (func $read (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 2) (data (i32.const 4096) "{\\"key\\":\\"k\\"}")
    (data (i32.const 4200) "{\\"key\\":\\"stop\\"}")""",
    """(import "rotifer" "queryMemory" (func $query (param i32 i32 i32 i32) (result i32)))
    (import "rotifer" "writeMemory" (func $write (param i32 i32 i32 i32) (result i32)))""",
)
READING = f"""(module {_READS}
    (func (export "express") (param i32 i32) (result i32) (local $left i32)
        (local.set $left (i32.const 5000000))
        (loop $again
            (drop (call $read (i32.const 4096) (i32.const 11) (i32.const 8192) (i32.const 4096)))
            (local.set $left (i32.sub (local.get $left) (i32.const 1)))
            (br_if $again (i32.and (i32.gt_s (local.get $left) (i32.const 0))
                (i32.eq (call $read (i32.const 4200) (i32.const 14) (i32.const 8192) (i32.const 4096)) (i32.const 4)))))
        (i32.const 64)) (data (i32.const 64) "1"))"""
"""Reads `k` until there is a key `stop`."""
ASKING = f"""(module {_ASKS} {_READS}
    (data (i32.const 4300) "{{\\"keyPrefix\\":\\"k\\"}}")
    (data (i32.const 4400) "{{\\"key\\":\\"stop\\",\\"value\\":\\"\\",\\"category\\":\\"CACHE\\"}}")
    (func $reader (result i64) (local $at i32) (local $sum i64)
        (drop (call $query (i32.const 4300) (i32.const 17) (i32.const 16384) (i32.const 4096)))
        (loop $next
            (local.set $sum (i64.add (i64.mul (local.get $sum) (i64.const 31))
                (i64.load8_u offset=16384 (local.get $at))))
            (local.set $at (i32.add (local.get $at) (i32.const 1)))
            (br_if $next (i32.lt_u (local.get $at) (i32.const 440))))
        (local.get $sum))
    (func (export "express") (param i32 i32) (result i32)
        (local $left i32) (local $turns i32) (local $last i64) (local $now i64)
        (local.set $left (i32.const 300000))
        (local.set $last (call $reader))
        (loop $again
            (drop (call $read (i32.const 4096) (i32.const 11) (i32.const 8192) (i32.const 4096)))
            (local.set $now (call $reader))
            (if (i64.ne (local.get $now) (local.get $last)) (then
                (local.set $turns (i32.add (local.get $turns) (i32.const 1)))
                (local.set $last (local.get $now))))
            (local.set $left (i32.sub (local.get $left) (i32.const 1)))
            (br_if $again (i32.and (i32.gt_s (local.get $left) (i32.const 0))
                (i32.lt_u (local.get $turns) (i32.const 6)))))
        (drop (call $write (i32.const 4400) (i32.const 44) (i32.const 8192) (i32.const 4096)))
        (i32.store8 (i32.const 64) (i32.add (i32.const 48) (local.get $turns)))
        (i32.const 64)) (data (i32.const 64) "0"))"""
"""Reads `k`, asks who read it last, and tells how often that was another one than before: until six times."""
