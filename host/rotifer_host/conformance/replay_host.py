"""A recorded run, run again by another host: where does it first do something else?

The host speaks the protocol of `abi/vectors/README.md` and has the capability `replay`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from rotifer_host.conformance.host import greet
from rotifer_host.conformance.protocol import HostError, HostUnderTest
from rotifer_host.conformance.replay_message import ReplayAnswer, read_answer, replay_message
from rotifer_host.conformance.vectors import guest_source
from rotifer_host.errors import DocumentError
from rotifer_host.record.difference import (
    Difference,
    compare_call,
    ending,
    first_difference,
    left_over,
    shown_around,
)
from rotifer_host.record.player import Event
from rotifer_host.record.recording import Exchange, Outcome, Part, Recording, to_bytes
from rotifer_host.record.replay import PartReplay, Replay, modules_of
from rotifer_host.sandbox import assemble, decode_document, encode_document, inspect

__all__ = ["replay_on"]

Json = Mapping[str, Any]

_CAPABILITY: Final = "replay"
_STOPPED: Final = "stopped"
_NEEDED: Final = {
    "FUEL_EXHAUSTED": "fuel",
    "DEADLINE_EXCEEDED": "deadline",
    "HOST_TIME_EXCEEDED": "host-time",
}
"""What a host must have to end a run with this code."""
_WASI: Final = "wasi_snapshot_preview1"
_BUDGET: Final = "-4"


def replay_on(host: HostUnderTest, recording: Recording, modules: Sequence[bytes] = ()) -> Replay:
    """Run a recording again on a host; `modules` are taken for those the recording left out.

    What the guest asks is compared as on a call path; of how it ended, status, code and
    output, and what the host tells besides: log, standard error, results of calls,
    memory. Messages are each host's own, except those of a rejection.

    Raises `HostError` for a host that does not keep the protocol or lacks what the run
    needs, `RecordingError` for a module that is missing or damaged.
    """
    name, able = greet(host, assemble(guest_source()))
    if _CAPABILITY not in able:
        raise HostError(f"{name} cannot replay: it has no capability `{_CAPABILITY}`")
    bytes_of = modules_of(recording, modules)
    parts: list[PartReplay] = []
    for number, part in enumerate(recording.parts, 1):
        wasm = bytes_of[part.module]
        lacking = sorted(set(_needs(part, wasm)) - able)
        if lacking:
            raise HostError(f"{name} has no {', '.join(lacking)}: it cannot do what {part.gene} did")
        answer = host.ask(replay_message(recording, part, wasm))
        if "error" in answer:
            raise HostError(f"{name} could not replay {part.gene}: {answer['error']}")
        try:
            parts.append(_compared(part, number, read_answer(answer), answer))
        except (ValueError, DocumentError) as error:
            raise HostError(f"{name} answered a replay in another form than the protocol's: {error}") from error
        if parts[-1].difference is not None:
            break
    return Replay(name, tuple(parts))


def _needs(part: Part, wasm: bytes) -> Iterator[str]:
    if any(item.module == _WASI for item in inspect(wasm).imports):
        yield "wasi"
    outcome = part.outcome
    if outcome is None:
        return
    if outcome.error is not None and outcome.error.code in _NEEDED:
        yield _NEEDED[outcome.error.code]
    if any(_BUDGET in results for results in outcome.answers.values()):
        yield "fuel"


def _compared(part: Part, number: int, read: ReplayAnswer, answer: Json) -> PartReplay:
    difference = _compare_calls(part, number, read.calls)
    stopped = read.status == _STOPPED
    if difference is None and part.outcome is not None and not stopped:
        difference = _compare_ending(part, number, part.outcome, read, answer)
    if difference is None and stopped and (not part.events or part.events[-1].result is not None):
        raise ValueError("it stopped the run, though all that was asked has its answer")
    fuel = answer.get("fuel")
    return PartReplay(
        gene=part.gene,
        calls=len(read.calls) if difference is None or difference.call is None else difference.call - 1,
        fuel_recorded=None if part.outcome is None else part.outcome.fuel,
        fuel=fuel if isinstance(fuel, int) else None,
        difference=difference,
    )


def _compare_calls(part: Part, number: int, calls: Sequence[Event]) -> Difference | None:
    for call, now in enumerate(calls, 1):
        recorded = part.events[call - 1] if call <= len(part.events) else None
        difference = compare_call(part.gene, number, call, recorded, now)
        if difference is not None:
            return difference
        if isinstance(recorded, Exchange) and recorded.result != now.result:
            return Difference(part.gene, number, call, "result", str(recorded.result), str(now.result))
    return left_over(part, number, len(calls))


def _compare_ending(part: Part, number: int, recorded: Outcome, read: ReplayAnswer, answer: Json) -> Difference | None:
    place = Difference(part.gene, number, None, "status", "", "")
    status, code, message = read.status, answer.get("code"), str(answer.get("message"))
    error = recorded.error
    rejected = error is not None and recorded.status == "rejected" and error.message != message
    if (status, code) != (recorded.status, None if error is None else error.code) or rejected:
        now = status if code is None else f"{status}, {code}: {message}"
        return replace(place, recorded=ending(recorded), now=now)
    if status == "ok" and read.output is not None:
        output = encode_document(decode_document(read.output))
        then = encode_document(decode_document(to_bytes(recorded.output)))
        if output != then:
            at = first_difference(then, output)
            return replace(place, what="output", recorded=shown_around(then, at), now=shown_around(output, at), at=at)
    for what, name, then_told in (
        ("log", "log", recorded.log),
        ("stderr", "stderr", recorded.stderr),
        ("answers", "answers", recorded.answers),
        ("memory", "memoryBytes", recorded.peakMemoryBytes),
    ):
        if name in answer and answer[name] != then_told:
            return replace(place, what=what, recorded=str(then_told), now=str(answer[name]))
    return None
