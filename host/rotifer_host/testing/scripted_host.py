"""A host that answers a guest exactly what a test tells it to."""

from __future__ import annotations

from collections import deque
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rotifer_host import contract
from rotifer_host.errors import HostCallError
from rotifer_host.limits import Limits
from rotifer_host.sandbox import (
    Deadline,
    ExchangeFunction,
    GuestResult,
    HostFunctions,
    HostTime,
    Sandbox,
    core_functions,
    decode_document,
    encode_document,
    wasi_functions,
)
from rotifer_host.sandbox.result import Ending
from rotifer_host.testing.project import module_bytes

if TYPE_CHECKING:
    from rotifer_host.sandbox import Run

__all__ = ["Request", "ScriptedHost"]

_DEFAULT_LIMITS: Final = Limits()


class Request(NamedTuple):
    """One memory call, as the guest made it."""

    call: str
    """`readMemory`, …"""
    body: bytes
    out_cap: int

    @property
    def json(self) -> Any:  # noqa: ANN401 - whatever the guest sent
        """The request as a JSON value. Raises `DocumentError` when it is none."""
        return decode_document(self.body)


class ScriptedHost:
    """The four memory calls with answers from a script, to test how a guest takes them.

        host = ScriptedHost()
        host.answer("readMemory", None)
        host.answer("writeMemory", QuotaExceededError("full"))
        result = host.run(Path("genes/greet/gene.wasm"), {"name": "Ada"})
        assert [request.call for request in host.requests] == ["readMemory", "writeMemory"]

    Nothing is checked, stored or refused here unless the script says so: a guest that
    passes may still break every rule of memory (`temporary_agent` has them all). One
    run at a time. The guest itself is sandboxed as ever.
    """

    def __init__(self) -> None:
        self.requests: list[Request] = []
        """Every memory call so far, in order."""
        self._answers: dict[str, deque[bytes | HostCallError]] = {call: deque() for call in contract.MEMORY_CALLS}

    def answer(self, call: str, *answers: Any) -> None:  # noqa: ANN401 - any JSON value
        """Add answers to the next calls of `readMemory`, …: a JSON value, bytes as they are, or an error.

        An error is one of `HostCallError`'s kinds; the guest gets its result and payload.
        Raises `ValueError` for a call there is not, `DocumentError` for what is not JSON.
        """
        if call not in self._answers:
            message = f"{call!r} is not one of {', '.join(contract.MEMORY_CALLS)}"
            raise ValueError(message)
        self._answers[call].extend(
            answer if isinstance(answer, bytes | HostCallError) else encode_document(answer) for answer in answers
        )

    @property
    def unused(self) -> dict[str, int]:
        """How many answers are left for each call that has any."""
        return {call: len(answers) for call, answers in self._answers.items() if answers}

    @property
    def functions(self) -> HostFunctions:
        """All host functions a guest may import, for a `Sandbox` of your own."""
        memory = tuple(
            ExchangeFunction("rotifer", call, _let_in, partial(self._handle, call)) for call in contract.MEMORY_CALLS
        )
        return HostFunctions(core_functions(), wasi_functions(), memory)

    def run(
        self,
        module: bytes | str | Path,
        document: Any = None,  # noqa: ANN401 - any JSON value
        *,
        limits: Limits = _DEFAULT_LIMITS,
        logical_ms: int = 0,
    ) -> GuestResult:
        """Run a guest on one JSON value: a `.wasm` or `.wat` file, a module's bytes, or WAT text.

        A call the script has no answer for ends the run as `failed`, code `UNSCRIPTED`.
        Raises `ModuleError`.
        """
        sandbox = Sandbox(self.functions, cache_dir=None)
        return sandbox.run(
            sandbox.load(module_bytes(module), name="guest"),
            encode_document(document),
            limits=limits,
            deadline=Deadline(limits.deadline_ms),
            host_time=HostTime(limits.host_time_ms),
            services=None,
            context={},
            logical_ms=logical_ms,
        )

    def _handle(self, call: str, run: Run, request: bytes, out_cap: int) -> bytes:
        self.requests.append(Request(call, request, out_cap))
        if not self._answers[call]:
            run.stop(Ending("failed", "UNSCRIPTED", f"the script has no answer left for {call}"))
        answer = self._answers[call].popleft()
        if isinstance(answer, HostCallError):
            raise answer
        run.admit(len(answer), out_cap)
        return answer


def _let_in(run: Run) -> None:
    """Refuse nobody."""
