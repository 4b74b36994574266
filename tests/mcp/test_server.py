"""The server as a process: what it answers side by side, what it survives, and how it ends."""

from __future__ import annotations

import asyncio
import fcntl
import json
import signal
import subprocess
import sys
import termios
import time
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.types import CallToolResult
from tests.mcp.clients import INITIALIZE, Connection, audit, begin, connected, receive, send, started

from rotifer_host import Project

ENDLESS = ("--fuel", "9000000000000000000", "--deadline-ms", "600000")


def tool_call(identity: int, name: str, **arguments: Any) -> dict[str, Any]:
    """Return the message of a call."""
    return {
        "jsonrpc": "2.0",
        "id": identity,
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments},
    }


def test_unknown_tool(greeter: Connection) -> None:
    """A tool that is not there is an error of the protocol, naming those that are."""
    with pytest.raises(MCPError, match="unknown tool 'memory_dump': there are run_agent, readMemory") as caught:
        greeter.call("memory_dump")
    assert caught.value.code == -32602


def test_calls_side_by_side(greeter: Connection, shared: Project) -> None:
    """Calls that overlap lose nothing, and each gets its own answer."""
    keys = [f"many/{number}" for number in range(12)]

    async def all_at_once(client: Client) -> list[CallToolResult]:
        writes = [client.call_tool("writeMemory", {"key": key, "value": key, "category": "CACHE"}) for key in keys]
        runs = [client.call_tool("run_agent", {"input": {"name": key}}) for key in keys]
        return await asyncio.gather(*writes, *runs)

    results = greeter.together(all_at_once)
    assert [result.is_error for result in results] == [False] * 24
    assert [result.structured_content["entry"]["key"] for result in results[:12]] == keys
    entries = greeter.result("queryMemory", keyPrefix="many/")["entries"]
    assert {entry["key"]: entry["value"] for entry in entries} == {key: key for key in keys}
    log, proofs = shared.verify_audit("greeter")
    assert proofs["greeter"].problems(log.name) == []


def test_a_call_that_its_client_gives_up(shared: Project) -> None:
    """A run ends when a client, one that shook hands, cancels the call: an exclusive agent's next run has its turn."""
    shared.create_agent("alone", ["probe"], exclusive=True)

    async def give_up(client: Client) -> Any:
        endless = asyncio.create_task(client.call_tool("run_agent", {"input": True}))
        await client.list_tools(cache_mode="bypass")  # answered while the run goes on
        await asyncio.sleep(0.2)
        endless.cancel()
        return (await client.call_tool("run_agent", {"input": []})).structured_content

    with connected(shared, "--agent", "alone", *ENDLESS, mode="legacy") as alone:
        assert alone.together(give_up)["output"] == []


def test_agents_side_by_side(greeter: Connection, shared: Project) -> None:
    """Two servers of one project serve two agents, of which neither sees the other's memory."""
    shared.create_agent("other", ["hello"], grants=["json"])
    greeter.result("writeMemory", key="mine", value="x", category="PREFERENCE", accessPolicy=None)
    revision = greeter.result("get_memory")["revision"]
    greeter.result("update_memory", expectedRevision=revision, memory={"mine": True})
    greeter.result("run_agent", input={"name": "Ada"})
    with connected(shared, "--agent", "other", "--gene", "hello") as other:
        assert other.result("queryMemory") == {"entries": []}
        assert other.result("get_memory") == {"revision": 0, "memory": None}
        assert other.result("run_agent", input={"name": "Ada"})["output"] == {"greeting": "Hello, Ada!"}
        assert other.refusal("deleteMemory", key="mine")[0] == "MEMORY_NOT_FOUND"
        assert audit(shared)[-1]["agent"] == "other"
    assert greeter.result("readMemory", key="mine")["entry"]["value"] == "x"


@pytest.mark.parametrize(
    ("line", "identity", "code"),
    [
        (b"no JSON", None, -32700),
        (b"\xff\xfe{}", None, -32700),
        (b'{"jsonrpc":"2.0","id":"a","method":"ping","params":' + b"[" * 300 + b"]" * 300 + b"}", "a", -32700),
        (b'{"jsonrpc":"2.0","id":5,"method":"ping","params":{"a":"\\ud800"}}', 5, -32700),
        (b'{"jsonrpc":"2.0","id":6,"method":"ping","params":' + b"[" * 100_000 + b"}", None, -32700),
        (b'{"jsonrpc":"1.0","id":7,"method":"ping"}', 7, -32600),
        (b"[]", None, -32600),
        (b'{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"run_agent","arguments":[]}}', 8, -32602),
        (b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{}}', 9, -32602),
        (b'{"jsonrpc":"2.0","id":10,"method":"no/such"}', 10, -32601),
    ],
)
def test_lines_that_are_no_request(raw: subprocess.Popen[bytes], line: bytes, identity: Any, code: int) -> None:
    """What is no request is answered with an error of JSON-RPC, by its id where it has one; the server goes on."""
    send(raw, b"\n \r\n" + line)
    answer = receive(raw)
    assert (answer["id"], answer["error"]["code"]) == (identity, code)
    send(raw, tool_call(99, "run_agent", input=[]))
    assert receive(raw)["result"]["structuredContent"]["output"] == []


def test_numbers_that_json_has_no_word_for(raw: subprocess.Popen[bytes]) -> None:
    """NaN, which the SDK reads, is no input."""
    send(raw, b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_agent","arguments":{"input":NaN}}}')
    result = receive(raw)["result"]
    assert result["isError"]
    assert json.loads(result["content"][0]["text"])["error"]["code"] == "BAD_JSON"


def begin_endless_run(server: subprocess.Popen[bytes]) -> None:
    """Shake hands, and start a run that does not end by itself."""
    begin(server)
    send(server, tool_call(1, "run_agent", input=True))
    send(server, {"jsonrpc": "2.0", "id": 2, "method": "ping"})
    assert receive(server)["id"] == 2


def test_end_of_input(shared: Project) -> None:
    """When the client leaves the server ends at once, with the run that goes on, and exit status 0."""
    with started(shared, "--agent", "prober", *ENDLESS) as server:
        begin_endless_run(server)
        output, errors = server.communicate(timeout=60)
    assert server.returncode == 0
    assert [json.loads(line)["id"] for line in output.splitlines()] == [1]  # closed
    assert errors.decode() == "serving prober: run_agent\n"


@pytest.mark.parametrize(
    ("number", "status", "said"),
    [(signal.SIGTERM, 143, "stopped by SIGTERM"), (signal.SIGINT, 130, "stopped by Ctrl-C")],
)
def test_signals(shared: Project, number: signal.Signals, status: int, said: str) -> None:
    """A signal ends the server at once, though its client is there, with the run that goes on; nothing else is said."""
    with started(shared, "--agent", "prober", *ENDLESS) as server:
        begin_endless_run(server)
        server.send_signal(number)
        assert server.wait(60) == status
        output, errors = server.communicate()
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in output.splitlines())
    assert errors.decode() == f"serving prober: run_agent\nerror[INTERRUPTED]: {said}\n"


def unread(server: subprocess.Popen[bytes]) -> int:
    """Return how many bytes of answers wait to be read."""
    assert server.stdout is not None
    return int.from_bytes(fcntl.ioctl(server.stdout, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_a_client_that_does_not_read(shared: Project) -> None:
    """A client that sends and never reads keeps the server from nothing: it ends when it is told to."""
    with started(shared, "--agent", "prober") as server:
        begin(server)
        for number in range(300):  # answers of more than a pipe holds
            send(server, {"jsonrpc": "2.0", "id": number, "method": "tools/list"})
        while unread(server) < 32_000:  # half of each page of the pipe may stay empty
            time.sleep(0.01)
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 143


def test_a_client_that_is_gone(shared: Project) -> None:
    """A client that died without reading its answers is one that has left: status 0, and nothing said."""
    with started(shared, "--agent", "prober") as server:
        begin(server)
        assert server.stdout is not None
        server.stdout.close()
        send(server, {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        assert server.wait(60) == 0
        assert server.stderr is not None
        assert server.stderr.read().decode() == "serving prober: run_agent\n"


def test_input_from_a_file(shared: Project) -> None:
    """Standard input may be a file: its requests come to their end with it."""
    requests = shared.root / "requests"
    requests.write_bytes(json.dumps(INITIALIZE).encode())  # no line feed at the end
    with requests.open("rb") as file, started(shared, "--agent", "prober", stdin=file) as server:
        output, _ = server.communicate(timeout=60)
    assert (server.returncode, json.loads(output)["id"]) == (0, 0)
