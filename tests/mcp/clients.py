"""The SDK's own client, connected to `rotifer mcp` in a project with agents."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

from anyio.from_thread import start_blocking_portal
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.types import CallToolResult, Tool

from rotifer_host import Project

PHENOTYPE = {"domain": "probe", "version": "1.0.0", "inputSchema": {}, "outputSchema": {}}
PROBE = """(module (memory (export "memory") 1)
  (func (export "express") (param $ptr i32) (param $len i32) (result i32)
    (if (i32.eq (i32.load8_u (local.get $ptr)) (i32.const 34)) (then unreachable))
    (if (i32.eq (i32.load8_u (local.get $ptr)) (i32.const 116)) (then (loop $for_ever (br $for_ever))))
    (local.get $ptr)))"""
"""Traps on a string, never ends on true, and returns everything else."""


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "a client", "version": "1"},
    },
}


class Connection:
    """A client of one server, for tests that are not asynchronous."""

    def __init__(self, client: Client, run: Callable[..., Any]) -> None:
        self._client = client
        self._run = run

    def tools(self) -> dict[str, Tool]:
        """List the tools, by name."""
        return {tool.name: tool for tool in self._run(partial(self._client.list_tools, cache_mode="bypass")).tools}

    def call(self, name: str, arguments: Any = None) -> CallToolResult:
        """Call a tool; the client checks the result against the tool's schema."""
        result: CallToolResult = self._run(self._client.call_tool, name, {} if arguments is None else arguments)
        return result

    def result(self, name: str, **arguments: Any) -> Any:
        """Return the document of a call that succeeds, whose text is the same."""
        result = self.call(name, arguments)
        assert not result.is_error, result.content
        assert json.loads(text_of(result)) == result.structured_content
        return result.structured_content

    def refusal(self, name: str, **arguments: Any) -> tuple[str, str]:
        """Return code and message of a call that fails."""
        result = self.call(name, arguments)
        assert result.is_error
        error = json.loads(text_of(result))["error"]
        return error["code"], error["message"]

    def together(self, calls: Callable[[Client], Any]) -> Any:
        """Run an asynchronous function of the client."""
        return self._run(calls, self._client)


def text_of(result: CallToolResult) -> str:
    """Return the one text of a result."""
    (content,) = result.content
    assert content.type == "text"
    return content.text


def put_gene(project: Project, name: str, wat: str, **phenotype: Any) -> None:
    """Add a gene, not compiled."""
    folder = project.genes_path / name
    folder.mkdir()
    (folder / "gene.wat").write_text(wat, encoding="utf-8")
    (folder / "phenotype.json").write_text(json.dumps(PHENOTYPE | phenotype), encoding="utf-8")


def audit(project: Project) -> list[dict[str, Any]]:
    """Return the lines of the audit log."""
    if not project.audit_path.exists():
        return []
    return [json.loads(line) for line in project.audit_path.read_text(encoding="utf-8").splitlines()]


def make_project(folder: Path) -> Project:
    """Make a project with the genes `hello` and `probe`, and the agents `greeter` and `prober`."""
    project = Project.init(folder)
    put_gene(project, "probe", PROBE)
    for gene in ("hello", "probe"):
        project.compile(gene)
    project.create_agent("greeter", ["hello"], grants=["json", "markdown"])
    project.create_agent("prober", ["probe"])
    return project


def connected(project: Project, *arguments: str, mode: str = "auto") -> AbstractContextManager[Connection]:
    """Start `rotifer mcp` in the project, with the SDK's client at the other end."""

    @contextmanager
    def connection() -> Iterator[Connection]:
        parameters = StdioServerParameters(
            command=sys.executable,
            args=["-m", "rotifer_host", "-C", str(project.root), "mcp", *arguments],
            env=dict(os.environ),
        )
        with (project.root / "stderr").open("a") as errors, start_blocking_portal() as portal:
            client = Client(stdio_client(parameters, errlog=errors), mode=mode, read_timeout_seconds=60)
            with portal.wrap_async_context_manager(client) as opened:
                yield Connection(opened, portal.call)

    return connection()


@contextmanager
def started(
    project: Project, *arguments: str, stdin: int | IO[bytes] = subprocess.PIPE
) -> Iterator[subprocess.Popen[bytes]]:
    """Start `rotifer mcp` in the project without a client, and kill it if it is still there afterwards."""
    command = [sys.executable, "-m", "rotifer_host", "-C", str(project.root), "mcp", *arguments]
    with subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def send(server: subprocess.Popen[bytes], message: dict[str, Any] | bytes) -> None:
    """Send a message, or a line that is none."""
    assert server.stdin is not None
    line = message if isinstance(message, bytes) else json.dumps(message).encode()
    server.stdin.write(line + b"\n")
    server.stdin.flush()


def receive(server: subprocess.Popen[bytes]) -> Any:
    """Return the next message."""
    assert server.stdout is not None
    return json.loads(server.stdout.readline())


def begin(server: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
    """Shake hands."""
    send(server, INITIALIZE)
    assert receive(server)["result"]["serverInfo"]["name"] == "rotifer"
    send(server, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    return server
