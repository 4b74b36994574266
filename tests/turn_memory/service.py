"""A memory service: a real HTTP server on this machine that answers as a test says, well or badly."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

PREPARED = {"claim_id": "claim-1", "memory": "owes a copper key", "turn": 3, "state_through_round": 2}
COMMITTED = {"committed": True}


class Received(NamedTuple):
    """One request."""

    path: str
    headers: dict[str, str]
    body: Any


Answer = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: Service

    def do_POST(self) -> None:
        """Note the request and answer it."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.received.append(Received(self.path, headers, body))
        self.server.arrived.set()
        what = self.path.rsplit("/", 1)[1]
        try:
            (self.server.prepare if what == "prepare" else self.server.commit)(self)
        except OSError:  # the client has gone
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Service(ThreadingHTTPServer):
    """What is asked is in `received`; `prepare` and `commit` answer."""

    daemon_threads = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.received: list[Received] = []
        self.arrived = threading.Event()
        self.over = threading.Event()
        self.prepare: Answer = says(PREPARED)
        self.commit: Answer = says(COMMITTED)

    def handle_error(self, request: object, client_address: object) -> None:
        """Let a client go that has cut its connection; show any other error."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def asked(self) -> list[str]:
        """The last parts of the paths asked for."""
        return [received.path.rsplit("/", 1)[1] for received in self.received]


@contextmanager
def service() -> Iterator[Service]:
    """Give a service that listens."""
    with Service() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server
        finally:
            server.over.set()
            server.shutdown()
            thread.join()


def raw(data: bytes) -> Answer:
    """Answer these bytes and close."""

    def answer(handler: Handler) -> None:
        handler.wfile.write(data)
        handler.close_connection = True

    return answer


def body(data: bytes, status: int = 200, **headers: str) -> Answer:
    """Answer a body."""

    def answer(handler: Handler) -> None:
        handler.send_response(status)
        for name, value in {"content-length": str(len(data)), **headers}.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(data)

    return answer


def says(document: object, status: int = 200) -> Answer:
    """Answer JSON."""
    return body(json.dumps(document).encode(), status)


def prepared(**changes: object) -> Answer:
    """Answer to `prepare` with these members changed; None leaves one out."""
    return says({name: value for name, value in {**PREPARED, **changes}.items() if value is not None})


def silent(handler: Handler) -> None:
    """Never answer."""
    handler.server.over.wait()
    handler.close_connection = True


def trickles(data: bytes) -> Answer:
    """Answer one byte at a time, for ever: no single one is late."""

    def answer(handler: Handler) -> None:
        handler.wfile.write(data)
        while not handler.server.over.wait(0.02):
            handler.wfile.write(b" ")
        handler.close_connection = True

    return answer


def dies(handler: Handler) -> None:
    """Reset the connection."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    handler.connection.close()
    handler.close_connection = True
