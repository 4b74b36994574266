"""A service that is slow, or not there: the turn waits as long as it may, and no longer."""

from __future__ import annotations

import socket
import threading
from typing import Any

import pytest
from tests.turn_memory.conftest import HINOS, events
from tests.turn_memory.service import Answer, Service, prepared, silent, trickles

from rotifer_host import Limits

OK = b"HTTP/1.1 200 OK\r\n"
SLOW: dict[str, Answer] = {
    "never": silent,
    "header by header": trickles(OK + b"x-slow: "),
    "byte by byte": trickles(OK + b"content-length: 5000\r\n\r\n"),
}


@pytest.mark.parametrize("kind", SLOW)
def test_a_slow_prepare_is_not_waited_for(
    make: Any, hinos: Service, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The timeout holds for all of a request, however little each part of it takes."""
    monkeypatch.setenv("HINOS_MEMORY_TIMEOUT_MS", "150")
    hinos.prepare = SLOW[kind]
    result = make("echo", turn_memory=HINOS).run({})
    assert (result.status, result.error.code, result.genes) == ("failed", "TURN_MEMORY", ())
    assert "prepare: no whole response after 150 ms" in result.error.message
    assert hinos.asked == ["prepare"]


@pytest.mark.parametrize("kind", SLOW)
def test_a_slow_commit_is_uncertain(make: Any, hinos: Service, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody knows what became of a commit that was sent, and nobody sends it again."""
    monkeypatch.setenv("HINOS_MEMORY_TIMEOUT_MS", "1000")
    hinos.commit = SLOW[kind]
    result = make("text", turn_memory=HINOS).run({})
    (event,) = result.turn.events
    assert (result.status, event.event, event.uncertain) == ("ok", "memory.commit_failed", True)
    assert hinos.asked == ["prepare", "commit"]


def test_a_name_server_that_does_not_answer(make: Any, hinos: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can interrupt it: it is left behind, and a request that was given up is never sent."""
    looked_up, answers = threading.Event(), threading.Event()
    look_up = socket.getaddrinfo

    def slow(*arguments: Any, **options: Any) -> Any:
        looked_up.set()
        answers.wait(60)
        return look_up(*arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    result = make("echo", turn_memory=HINOS).run({}, limits=Limits(deadline_ms=1000))
    assert (result.status, result.error.code, result.genes) == ("limit", "DEADLINE_EXCEEDED", ())
    (left_behind,) = [each for each in threading.enumerate() if each.name == "rotifer-turn-memory"]
    assert (looked_up.is_set(), left_behind.daemon) == (True, True)
    answers.set()
    left_behind.join(60)
    assert not left_behind.is_alive()
    assert hinos.asked == []


@pytest.mark.parametrize("what", ["prepare", "commit"])
def test_the_run_s_deadline_holds_for_the_whole_turn(make: Any, hinos: Service, what: str) -> None:
    """A service that has ten seconds gets no more than the run has left."""
    setattr(hinos, what, silent)
    result = make("text", turn_memory=HINOS).run({}, limits=Limits(deadline_ms=1500))
    if what == "prepare":
        assert (result.status, result.error.code, result.genes) == ("limit", "DEADLINE_EXCEEDED", ())
    else:
        assert (result.status, result.output, events(result)) == ("ok", "I noted it.", ["memory.commit_failed"])


def test_a_service_that_is_not_there(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody listens no gene runs."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    monkeypatch.setenv("HINOS_MEMORY_URL", f"http://127.0.0.1:{port}")
    result = make("echo", turn_memory=HINOS).run({})
    assert (result.status, result.error.code, result.genes) == ("failed", "TURN_MEMORY", ())


def test_a_service_that_goes_away_during_the_run(make: Any, hinos: Service) -> None:
    """A commit that nobody could have got is certain not to have been made."""

    def last_words(handler: Any) -> None:
        hinos.shutdown()
        hinos.socket.close()  # no further connection
        prepared()(handler)
        handler.close_connection = True

    hinos.prepare = last_words
    result = make("text", turn_memory=HINOS).run({})
    (event,) = result.turn.events
    assert (result.status, event.event, event.uncertain) == ("ok", "memory.commit_failed", False)
