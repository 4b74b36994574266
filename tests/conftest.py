"""What holds for every test: a home of its own, none of the user's settings, and signals that arrive."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what a long campaign of `tests/torture` is told (`make torture`)."""
    group = parser.getgroup("torture")
    group.addoption("--torture-kills", type=int, default=300, help="writers to kill (300)")
    group.addoption("--torture-rounds", type=int, default=1, help="how often to repeat what is random (1)")
    group.addoption("--torture-seed", type=int, help="repeat a failure: the seed it printed")
    group.addoption("--torture-all", action="store_true", help="every fault on every call path, not a sample")


def pytest_configure() -> None:
    """Take signals that a background job of a shell ignores: the programs that tests start would ignore them too."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


@pytest.fixture(scope="session", autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep tests, and the programs they start, away from the user's files and switches."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(("ROTIFER_", "XDG_")) or name == "DO_NOT_TRACK":
                patch.delenv(name)
        patch.setenv("HOME", str(home))
        patch.setenv("ROTIFER_CACHE_DIR", str(home / "module-cache"))
        yield
