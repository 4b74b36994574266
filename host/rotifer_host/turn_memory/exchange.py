"""One POST to a service, within a time that holds for all of it, and never repeated."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from rotifer_host import contract
from rotifer_host.errors import BudgetExhaustedError, TurnMemoryError, UsageError
from rotifer_host.extras import how_to_install
from rotifer_host.text import shortened

if TYPE_CHECKING:
    from rotifer_host.sandbox import Deadline

__all__ = ["post", "require_client"]

_TICK_S: Final = 0.05
"""How long it may take to notice that the run was cancelled."""
_GRACE_S: Final = 0.1
"""What a client whose connection was cut gets to end; one that waits for a name server ends later."""
_SHOWN: Final = 300
_HEADERS: Final = {
    "accept": "application/json",
    "accept-encoding": "identity",  # a small compressed body could be a large one
    "content-type": "application/json",
    "user-agent": "rotifer-host",
}


def require_client() -> None:
    """Raise `UsageError` where the HTTP client is not installed."""
    try:
        import httpx2  # noqa: F401, PLC0415 - 100 ms, and only this needs it
    except ImportError as error:
        message = "turn memory of the runtime hinos needs the HTTP client httpx2, which is not installed"
        raise UsageError(message, help=how_to_install("turn")) from error


def post(url: str, headers: Mapping[str, str], body: bytes, *, timeout_s: float, deadline: Deadline) -> bytes:
    """Send `body`, JSON, and return the body of a response with a status of 200 to 299.

    Looking up the name, connecting, sending and all of the response count against
    `timeout_s`. No redirect is followed, no proxy and no password of the environment is
    used, and a response has at most 1 MiB. Raises `TurnMemoryError`, also when the run
    is cancelled meanwhile.
    """
    exchange = _Exchange()
    client = threading.Thread(
        target=exchange.run,
        args=(url, {**_HEADERS, **headers}, body, timeout_s),
        daemon=True,  # nobody can interrupt a name server
        name="rotifer-turn-memory",
    )
    until = monotonic() + timeout_s
    client.start()
    try:
        return _awaited(exchange.result, until, deadline)
    except TimeoutError:
        message = f"no whole response after {timeout_s * 1000:.0f} ms"
        raise TurnMemoryError(message, certain=not exchange.stop()) from None
    except (BudgetExhaustedError, TurnMemoryError) as error:
        answered = isinstance(error, TurnMemoryError) and error.certain
        raise TurnMemoryError(error.message, certain=not exchange.stop() or answered) from error
    finally:
        exchange.stop()
        client.join(_GRACE_S)


def _awaited(result: Future[bytes], until: float, deadline: Deadline) -> bytes:
    while True:
        try:
            return result.result(max(0.0, min(_TICK_S, until - monotonic())))
        except TimeoutError:
            if monotonic() >= until:
                raise
            deadline.remaining_s()


class _Exchange:
    """What the client's thread and the one that waits for it share."""

    def __init__(self) -> None:
        self.result: Future[bytes] = Future()
        self._lock = threading.Lock()
        self._sent = self._stopped = False
        self._stream: Any = None

    def run(self, url: str, headers: Mapping[str, str], body: bytes, timeout_s: float) -> None:
        """Send the request and read the response; what comes of it is the `result`."""
        import httpx2  # noqa: PLC0415 - see `require_client`

        try:
            # the certificates of the system, not those that come with the client
            verify = ssl.create_default_context() if url.startswith("https:") else False
            with (
                httpx2.Client(verify=verify, trust_env=False, follow_redirects=False, timeout=timeout_s) as client,
                client.stream("POST", url, headers=headers, content=body, extensions={"trace": self._note}) as response,
            ):
                answer = _body(response)
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
            message = shortened(str(error) or type(error).__name__, _SHOWN)
            self.result.set_exception(TurnMemoryError(f"the exchange with the service failed: {message}"))
        except Exception as error:  # noqa: BLE001 - raised where it is waited for
            self.result.set_exception(error)
        else:
            self.result.set_result(answer)

    def stop(self) -> bool:
        """Cut the connection, so that nothing more is sent; tell whether anything was."""
        with self._lock:
            self._stopped = True
            if self._stream is not None:
                with suppress(OSError, AttributeError):
                    self._stream.get_extra_info("socket").shutdown(socket.SHUT_RDWR)
            return self._sent

    def _note(self, event: str, info: Mapping[str, Any]) -> None:
        """Follow the client's steps: from its first byte on the service may have got the request."""
        with self._lock:
            if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
                self._stream = info["return_value"]
            if event == "http11.send_request_headers.started":
                if self._stopped:
                    raise TurnMemoryError("stopped before the request was sent")
                self._sent = True


def _body(response: Any) -> bytes:  # noqa: ANN401 - an httpx2.Response, loaded late
    body = bytearray()
    if not response.is_success:
        message = f"the service answered with status {response.status_code}"
        raise TurnMemoryError(message, certain=response.is_client_error)
    if response.headers.get("content-encoding", "identity") != "identity":
        raise TurnMemoryError("the service answered with a compressed body, which was not asked for")
    for chunk in response.iter_raw():
        body += chunk
        if len(body) > contract.MAX_TURN_RESPONSE_BYTES:
            raise TurnMemoryError(f"the service's response has more than {contract.MAX_TURN_RESPONSE_BYTES} bytes")
    return bytes(body)
