"""What is timed: the same requests on the same memory, and what each must be answered with."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any, Final

from bench.guest import Step

__all__ = [
    "AGENT_ID",
    "CASES",
    "CATEGORY",
    "DOMAIN",
    "ENTRIES",
    "GENE_ID",
    "READ_KEY",
    "VALUE",
    "Case",
    "case",
    "entry",
    "filled_keys",
]

AGENT_ID: Final = "3c0a5a4e-6f52-4f39-8a29-0d5f3b1f7c11"
GENE_ID: Final = "v2:" + "5e" * 32
DOMAIN: Final = "bench.formatter"
CATEGORY: Final = "PREFERENCE"
VALUE: Final = bytes(range(64))
READ_KEY: Final = "formatter/indent"
ENTRIES: Final = 10_000
"""Entries that fill the memory, besides the one of `READ_KEY`; a write replaces one of them."""
NOOP_RESULT: Final = 10
"""What the function of four numbers answers to (1, 2, 3, 4): their sum."""

_READ: Final = b'{"key":"formatter/indent","category":"PREFERENCE"}'
_READ_ANY: Final = b'{"key":"bench/0000","category":"PREFERENCE"}'
_WRITE: Final = b'{"key":"bench/0000","value":"%b","category":"PREFERENCE"}' % base64.b64encode(VALUE)
_ECHO: Final = b'{"echo":"fifty bytes there, the same fifty back."}'
_TIME: Final = re.compile(r'"(createdAt|updatedAt)":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"')
_MASK: Final = "2000-01-01T00:00:00.000Z"


def filled_keys() -> list[str]:
    """Return the keys of all entries a memory is filled with before anything is timed."""
    return [READ_KEY, *map(_fill_key, range(ENTRIES))]


def _fill_key(number: int) -> str:
    return f"bench/{number % ENTRIES:04d}"


@dataclass(frozen=True)
class Case:
    """One kind of work."""

    name: str
    title: str
    steps: tuple[Step, ...]
    whole_run: bool = False
    """Whether the figure is a whole run, or one call of a run of many (less what a run without calls takes)."""
    units: int | None = None
    """Units in a timed run; None for as many as a sample's time allows."""
    writes: bool = False
    """Whether it changes memory, so that it is timed on the disk too."""

    def check(self, units: int, output: object) -> None:
        """Raise `AssertionError` unless `output` is what so many units must answer, byte for byte but for times."""
        text = output.decode() if isinstance(output, bytes) else _compact(output)
        text = _TIME.sub(rf'"\1":"{_MASK}"', text)
        expected = self._expected(units)
        if text != expected:
            message = f"{self.name}, {units} units: got {text[:800]}, not {expected[:800]}"
            raise AssertionError(message)

    def _expected(self, units: int) -> str:
        total, response, written = 0, "null", units * sum(step.times for step in self.steps if step.digits_at)
        for step in self.steps:
            answer = _answer(step, _fill_key(written - 1))
            total += step.times * (len(answer) if step.exchanges else NOOP_RESULT)
            if step.exchanges and units:
                response = answer
        return f'["{units * total:010d}",{response}]'


def entry(key: str, time: str = _MASK) -> dict[str, Any]:
    """Return an entry of the memory as a guest sees it (memory-api.en.md, "Entries")."""
    return {
        "entryId": hashlib.sha256(f"{AGENT_ID}\0{key}".encode()).hexdigest(),
        "category": CATEGORY,
        "key": key,
        "value": base64.b64encode(VALUE).decode(),
        "createdBy": GENE_ID,
        "lastAccessedBy": GENE_ID,
        "createdAt": time,
        "updatedAt": time,
        "accessPolicy": {"readScope": "SAME_DOMAIN", "writeScope": "SAME_DOMAIN", "sharePolicy": "PRIVATE"},
        "retentionPolicy": None,
    }


def _answer(step: Step, written: str) -> str:
    if step.name == "echo":
        return step.request.decode()
    return _compact(entry(READ_KEY if step.digits_at is None else written))


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


_NOOP_STEP: Final = Step("rotifer.ext.bench", "noop", b"", exchanges=False)
_READ_STEP: Final = Step("rotifer", "readMemory", _READ)
_READ_ANY_STEP: Final = Step("rotifer", "readMemory", _READ_ANY, digits_at=_READ_ANY.index(b"0000"))
_WRITE_STEP: Final = Step("rotifer", "writeMemory", _WRITE, digits_at=_WRITE.index(b"0000"))

CASES: Final = (
    Case("noop", "no-op: four numbers in, one out", (_NOOP_STEP,)),
    Case("echo", "exchange: 50 bytes in, the same 50 out", (Step("rotifer.ext.bench", "echo", _ECHO),)),
    Case("read", "a whole readMemory, always of one entry", (_READ_STEP,)),
    Case("readany", "a whole readMemory, each of another of 10,000 entries", (_READ_ANY_STEP,)),
    Case("write", "a whole writeMemory that stands on its own", (_WRITE_STEP,), writes=True),
    Case("write100", "one writeMemory of a run of 100, saving them included", (_WRITE_STEP,), units=100, writes=True),
    Case("start", "start: a whole run that makes no call", (_NOOP_STEP,), whole_run=True, units=0),
    Case(
        "run",
        "a whole run of 10 readMemory and 2 writeMemory",
        (Step("rotifer", "readMemory", _READ, times=10), _WRITE_STEP, _WRITE_STEP),
        whole_run=True,
        units=1,
        writes=True,
    ),
)


def case(name: str) -> Case:
    """Return the case of this name."""
    return next(case for case in CASES if case.name == name)
