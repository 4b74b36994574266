"""What is kept of an agent: `.rotifer/agents/<id>.json`."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec

from rotifer_host import contract
from rotifer_host.agent.composition import Composition
from rotifer_host.agent.composition_reader import CompositionError, read_composition
from rotifer_host.clock import Clock, rfc3339
from rotifer_host.errors import AgentError, UsageError
from rotifer_host.files import read_json, write_atomic
from rotifer_host.lock import FileLock, Patience
from rotifer_host.memory.entry import DEFAULT_DATA_POLICY, DataPolicy
from rotifer_host.text import quoted
from rotifer_host.turn_memory.sources import DiarySetting, MemorySource, Runtime, TurnMemory, read_turn_memory

__all__ = [
    "AgentRecord",
    "Composition",
    "check_name",
    "create_agent",
    "find_agent",
    "list_agents",
    "parse_record",
    "read_data_policy",
    "turn_memory_fields",
    "write_record",
]

_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_POLICY_RULES: Final[dict[str, str]] = {
    "maxRetentionDays": f"a whole number from 1 to {contract.MAX_RETENTION_DAYS}, or null",
    "autoDeleteOnTermination": "true or false",
    "anonymizationSupported": "true or false",
}


class AgentRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One agent; field names and order are those of the file."""

    v: int = contract.FORMAT_VERSION
    id: str
    """A UUID, which is also the name of the file and of the agent's memory."""
    name: str
    state: Literal["Created", "Active", "Terminated"] = "Active"
    genome: list[str]
    """Names of its genes, at least one; in a `Seq` in the order they run, the same one more than once if need be."""
    composition: Composition
    exclusive: bool = False
    """Whether its runs take turns."""
    strategy: str = "manual"
    createdAt: str  # noqa: N815 - the names in the file
    """RFC 3339, UTC, milliseconds."""
    reputation: float = 0
    memoryQuota: Annotated[int, msgspec.Meta(ge=1, le=contract.MAX_QUOTA_BYTES)] = contract.DEFAULT_QUOTA_BYTES  # noqa: N815
    """Bytes."""
    dataPolicy: DataPolicy = DEFAULT_DATA_POLICY  # noqa: N815
    grants: dict[str, dict[str, Any]] = {}
    """The host modules its genes may import from, by name, each with its settings."""
    memoryRuntime: Runtime | msgspec.UnsetType = msgspec.UNSET  # noqa: N815
    memorySources: list[MemorySource] | msgspec.UnsetType = msgspec.UNSET  # noqa: N815
    diary: DiarySetting | msgspec.UnsetType = msgspec.UNSET

    @property
    def turn_memory(self) -> TurnMemory | None:
        """What it is told before a run and keeps after one, None for nothing."""
        if self.memoryRuntime is msgspec.UNSET or self.memorySources is msgspec.UNSET:
            return None
        diary = None if self.diary is msgspec.UNSET else self.diary
        return TurnMemory(memoryRuntime=self.memoryRuntime, memorySources=self.memorySources, diary=diary)

    @property
    def diary_writer(self) -> tuple[str, ...]:
        """The gene that writes its diary, if it has one."""
        return () if self.diary is msgspec.UNSET else (self.diary.generator,)

    @property
    def all_genes(self) -> tuple[str, ...]:
        """Every gene that acts in its memory: the genome, and what writes its diary."""
        return (*self.genome, *self.diary_writer)


def check_name(name: str, what: str) -> None:
    """Refuse a name of an agent or a gene that the contract does not allow. Raises `UsageError`."""
    if (
        not isinstance(name, str)
        or not re.fullmatch(contract.NAME_PATTERN, name)
        or len(name) > contract.MAX_NAME_LENGTH
        or ".." in name
    ):
        message = (
            f"{what} name must be lower-case letters, digits, dots, hyphens and underscores, beginning and ending with "
            f"a letter or digit, without two dots in a row, at most {contract.MAX_NAME_LENGTH} long, not {name!r}"
        )
        raise UsageError(message)


def create_agent(  # noqa: PLR0913 - all that is asked when an agent is made
    folder: Path,
    name: str,
    genome: Sequence[str],
    composition: Composition,
    *,
    lock: FileLock,
    patience: Patience,
    clock: Clock,
    exclusive: bool = False,
    memory_quota: int = contract.DEFAULT_QUOTA_BYTES,
    data_policy: DataPolicy = DEFAULT_DATA_POLICY,
    grants: dict[str, dict[str, Any]] | None = None,
    turn_memory: TurnMemory | None = None,
) -> AgentRecord:
    """Make an agent with a name of its own; `lock` keeps two processes from taking the same one.

    Raises `UsageError` for arguments that do not fit, and `AgentError`: `AGENT_EXISTS`,
    or when a record in the way cannot be read, so that nobody knows its name.
    """
    check_name(name, "agent")
    if type(memory_quota) is not int or not 0 < memory_quota <= contract.MAX_QUOTA_BYTES:
        message = f"memory quota must be from 1 to {contract.MAX_QUOTA_BYTES} whole bytes, not {memory_quota!r}"
        raise UsageError(message)
    if not isinstance(data_policy, DataPolicy):
        message = f"data policy must be a DataPolicy, not {data_policy!r}"
        raise UsageError(message)
    _data_policy(msgspec.structs.asdict(data_policy), partial(_wrong, UsageError, "data policy: "))
    if not isinstance(exclusive, bool):
        message = f"exclusive must be true or false, not {exclusive!r}"
        raise UsageError(message)
    record = AgentRecord(
        id=str(uuid.uuid4()),
        name=name,
        genome=list(genome),
        composition=composition,
        exclusive=exclusive,
        createdAt=rfc3339(clock.now_ms()),
        memoryQuota=memory_quota,
        dataPolicy=data_policy,
        grants={} if grants is None else grants,
        **turn_memory_fields(turn_memory),
    )
    try:
        with lock.held(patience):
            if any(other.name == name for other in list_agents(folder)):
                message = f"there is an agent named {name} already"
                raise AgentError(
                    message, code="AGENT_EXISTS", help="choose another name; `rotifer agent list` shows those taken"
                )
            write_record(folder, record)
    except OSError as error:
        message = f"cannot write the agent's record into {folder}: {error.strerror}"
        raise AgentError(message) from error
    return record


def turn_memory_fields(turn_memory: TurnMemory | None) -> dict[str, Any]:
    """Return the fields of a record that say what turn memory an agent has, left out where there is nothing."""
    fields = {name: getattr(turn_memory, name, None) for name in TurnMemory.__struct_fields__}
    return {name: msgspec.UNSET if value is None else value for name, value in fields.items()}


def write_record(folder: Path, record: AgentRecord) -> None:
    """Write a record, in place of the one with its id, under the lock of all records. Raises `OSError`."""
    text = msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n"
    write_atomic(folder / f"{record.id}.json", text, mode=0o600)


def find_agent(folder: Path, name: str) -> AgentRecord:
    """Return the one agent with this name.

    Raises `AgentError`: `AGENT_NOT_FOUND`, or what is wrong when a record cannot be
    read and might be the one, or when two agents have the name.
    """
    unreadable: list[AgentError] = []
    found = [record for record in list_agents(folder, unreadable.append) if record.name == name]
    if len(found) > 1:
        message = (
            f"{len(found)} agents are named {name}: {', '.join(f'{record.id}.json' for record in found)} in {folder}"
        )
        raise AgentError(message, help="give all but one another name")
    if found:
        return found[0]
    if unreadable:
        message = f"no readable agent is named {quoted(name)}, and {unreadable[0].message}"
        raise AgentError(message) from unreadable[0]
    message = f"there is no agent named {quoted(name)}"
    raise AgentError(message, code="AGENT_NOT_FOUND", help="`rotifer agent list` shows the agents of this project")


def list_agents(folder: Path, on_unreadable: Callable[[AgentError], None] | None = None) -> list[AgentRecord]:
    """Return the agents by name; files not named like a record are none.

    A record that cannot be read raises `AgentError`, or is handed to `on_unreadable` and left out.
    """
    records = []
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".json" and _ID.fullmatch(path.stem))
    except FileNotFoundError:
        return []
    except OSError as error:
        message = f"cannot read {folder}: {error.strerror}"
        raise AgentError(message) from error
    for path in paths:
        try:
            records.append(_read_record(path))
        except AgentError as error:
            if on_unreadable is None:
                raise
            on_unreadable(error)
    return sorted(records, key=lambda record: record.name)


def read_data_policy(path: Path) -> DataPolicy:
    """Read the file given as `--data-policy`: one JSON object with exactly the three fields of `DataPolicy`.

    Raises `UsageError`, naming every field that is wrong and what it may be.
    """
    document = read_json(path, UsageError)
    return _data_policy(document, partial(_wrong, UsageError, f"{path}: "))


def _data_policy(document: object, fail: Callable[[list[str]], Exception]) -> DataPolicy:
    if not isinstance(document, dict):
        raise fail([f"a data policy must be an object with the fields {', '.join(_POLICY_RULES)}"])
    errors = [f"unknown field {name!r}" for name in document if name not in _POLICY_RULES]
    for name, rule in _POLICY_RULES.items():
        if name not in document:
            errors.append(f"{name} is missing: it must be {rule}")
        elif not _follows(name, document[name]):
            errors.append(f"{name} must be {rule}, not {json.dumps(document[name], default=repr)}")
    if errors:
        raise fail(errors)
    return DataPolicy(**document)


def _follows(name: str, value: object) -> bool:
    if name != "maxRetentionDays":
        return isinstance(value, bool)
    return value is None or (type(value) is int and 1 <= value <= contract.MAX_RETENTION_DAYS)


def _wrong(error: Callable[[str], Exception], where: str, problems: list[str]) -> Exception:
    return error(f"{where}{'; '.join(problems)}")


def _read_record(path: Path) -> AgentRecord:
    record = parse_record(read_json(path, AgentError), str(path))
    if record.id != path.stem:
        message = f"{path}: id must be the file's name, not {record.id}"
        raise AgentError(message)
    return record


def _composition(document: object, genome: list[Any], fail: Callable[[list[str]], Exception]) -> Composition:
    if not genome:  # never filled from the composition: both are in the record
        raise fail(["genome is empty"])
    try:
        composition, _ = read_composition(document, genome)
    except CompositionError as error:
        raise fail(error.problems) from error
    return composition


def parse_record(document: object, where: str) -> AgentRecord:
    """Return the record a JSON value stands for; `where` it comes from begins the message of each `AgentError`."""
    fail = partial(_wrong, AgentError, f"{where}: ")
    if not isinstance(document, dict):
        raise fail(["an agent's record must be a JSON object"])
    version = document.get("v", contract.FORMAT_VERSION)
    if type(version) is not int or version != contract.FORMAT_VERSION:
        raise fail([f"v is {json.dumps(version)}; this host reads format version {contract.FORMAT_VERSION}"])
    genome = document.get("genome")
    if isinstance(genome, list):
        document["composition"] = _composition(document.get("composition"), genome, fail)
    if "dataPolicy" in document:
        document["dataPolicy"] = _data_policy(
            document["dataPolicy"], lambda errors: fail([f"dataPolicy: {'; '.join(errors)}"])
        )
    turn_memory = {name: document[name] for name in TurnMemory.__struct_fields__ if name in document}
    if turn_memory:
        read_turn_memory(turn_memory, fail)
    try:
        record = msgspec.convert(document, AgentRecord)
    except msgspec.ValidationError as error:
        raise fail([str(error)]) from error
    if not _ID.fullmatch(record.id):
        raise fail([f"id must be a UUID in lower-case hex digits, not {quoted(record.id)}"])
    for gene in record.all_genes:  # they become paths; an agent's name does not, and may be older
        try:
            check_name(gene, "gene")
        except UsageError as error:
            raise fail([error.message]) from error
    return record
