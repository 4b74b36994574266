"""Projects: their genes and their agents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Self

from rotifer_host.agent.report import RunResult
from rotifer_host.agent.run import LoadedGene, RunSetting, load_genes, run_genome
from rotifer_host.api.agent import Agent
from rotifer_host.api.running import reported, traced
from rotifer_host.api.sandboxes import sandbox_for, sandbox_of_run
from rotifer_host.clock import Clock, SystemClock
from rotifer_host.errors import ProjectError, RecordingError, UnknownImportError
from rotifer_host.files import absolute
from rotifer_host.gene.template import TEMPLATE_GENE
from rotifer_host.limits import Limits
from rotifer_host.memory import refused_outside_agent
from rotifer_host.modules.registry import refuse_ungranted, usable_modules
from rotifer_host.project import ProjectFolder
from rotifer_host.sandbox import Deadline, Sandbox

if TYPE_CHECKING:
    from rotifer_host.agent.grants import Grants
    from rotifer_host.agent.record import AgentRecord
    from rotifer_host.errors import AccessDeniedError, AgentError
    from rotifer_host.gene import Gene
    from rotifer_host.gene.compile import CompileResult
    from rotifer_host.gene.wrap import WrapResult
    from rotifer_host.lock import Patience
    from rotifer_host.markdown_memory import MarkdownMemory
    from rotifer_host.memory import DataPolicy
    from rotifer_host.record import Recorder
    from rotifer_host.report import Report
    from rotifer_host.suite import GeneTest
    from rotifer_host.transfer import Imported
    from rotifer_host.verify import Proof, ReadLog

__all__ = ["Project"]

_DEFAULT_LIMITS: Final = Limits()
_CLOCK: Final = SystemClock()


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
    def init(
        cls, path: str | Path, name: str | None = None, *, template: str | None = None, clock: Clock = _CLOCK
    ) -> Self:
        """Make a new project in the folder `path`, which must not exist or be empty.

        Its gene is `hello`, not compiled yet, or with a `template`, such as `rust`,
        `formatter` in that language, ready to run. Raises `ProjectError`, `UsageError` for
        a name or a template that is not allowed.
        """
        path = absolute(Path(path), ProjectError)
        project = cls(ProjectFolder.init(path, path.name if name is None else name, template), clock=clock)
        if template is not None and template != "typescript":  # that runs as it is, and compiled it has no memory
            project.compile(TEMPLATE_GENE)
        return project

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

    def markdown_memory(self) -> MarkdownMemory:
        """Return the memories in the Markdown files below `.agent/memory`, for everybody who works on this project.

        Changes have their lines in the audit log, as the deployer's.
        """
        from rotifer_host.markdown_memory import MarkdownMemory, announced_by_deployer  # noqa: PLC0415 - few runs need it

        return MarkdownMemory(
            self.root,
            clock=self._clock,
            announce=lambda change: announced_by_deployer(change, self._folder.audit, self._clock),
        )

    def genes(self) -> list[Gene]:
        """Return all genes, by name."""
        return self._folder.genes()

    def gene(self, name: str) -> Gene:
        """Return a gene. Raises `GeneError` when there is none of that name."""
        return self._folder.gene(name)

    def compile(self, name: str, *, wasm: str | Path | None = None, check_only: bool = False) -> CompileResult:
        """Compile a gene into the artefact that is run, or with `check_only` only say whether it would.

        `wasm` names the module, `.wasm` or `.wat`, or a script to build it from; without it the
        gene's own `gene.wasm`, `gene.wat` or `index.ts`. Raises `GeneError`, `ModuleError`.
        """
        return _compile(self.gene(name), None if wasm is None else Path(wasm), check_only=check_only)

    def wrap(self, name: str, *, domain: str | None = None, fidelity: str | None = None) -> WrapResult:
        """Make the phenotype of a gene's folder, or check the one it has, and tell the gene's v2 id.

        Of a phenotype that is there only the domain is changed, and only if one is
        given; a new one gets the domain `general` without. Raises `GeneError` naming all
        that is wrong with it, `UsageError` for arguments that are not allowed.
        """
        from rotifer_host.gene.wrap import wrap_gene  # noqa: PLC0415 - a run needs none of it

        return wrap_gene(
            self.gene(name), domain=domain, fidelity=fidelity, author=self._folder.author, clock=self._clock
        )

    def test_gene(self, name: str, *, random: bool = False) -> GeneTest:
        """Test a gene: its phenotype, its test suite, generated inputs, and the guest ABI.

        Its runs share a memory that is empty at first and gone afterwards
        (memory-api.en.md, "Which genes can use memory"); no agent of the project, nor its
        audit log, is touched. `random` says that another output each time is meant. What
        is wrong with the gene is in the result. Raises `GeneError` when there is none of
        that name, `UsageError` where the generator of inputs is not installed.
        """
        from rotifer_host.suite import check_gene  # noqa: PLC0415 - a run needs none of it

        return check_gene(
            self.gene(name),
            lambda: self._load(sandbox_for(None, usable_modules()), [name], recompile=False)[0],
            random=random,
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
        report: Report | None = None,
    ) -> RunResult:
        """Run a gene on its own on one JSON value; every memory call it makes is refused.

        `record` writes the run into a file that `replay` runs again, `report` as a page
        for people. Raises `GeneError`, `ModuleError`; what the guest does wrong is in the
        result.
        """
        with sandbox_of_run(call_path, record, limits) as sandbox:
            genes = traced(self._load(sandbox, [name], recompile=recompile, record=record), report)
            deadline = Deadline(limits.deadline_ms)
            setting = RunSetting(
                call_path=sandbox.call_path,
                limits=limits,
                deadline=deadline,
                clock=self._clock,
                memory=None,
                agent=None,
                agent_id=None,
                composition=None,
                refuse=lambda gene, call: self._refusal(gene, call, None, deadline),
            )
            run = partial(run_genome, genes, document, setting)
            return reported(report, run, document=document, limits=limits, clock=self._clock)

    def create_agent(  # noqa: PLR0913 - all that is asked when an agent is made
        self,
        name: str,
        genes: Sequence[str] = (),
        *,
        composition: str | Mapping[str, object] | None = None,
        exclusive: bool = False,
        memory_quota: int | None = None,
        data_policy: DataPolicy | None = None,
        grants: Grants = (),
        turn_memory: Mapping[str, object] | None = None,
    ) -> Agent:
        """Make an agent of existing genes.

        `composition` is `Single`, `Seq`, `Par`, `Cond` or `Try`, or such a composition as
        the JSON value that docs/compositions.md describes; that may name the genes
        itself, and `genes` be left out. Runs of an `exclusive` agent take turns.
        `memory_quota` is bytes, `grants` names the host modules its genes may use, or
        their settings by name, `turn_memory` is as docs/turn-memory.md describes. Raises
        `AgentError` when the name is taken, `GeneError` for an unknown gene,
        `HostModuleError` for an unknown host module, `UsageError` for arguments that are
        not allowed.
        """
        record = self._folder.create_agent(
            name,
            genes,
            composition=composition,
            exclusive=exclusive,
            memory_quota=memory_quota,
            data_policy=data_policy,
            grants=grants,
            turn_memory=turn_memory,
            clock=self._clock,
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

    def import_agent(
        self,
        source: str | Path | BinaryIO,
        *,
        name: str | None = None,
        memory_quota: int | None = None,
        data_policy: DataPolicy | None = None,
    ) -> tuple[Agent, Imported]:
        """Take in an agent that `Agent.export` wrote to a file or a stream: whole, or not at all.

        It keeps its id, and its entries their creators, times and order. What is left out
        is as the file says; `memory_quota` is bytes. Raises `TransferError` for a damaged
        file, `AgentError` with code `IMPORT_CONFLICT` naming all that is in the way,
        `UsageError`, `StoreError`, `AuditError`, `LockTimeoutError`.
        """
        from rotifer_host.transfer import receive, source_stream  # noqa: PLC0415 - a run needs none of it

        with source_stream(source) as (stream, shown):
            record, imported = receive(
                self._folder,
                stream,
                name=shown,
                agent_name=name,
                quota=memory_quota,
                policy=data_policy,
                clock=self._clock,
            )
        return Agent(self, record), imported

    def verify_audit(self, agent: str | None = None, *, older: Sequence[Path] = ()) -> tuple[ReadLog, dict[str, Proof]]:
        """Say whether the audit log proves the memory of one agent or of all: a `Proof` for each by name.

        `older` names files the log was moved to, the oldest first. Changes nothing.
        Raises `AgentError` for an unknown agent, `AuditError` and `StoreError` for what
        cannot be read.
        """
        records = self._folder.agents() if agent is None else [self._folder.agent(agent)]
        from rotifer_host.verify import MemoryFile, verify_log  # noqa: PLC0415 - a run needs none of it

        folder = self._folder
        memories = [
            MemoryFile(each.id, folder.memory_path(each.id), partial(folder.open_memory, each)) for each in records
        ]
        log, proofs = verify_log((*older, self.audit_path), memories)
        return log, {each.name: proofs[each.id] for each in records}

    def _load(
        self,
        sandbox: Sandbox,
        names: Sequence[str],
        *,
        recompile: bool,
        record: Recorder | None = None,
        agent: AgentRecord | None = None,
    ) -> list[LoadedGene]:
        genes = [self.gene(name) for name in dict.fromkeys(names)]
        if recompile:
            for gene in genes:
                if gene.script() is None:
                    _compile(gene, gene.compiled_from())
        granted, owner = ((), None) if agent is None else (tuple(agent.grants), agent.name)
        loaded = {gene.name: gene for gene in load_genes(sandbox, genes, granted=granted, agent=owner)}
        scripts = [name for name, gene in loaded.items() if not gene.runner.compiled]
        if record is not None and scripts:
            message = f"a recording holds WebAssembly, and {', '.join(scripts)} runs on Node.js"
            raise RecordingError(message, help="run the agent without --record")
        return [loaded[name] for name in names]

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


def _compile(gene: Gene, source: Path | None, *, check_only: bool = False) -> CompileResult:
    """Compile a gene with whatever host modules there are: what it is granted is for the agent to say."""
    from rotifer_host.gene.compile import compile_gene  # noqa: PLC0415 - a run needs none of it

    modules = usable_modules()
    try:
        return compile_gene(gene, sandbox=sandbox_for(None, modules), wasm=source, check_only=check_only)
    except UnknownImportError as error:
        refuse_ungranted(error, gene.name, [module.name for module in modules], None)
        raise
