"""What a turn with the service needs: an input, an address, a client."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from tests.turn_memory.conftest import HINOS
from tests.turn_memory.service import Service

from rotifer_host.errors import UsageError
from rotifer_host.extras import how_to_install
from rotifer_host.turn_memory.hinos import Service as HinosService


def test_the_default_timeout() -> None:
    """Without a timeout in the environment each request has ten seconds."""
    assert HinosService.of({"HINOS_MEMORY_URL": "https://memory.example/"}) == ("https://memory.example", 10_000)


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ([], "the input must be a JSON object: the agent's turn memory puts hinosMemory into it"),
        ("text", "must be a JSON object"),
        (None, "must be a JSON object"),
        ({"hinosMemory": "forged"}, "the input must not have hinosMemory"),
        ({"messages": []}, "a list of at least one message"),
        ({"messages": {"role": "user"}}, "a list of at least one message"),
        ({"messages": ["hi"]}, "messages[0] must be an object with role, one of system, user, assistant, and content"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages[0] must be"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages[0] must be"),
        ({"messages": [{"role": "assistant", "content": "x"}]}, "must end with one of the user"),
    ],
)
def test_an_input_that_cannot_be_a_turn(make: Any, hinos: Service, document: Any, expected: str) -> None:
    """It is refused with what is wrong, before anybody is asked anything."""
    with pytest.raises(UsageError) as refused:
        make("echo", turn_memory=HINOS).run(document)
    assert expected in refused.value.message
    assert hinos.asked == []


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        (("HINOS_MEMORY_URL", ""), "needs HINOS_MEMORY_URL, the address of its service"),
        (("HINOS_MEMORY_URL", "memory.example"), "HINOS_MEMORY_URL must be an address"),
        (("HINOS_MEMORY_URL", "ftp://memory.example"), "HINOS_MEMORY_URL must be an address"),
        (("HINOS_MEMORY_URL", "http://"), "HINOS_MEMORY_URL must be an address"),
        (("HINOS_MEMORY_URL", "http://user:secret@memory.example/?a=1"), "HINOS_MEMORY_URL must be an address"),
        (("HINOS_MEMORY_URL", "http://memory.example:port"), "HINOS_MEMORY_URL must be an address"),
        (("HINOS_MEMORY_URL", "http://memory.example\n"), "HINOS_MEMORY_URL must be an address"),
        (("HINOS_MEMORY_TIMEOUT_MS", "0"), "whole number from 1 to 86400000, not '0'"),
        (("HINOS_MEMORY_TIMEOUT_MS", "1.5"), "whole number from 1 to 86400000, not '1.5'"),
        (("HINOS_MEMORY_TIMEOUT_MS", "-1"), "whole number from 1 to 86400000, not '-1'"),
        (("HINOS_MEMORY_TIMEOUT_MS", "99999999"), "whole number from 1 to 86400000"),
    ],
)  # fmt: skip
def test_settings_that_are_wrong(
    make: Any, hinos: Service, monkeypatch: pytest.MonkeyPatch, setting: tuple[str, str], expected: str
) -> None:
    """The variable is named, what it may be is said, and a password in an address is not shown."""
    monkeypatch.setenv(*setting)
    with pytest.raises(UsageError) as refused:
        make("echo", turn_memory=HINOS).run({})
    assert expected in refused.value.message
    assert "secret" not in refused.value.message
    assert hinos.asked == []


def test_without_the_client_the_error_says_what_to_type(
    make: Any, hinos: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The HTTP client is an extra."""
    monkeypatch.setitem(sys.modules, "httpx2", None)
    with pytest.raises(UsageError) as refused:
        make("echo", turn_memory=HINOS).run({})
    assert refused.value.help == how_to_install("turn")
    assert hinos.asked == []
