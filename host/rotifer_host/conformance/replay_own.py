"""The message `replay`, answered by this project's host: a guest runs in its sandbox, with the answers it is given."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final

from rotifer_host.conformance.replay_message import answer_to_event, call_message
from rotifer_host.errors import ModuleError
from rotifer_host.limits import Limits
from rotifer_host.record.player import Event, Player
from rotifer_host.record.recorder import outcome_of
from rotifer_host.record.recording import Exchange, to_bytes
from rotifer_host.sandbox import Deadline, HostFunctions, HostTime, Sandbox
from rotifer_host.sandbox.result import Ending

__all__ = ["answer_replay"]

_IN_A_CALL: Final = Ending("failed", "REPLAY_STOPPED", "the recorded run ended in this call")
_TOO_SMALL: Final = -1


def answer_replay(message: Mapping[str, Any], functions: HostFunctions, call_path: str) -> dict[str, Any]:
    """Run a module with the answers of the message, and tell what it asked and how it ended."""
    player = _Noting()
    sandbox = Sandbox(player.replaying(functions), call_path=call_path)
    try:
        module = sandbox.load(base64.b64decode(message["module"], validate=True), name="guest")
    except ModuleError as error:
        return {"status": "refused", "code": error.code, "message": error.message, "calls": []}
    player.start([answer_to_event(answer) for answer in message["events"]], _IN_A_CALL)
    limits = message["limits"]
    result = sandbox.run(
        module,
        base64.b64decode(message["input"], validate=True),
        limits=Limits(limits["fuel"], limits["deadlineMs"], limits["memoryBytes"], limits["hostTimeMs"]),
        deadline=Deadline(limits["deadlineMs"]),
        host_time=HostTime(limits["hostTimeMs"]),
        services=None,
        context=message["context"],
        logical_ms=message["logicalMs"],
    )
    outcome = outcome_of(result)
    answer: dict[str, Any] = {
        "status": "stopped" if player.stopped else outcome.status,
        "calls": player.calls,
        "answers": outcome.answers,
        "log": outcome.log,
        "stderr": outcome.stderr,
        "memoryBytes": outcome.peakMemoryBytes,
        "fuel": outcome.fuel,
    }
    if outcome.error is not None:
        return answer | {"code": outcome.error.code, "message": outcome.error.message}
    return answer | {"output": base64.b64encode(result.output_json).decode()}


class _Noting(Player):
    """Answers whatever is asked of the function that comes next, and notes it."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[dict[str, Any]] = []
        self.stopped = False
        """The next answer is that of another function, or there is none."""

    def matches(self, event: Event | None, asked: Event) -> bool:
        """Note the call, with the result that it will have."""
        fits = event is not None and event.function == asked.function and type(event) is type(asked)
        self.stopped = not fits or (event is not None and event.result is None)
        self.calls.append(call_message(asked, _result(event, asked) if fits else None))
        return fits


def _result(event: Event | None, asked: Event) -> int | None:
    if isinstance(event, Exchange) and event.response is not None and isinstance(asked, Exchange):
        size = len(to_bytes(event.response))
        return size if size <= (asked.outCap or 0) else _TOO_SMALL
    return None if event is None else event.result
