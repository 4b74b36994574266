"""Any sequence of calls gives the same answers, lines and entries on every store."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from rotifer_host import contract
from rotifer_host.errors import BufferTooSmallError, RotiferError
from rotifer_host.memory import DataPolicy, delete_request, query_request, read_request, write_request
from rotifer_host.store import ModelStore, Store, open_store

QUOTA = 400
GENES = st.sampled_from([("a", "format"), ("b", "format"), ("c", "search")])
KEYS = st.sampled_from(["a", "ab", "abc", "b", "é", "x" * 100, "x" * 100 + "y"])
CATEGORIES = st.sampled_from(contract.CATEGORIES)
ACCESS = st.none() | st.fixed_dictionaries(
    {
        "readScope": st.sampled_from(contract.SCOPES),
        "writeScope": st.sampled_from(contract.SCOPES[:3]),
        "sharePolicy": st.sampled_from(contract.SHARE_POLICIES[:2]),
    }
)
RETENTION = st.none() | st.fixed_dictionaries(
    {
        "maxRetentionDays": st.none() | st.integers(1, 4),
        "autoDeleteOnTermination": st.booleans(),
        "anonymizationSupported": st.booleans(),
    }
)
POLICIES = st.builds(DataPolicy, maxRetentionDays=st.none() | st.integers(1, 3), anonymizationSupported=st.booleans())
START_MS = 1_767_225_600_000


class BothStores(RuleBasedStateMachine):
    """Drives a model world and an LMDB world side by side."""

    new_world: Callable[[Store], Any]

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name) / "memory"
        self.worlds = [self.new_world(ModelStore()), self.new_world(open_store(path, agent_id="agent-1", quota=QUOTA))]
        self.durability = "call"

    def teardown(self) -> None:
        """Close what was opened."""
        for world in self.worlds:
            world.memory.rollback()
            world.store.close()
        self.folder.cleanup()

    def both(self, call: Callable[[Any], Any]) -> None:
        """Do the same in both worlds and compare what comes of it."""
        answers = []
        for world in self.worlds:
            try:
                answers.append(call(world))
            except RotiferError as error:
                answers.append((type(error), error.message))
        assert answers[0] == answers[1]

    def reopen(self, **changed: Any) -> None:
        """End the run and begin another."""
        self.both(lambda world: world.memory.finish())
        for world in self.worlds:
            world.policy = changed.get("policy", world.policy)
            world.reopen(durability=self.durability)

    @initialize(policy=POLICIES)
    def begin(self, policy: DataPolicy) -> None:
        """Start with some data policy."""
        for world in self.worlds:
            world.quota = QUOTA
            world.clock.set(START_MS)
        self.reopen(policy=policy)

    @rule(policy=POLICIES, durability=st.sampled_from(contract.DURABILITIES))
    def next_run(self, policy: DataPolicy, durability: str) -> None:
        """Begin another run under another policy."""
        self.durability = durability
        self.reopen(policy=policy)

    @precondition(lambda self: self.durability == "run")
    @rule()
    def give_up(self) -> None:
        """Roll a run back."""
        self.both(lambda world: world.memory.rollback())

    @rule(seconds=st.sampled_from([1, 3600, 86_399, 86_400, 3 * 86_400, -1, -86_400]))
    def move_clock(self, seconds: int) -> None:
        """Let time pass, or go back."""
        for world in self.worlds:
            world.clock.advance(seconds=seconds)

    @rule(gene=GENES, key=KEYS, category=st.none() | CATEGORIES)
    def read(self, gene: tuple[str, str], key: str, category: str | None) -> None:
        """Read an entry."""
        self.both(lambda world: world.memory.read(world.gene(*gene), read_request(key, category)))

    @rule(
        gene=GENES,
        key=KEYS,
        size=st.sampled_from([0, 1, 30, 90, 200]),
        category=CATEGORIES,
        access=ACCESS,
        retention=RETENTION,
        leave_out=st.booleans(),
        fits=st.sampled_from([True, True, True, False]),
    )
    def write(  # noqa: PLR0913, PLR0917 - hypothesis passes one argument for each strategy
        self,
        gene: tuple[str, str],
        key: str,
        size: int,
        category: str,
        access: Any,
        retention: Any,
        leave_out: bool,  # noqa: FBT001
        fits: bool,  # noqa: FBT001
    ) -> None:
        """Write an entry, sometimes with no room for the response."""
        policies = () if leave_out else (access, retention)
        request = write_request(key, bytes(size), category, *policies)
        self.both(lambda world: world.memory.write(world.gene(*gene), request, _any if fits else _none))

    @rule(
        gene=GENES,
        category=st.none() | CATEGORIES,
        prefix=st.sampled_from(["", "a", "ab", "x" * 100]),
        limit=st.integers(1, 4),
    )
    def query(self, gene: tuple[str, str], category: str | None, prefix: str, limit: int) -> None:
        """Query with some filter."""
        request = query_request(category=category, key_prefix=prefix, limit=limit)
        self.both(lambda world: world.memory.query(world.gene(*gene), request))

    @rule(gene=GENES, key=KEYS)
    def delete(self, gene: tuple[str, str], key: str) -> None:
        """Delete an entry."""
        self.both(lambda world: world.memory.delete(world.gene(*gene), delete_request(key)))

    @rule(category=st.none() | CATEGORIES)
    def list_entries(self, category: Any) -> None:
        """List as the deployer."""
        self.both(lambda world: world.memory.list(category))

    @rule(key=KEYS)
    def delete_as_deployer(self, key: str) -> None:
        """Delete as the deployer."""
        self.both(lambda world: world.memory.delete_as_deployer(key=key))

    @rule(category=CATEGORIES)
    def clear_as_deployer(self, category: Any) -> None:
        """Clear a category as the deployer."""
        self.both(lambda world: world.memory.delete_as_deployer(category=category))

    @invariant()
    def worlds_agree(self) -> None:
        """Lines, telemetry, entries and counters are the same, sound, and within the quota."""
        model, lmdb = self.worlds
        assert model.audit.lines == lmdb.audit.lines
        assert model.audit.durable == lmdb.audit.durable
        assert model.telemetry.denied == lmdb.telemetry.denied
        assert model.state() == lmdb.state()
        assert model.problems() == lmdb.problems() == []
        assert lmdb.state()[1].used <= QUOTA


def _any(_length: int) -> None:
    """Admit everything."""


def _none(length: int) -> None:
    message = f"response needs {length} bytes, out_cap is 0"
    raise BufferTooSmallError(message)


def test_stores_agree(new_world: Callable[[Store], Any]) -> None:
    """Whatever genes, deployer and clock do, the two stores cannot be told apart."""
    machine = type("BothStores", (BothStores,), {"new_world": staticmethod(new_world)})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=40, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )


def test_threads_of_one_run_lose_nothing(world: Any) -> None:
    """Genes side by side write, read and delete through one memory without losing a change or a count."""
    threads = 4

    def work(number: int) -> None:
        caller = world.gene("abcdef"[number])
        for turn in range(15):
            world.memory.write(caller, write_request(f"{number}/{turn}", bytes(turn), "CACHE"))
            assert world.memory.read(world.gene("e"), read_request(f"{number}/{turn}")) != b"null"
            assert world.memory.query(caller, query_request(key_prefix=f"{number}/", limit=1)) != b"[]"
            if turn % 3 == 0:
                world.memory.delete(caller, delete_request(f"{number}/{turn}"))

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))
    world.memory.finish()
    assert len(world.keys()) == threads * 10
    assert len(world.audit.lines) == threads * 20
