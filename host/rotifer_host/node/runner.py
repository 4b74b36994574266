"""Runs a gene's script in a Node.js process that is kept warm for the run."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Final

from rotifer_host import contract
from rotifer_host.errors import GeneError
from rotifer_host.limits import format_size
from rotifer_host.node import messages
from rotifer_host.node.bundle import runnable
from rotifer_host.node.calls import Calls
from rotifer_host.node.child import Child, ChildStopped, out_of_memory
from rotifer_host.node.program import NodeProgram, find_node
from rotifer_host.node.workspace import Workspace
from rotifer_host.sandbox import (
    NO_OUTPUT,
    Ending,
    GuestError,
    GuestResult,
    Interrupts,
    Output,
    Streams,
    encode_document,
    input_too_large,
    output_too_large,
    overdue,
    read_output,
)
from rotifer_host.text import shortened

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rotifer_host.agent.memory_calls import MemoryAccess, NoMemory
    from rotifer_host.gene.script import Script
    from rotifer_host.limits import Limits
    from rotifer_host.sandbox import Deadline, HostTime

__all__ = ["NodeRunner", "node_runner"]

_LEAST_MEMORY: Final = 16 * contract.MIB
_SHOWN: Final = 1000
_SHOWN_FRAMES: Final = 20
_OUT_OF_MEMORY: Final = (
    "RangeError: Array buffer allocation failed",
    "RangeError: Failed to allocate memory",
    "RangeError: WebAssembly.Memory",
)
_OUT_OF_STACK: Final = "RangeError: Maximum call stack size exceeded"


def node_runner(script: Script, *folders: Path) -> NodeRunner:
    """Return a runner of a gene's script on the Node.js there is.

    Where esbuild is needed it is looked for in `folders`. Raises `GeneError`: with code
    `NODE` when there is no Node.js, or none that can run it.
    """
    node = find_node()
    return NodeRunner(runnable(script, node, *folders), node)


class NodeRunner:
    """The script of one gene for the length of one run; started when it is first run, ended by `close`.

    Fuel is not metered. `limits.memory_bytes` bounds the JavaScript heap, and what the
    process maps besides what Node.js takes for itself.
    """

    compiled = False

    def __init__(self, script: Script, node: NodeProgram) -> None:
        self._script = script
        self._node = node
        self._workspace: Workspace | None = None
        self._child: Child | None = None

    def run(  # noqa: PLR0913 - what every runner is given
        self,
        text: bytes,
        *,
        limits: Limits,
        deadline: Deadline,
        host_time: HostTime,
        services: MemoryAccess | NoMemory,
        context: Mapping[str, object],
        logical_ms: int,  # noqa: ARG002 - the context has it
        version: memoryview | None,  # noqa: ARG002 - nothing is kept on the other side of a pipe
    ) -> GuestResult:
        """Run once on `text`, compact JSON in UTF-8, as `Sandbox.run` does.

        Raises `GeneError` with code `NODE` when Node.js cannot be started.
        """
        started = monotonic()
        calls, streams = Calls(services, deadline, host_time), Streams()
        peak = 0
        found: Output | Ending
        if len(text) > contract.MAX_INPUT_BYTES:
            found = input_too_large(len(text))
        else:
            with Interrupts(deadline):
                order = messages.run(text, encode_document(dict(context)))
                found, peak = self._obeyed(order, calls, streams, limits, deadline)
        if isinstance(found, Output):
            found = overdue(deadline) or found
        ending, output = (found, NO_OUTPUT) if isinstance(found, Ending) else (None, found)
        return GuestResult(
            status="ok" if ending is None else ending.status,
            output=output.value,
            output_json=output.encoded,
            error=None if ending is None else GuestError(ending.code, ending.message, list(ending.backtrace)),
            duration_ms=(monotonic() - started) * 1000,
            fuel=0,
            peak_memory_bytes=peak,
            host_calls=calls.stats,
            log=streams.log.text(),
            log_dropped=streams.log.dropped,
            stderr=streams.stderr.text(),
            stderr_dropped=streams.stderr.dropped,
        )

    def close(self) -> None:
        """End the process, and delete the copy of the gene."""
        self._end_child()
        if self._workspace is not None:
            self._workspace.close()
            self._workspace = None

    def _obeyed(
        self, order: bytes, calls: Calls, streams: Streams, limits: Limits, deadline: Deadline
    ) -> tuple[Output | Ending, int]:
        """Have one order obeyed; returns what came of it and the peak of memory.

        A process that is of no use any more is ended.
        """
        found: Output | Ending
        if limits.memory_bytes < _LEAST_MEMORY:
            limit = format_size(limits.memory_bytes)
            words = f"Node.js starts with {format_size(_LEAST_MEMORY)} of memory; the limit is {limit}"
            return Ending("limit", "MEMORY_EXCEEDED", words), 0
        try:
            child = self._ready_child(streams, limits, deadline)
            child.send(order, deadline)
            found = _outcome(child, calls, deadline, limits)
            child.settle()
        except ChildStopped as stopped:
            found = stopped.ending
            if self._child is None:
                return found, 0
            self._child.settle()
            peak = self._child.peak_bytes
            self._end_child()
            return found, peak
        except BaseException:
            self._end_child()
            raise
        return found, child.peak_bytes

    def _ready_child(self, streams: Streams, limits: Limits, deadline: Deadline) -> Child:
        """Return the process, started if there is none. Raises `ChildStopped`."""
        child = self._child
        if child is None:
            child = self._child = self._start(limits)
            child.streams = streams
            message = _next(child, deadline)
            if not isinstance(message, messages.Ready):
                raise ChildStopped(_out_of_turn(message))
            child.limit_memory(limits.memory_bytes)
        child.streams = streams
        return child

    def _start(self, limits: Limits) -> Child:
        try:
            if self._workspace is None:
                self._workspace = Workspace(self._script)
            place = self._workspace
            command = self._node.command(place.root, place.main, limits)
            return Child(command, (self._script.entry, str(contract.MAX_REQUEST_BYTES)), place.gene)
        except OSError as error:
            raise GeneError(f"cannot start {self._node.path}: {error.strerror}", code="NODE") from error

    def _end_child(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None


def _outcome(child: Child, calls: Calls, deadline: Deadline, limits: Limits) -> Output | Ending:
    """Answer calls until the gene is done. Raises `ChildStopped` when its process is, too."""
    while isinstance(message := _next(child, deadline), messages.Call):
        child.send(calls.answer(message), deadline)
    match message:
        case messages.Output(text=text):
            return output_too_large() if len(text) > contract.MAX_OUTPUT_BYTES else read_output(text)
        case messages.Mute(reason=reason):
            return Ending("failed", "BAD_OUTPUT", shortened(reason, _SHOWN))
        case messages.Unusable(reason=reason, frames=frames):
            return _thrown("BAD_MODULE", reason, frames)
        case messages.Threw(reason=reason, frames=frames):
            if reason.startswith(_OUT_OF_MEMORY):
                return out_of_memory(limits.memory_bytes)
            return _thrown("STACK_OVERFLOW" if reason == _OUT_OF_STACK else "GENE_ERROR", reason, frames)
        case messages.Crashed(reason=reason, frames=frames):
            raise ChildStopped(_thrown("GENE_ERROR", reason, frames))
        case messages.Stuck():
            raise ChildStopped(Ending("failed", "BAD_OUTPUT", "the promise of express can never be settled"))
    raise ChildStopped(_out_of_turn(message))


def _next(child: Child, deadline: Deadline) -> messages.FromGene:
    try:
        return messages.decode(child.receive(deadline))
    except ValueError as error:
        raise ChildStopped(Ending("failed", "BAD_MESSAGE", f"a message that is none: {error}")) from None


def _thrown(code: str, reason: str, frames: list[str]) -> Ending:
    shown = tuple(shortened(frame, _SHOWN) for frame in frames[:_SHOWN_FRAMES])
    return Ending("failed", code, shortened(reason, _SHOWN), shown)


def _out_of_turn(message: messages.FromGene) -> Ending:
    return Ending("failed", "BAD_MESSAGE", f"a message out of turn: {type(message).__name__}")
