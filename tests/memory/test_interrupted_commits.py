"""An interrupt that comes when a change is on the disk: the log does not take back what is kept."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast, get_args

import lmdb
import pytest
from tests.memory.twins import A, Twin, Twins, paired

from rotifer_host.memory import Durability, read_request, write_request
from rotifer_host.store.change import LmdbChange
from rotifer_host.store.environment import Environment


class _Interrupt(BaseException):
    pass


class _Interrupted:
    """A transaction behind whose commit a signal handler raises."""

    def __init__(self, txn: lmdb.Transaction) -> None:
        self._txn = txn

    def __getattr__(self, name: str) -> object:
        return getattr(self._txn, name)

    def commit(self) -> None:
        """Commit, and be interrupted before anything else."""
        self._txn.commit()
        raise _Interrupt


@pytest.fixture
def twins(tmp_path: Path) -> Iterator[Twins]:
    """Give both memories."""
    with paired(tmp_path) as twins:
        yield twins


@pytest.mark.parametrize("durability", get_args(Durability))
def test_what_is_kept_is_not_taken_back(twins: Twins, durability: Durability, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a call's change nor a run's."""
    begin = LmdbChange.__init__

    def interrupted(change: LmdbChange, environment: Environment, txn: lmdb.Transaction) -> None:
        begin(change, environment, txn)
        change._txn = cast("lmdb.Transaction[Any]", _Interrupted(txn))

    def write(twin: Twin) -> tuple[object, ...]:
        memory = twin.use(durability)
        with monkeypatch.context() as patch:
            patch.setattr(LmdbChange, "__init__", interrupted)
            with pytest.raises(_Interrupt):  # noqa: PT012 - the one in the call, or at the end
                memory.write(A, write_request("k", b"new", "CACHE"))
                memory.finish()
        memory.rollback()
        actions = [json.loads(line)["action"] for line in twin.kept().lines.splitlines()]
        entry = json.loads(twin.use().read(A, read_request("k")))
        twin.use().write(A, write_request("next", b"1", "CACHE"))
        assert twin.problems() == []
        return actions, entry["value"]

    assert twins.each(write) == (["memory.create"], b64encode(b"new").decode())
