"""What holds for every test: a home of its own, and none of the user's settings."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


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
