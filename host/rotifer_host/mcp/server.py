"""The tools of an agent over the Model Context Protocol, on standard input and output."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, cast

import anyio
import anyio.to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import MCPError
from mcp import types as protocol
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp.types import INTERNAL_ERROR, INVALID_PARAMS
from pydantic_core import from_json

import rotifer_host
from rotifer_host.errors import DocumentError, RotiferError
from rotifer_host.mcp.streams import Output, private_streams, read_lines, refusal
from rotifer_host.mcp.tool import Effect, Tool
from rotifer_host.sandbox import Deadline, encode_document

__all__ = ["serve"]

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_File = anyio.AsyncFile[str]
_TOO_DEEP: Final = "RESULT_TOO_DEEP"
_HINTS: Final[dict[Effect, protocol.ToolAnnotations]] = {
    "reads": protocol.ToolAnnotations(read_only_hint=True, open_world_hint=False),
    "adds": protocol.ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False),
    "changes": protocol.ToolAnnotations(
        read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False
    ),
}


def serve(tools: Callable[[], Sequence[Tool]], *, instructions: str, deadline_ms: int) -> int | None:
    """Answer one client until it closes standard input; returns the signal that ended it before, if one did.

    `tools` is asked for the tools there are now, in whatever thread, as often as a client
    asks. A call whose client gives up, or is gone, is ended: a run within 10 ms.
    """
    return asyncio.run(_serve(_server(tools, instructions, deadline_ms)))


async def _serve(server: Server[dict[str, Any]]) -> int | None:
    received: list[int] = []
    with anyio.open_signal_receiver(*_SIGNALS) as signals, private_streams() as (reading, writing):
        bad, refused = anyio.create_memory_object_stream[protocol.JSONRPCError]()
        async with refused, anyio.create_task_group() as tasks:
            tasks.start_soon(_await_signal, signals, received, tasks.cancel_scope)
            lines, output = _messages(reading, bad), Output(writing, tasks.cancel_scope.cancel)
            async with stdio_server(cast("_File", lines), cast("_File", output)) as (read, write):
                tasks.start_soon(_answer, refused, write.send)
                await server.run(read, write, server.create_initialization_options())
            tasks.cancel_scope.cancel()
    return received[0] if received else None


async def _await_signal(signals: AsyncIterator[signal.Signals], received: list[int], scope: anyio.CancelScope) -> None:
    received.append(int(await anext(signals)))
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_DFL)  # the next one ends the process, whatever still waits
    scope.cancel()


async def _messages(descriptor: int, bad: MemoryObjectSendStream[protocol.JSONRPCError]) -> AsyncIterator[str]:
    async with bad:
        async for line in read_lines(descriptor):
            error = refusal(line)
            if error is None:
                yield line.decode()
            else:
                await bad.send(error)


async def _answer(
    refused: MemoryObjectReceiveStream[protocol.JSONRPCError], send: Callable[[SessionMessage], Awaitable[None]]
) -> None:
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):  # nobody listens any more
        async for error in refused:
            await send(SessionMessage(error))


def _server(tools: Callable[[], Sequence[Tool]], instructions: str, deadline_ms: int) -> Server[dict[str, Any]]:
    async def list_tools(
        _context: ServerRequestContext[dict[str, Any]], _params: protocol.PaginatedRequestParams | None
    ) -> protocol.ListToolsResult:
        return protocol.ListToolsResult(tools=await anyio.to_thread.run_sync(_described, tools))

    async def call_tool(
        _context: ServerRequestContext[dict[str, Any]], params: protocol.CallToolRequestParams
    ) -> protocol.CallToolResult:
        deadline = Deadline(deadline_ms)
        call = partial(_called, tools, params, deadline)
        try:
            return await anyio.to_thread.run_sync(call, abandon_on_cancel=True)
        except anyio.get_cancelled_exc_class():
            deadline.cancel()
            raise

    return Server(
        "rotifer",
        version=rotifer_host.__version__,
        instructions=instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _described(tools: Callable[[], Sequence[Tool]]) -> list[protocol.Tool]:
    try:
        return [
            protocol.Tool(
                name=tool.name,
                title=tool.title,
                description=tool.description,
                input_schema=tool.parameters,
                output_schema=tool.returns,
                annotations=_HINTS[tool.effect],
            )
            for tool in tools()
        ]
    except RotiferError as error:
        raise MCPError(INTERNAL_ERROR, f"{error.code}: {error.message}") from error


def _called(
    tools: Callable[[], Sequence[Tool]], params: protocol.CallToolRequestParams, deadline: Deadline
) -> protocol.CallToolResult:
    try:
        offered = tools()
        tool = next((each for each in offered if each.name == params.name), None)
        if tool is None:
            names = ", ".join(each.name for each in offered)
            raise MCPError(INVALID_PARAMS, f"unknown tool {params.name!r}: there are {names}")
        document, failed = tool.call(params.arguments or {}, deadline)
        text = _text(document)
    except RotiferError as error:
        told = {"code": error.code, "message": error.message} | ({} if error.help is None else {"help": error.help})
        return protocol.CallToolResult(content=[_content(_text({"error": told}))], is_error=True)
    return protocol.CallToolResult(content=[_content(text)], structured_content=document, is_error=failed)


def _text(document: object) -> str:
    """Return a document as compact JSON that both ends can read; raises `DocumentError`."""
    encoded = encode_document(document)
    try:
        from_json(b'{"result":{"structuredContent":%b}}' % encoded)  # what clients of the SDK do with it
    except ValueError as error:
        raise DocumentError(f"the call is done, but what came of it is no answer: {error}", code=_TOO_DEEP) from error
    return encoded.decode()


def _content(text: str) -> protocol.TextContent:
    return protocol.TextContent(type="text", text=text)
