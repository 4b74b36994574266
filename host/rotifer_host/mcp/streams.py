"""Standard input and output, as lines that nobody has to wait for.

The SDK's own waits for them in threads that nothing can stop: a server on a terminal, or
one whose client is still there and neither writes nor reads, would not end when it is
told to.
"""

from __future__ import annotations

import json
import os
import select
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

import anyio
from mcp.types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter
from pydantic import ValidationError

__all__ = ["Output", "private_streams", "read_lines", "refusal"]

_CHUNK: Final = 1 << 16


@contextmanager
def private_streams() -> Iterator[tuple[int, int]]:
    """Give descriptors of standard input and output that nothing else in the process has, nor a program it starts.

    Meanwhile there is nothing to read from descriptor 0, and what is written to 1 goes to
    standard error.
    """
    private = os.dup(0), os.dup(1)
    try:
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        try:
            yield private
        finally:
            for number, descriptor in enumerate(private):
                os.dup2(descriptor, number)
    finally:
        for descriptor in private:
            os.close(descriptor)


async def read_lines(descriptor: int) -> AsyncIterator[bytes]:
    """Yield each line that is not blank, without its end."""
    pending = bytearray()
    while True:
        with suppress(PermissionError):  # a file: it never makes anybody wait
            await anyio.wait_readable(descriptor)
        try:
            chunk = os.read(descriptor, _CHUNK)
        except BlockingIOError:  # one that somebody made non-blocking
            continue
        except OSError:  # a terminal that is gone
            break
        if not chunk:
            break
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            pending += end
            if pending.strip():
                yield bytes(pending)
            pending.clear()
        pending += rest
    if pending.strip():
        yield bytes(pending)


class Output:
    """What the SDK writes messages to; `gone` is called once nobody can read them any more."""

    def __init__(self, descriptor: int, gone: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self._gone = gone

    async def write(self, text: str) -> None:
        """Write all of a text, in pieces for which a pipe that has room needs no waiting."""
        data = memoryview(text.encode())
        while data:
            with suppress(PermissionError):  # a file, as above
                await anyio.wait_writable(self._descriptor)
            try:
                data = data[os.write(self._descriptor, data[: select.PIPE_BUF]) :]
            except BlockingIOError:
                continue
            except OSError:
                self._gone()
                return

    async def flush(self) -> None:
        """Do nothing: all is written."""


def refusal(line: bytes) -> JSONRPCError | None:
    """Return the answer to a line that is no message: the SDK would drop it, and its sender wait for ever."""
    try:
        jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError as error:
        unreadable = next((each["msg"] for each in error.errors() if each["type"] == "json_invalid"), None)
        code, message = (
            (INVALID_REQUEST, "not a message of JSON-RPC 2.0")
            if unreadable is None
            else (PARSE_ERROR, f"not JSON that this server reads: {unreadable}")
        )
        return JSONRPCError(jsonrpc="2.0", id=_id_of(line), error=ErrorData(code=code, message=message))
    return None


def _id_of(line: bytes) -> int | str | None:
    """Return the id of what is hardly a message; `json` reads much that the SDK does not."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    identity = message.get("id") if isinstance(message, dict) else None
    return identity if isinstance(identity, int | str) and not isinstance(identity, bool) else None
