"""How a gene takes what its memory calls may be answered: every result, and responses it does not expect."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from rotifer_host import contract
from rotifer_host.conformance.gene_host import (
    GENE_ID,
    Answer,
    GeneHost,
    Request,
    Script,
    Trial,
    refusal,
    response,
)
from rotifer_host.conformance.gene_points import failed, not_applicable, passed
from rotifer_host.conformance.gene_runs import ending, problem
from rotifer_host.conformance.report import Verdict
from rotifer_host.errors import (
    AccessDeniedError,
    BufferTooSmallError,
    HostCallError,
    InvalidInputError,
    NotFoundError,
    QuotaExceededError,
    StorageError,
)
from rotifer_host.limits import format_size
from rotifer_host.sandbox import encode_document
from rotifer_host.text import counted

__all__ = ["check_calls"]

_ERRORS: Final[tuple[type[HostCallError], ...]] = (
    AccessDeniedError,
    QuotaExceededError,
    InvalidInputError,
    NotFoundError,
    StorageError,
)
_ONLY: Final = {contract.QUOTA_EXCEEDED: "writeMemory", contract.NOT_FOUND: "deleteMemory"}
"""Results that one call alone can have."""
_NO_RESPONSE: Final = "deleteMemory"
"""The call that never answers -1."""
_MESSAGE: Final = "because the test says so"
_FUEL: Final = 4 * contract.DEFAULT_FUEL
_TIME: Final = "2026-01-01T00:00:00.000Z"
_FOREIGN_VALUES: Final = (b"", b"\xff\xfe\x00\x80", b"0", b"[]", '"é☃𝄞'.encode(), bytes(range(256)) * 4)
_LARGE_VALUE: Final = bytes(range(256)) * (contract.MAX_VALUE_BYTES // 256)
_LIMITS: Final = ("FUEL_EXHAUSTED", "OUTPUT_TOO_LARGE")
"""What a gene may run into that works on 4 MiB; one that asks for them without end is found out before."""
_THRICE: Final = 3
_FEW: Final = 4
"""Entries of 1 MiB that make the largest query result."""

_Giving = Callable[[Request, int], Answer | None]


class _Case(NamedTuple):
    """A call that the gene makes on its example inputs, and how that went."""

    call: str
    trial: Trial


def check_calls(host: GeneHost, documents: Sequence[bytes], imported: Sequence[str]) -> Iterator[Verdict]:
    """Ask a gene all points of the memory calls it makes on its example inputs."""
    for call in contract.MEMORY_CALLS:
        if call not in imported:
            yield not_applicable(f"{call}.success", "not imported")
    twice = [*documents, *documents]  # the second round meets what the first has written
    host.forget()
    trials = [host.run(document) for document in twice]
    for call in imported:
        index = next((i for i, trial in enumerate(trials) if _made(trial, call)), None)
        if index is None:
            yield not_applicable(
                f"{call}.success", "imported, and not called on these inputs; --input JSON gives one that leads to it"
            )
            continue
        yield from _Asking(host, twice[: index + 1], _Case(call, trials[index])).points()


def _made(trial: Trial, call: str) -> list[Request]:
    return [request for request in trial.requests if request.call == call]


class _Asking:
    """All that is asked about one call."""

    def __init__(self, host: GeneHost, documents: Sequence[bytes], case: _Case) -> None:
        self._host = host
        self._documents = documents
        self._call = case.call
        self._usual = case.trial

    def points(self) -> Iterator[Verdict]:
        count = len(_made(self._usual, self._call))
        words = problem(self._usual)
        point = f"{self._call}.success"
        seen = f"{counted(count, 'call')}, {ending(self._usual)}"
        yield failed(point, seen) if words else passed(point, seen)
        if self._call == "readMemory":
            yield self._taken("null", [self._giving(lambda _request, _count: response(b"null"))])
        if self._call in ("readMemory", "queryMemory"):
            yield self._taken("foreign", [self._giving(_foreign(value)) for value in _FOREIGN_VALUES])
            yield self._taken("large", [self._giving(_foreign(_LARGE_VALUE, _FEW))])
        if self._call != _NO_RESPONSE:
            yield self._small()
            yield self._grown()
        yield self._taken("-4", [self._giving(lambda _request, _count: Answer(contract.BUDGET_EXHAUSTED))])
        for kind in _ERRORS:
            if _ONLY.get(kind.result, self._call) == self._call:
                yield self._taken(
                    str(kind.result), [self._giving(_refusing(kind, long=long)) for long in (False, True)]
                )

    def _taken(self, what: str, scripts: Sequence[Script]) -> Verdict:
        """Say whether each answer leads to an end in the gene's own words."""
        point = f"{self._call}.{what}"
        broken, endings = [], []
        for script in scripts:
            trial = self._run(script)
            endings.append(ending(trial))
            if (words := problem(trial)) and not (what == "large" and words.startswith(_LIMITS)):
                broken.append(words)
        if broken:
            return failed(point, "; ".join(dict.fromkeys(broken)))
        return passed(point, "; ".join(dict.fromkeys(endings)))

    def _small(self) -> Verdict:
        point = f"{self._call}.small"
        # the entry may grow between a call and its repetition
        thrice = self._run(
            self._giving(lambda request, count: _too_small(request, request.out_cap + 1) if count < _THRICE else None)
        )
        if words := problem(thrice):
            return failed(point, f"after three times -1: {words}")
        once = self._run(self._giving(_too_small_once(1)))
        if words := problem(once):
            return failed(point, words)
        again = self._repeat(once)
        if again is None:
            return passed(point, f"gives up, {ending(once)}")
        first, second = again
        if second.out_cap <= first.out_cap:
            return failed(point, f"repeats with room for {second.out_cap} bytes after {first.out_cap} were too few")
        if once.outcome != self._usual.outcome:
            return failed(point, f"repeats, and ends {ending(once)} instead of {ending(self._usual)}")
        return passed(point, f"repeats with room for {second.out_cap} bytes after {first.out_cap}")

    def _grown(self) -> Verdict:
        point = f"{self._call}.grown"
        trial = self._run(self._giving(_too_small_once(contract.MAX_QUERY_BYTES)))
        if words := problem(trial):
            return failed(point, words)
        before, after = (each.result.peak_memory_bytes for each in (self._usual, trial))
        if self._repeat(trial) is None:
            return not_applicable(point, "does not repeat a call that needs 4 MB of room")
        if after <= before:
            return not_applicable(point, f"its memory did not grow beyond {format_size(before)}")
        if trial.outcome != self._usual.outcome:
            return failed(point, f"ends {ending(trial)} instead of {ending(self._usual)}")
        return passed(point, f"grew from {format_size(before)} to {format_size(after)}, {ending(trial)}")

    def _repeat(self, trial: Trial) -> tuple[Request, Request] | None:
        """Return a call and its repetition; None when the next call was another one."""
        made = _made(trial, self._call)[:2]
        return (made[0], made[1]) if len(made) > 1 and made[0].body == made[1].body else None

    def _giving(self, answer: _Giving) -> Script:
        return lambda request, count: answer(request, count) if request.call == self._call else None

    def _run(self, script: Script) -> Trial:
        """Run on the input that leads to the call, with memory as it was then."""
        self._host.forget()
        for document in self._documents[:-1]:
            self._host.run(document)
        return self._host.run(self._documents[-1], script, fuel=_FUEL)


def _refusing(kind: type[HostCallError], *, long: bool) -> _Giving:
    """Refuse, with a message, or with one too long for the room there is."""

    def answer(request: Request, _count: int) -> Answer:
        return refusal(kind(_MESSAGE + " " * request.out_cap if long else _MESSAGE), request.out_cap)

    return answer


def _too_small(request: Request, needed: int) -> Answer:
    message = f"response needs {needed} bytes, out_cap is {request.out_cap}"
    return refusal(BufferTooSmallError(message), request.out_cap)


def _too_small_once(more: int) -> _Giving:
    return lambda request, count: None if count else _too_small(request, request.out_cap + more)


def _foreign(value: bytes, entries: int = 1) -> _Giving:
    """Answer with entries that hold this value: one for a read, so many for a query."""

    def answer(request: Request, _count: int) -> Answer:
        asked = _asked(request.body)
        if request.call == "readMemory":
            return response(encode_document(_entry(str(asked.get("key", "k")), asked, value)))
        prefix = str(asked.get("keyPrefix", ""))
        return response(encode_document([_entry(f"{prefix}{number}", asked, value) for number in range(entries)]))

    return answer


def _asked(body: bytes) -> dict[str, object]:
    try:
        value = json.loads(body)
    except ValueError:
        return {}
    inner = value.get("filter", value) if isinstance(value, dict) else None
    return inner if isinstance(inner, dict) else {}


def _entry(key: str, asked: dict[str, object], value: bytes) -> dict[str, object]:
    return {
        "entryId": "0" * 64,
        "category": asked.get("category", "CONTEXT"),
        "key": key,
        "value": base64.b64encode(value).decode(),
        "createdBy": f"v2:{'1' * 64}",
        "lastAccessedBy": GENE_ID,
        "createdAt": _TIME,
        "updatedAt": _TIME,
        "accessPolicy": {"readScope": "SAME_DOMAIN", "writeScope": "SAME_DOMAIN", "sharePolicy": "PRIVATE"},
        "retentionPolicy": None,
    }
