"""The message `replay` and its answer, as `abi/vectors/README.md` specifies them: all bytes in base64."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import msgspec

from rotifer_host.record.player import Event
from rotifer_host.record.recording import (
    Asked,
    Bytes,
    Exchange,
    Part,
    Recording,
    Refusal,
    Written,
    from_bytes,
    to_bytes,
)

__all__ = ["ReplayAnswer", "answer_to_event", "call_message", "read_answer", "replay_message"]

Json = Mapping[str, Any]


def replay_message(recording: Recording, part: Part, wasm: bytes) -> dict[str, Any]:
    """Return the message that asks for one part: everything but what the guest asked, which the host is to tell."""
    limits = recording.limits
    return {
        "do": "replay",
        "module": _text(wasm),
        "input": _text(to_bytes(part.input)),
        "limits": {
            "fuel": limits.fuel,
            "deadlineMs": limits.deadlineMs,
            "memoryBytes": limits.memoryBytes,
            "hostTimeMs": limits.hostTimeMs,
        },
        "logicalMs": part.logicalMs,
        "context": part.context,
        "events": [_answer(event) for event in part.events],
    }


def _answer(event: Event) -> dict[str, Any]:
    if isinstance(event, Asked):
        written = [{"at": one.at, "data": _text(to_bytes(one.data))} for one in event.written]
        return {"function": event.function, "result": event.result, "written": written}
    refusal = event.refusal
    return {
        "function": event.function,
        "early": event.request is None,
        "result": event.result,
        "response": None if event.response is None else _text(to_bytes(event.response)),
        "refusal": None
        if refusal is None
        else {"result": refusal.result, "code": refusal.code, "message": refusal.message},
    }


def answer_to_event(answer: Json) -> Event:
    """Return an event of the message as a recording has it; what the guest asked is not known, and left empty."""
    if "written" in answer:
        written = tuple(Written(at=one["at"], data=_bytes(one["data"])) for one in answer["written"])
        return Asked(function=answer["function"], arguments=(), result=answer["result"], written=written)
    early, response, refusal = answer["early"], answer["response"], answer["refusal"]
    return Exchange(
        function=answer["function"],
        request=None if early else "",
        outCap=None if early else 0,
        result=answer["result"],
        response=None if response is None else _bytes(response),
        refusal=None if refusal is None else Refusal(**refusal),
    )


def call_message(asked: Event, result: int | None) -> dict[str, Any]:
    """Return a call that the guest made, as the answer to the message lists it."""
    if isinstance(asked, Asked):
        return {"function": asked.function, "arguments": list(asked.arguments)}
    request = None if asked.request is None else _text(to_bytes(asked.request))
    return {"function": asked.function, "request": request, "outCap": asked.outCap, "result": result}


class ReplayAnswer(msgspec.Struct):
    """The answer to the message, as far as every host has to give it; see `read_answer`."""

    status: str
    calls: list[Event]
    output: bytes | None = None
    """When the status is `ok`."""


def read_answer(answer: Json) -> ReplayAnswer:
    """Return the answer with its calls as a recording has them.

    Raises `ValueError` that says which member is missing, or of which type it must be.
    """
    try:
        read = msgspec.convert(answer, _Answer)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None
    if read.status == "ok" and read.output is None:
        raise ValueError("Object missing required field `output`, as its status is ok")
    return ReplayAnswer(read.status, [_event(number, call) for number, call in enumerate(read.calls, 1)], read.output)


class _Answer(msgspec.Struct):
    status: str
    calls: list[dict[str, Any]]
    output: bytes | None = None


class _Asked(msgspec.Struct):
    function: str
    arguments: list[int]


class _Exchanged(msgspec.Struct):
    function: str
    request: bytes | None
    outCap: int | None  # noqa: N815 - the protocol's name
    result: int | None


def _event(number: int, call: Json) -> Event:
    try:
        if "arguments" in call:
            asked = msgspec.convert(call, _Asked)
            return Asked(function=asked.function, arguments=tuple(asked.arguments), result=None)
        exchanged = msgspec.convert(call, _Exchanged)
    except msgspec.ValidationError as error:
        raise ValueError(f"call {number}: {error}") from None
    return Exchange(
        function=exchanged.function,
        request=None if exchanged.request is None else from_bytes(exchanged.request),
        outCap=exchanged.outCap,
        result=exchanged.result,
        response=None,
    )


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _bytes(text: str) -> Bytes:
    return from_bytes(base64.b64decode(text, validate=True))
