"""Does what a host did match what a vector demands?

Every function returns complaints, none when all is well. Numbers and booleans are told
apart: `1` is neither `1.0` nor `true`.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from rotifer_host import contract
from rotifer_host.conformance.protocol import FILLER, CallOutcome
from rotifer_host.conformance.vectors.notation import expand

__all__ = ["audit_complaints", "call_complaints", "member_complaints", "state_complaints"]

Json = Mapping[str, Any]

_SHOWN: Final = 300
_NUL: Final = 0


def call_complaints(call: Json, outcome: CallOutcome, memory_size: int) -> Iterator[str]:
    """Compare one call's outcome with what the vector demands of it."""
    name, demanded = call["call"], call.get("result")
    if not outcome.guarded:
        yield f"{name} wrote outside [out_ptr, out_ptr + out_cap)"
    before, window = _windows(call, outcome, memory_size)
    if "keys" in call:
        keys = _keys(window[: max(outcome.result, 0)])
        if keys != call["keys"]:
            yield f"{name} gave {outcome.result}, and the keys {_shown(keys)}, not {_shown(call['keys'])}"
    elif outcome.result != demanded:
        yield f"{name} gave {outcome.result}, not {demanded}{_told(outcome, window, before)}"
    elif demanded >= 0:
        response = expand(call["response"])
        if window[:demanded] != response:
            yield f"{name} answered {_shown(window[:demanded])}, not {_shown(response)}"
        if window[demanded:] != before[demanded:]:
            yield f"{name} wrote to out beyond its response"
    elif call["error"] is None:
        if window != before:
            yield f"{name} touched out, which stays as it is with {demanded}"
    else:
        yield from (f"{name} {complaint}" for complaint in _payload_complaints(call["error"], window, before))


def _windows(call: Json, outcome: CallOutcome, memory_size: int) -> tuple[bytes, bytes]:
    """Return the window as it was before the call, and as it is after."""
    start = min(call["outPtr"], memory_size)
    end = min(call["outPtr"] + call["outCap"], memory_size)
    before = bytearray(FILLER * (end - start))
    request, at = expand(call["request"]), call["requestPtr"]
    overlap_start, overlap_end = max(at, start), min(at + len(request), end)
    if overlap_start < overlap_end:
        before[overlap_start - start : overlap_end - start] = request[overlap_start - at : overlap_end - at]
    return bytes(before), outcome.window.ljust(end - start, FILLER)


def _keys(response: bytes) -> list[str] | None:
    try:
        return [entry["key"] for entry in json.loads(response)]
    except (ValueError, TypeError, KeyError):
        return None


def _payload_complaints(error: Json, window: bytes, before: bytes) -> Iterator[str]:
    """Compare the error payload: whole, with an empty message, or none, and a NUL where there is room for one."""
    code, message = error["code"], error["message"]
    if message is None:
        if window != before:
            yield f"left {_shown(window)} in out, where no payload fits"
        return
    end = window.find(_NUL)
    text = window if end < 0 else window[:end]
    if end >= 0 and window[end + 1 :] != before[end + 1 :]:
        yield "wrote to out beyond its payload and the NUL after it"
    try:
        payload = json.loads(text)
        inner = payload[contract.ERROR_KEY]
        said = inner["message"]
        shaped = set(payload) == {contract.ERROR_KEY} and set(inner) == {"code", "message"} and isinstance(said, str)
    except (ValueError, KeyError, TypeError, RecursionError):
        shaped = False
    if not shaped:
        yield f"left {_shown(text)} in out, not an error payload"
        return
    if inner["code"] != code:
        yield f"gave the code {inner['code']!r}, not {code}"
    yield from _message_complaints(message, said)


def _message_complaints(message: Json, said: str) -> Iterator[str]:
    if "is" in message:
        if said != message["is"]:
            yield f"said {_shown(said)}, not {_shown(message['is'])}"
        return
    if not said:
        yield "gave no message, though there is room for one"
    for part in message.get("holds", ()):
        if part not in said:
            yield f"said {_shown(said)}, which lacks {part!r}"
    for part in message.get("lacks", ()):
        if part in said:
            yield f"said {_shown(said)}, which tells {part!r}"


def _told(outcome: CallOutcome, window: bytes, before: bytes) -> str:
    """Return what the host wrote with an unexpected result, since that tells why."""
    if window == before:
        return ""
    text = window[: outcome.result] if outcome.result >= 0 else window.split(b"\0", 1)[0]
    return f": {_shown(text)}"


def state_complaints(demanded: Sequence[Json], dumped: object) -> Iterator[str]:
    """Compare the entries a host holds, in whatever order, with those demanded."""
    if not isinstance(dumped, list) or not all(isinstance(one, dict) and "key" in one for one in dumped):
        yield "dumped no list of entries"
        return
    held = {one["key"]: one for one in dumped}
    wanted = {one["key"]: one for one in demanded}
    if len(held) != len(dumped):
        yield "holds two entries with one key"
    for key in wanted.keys() - held.keys():
        yield f"lost the entry {key!r}"
    for key in held.keys() - wanted.keys():
        yield f"holds an entry {key!r} that should not be"
    for key in wanted.keys() & held.keys():
        members = dict(wanted[key])
        members["value"] = base64.b64encode(expand(members["value"])).decode()
        yield from (f"entry {key!r}: {complaint}" for complaint in member_complaints(members, held[key]))


def audit_complaints(demanded: Sequence[Json], lines: object) -> Iterator[str]:
    """Compare audit lines, in order, with what they must hold; entries that expire together do so in any order."""
    if not isinstance(lines, list) or not all(isinstance(line, dict) for line in lines):
        yield "dumped no list of audit lines"
        return
    demanded, lines = _expiries_by_key(demanded), _expiries_by_key(lines)
    actions = [line.get("action") for line in lines]
    wanted = [line["action"] for line in demanded]
    if actions != wanted:
        counted = _difference(wanted, actions)
        yield f"audit lines are {_shown(counted)}"
        return
    for number, (line, expected) in enumerate(zip(lines, demanded, strict=True), start=1):
        for complaint in member_complaints(expected, line):
            yield f"audit line {number} ({expected['action']}): {complaint}"
        if "value" in line:
            yield f"audit line {number} holds the value"
        if expected["action"] == "memory.abort":
            continue
        if ("code" in expected) != isinstance(line.get("reason"), str) or ("code" not in expected and "code" in line):
            yield f"audit line {number}: code and reason are there for a refusal and absent otherwise"


def member_complaints(demanded: Json, found: Json) -> Iterator[str]:
    """Compare the members that are demanded; others may be there."""
    for name, value in demanded.items():
        if name not in found:
            yield f"lacks {name}"
        elif not same(found[name], value):
            yield f"{name} is {_shown(found[name])}, not {_shown(value)}"


def same(one: object, other: object) -> bool:
    """Compare JSON values with their types; the order of members does not matter."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _expiries_by_key(lines: Sequence[Json]) -> list[Json]:
    def order(line: Json) -> str:
        return str(line.get("key")) if line.get("action") == "memory.expire" else ""

    groups = groupby(lines, lambda line: line.get("action") == "memory.expire")
    return [line for _, together in groups for line in sorted(together, key=order)]


def _difference(wanted: list[str], found: list[Any]) -> str:
    if Counter(wanted) == Counter(found):
        return f"in another order: {found}, not {wanted}"
    return f"{found}, not {wanted}"


def _shown(value: object) -> str:
    if isinstance(value, bytes):
        text = value.decode(errors="backslashreplace")
    else:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"
