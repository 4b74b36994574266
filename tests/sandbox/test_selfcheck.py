"""The check that decides which call path `auto` means."""

from __future__ import annotations

import pytest

from rotifer_host.errors import UsageError
from rotifer_host.sandbox import HostFunctions, Sandbox, available_call_paths, core_functions, selfcheck


def test_fastest_path_is_the_default() -> None:
    """Where every path works, `auto` is the fastest."""
    selfcheck.fastest_working_path.cache_clear()
    assert Sandbox(HostFunctions(core_functions())).call_path == available_call_paths()[0]


def test_a_path_that_fails_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path whose guest sees something else is passed over, with a warning that says so."""
    selfcheck.fastest_working_path.cache_clear()
    monkeypatch.setattr(selfcheck, "_OUTPUT", [2, 1])
    with pytest.warns(RuntimeWarning, match="call path is not used"):
        assert Sandbox(HostFunctions(core_functions())).call_path == available_call_paths()[-1]
    selfcheck.fastest_working_path.cache_clear()


def test_a_named_path_is_taken_unchecked(call_path: str) -> None:
    """Whoever names a path gets it."""
    assert Sandbox(HostFunctions(core_functions()), call_path=call_path).call_path == call_path


def test_unknown_path_is_refused() -> None:
    """A name there is not is refused with those there are."""
    with pytest.raises(UsageError, match=r"auto, .*raw, plain"):
        Sandbox(HostFunctions(core_functions()), call_path="quick")
