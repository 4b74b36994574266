"""A project on disk: the folder with `rotifer.json`, its genes, its agents, and what the host keeps of them.

rotifer.json            {"v", "name", "version", "author", "genes_dir"}
genes/<name>/           one gene each: phenotype.json, its source, gene.ir.wasm
.rotifer/               0700, not for git
    agents/<id>.json    one agent each; <id>.run and <id>.next beside it are the locks of its exclusive runs
    memory/<id>/        its memory
    audit.jsonl  telemetry.jsonl
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

import msgspec

from rotifer_host import contract, telemetry
from rotifer_host.agent.checked import checked_composition, checked_turn_memory
from rotifer_host.agent.grants import Grants, read_grants
from rotifer_host.agent.record import AgentRecord, check_name, create_agent, find_agent, list_agents, write_record
from rotifer_host.audit import AuditLog
from rotifer_host.clock import Clock, SystemClock
from rotifer_host.errors import AgentError, GeneError, ProjectError, StoreError, UsageError
from rotifer_host.files import absolute, is_file, is_folder, make_private_folder, read_json
from rotifer_host.gene import Gene
from rotifer_host.gene.phenotype import PHENOTYPE_FILE
from rotifer_host.gene.template import TEMPLATE_GENE, template_files
from rotifer_host.lock import FileLock, Wait
from rotifer_host.memory.entry import DEFAULT_DATA_POLICY, DataPolicy
from rotifer_host.telemetry import TelemetryLog
from rotifer_host.text import quoted

if TYPE_CHECKING:
    from rotifer_host.store import Store

__all__ = ["PROJECT_FILE", "ProjectFolder", "module_cache_dir"]

PROJECT_FILE: Final = "rotifer.json"

_CLOCK: Final = SystemClock()
_STATE_FOLDER: Final = ".rotifer"
_AUTHOR: Final = "local-dev"
_STARTER_GENE: Final = Path(__file__).parent / "gene" / "starter" / "hello"
_GITIGNORE: Final = """\
# the agents' records, memory and logs
.rotifer/
# made by `rotifer compile` and `rotifer wrap`
gene.ir.wasm
.compile-result.json
.gene-manifest.json
# made by build tools
node_modules/
target/
"""


class ProjectFolder:
    """An existing project; `find` or `init` make one of these.

    Nothing is written until something has to be: a fresh clone, which has no
    `.rotifer/`, and a read-only one can be looked at.
    """

    def __init__(self, root: Path) -> None:
        """Read `rotifer.json` in `root`. Raises `ProjectError`, naming the field that is wrong."""
        self.root = root
        self.name, self.author, self.genes_dir = _read_project(root)
        self.state_dir = root / _STATE_FOLDER

    def __repr__(self) -> str:
        return f"ProjectFolder({str(self.root)!r})"

    @classmethod
    def find(cls, start: Path) -> ProjectFolder:
        """Open the project of folder `start`: the nearest one upwards that holds `rotifer.json`.

        Raises `ProjectError`, with code `NO_PROJECT` when there is none.
        """
        folder = absolute(start, _no_project)
        if not is_folder(folder, ProjectError):
            message = f"there is no folder {folder}"
            raise ProjectError(message, code="NO_PROJECT")
        for candidate in (folder, *folder.parents):
            if is_file(candidate / PROJECT_FILE, ProjectError):
                return cls(candidate)
        message = f"no {PROJECT_FILE} in {folder} or above it"
        raise ProjectError(
            message, code="NO_PROJECT", help="make a project with `rotifer init NAME`, or name one with -C DIR"
        )

    @classmethod
    def init(cls, path: Path, name: str, template: str | None = None) -> ProjectFolder:
        """Make the folder `path` with a project named `name` and a gene to start from: all of it, or nothing.

        The gene is `hello`, or `formatter` in the language of a `template`. An empty
        folder that is there already is replaced. Raises `UsageError` for a bad name and an
        unknown template, `ProjectError` when there is something at `path`.
        """
        check_name(name, "project")
        gene, files = _starter() if template is None else (TEMPLATE_GENE, template_files(template))
        path = absolute(path, ProjectError)
        draft = path.with_name(f".{path.name}.{os.urandom(8).hex()}.tmp")
        try:
            if os.path.lexists(path) and not (path.is_dir() and not path.is_symlink() and not any(path.iterdir())):
                message = f"{path} is there already and not an empty folder"
                raise ProjectError(message, help="choose a name that is not taken")
            try:
                _write_project(draft, name, gene, files)
                draft.rename(path)
            finally:
                shutil.rmtree(draft, ignore_errors=True)
        except (OSError, ValueError) as error:  # ValueError: a NUL in the path
            message = f"cannot make the project {path}: {error.strerror if isinstance(error, OSError) else error}"
            raise ProjectError(message) from error
        return cls(path)

    def gene(self, name: str) -> Gene:
        """Return a gene by name. Raises `UsageError` for a bad name, `GeneError` with code `GENE_NOT_FOUND`."""
        check_name(name, "gene")
        path = self.genes_dir / name
        if not is_folder(path, GeneError):
            message = f"there is no gene {name} in {self.genes_dir}"
            raise GeneError(message, code="GENE_NOT_FOUND", help="`rotifer list` shows the genes of this project")
        return Gene(path, self.root)

    def genes(self) -> list[Gene]:
        """Return the genes by name: each folder with a `phenotype.json`, valid or not. Raises `ProjectError`."""
        try:
            folders = sorted(self.genes_dir.iterdir())
        except FileNotFoundError:
            return []
        except OSError as error:
            message = f"cannot read {self.genes_dir}: {error.strerror}"
            raise ProjectError(message) from error
        return [Gene(folder, self.root) for folder in folders if _is_name(folder.name) and _holds_gene(folder)]

    def agent(self, name: str) -> AgentRecord:
        """Return an agent by name. Raises `AgentError`: see `find_agent`."""
        return find_agent(self.agents_dir, name)

    def agents(self, on_unreadable: Callable[[AgentError], None] | None = None) -> list[AgentRecord]:
        """Return the agents by name.

        A record that cannot be read raises `AgentError`, or is handed to `on_unreadable` and left out.
        """
        return list_agents(self.agents_dir, on_unreadable)

    def create_agent(  # noqa: PLR0913 - all that is asked when an agent is made
        self,
        name: str,
        genome: Sequence[str] = (),
        *,
        composition: str | Mapping[str, object] | None = None,
        exclusive: bool = False,
        memory_quota: int | None = None,
        data_policy: DataPolicy | None = None,
        grants: Grants = (),
        turn_memory: Mapping[str, object] | None = None,
        clock: Clock = _CLOCK,
    ) -> AgentRecord:
        """Make an agent of genes that exist and have a valid phenotype; they need not be compiled yet.

        `composition` is as `read_composition` takes it, and without a genome names the
        genes itself; `grants` are as `read_grants` takes them, and `turn_memory` as
        `read_turn_memory` does. What is left out is the default of `AgentRecord`;
        `memory_quota` is bytes.

        Raises `UsageError`, `GeneError`, `HostModuleError`, `AgentError` (`AGENT_EXISTS`
        for a name that is taken), and `LockTimeoutError`.
        """
        if isinstance(genome, str):
            message = f"genes must be a list of names, not {genome!r}"
            raise UsageError(message)
        composed, genes = checked_composition(self, composition, genome)
        told = checked_turn_memory(self, turn_memory)
        return create_agent(
            self.made_agents_dir(),
            name,
            genes,
            composed,
            lock=self.agents_lock,
            patience=Wait(),
            clock=clock,
            exclusive=exclusive,
            memory_quota=contract.DEFAULT_QUOTA_BYTES if memory_quota is None else memory_quota,
            data_policy=DEFAULT_DATA_POLICY if data_policy is None else data_policy,
            grants=read_grants(grants),
            turn_memory=told,
        )

    def change_agent(self, name: str, change: Callable[[AgentRecord], AgentRecord]) -> AgentRecord:
        """Put what `change` makes of an agent's record in its place, under the lock of all records, and return it.

        Raises what `change` and `find_agent` do, `LockTimeoutError`, and `AgentError` for
        a record that cannot be written.
        """
        self.agent(name)  # before a lock is made where there are no agents
        try:
            with self.agents_lock.held(Wait()):
                record = change(self.agent(name))
                write_record(self.agents_dir, record)
        except OSError as error:
            message = f"cannot write the agent's record into {self.agents_dir}: {error.strerror}"
            raise AgentError(message) from error
        return record

    def made_agents_dir(self) -> Path:
        """Return the folder of the agents' records, which exists. Raises `ProjectError`."""
        self._make_state_folder("agents")
        return self.agents_dir

    def memory_path(self, agent_id: str) -> Path:
        """Return where an agent's memory lies, in a folder that exists. Raises `ProjectError`."""
        self._make_state_folder("memory")
        return self.state_dir / "memory" / agent_id

    def open_memory(self, agent: AgentRecord, *, distrusted: bool = False) -> Store:
        """Open an agent's memory, made if there is none. Raises what `open_store` does, naming the agent."""
        from rotifer_host.store import open_store  # noqa: PLC0415 - loads LMDB, which not every command needs

        try:
            return open_store(
                self.memory_path(agent.id),
                agent_id=agent.id,
                quota=agent.memoryQuota,
                distrusted=distrusted,
                last_line=self.audit.last_hash,
            )
        except StoreError as error:
            message = f"the memory of the agent {quoted(agent.name)}: {error.message}"
            raise StoreError(message, help=error.help) from error

    @cached_property
    def audit(self) -> AuditLog:
        """The project's audit log. Raises `ProjectError` when `.rotifer/` cannot be made."""
        self._make_state_folder()
        return AuditLog(self.state_dir / "audit.jsonl")

    @cached_property
    def telemetry(self) -> TelemetryLog:
        """The project's telemetry, off where the environment says so."""
        return TelemetryLog(self.state_dir / "telemetry.jsonl", enabled=telemetry.is_enabled(os.environ))

    @property
    def agents_dir(self) -> Path:
        """The folder of the agents' records; there may be none yet."""
        return self.state_dir / "agents"

    @property
    def agents_lock(self) -> FileLock:
        """The lock under which records are added and replaced."""
        return FileLock(self.state_dir / "agents.lock")

    def _make_state_folder(self, *below: str) -> None:
        try:
            make_private_folder(self.state_dir)
            for name in below:
                make_private_folder(self.state_dir / name)
        except OSError as error:
            message = f"cannot use {error.filename or self.state_dir}: {error.strerror}"
            raise ProjectError(message) from error


def module_cache_dir() -> Path:
    """Return the folder for compiled modules: `ROTIFER_CACHE_DIR`, else one in the user's cache.

    It is the user's and outside every project: what lies in it is native code, which
    nobody should get with a clone. The user's cache is where the XDG base directory
    specification puts it. Raises `ProjectError` when there is no home for it.
    """
    chosen = os.environ.get("ROTIFER_CACHE_DIR")
    if chosen:
        return absolute(Path(chosen), ProjectError)
    cache = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not cache.is_absolute():  # the specification: a relative one is ignored
        try:
            cache = Path.home() / ".cache"
        except RuntimeError:
            raise ProjectError("no home folder to cache modules in", help="set ROTIFER_CACHE_DIR") from None
    return cache / "rotifer-host" / "modules"


def _no_project(message: str) -> ProjectError:
    return ProjectError(message, code="NO_PROJECT")


def _holds_gene(folder: Path) -> bool:
    try:
        return is_file(folder / PHENOTYPE_FILE, GeneError)
    except GeneError:  # a gene that cannot be read is shown as one
        return True


def _read_project(root: Path) -> tuple[str, str, Path]:
    path = root / PROJECT_FILE
    document = read_json(path, ProjectError)
    if not isinstance(document, dict):
        message = f"{path} must be a JSON object"
        raise ProjectError(message)
    version = document.get("v", contract.FORMAT_VERSION)
    if type(version) is not int or version != contract.FORMAT_VERSION:
        message = f"{path}: v is {json.dumps(version)}; this host reads format version {contract.FORMAT_VERSION}"
        raise ProjectError(message)
    name = document.get("name")
    if not isinstance(name, str) or not name:
        found = f"not {json.dumps(name)}" if "name" in document else "and is missing"
        message = f"{path}: name must be text, {found}"
        raise ProjectError(message)
    genes_dir = document.get("genes_dir", "genes")
    if not isinstance(genes_dir, str) or not _is_inside(genes_dir):
        message = f"{path}: genes_dir must be a folder inside the project, such as genes, not {json.dumps(genes_dir)}"
        raise ProjectError(message)
    author = document.get("author", _AUTHOR)
    if not isinstance(author, str):
        message = f"{path}: author must be text, not {json.dumps(author)}"
        raise ProjectError(message)
    return name, author, root / genes_dir


def _is_inside(folder: str) -> bool:
    try:
        os.fsencode(folder)
    except UnicodeEncodeError:  # half of a surrogate pair: no file has such a name
        return False
    path = PurePosixPath(folder)
    return folder != "" and "\0" not in folder and not path.is_absolute() and ".." not in path.parts


def _is_name(name: str) -> bool:
    try:
        check_name(name, "gene")
    except UsageError:
        return False
    return True


def _starter() -> tuple[str, dict[str, bytes]]:
    return _STARTER_GENE.name, {file.name: file.read_bytes() for file in _STARTER_GENE.iterdir()}


def _write_project(folder: Path, name: str, gene: str, files: Mapping[str, bytes]) -> None:
    project = {
        "v": contract.FORMAT_VERSION,
        "name": name,
        "version": "0.1.0",
        "author": _AUTHOR,
        "genes_dir": "genes",
    }
    folder.mkdir()
    (folder / PROJECT_FILE).write_bytes(msgspec.json.format(msgspec.json.encode(project), indent=2) + b"\n")
    (folder / ".gitignore").write_text(_GITIGNORE, encoding="utf-8")
    (folder / "genes" / gene).mkdir(parents=True)
    for file, contents in files.items():
        (folder / "genes" / gene / file).write_bytes(contents)
    make_private_folder(folder / _STATE_FOLDER)
    for below in ("agents", "memory"):
        make_private_folder(folder / _STATE_FOLDER / below)
