"""Two memories of one agent that are asked the same, each on a call path of its own, and must not differ in anything.

One is asked on the native call path, where C answers ordinary reads and writes in the
place of the Python rules; the other on the raw one, where those rules answer
everything. The calls are made by a real guest, which is told them one by one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal, NamedTuple, NoReturn, TypeVar, cast, get_args

import lmdb
import pytest
from tests.memory.caller import (
    LARGE,
    PAGE,
    SMALL,
    SPIN,
    TRAP,
    Act,
    Call,
    Kept,
    Made,
    Script,
    Step,
    deleting,
    guest,
    querying,
    reading,
    writing,
)
from tests.memory.differences import check_links, compare

from rotifer_host import DataPolicy, Limits
from rotifer_host.agent.memory_calls import MemoryAccess, NoMemory
from rotifer_host.audit import AuditLog
from rotifer_host.errors import AccessDeniedError, RotiferError
from rotifer_host.lock import Patience, Wait
from rotifer_host.memory import AgentMemory, Caller, Durability
from rotifer_host.memory.entry import Record, entry_id
from rotifer_host.sandbox import Deadline, HostTime, available_call_paths
from rotifer_host.store import LmdbStore, open_store
from rotifer_host.store.check import problems
from rotifer_host.telemetry import TelemetryLog
from rotifer_host.testing import ManualClock

__all__ = [
    "AGENT",
    "BUILT",
    "DURABILITIES",
    "LARGE",
    "PAGE",
    "PATHS",
    "SMALL",
    "SPIN",
    "TRAP",
    "A",
    "B",
    "C",
    "Call",
    "End",
    "Ended",
    "Kept",
    "Made",
    "Ran",
    "RestlessClock",
    "Step",
    "Twin",
    "Twins",
    "amid",
    "deleting",
    "gene",
    "outcome",
    "paired",
    "querying",
    "reading",
    "unsynced",
    "writing",
]

AGENT: Final = "agent-1"
PATHS: Final = ("native", "raw")
BUILT: Final = find_spec("rotifer_host.memory._ordinary") is not None
"""Whether there is a shortcut: without a C compiler there is none, and all else must hold."""

_T = TypeVar("_T")
_NO_LIMIT: Final = DataPolicy()


def gene(letter: str, domain: str = "format") -> Caller:
    """Return a caller whose v2 id repeats one letter."""
    return Caller(f"v2:{letter * 64}", domain)


A: Final = gene("a")
B: Final = gene("b")
C: Final = gene("c", "search")
DURABILITIES: Final = pytest.mark.parametrize("durability", get_args(Durability))

End = Literal["finish", "rollback"]


class Ended(NamedTuple):
    """How a gene's run ended."""

    status: str
    error: object = None


class Ran(NamedTuple):
    """What came of one gene's run."""

    ended: Ended
    calls: list[Made]
    fuel: int
    stats: dict[str, tuple[int, dict[int, int], int, int]]
    events: tuple[int, int] | None
    """Entries evicted and expired."""

    @property
    def results(self) -> list[int]:
        """Return the result of each call."""
        return [made.result for made in self.calls]


class RestlessClock(ManualClock):
    """A clock that lets something happen when it is asked: amid a call, that is."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[], object] | None = None
        """What happens at the next reading."""

    def now_ms(self) -> int:
        """Return milliseconds since 1970."""
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        return super().now_ms()


def amid(act: Act) -> Act:
    """Return a step that lets something happen amid the next call."""

    def step(twin: Twin) -> None:
        twin.clock.meanwhile = lambda: act(twin)

    return step


class Twin:
    """One memory: its files in a folder of its own, and the call path it is asked on."""

    def __init__(self, folder: Path, call_path: str, *, quota: int, policy: DataPolicy, pages: int) -> None:
        self.folder = folder
        self.call_path = call_path
        self.clock = RestlessClock()
        self.log = AuditLog(folder / "audit.jsonl")
        self.telemetry = TelemetryLog(folder / "telemetry.jsonl", enabled=True)
        self.quota = quota
        self.policy = policy
        self.pages = pages
        self.memory_path = folder / "memory" / AGENT
        self.store = self.open()
        self.memory = self.use()
        self.watched = True
        """Whether all that is kept is looked at after each call, and not only after a run."""
        self.deadline = Deadline(60_000)
        self.shortcuts = 0
        """Calls that a shortcut has answered."""

    def open(self) -> LmdbStore:
        """Open the memory file."""
        return open_store(self.memory_path, agent_id=AGENT, quota=self.quota)

    def use(self, durability: Durability = "call", patience: Patience | None = None) -> AgentMemory:
        """Return a memory for one run."""
        return AgentMemory(
            agent_id=AGENT,
            agent_name="formatter",
            store=self.store,
            audit=self.log,
            telemetry=self.telemetry,
            clock=self.clock,
            quota=self.quota,
            policy=self.policy,
            durability=durability,
            patience=patience,
        )

    def run(self, caller: Caller | None, steps: Sequence[Step], *, fuel: int) -> Ran:
        """Make the calls as one gene of a run on `memory`; without a caller as one that has no v2 id."""
        sandbox, module = guest(self.call_path, self.pages)
        services: MemoryAccess | NoMemory = NoMemory(_refuse)
        if caller is not None:
            services = MemoryAccess(self.memory, caller)
        script, process = Script(self, steps), os.getpid()
        try:
            result = sandbox.run(
                module,
                b"1",
                limits=Limits(fuel=fuel),
                deadline=self.deadline,
                host_time=HostTime(30_000),
                services=services,
                context={"script": script},
                logical_ms=1,
                version=self.memory.version,
            )
        except Exception as error:  # noqa: BLE001 - what a call lets out is the same, too
            if os.getpid() != process:
                os._exit(1)
            return Ran(Ended("raised", (type(error), str(error))), script.made, 0, {}, None)
        stats = {
            name: (found.count, found.errors, found.bytes_in, found.bytes_out)
            for name, found in sorted(result.host_calls.items())
        }
        if os.getpid() != process:
            self._end_child(script, stats)
        self.shortcuts += sum(found.shortcuts for found in result.host_calls.values())
        ended = Ended(result.status, result.error and (result.error.code, result.error.message))
        events = None if caller is None else self.memory.events.take(caller.gene_id)
        return Ran(ended, script.made, result.fuel, stats, events)

    def _end_child(self, script: Script, stats: object) -> NoReturn:
        """In a process that was forked amid a call: leave what it saw in the file `child`."""
        ended = outcome(lambda twin: twin.memory.finish(), self)
        (self.folder / "child").write_text(f"{script.made} {stats} {ended}", encoding="utf-8")
        os._exit(0)

    def kept(self) -> Kept:
        """Return what is on the disk, without the store's own caches knowing."""
        with self.opened() as env, env.begin() as txn:
            rows = dict(txn.cursor())
            number = txn.id()
        return Kept(rows, number, *(_content(path) for path in (self.log.path, self.telemetry.path)))

    @contextmanager
    def opened(self) -> Iterator[lmdb.Environment]:
        """Give the open file below the store."""
        with ExitStack() as stack:
            found = self.store._environment or stack.enter_context(self.open())._environment
            assert found is not None
            assert found.env is not None
            yield found.env

    def put(self, key: str, record: Callable[[bytes, int], Record]) -> None:
        """Put a record, made of an entry id and a sequence number, past all rules."""
        identity = entry_id(AGENT, key)
        change = self.store.begin(Wait())
        change.put(identity, record(identity, change.totals().sequence + 1))
        change.commit()

    def problems(self) -> list[str]:
        """Return what the check of the store finds."""
        with self.store.snapshot() as snapshot:
            return problems(snapshot, AGENT)

    def close(self) -> None:
        """Close the files."""
        self.store.close()
        self.log.close()


def _refuse(call: str) -> AccessDeniedError:
    return AccessDeniedError(f"{call}: this gene has no v2 id")


def _content(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


class Twins:
    """Both memories."""

    def __init__(self, twins: Sequence[Twin]) -> None:
        self.twins = twins

    @property
    def shortcuts(self) -> int:
        """Calls that a shortcut has answered, on the native path."""
        native, raw = self.twins
        assert raw.shortcuts == 0
        return native.shortcuts

    def took_shortcuts(self) -> bool:
        """Tell whether C has answered anything since it was asked last, where there is a shortcut at all."""
        taken, self.twins[0].shortcuts = self.shortcuts, 0
        return taken > 0 or not BUILT

    def each(self, act: Callable[[Twin], _T]) -> _T:
        """Do something to both; return what it gave, which must be the same."""
        native, raw = (outcome(act, twin) for twin in self.twins)
        compare("done to each", native, raw)
        return raw

    def run(
        self,
        *genes: tuple[Caller | None, Sequence[Step]],
        durability: Durability = "call",
        end: End = "finish",
        fuel: int = 1 << 40,
    ) -> list[Ran]:
        """Let genes run one after another on one use of each memory, and end it; what came of each must be the same."""

        def run(twin: Twin) -> tuple[list[Ran], object, Kept]:
            twin.deadline = Deadline(60_000)
            twin.memory = twin.use(durability, twin.deadline)
            ran = [twin.run(caller, steps, fuel=fuel) for caller, steps in genes]
            ended = outcome(lambda _: twin.memory.finish() if end == "finish" else twin.memory.rollback(), twin)
            counts = (twin.memory.events.denied, twin.memory.events.evicted, twin.memory.events.expired)
            return ran, (ended, counts), twin.kept()

        (native, native_end, native_kept), (raw, raw_end, raw_kept) = map(run, self.twins)
        for number, (one, other) in enumerate(zip(native, raw, strict=True)):
            compare(f"run {number}", one, other)
        assert native_end == raw_end
        compare("in the end", native_kept, raw_kept)
        check_links(raw_kept.lines)
        return raw


def outcome(act: Callable[[Twin], _T], twin: Twin) -> _T:
    """Return what something does to a twin gives, or what it raises, as a value to compare."""
    try:
        return act(twin)
    except RotiferError as error:
        return cast("_T", (type(error), error.message))


@contextmanager
def unsynced() -> Iterator[None]:
    """Wait for no disk: no power is cut here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lmdb, "open", partial(lmdb.open, sync=False))
        patch.setattr(os, "fsync", lambda _descriptor: None)
        patch.setattr(os, "fdatasync", lambda _descriptor: None)
        yield


@contextmanager
def paired(
    folder: Path,
    *,
    quota: int = 1 << 20,
    policy: DataPolicy = _NO_LIMIT,
    pages: int = SMALL,
) -> Iterator[Twins]:
    """Give two empty memories in a folder; they must be sound in the end."""
    if PATHS[0] not in available_call_paths():
        pytest.skip("the native call path is not built here: there was no C compiler")
    with ExitStack() as stack:
        stack.enter_context(unsynced())
        twins = []
        for call_path in PATHS:
            (folder / call_path).mkdir()
            twins.append(Twin(folder / call_path, call_path, quota=quota, policy=policy, pages=pages))
            stack.callback(twins[-1].close)
        yield Twins(twins)
