"""Agents: their runs, and all that is asked of one of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, overload

from msgspec import to_builtins

from rotifer_host.agent.composition import written
from rotifer_host.agent.reach import know_genes
from rotifer_host.agent.report import RunResult
from rotifer_host.api.memory import DeployerMemory, GeneMemory
from rotifer_host.api.running import run_agent
from rotifer_host.errors import UsageError
from rotifer_host.gene import Gene
from rotifer_host.limits import Limits
from rotifer_host.memory import AgentMemory, Caller, read_request
from rotifer_host.sandbox import Deadline

if TYPE_CHECKING:
    from rotifer_host.agent.explain import Explanation
    from rotifer_host.agent.grants import Grants
    from rotifer_host.agent.record import AgentRecord
    from rotifer_host.api.project import Project
    from rotifer_host.json_memory import AgentJsonStore
    from rotifer_host.lock import Patience
    from rotifer_host.markdown_memory import MarkdownMemory
    from rotifer_host.memory import DataPolicy, Durability
    from rotifer_host.modules import Granted, HostModule
    from rotifer_host.record import Recorder
    from rotifer_host.report import Report
    from rotifer_host.store import Store
    from rotifer_host.transfer import Exported
    from rotifer_host.turn_memory import TurnMemory

__all__ = ["Agent"]

_DEFAULT_LIMITS: Final = Limits()


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
        """How its genes are composed: `Single`, `Seq`, `Par`, `Cond` or `Try`."""
        return self._record.composition.type

    @property
    def composition_tree(self) -> dict[str, Any]:
        """The same with its branches, as its record has it: `{"type": "Par", "branches": [...], "merge": "first"}`."""
        tree: dict[str, Any] = to_builtins(self._record.composition)
        return tree

    @property
    def composition_text(self) -> str:
        """The same on one line: `Par first(a, b)`."""
        return written(self._record.composition)

    @property
    def exclusive(self) -> bool:
        """Whether its runs take turns."""
        return self._record.exclusive

    @property
    def quota(self) -> int:
        """Bytes its memory may hold."""
        return self._record.memoryQuota

    @property
    def data_policy(self) -> DataPolicy:
        """What its deployer allows its entries."""
        return self._record.dataPolicy

    @property
    def grants(self) -> dict[str, dict[str, Any]]:
        """The host modules its genes may use, by name, each with its settings."""
        return dict(self._record.grants)

    @property
    def turn_memory(self) -> dict[str, Any] | None:
        """What it is told before a run and keeps after one, as docs/turn-memory.md describes; None for nothing."""
        found = self._record.turn_memory
        return None if found is None else to_builtins(found)

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
        report: Report | None = None,
        deadline: Deadline | None = None,
    ) -> RunResult:
        """Run the genome on one JSON value.

        `durability` is `call` (what a call answered ≥ 0 for is on disk) or `run` (the
        run's changes are saved together before this returns, all or nothing; a `Par` runs
        as `call`). A run of an exclusive agent whose turn does not come before its
        deadline ends with the status `limit`. An agent with turn memory takes an object,
        and one whose memory cannot be recalled ends `failed`. `record` writes the run into a file that
        `replay` runs again, `report` as a page for people. A `deadline` takes the place of
        `limits.deadline_ms`: another thread can cancel it, and the run ends `failed`. Raises `GeneError`,
        `ModuleError`, `StoreError`, `RecordingError`; what a guest does wrong is in the
        result.
        """
        return run_agent(
            self,
            document,
            limits=limits,
            durability=durability,
            recompile=recompile,
            call_path=call_path,
            record=record,
            report=report,
            deadline=deadline,
        )

    def set_genes(self, genes: Sequence[str], *, composition: str | Mapping[str, object] | None = None) -> Agent:
        """Put other genes into the genome, all at once, and return the agent as it is now; its memory stays.

        Without a `composition` it keeps its own, each gene in the place of the one with
        its number. Raises `UsageError` when they do not fit it, `GeneError`, `AgentError`,
        `LockTimeoutError`.
        """
        from rotifer_host.agent.set_genes import set_genes  # noqa: PLC0415 - a run needs none of it

        project = self._project
        return Agent(project, set_genes(project._folder, self.name, genes, composition))

    def set_turn_memory(self, turn_memory: Mapping[str, object] | None) -> Agent:
        """Give it another turn memory, None for none, and return the agent as it is now; what was kept stays.

        Raises `UsageError`, `GeneError` for an unknown generator, `AgentError`, `LockTimeoutError`.
        """
        from rotifer_host.agent.set_turn_memory import set_turn_memory  # noqa: PLC0415 - a run needs none of it

        project = self._project
        return Agent(project, set_turn_memory(project._folder, self.name, turn_memory))

    def turn_memory_texts(self) -> dict[str, str]:
        """Return what the next run will be told by the memories kept here, by variable.

        Raises `StorageError`, `StoreError`, `LockTimeoutError`.
        """
        from rotifer_host.turn_memory.kept import told  # noqa: PLC0415 - a run needs none of it

        with self._opened() as memory:
            return told(memory, self._with_sources())

    def forget_turn_memory(self, source: str) -> None:
        """Remove what is kept here for the source with this `id`, as its deployer.

        Raises `UsageError` for an unknown source, or one that an external service keeps,
        `StorageError`, `LockTimeoutError`.
        """
        from rotifer_host.turn_memory.kept import forget  # noqa: PLC0415 - a run needs none of it

        with self._opened() as memory:
            forget(memory, self._with_sources(), source)

    def _with_sources(self) -> TurnMemory:
        found = self._record.turn_memory
        if found is None:
            raise UsageError(f"{self.name} has no turn memory", help="docs/turn-memory.md says how to give it one")
        return found

    def explain(self, gene: str, key: str) -> Explanation:
        """Say whether a gene, of the genome or not, may read, write and delete the entry of `key`, and by which rule.

        Does nothing: no line in the audit log, no expired entry removed. Raises
        `GeneError` for an unknown gene, `InvalidInputError` for a key that none can have,
        `StoreError`.
        """
        from rotifer_host.agent.explain import explain  # noqa: PLC0415 - a run needs none of it

        project = self._project
        key = read_request(key).key
        project.gene(gene)
        with self._open_store() as store, store.snapshot() as snapshot:
            return explain(
                snapshot,
                agent_id=self.id,
                agent=self.name,
                gene=know_genes(project._folder, [gene])[0],
                in_genome=gene in self.genome,
                key=key,
                quota=self.quota,
                policy=self.data_policy,
                now_s=project._clock.now_ms() // 1000,
            )

    def export(self, target: str | Path | BinaryIO, *, with_cache: bool = False, force: bool = False) -> Exported:
        """Write the agent and what it remembers to a new file (mode 0600) or a stream, for `Project.import_agent`.

        Everything is as it was at one moment, whoever writes meanwhile. `CACHE` entries
        stay behind but for `with_cache`, what has expired always; genes do not travel. A
        file that is there is replaced only with `force`. Raises `TransferError`, `StoreError`.
        """
        from rotifer_host.transfer import send, target_stream  # noqa: PLC0415 - a run needs none of it

        project = self._project
        with (
            target_stream(target, force=force) as (stream, shown),
            self._open_store() as store,
            store.snapshot() as snapshot,
        ):
            return send(
                snapshot,
                stream,
                name=shown,
                record=self._record,
                genes=know_genes(project._folder, self._record.all_genes),
                with_cache=with_cache,
                now_ms=project._clock.now_ms(),
            )

    @overload
    def memory(self, caller: Gene) -> GeneMemory: ...

    @overload
    def memory(self, caller: None = None) -> DeployerMemory: ...

    def memory(self, caller: Gene | None = None) -> GeneMemory | DeployerMemory:
        """Return the agent's memory as `caller` may use it, or as the deployer sees it.

        Raises `GeneError` when the gene has no v2 id (it is not compiled), `UsageError` for
        a caller that is no gene.
        """
        identity = _identity(caller)
        if identity is None:
            return DeployerMemory(self)
        return GeneMemory(self, identity)

    def grant(self, grants: Grants = (), *, revoke: Sequence[str] = ()) -> Agent:
        """Grant its genes host modules and revoke others, all at once, and return the agent as it is now.

        `grants` are names, or settings by name, which take the place of those it has. What
        a revoked module keeps for the agent stays. Raises `HostModuleError`, `UsageError`,
        `AgentError`, `LockTimeoutError`.
        """
        from rotifer_host.agent.grants import change_grants  # noqa: PLC0415 - a run needs none of it

        project = self._project
        return Agent(project, change_grants(project._folder, self.name, grants, revoke))

    def json_memory(self, caller: Gene | None = None) -> AgentJsonStore:
        """Return the JSON memory of its genes as a store for `create_memory_tools`.

        The audit log names the gene `caller`, or the deployer. Raises `GeneError` when the
        gene has no v2 id.
        """
        from rotifer_host.json_memory import AgentJsonStore  # noqa: PLC0415 - a run needs none of it

        identity = _identity(caller)
        return AgentJsonStore(self._opened, identity, self._record.grants.get("json", {}).get("schema"))

    def markdown_memory(self, caller: Gene | None = None) -> MarkdownMemory:
        """Return the memories in the project's Markdown files, as its genes see them.

        The audit log names the agent and the gene `caller`, or the deployer. Raises
        `GeneError` when the gene has no v2 id.
        """
        from rotifer_host.markdown_memory import Change, MarkdownMemory  # noqa: PLC0415 - the same

        identity = _identity(caller)

        @contextmanager
        def announced(change: Change) -> Iterator[None]:
            action = f"markdown.{change.action}"
            with self._opened() as memory, memory.documents.noted(identity, action, change.key, change.bytes):
                yield

        project = self._project
        return MarkdownMemory(project.root, clock=project._clock, announce=announced)

    def _modules(self) -> tuple[HostModule, ...]:
        """Return the host modules it is granted, whose settings are what they take."""
        if not self._record.grants:
            return ()
        from rotifer_host.agent.grants import granted_modules  # noqa: PLC0415 - few agents are granted any

        return granted_modules(self._record)

    def _granted(self, patience: Patience) -> Granted | None:
        if not self._record.grants:
            return None
        from rotifer_host.modules import Granted  # noqa: PLC0415 - the same

        project = self._project
        return Granted(self.id, self.name, project.root, project._clock, patience, self._record.grants)

    def _open_store(self, *, distrusted: bool = False) -> Store:
        return self._project._folder.open_memory(self._record, distrusted=distrusted)

    def _memory(
        self, store: Store, patience: Patience | None = None, *, durability: Durability = "call"
    ) -> AgentMemory:
        folder = self._project._folder
        return AgentMemory(
            agent_id=self.id,
            agent_name=self.name,
            store=store,
            audit=folder.audit,
            telemetry=folder.telemetry,
            clock=self._project._clock,
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
            try:
                yield memory
            finally:  # also of a call that was refused: that is on record then
                memory.finish()


def _identity(caller: Gene | None) -> Caller | None:
    """Return who a gene is to the rules. Raises `GeneError`, and `UsageError` for what is no gene."""
    if caller is None:
        return None
    if not isinstance(caller, Gene):
        message = f"caller must be a Gene, as Project.gene(name) returns it, or None, not {type(caller).__name__}"
        raise UsageError(message)
    return Caller(caller.current_id(), caller.phenotype.domain)
