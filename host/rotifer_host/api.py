"""The library: projects, their genes and agents, runs and memory.

Everything the command line does, it does through these classes.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, overload

from msgspec import UNSET, UnsetType

from rotifer_host import contract
from rotifer_host.agent.memory_calls import memory_functions
from rotifer_host.agent.run import LoadedGene, RunSetting, load_genes, run_genome
from rotifer_host.clock import Clock, SystemClock
from rotifer_host.errors import ProjectError, UsageError
from rotifer_host.files import absolute
from rotifer_host.gene import compile_gene
from rotifer_host.gene.source import read_module_file
from rotifer_host.limits import Limits
from rotifer_host.memory import (
    AgentMemory,
    Caller,
    delete_request,
    parse_entries,
    parse_entry,
    query_request,
    read_request,
    refused_outside_agent,
    stored_entry,
    write_request,
)
from rotifer_host.project import ProjectFolder, module_cache_dir
from rotifer_host.sandbox import Deadline, HostFunctions, Sandbox, core_functions, wasi_functions
from rotifer_host.store import open_store

if TYPE_CHECKING:
    from rotifer_host.agent.record import AgentRecord
    from rotifer_host.agent.report import RunResult
    from rotifer_host.errors import AccessDeniedError, AgentError
    from rotifer_host.gene import CompileResult, Gene
    from rotifer_host.lock import Patience
    from rotifer_host.memory import (
        AccessPolicy,
        Category,
        DataPolicy,
        Durability,
        Listing,
        MemoryEntry,
        RetentionPolicy,
    )
    from rotifer_host.record import Recorder, Replay
    from rotifer_host.store import Store
    from rotifer_host.verify import AgentCheck, Proof, ReadLog

__all__ = ["Agent", "DeployerMemory", "GeneMemory", "Project", "replay"]

_DEFAULT_LIMITS: Final = Limits()
_CLOCK: Final = SystemClock()

CALL_PATH_VARIABLE: Final = "ROTIFER_CALL_PATH"
"""Names the call path of every run that is given none; `auto`, as without it, is the fastest that works here."""

_sandboxes: dict[str, Sandbox] = {}
_sandboxes_lock = threading.Lock()


def _functions() -> HostFunctions:
    return HostFunctions(core_functions(), wasi_functions(), memory_functions())


def _wanted(call_path: str | None) -> str:
    return call_path or os.environ.get(CALL_PATH_VARIABLE) or "auto"


def _sandbox(call_path: str | None) -> Sandbox:
    """One sandbox for each call path in a process: host functions are registered once, modules compiled once."""
    wanted = _wanted(call_path)
    with _sandboxes_lock:
        if wanted not in _sandboxes:
            _sandboxes[wanted] = Sandbox(_functions(), call_path=wanted, cache_dir=module_cache_dir())
        return _sandboxes[wanted]


@contextmanager
def _sandbox_of_run(
    call_path: str | None, record: Recorder | None, limits: Limits, agent: Agent | None = None
) -> Iterator[Sandbox]:
    """Give the sandbox for one run; a recorded one has its own, and its recording is written afterwards."""
    if record is None:
        yield _sandbox(call_path)
        return
    try:
        yield record.sandbox(_functions(), call_path=_wanted(call_path), cache_dir=module_cache_dir())
    finally:
        record.save(
            agent=None if agent is None else agent.name,
            agent_id=None if agent is None else agent.id,
            composition=None if agent is None else agent.composition,
            limits=limits,
        )


def replay(path: str | Path, *, call_path: str | None = None, modules: Sequence[str | Path] = ()) -> Replay:
    """Run a recorded run again with the recorded answers, and say where it first differs.

    Needs no project and changes nothing. `modules` are files of modules that the
    recording left out. Raises `RecordingError`, `ModuleError`, `GeneError` for a file
    that cannot be read, `UsageError` for an unknown call path.
    """
    from rotifer_host.record import read_recording  # noqa: PLC0415 - a run needs none of it
    from rotifer_host.record import replay as replay_recording  # noqa: PLC0415

    recording = read_recording(Path(path))
    return replay_recording(
        recording,
        _functions(),
        call_path=_wanted(call_path),
        cache_dir=module_cache_dir(),
        modules=[_module_file(Path(file)) for file in modules],
    )


def _module_file(path: Path) -> bytes:
    try:
        return read_module_file(path)
    except FileNotFoundError:
        raise UsageError(f"there is no file {path}") from None


class Project:
    """A folder with `rotifer.json`, its genes and its agents."""

    def __init__(self, folder: ProjectFolder, *, clock: Clock = _CLOCK) -> None:
        self._folder = folder
        self._clock = clock

    @classmethod
    def open(cls, path: str | Path = ".", *, clock: Clock = _CLOCK) -> Self:
        """Open the project `path` lies in: the nearest folder upwards with `rotifer.json`.

        `clock` is the host's time of day; tests pass `rotifer_host.testing.ManualClock`.
        Raises `ProjectError`.
        """
        return cls(ProjectFolder.find(Path(path)), clock=clock)

    @classmethod
    def init(cls, path: str | Path, name: str | None = None, *, clock: Clock = _CLOCK) -> Self:
        """Make a new project in the folder `path`, which must not exist or be empty.

        Raises `ProjectError`, `UsageError` for a name that is not allowed.
        """
        path = absolute(Path(path), ProjectError)
        return cls(ProjectFolder.init(path, path.name if name is None else name), clock=clock)

    @property
    def root(self) -> Path:
        """The project's folder."""
        return self._folder.root

    @property
    def genes_path(self) -> Path:
        """The folder of its genes, one folder each in it."""
        return self._folder.genes_dir

    @property
    def audit_path(self) -> Path:
        """The audit log, one JSON object a line."""
        return self._folder.audit.path

    def genes(self) -> list[Gene]:
        """Return all genes, by name."""
        return self._folder.genes()

    def gene(self, name: str) -> Gene:
        """Return a gene. Raises `GeneError` when there is none of that name."""
        return self._folder.gene(name)

    def compile(self, name: str, *, wasm: str | Path | None = None, check_only: bool = False) -> CompileResult:
        """Compile a gene into the artefact that is run, or with `check_only` only say whether it would.

        `wasm` names the module, `.wasm` or `.wat`; without it the gene's own
        `gene.wasm` or `gene.wat`. Raises `GeneError`, `ModuleError`.
        """
        return compile_gene(
            self.gene(name), wasm=None if wasm is None else Path(wasm), check_only=check_only, sandbox=_sandbox(None)
        )

    def run_gene(  # noqa: PLR0913 - what a run can be given
        self,
        name: str,
        document: Any,  # noqa: ANN401 - any JSON value
        *,
        limits: Limits = _DEFAULT_LIMITS,
        recompile: bool = False,
        call_path: str | None = None,
        record: Recorder | None = None,
    ) -> RunResult:
        """Run a gene on its own on one JSON value; every memory call it makes is refused.

        `record` writes the run into a file that `replay` runs again. Raises `GeneError`,
        `ModuleError`; what the guest does wrong is in the result.
        """
        with _sandbox_of_run(call_path, record, limits) as sandbox:
            genes = self._load(sandbox, [name], recompile=recompile)
            deadline = Deadline(limits.deadline_ms)
            setting = RunSetting(
                sandbox=sandbox,
                limits=limits,
                deadline=deadline,
                clock=self._clock,
                memory=None,
                agent=None,
                agent_id=None,
                composition=None,
                refuse=lambda gene, call: self._refusal(gene, call, None, deadline),
            )
            return run_genome(genes, document, setting)

    def create_agent(
        self,
        name: str,
        genes: Sequence[str],
        *,
        composition: str | None = None,
        memory_quota: int | None = None,
        data_policy: DataPolicy | None = None,
    ) -> Agent:
        """Make an agent of existing genes.

        `memory_quota` is bytes. Raises `AgentError` when the name is taken, `GeneError`
        for an unknown gene, `UsageError` for arguments that are not allowed.
        """
        record = self._folder.create_agent(
            name, genes, composition=composition, memory_quota=memory_quota, data_policy=data_policy, clock=self._clock
        )
        return Agent(self, record)

    def agents(self, on_unreadable: Callable[[AgentError], None] | None = None) -> list[Agent]:
        """Return all agents, by name.

        A record that cannot be read raises `AgentError`, or is handed to `on_unreadable` and left out.
        """
        return [Agent(self, record) for record in self._folder.agents(on_unreadable)]

    def agent(self, name: str) -> Agent:
        """Return an agent. Raises `AgentError` when there is none of that name."""
        return Agent(self, self._folder.agent(name))

    def verify_audit(self, agent: str | None = None, *, older: Sequence[Path] = ()) -> tuple[ReadLog, dict[str, Proof]]:
        """Say whether the audit log proves the memory of one agent or of all: a `Proof` for each by name.

        `older` names files the log was moved to, the oldest first. Changes nothing.
        Raises `AgentError` for an unknown agent, `AuditError` and `StoreError` for what
        cannot be read.
        """
        records = self._folder.agents() if agent is None else [self._folder.agent(agent)]
        from rotifer_host.verify import MemoryFile, verify_log  # noqa: PLC0415 - a run needs none of it

        memories = [MemoryFile(each.id, self._folder.memory_path(each.id), each.memoryQuota) for each in records]
        log, proofs = verify_log((*older, self.audit_path), memories)
        return log, {each.name: proofs[each.id] for each in records}

    def _load(self, sandbox: Sandbox, names: Sequence[str], *, recompile: bool) -> list[LoadedGene]:
        genes = [self.gene(name) for name in names]
        if recompile:
            for gene in dict.fromkeys(genes):
                compile_gene(gene, sandbox=sandbox, wasm=gene.compiled_from())
        return load_genes(sandbox, genes)

    def _refusal(
        self, gene: LoadedGene, call: str, record: AgentRecord | None, patience: Patience
    ) -> AccessDeniedError:
        return refused_outside_agent(
            operation=call,
            gene_id=gene.gene_id,
            domain=gene.domain,
            agent_id=None if record is None else record.id,
            agent_name=None if record is None else record.name,
            audit=self._folder.audit,
            telemetry=self._folder.telemetry,
            clock=self._clock,
            patience=patience,
        )


class Agent:
    """A named set of genes and one memory that outlives any of them."""

    def __init__(self, project: Project, record: AgentRecord) -> None:
        self._project = project
        self._record = record

    @property
    def name(self) -> str:
        """The agent's name, unique in its project."""
        return self._record.name

    @property
    def id(self) -> str:
        """The agent's id; its memory belongs to it."""
        return self._record.id

    @property
    def genome(self) -> tuple[str, ...]:
        """The names of its genes in order."""
        return tuple(self._record.genome)

    @property
    def composition(self) -> str:
        """How its genes are composed: `Single` or `Seq`."""
        return self._record.composition.type

    @property
    def quota(self) -> int:
        """Bytes its memory may hold."""
        return self._record.memoryQuota

    @property
    def data_policy(self) -> DataPolicy:
        """What its deployer allows its entries."""
        return self._record.dataPolicy

    @property
    def created_at(self) -> str:
        """When it was made, RFC 3339."""
        return self._record.createdAt

    def run(  # noqa: PLR0913 - what a run can be given
        self,
        document: Any,  # noqa: ANN401 - any JSON value
        *,
        limits: Limits = _DEFAULT_LIMITS,
        durability: Durability = "call",
        recompile: bool = False,
        call_path: str | None = None,
        record: Recorder | None = None,
    ) -> RunResult:
        """Run the genome on one JSON value.

        `durability` is `call` (what a call answered ≥ 0 for is on disk) or `run` (the
        run's changes are saved together before this returns, all or nothing). `record`
        writes the run into a file that `replay` runs again. Raises `GeneError`,
        `ModuleError`, `StoreError`; what a guest does wrong is in the result.
        """
        if durability not in contract.DURABILITIES:
            allowed = ", ".join(contract.DURABILITIES)
            raise UsageError(f"durability must be one of {allowed}, not {durability!r}")
        project = self._project
        with _sandbox_of_run(call_path, record, limits, self) as sandbox:
            genes = project._load(sandbox, self.genome, recompile=recompile)  # noqa: SLF001 - one module
            deadline = Deadline(limits.deadline_ms)
            with self._open_store() as store:
                setting = RunSetting(
                    sandbox=sandbox,
                    limits=limits,
                    deadline=deadline,
                    clock=project._clock,  # noqa: SLF001
                    memory=self._memory(store, deadline, durability=durability),
                    agent=self.name,
                    agent_id=self.id,
                    composition=self.composition,
                    refuse=lambda gene, call: project._refusal(gene, call, self._record, deadline),  # noqa: SLF001
                )
                return run_genome(genes, document, setting)

    @overload
    def memory(self, caller: Gene) -> GeneMemory: ...

    @overload
    def memory(self, caller: None = None) -> DeployerMemory: ...

    def memory(self, caller: Gene | None = None) -> GeneMemory | DeployerMemory:
        """Return the agent's memory as `caller` may use it, or as the deployer sees it.

        Raises `GeneError` when the gene has no v2 id (it is not compiled).
        """
        if caller is None:
            return DeployerMemory(self)
        return GeneMemory(self, Caller(caller.gene_id(caller.artefact()), caller.phenotype.domain))

    def _open_store(self) -> Store:
        return open_store(self._project._folder.memory_path(self.id), agent_id=self.id, quota=self.quota)  # noqa: SLF001

    def _memory(
        self, store: Store, patience: Patience | None = None, *, durability: Durability = "call"
    ) -> AgentMemory:
        folder = self._project._folder  # noqa: SLF001
        return AgentMemory(
            agent_id=self.id,
            agent_name=self.name,
            store=store,
            audit=folder.audit,
            telemetry=folder.telemetry,
            clock=self._project._clock,  # noqa: SLF001
            quota=self.quota,
            policy=self.data_policy,
            durability=durability,
            patience=patience,
        )

    @contextmanager
    def _opened(self) -> Iterator[AgentMemory]:
        """One operation outside a run."""
        with self._open_store() as store:
            memory = self._memory(store)
            yield memory
            memory.finish()


class GeneMemory:
    """An agent's memory, acting as one of its genes: the four calls, under every rule.

    Each call stands on its own. They raise `HostCallError` of the kinds in
    memory-api.en.md, "Errors", and `LockTimeoutError` when another process holds the
    memory for more than 10 s.
    """

    def __init__(self, agent: Agent, caller: Caller) -> None:
        self._agent = agent
        self._caller = caller

    def read(self, key: str, category: Category | None = None) -> MemoryEntry | None:
        """Return the entry of `key`, or None; with `category` only if it is of that category."""
        request = read_request(key, category)
        with self._agent._opened() as memory:  # noqa: SLF001
            return parse_entry(memory.read(self._caller, request))

    def write(
        self,
        key: str,
        value: bytes,
        category: Category,
        access_policy: AccessPolicy | None = None,
        retention_policy: RetentionPolicy | UnsetType | None = UNSET,
    ) -> MemoryEntry:
        """Create or replace the entry of `key` and return it as stored.

        `retention_policy` left out (`UNSET`) keeps what is stored; None makes the entry
        follow the agent's data policy.
        """
        request = write_request(key, value, category, access_policy, retention_policy)
        with self._agent._opened() as memory:  # noqa: SLF001
            return stored_entry(memory.write(self._caller, request))

    def query(
        self,
        *,
        category: Category | None = None,
        key_prefix: str | None = None,
        since: str | None = None,
        until: str | None = None,
        limit: int | None = None,
    ) -> list[MemoryEntry]:
        """Return the readable entries that match all given filters, most recently updated first.

        `since` (inclusive) and `until` (exclusive) are RFC 3339; `limit` is 1 to 1000, default 100.
        """
        request = query_request(category=category, key_prefix=key_prefix, since=since, until=until, limit=limit)
        with self._agent._opened() as memory:  # noqa: SLF001
            return parse_entries(memory.query(self._caller, request))

    def delete(self, key: str) -> None:
        """Delete the entry of `key`. Raises `NotFoundError` when there is none."""
        request = delete_request(key)
        with self._agent._opened() as memory:  # noqa: SLF001
            memory.delete(self._caller, request)


class DeployerMemory:
    """An agent's memory as its deployer sees it: not bound by access policies, and writing none."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    def list(self, category: Category | None = None) -> Listing:
        """Return used bytes, quota, and every entry without its value."""
        with self._agent._opened() as memory:  # noqa: SLF001
            return memory.list(category)

    def check(self, *, older: Sequence[Path] = ()) -> AgentCheck:
        """Check the memory file and what the audit log says of it; changes nothing.

        `older` names files the log was moved to, the oldest first. Raises `StoreError`
        and `AuditError` for what cannot be read, `LockTimeoutError` when a run holds the
        memory for more than 10 s.
        """
        from rotifer_host.verify import check_agent  # noqa: PLC0415 - a run needs none of it

        agent = self._agent
        project = agent._project  # noqa: SLF001 - one module
        with agent._open_store() as store:  # noqa: SLF001
            return check_agent(
                store=store,
                memory=agent._memory(store),  # noqa: SLF001
                agent_id=agent.id,
                logs=(*older, project.audit_path),
                clock=project._clock,  # noqa: SLF001
                policy=agent.data_policy,
            )

    def delete(self, *, key: str | None = None, category: Category | None = None) -> int:
        """Delete one entry by key or all of a category, and return how many went.

        Give exactly one. Raises `UsageError` otherwise, `NotFoundError` for a key that does not exist.
        """
        if (key is None) == (category is None):
            raise UsageError("give exactly one of key and category")
        with self._agent._opened() as memory:  # noqa: SLF001
            return memory.delete_as_deployer(key=key, category=category)
