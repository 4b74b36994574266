"""Taking an agent in from a file, whole or not at all.

memory-api.en.md, "Moving an agent". When the whole file has been read into a draft and
nothing speaks against it, the audit lines of the entries are written, then the draft
becomes the memory, then the record makes it an agent. What an import that was killed
left behind is no agent, and removed by the next one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple

import msgspec

from rotifer_host.agent.reach import know_genes
from rotifer_host.agent.record import AgentRecord, check_name, list_agents, parse_record, write_record
from rotifer_host.audit import decode_line, link
from rotifer_host.errors import AccessDeniedError, AgentError, StoreError, UsageError
from rotifer_host.lock import FileLock, Wait
from rotifer_host.memory.entry import Caller, DataPolicy, Record
from rotifer_host.memory.policy import access_for_write
from rotifer_host.memory.quota import entry_limit
from rotifer_host.memory.retention import retention_for_write
from rotifer_host.memory.trail import Trail
from rotifer_host.store.protocol import Chain
from rotifer_host.text import counted, quoted
from rotifer_host.transfer.draft import Draft, remove_leftovers
from rotifer_host.transfer.lines import GeneLine, Head, LineReader

if TYPE_CHECKING:
    from rotifer_host.clock import Clock
    from rotifer_host.project import ProjectFolder

__all__ = ["Imported", "receive"]

_NAME_HELP: Final = "--name gives it another name"
_QUOTA_HELP: Final = "--memory-quota gives it another quota"
_POLICY_HELP: Final = "--data-policy gives it another data policy"


class Imported(NamedTuple):
    """What was taken in."""

    entries: int
    bytes: int
    """Of keys and values."""
    missing_genes: tuple[str, ...]
    """Those of its genome that this project does not have."""
    changed_genes: tuple[str, ...]
    """Those that have another v2 id here: what only the old one may use is out of their reach."""


class _Conflict(NamedTuple):
    what: str
    way_out: str | None


def receive(  # noqa: PLR0913 - keywords: where to, what, and what to change of it
    folder: ProjectFolder,
    stream: BinaryIO,
    *,
    name: str,
    agent_name: str | None,
    quota: int | None,
    policy: DataPolicy | None,
    clock: Clock,
) -> tuple[AgentRecord, Imported]:
    """Read the file `name` from `stream` and make its agent one of the project's; when anything fails, there is none.

    What is None is as the file says. Raises `TransferError` for a damaged file,
    `AgentError` with code `IMPORT_CONFLICT` that names all that is in the way,
    `UsageError`, `LockTimeoutError`, `StoreError`, `AuditError`.
    """
    reader = LineReader(stream, name)
    head = reader.head()
    record = _record(reader, head, agent_name, quota, policy)
    memory = folder.memory_path(record.id)
    agents_dir = folder.made_agents_dir()
    with ExitStack() as held, _storing(folder):
        held.enter_context(FileLock(folder.state_dir / "import.lock").held(Wait()))
        remove_leftovers(memory.parent, agents_dir)
        draft = held.enter_context(
            Draft(
                memory,
                agent_id=record.id,
                agent_name=record.name,
                quota=record.memoryQuota,
                now_ms=clock.now_ms(),
                last_line=folder.audit.last_hash,
            )
        )
        against = _take(reader, record, draft)
        held.enter_context(folder.agents_lock.held(Wait()))
        against = [*_conflicts(folder, record, memory), *against]
        if against:
            message = f"cannot import the agent {quoted(record.name)}: {'; '.join(each.what for each in against)}"
            helps = dict.fromkeys(each.way_out for each in against)
            raise AgentError(message, code="IMPORT_CONFLICT", help="; ".join(filter(None, helps)))
        with _announced(folder, record, draft, clock), draft.placed():
            _write(agents_dir, record)
    missing, changed = _genes(folder, head.genes)
    return record, Imported(reader.tally.entries, reader.tally.bytes, missing, changed)


def _write(agents_dir: Path, record: AgentRecord) -> None:
    try:
        write_record(agents_dir, record)
    except BaseException:
        (agents_dir / f"{record.id}.json").unlink(missing_ok=True)  # it may be there, and only its folder not synced
        raise


def _record(
    reader: LineReader, head: Head, name: str | None, quota: int | None, policy: DataPolicy | None
) -> AgentRecord:
    try:
        record = parse_record(head.agent, "its agent's record")
    except AgentError as error:
        raise reader.broken(error.message) from error
    if name is not None:
        check_name(name, "agent")
    changed = msgspec.structs.replace(
        record,
        name=record.name if name is None else name,
        memoryQuota=record.memoryQuota if quota is None else quota,
        dataPolicy=record.dataPolicy if policy is None else policy,
    )
    try:
        return parse_record(msgspec.to_builtins(changed), "what is to be changed of the agent")
    except AgentError as error:
        raise UsageError(error.message) from error


def _take(reader: LineReader, record: AgentRecord, draft: Draft) -> list[_Conflict]:
    """Put all entries into the draft; return what of them does not fit the agent's quota and policy."""
    refused: dict[str, tuple[str, int]] = {}
    last = used = entries = 0
    limit = entry_limit(record.memoryQuota)
    while (line := reader.entry()) is not None:
        identity, entry = reader.record(line, record.id)
        if entry.sequence <= last:
            raise reader.broken(f"sequence {entry.sequence} does not come after {last}")
        last = entry.sequence
        for reason in _refusals(entry, record.dataPolicy):
            first, count = refused.get(reason, (entry.key, 0))
            refused[reason] = (first, count + 1)
        used, entries = reader.tally.bytes, reader.tally.entries
        fits = used <= record.memoryQuota and entries <= limit
        if fits and not draft.add(identity, entry):  # what does not fit is read on for its faults alone
            raise reader.broken(f"there are two entries with the key {quoted(entry.key)}")
    against = [
        _Conflict(
            f"{reason}: {quoted(first)}"
            + (f" and {counted(count - 1, 'more entry', 'more entries')}" if count > 1 else ""),
            _POLICY_HELP,
        )
        for reason, (first, count) in refused.items()
    ]
    if used > record.memoryQuota:
        what = f"its entries come to {used} bytes, its quota is {record.memoryQuota} bytes"
        against.append(_Conflict(what, _QUOTA_HELP))
    if entries > limit:
        what = f"it has {counted(entries, 'entry', 'entries')}, with its quota at most {limit} are allowed"
        against.append(_Conflict(what, _QUOTA_HELP))
    return against


def _refusals(entry: Record, policy: DataPolicy) -> Iterator[str]:
    """Ask whether the entry's creator could write it here."""
    creator = Caller(entry.created_by, entry.domain)
    for rule in (
        lambda: access_for_write(entry.access, None, creator, policy),
        lambda: retention_for_write(entry.retention, None, creator, policy),
    ):
        try:
            rule()
        except AccessDeniedError as refusal:
            yield refusal.message


def _conflicts(folder: ProjectFolder, record: AgentRecord, memory: Path) -> list[_Conflict]:
    against = []
    others = list_agents(folder.agents_dir)
    try:
        check_name(record.name, "agent")
    except UsageError as error:
        against.append(_Conflict(error.message, _NAME_HELP))
    for other in others:
        if other.name == record.name:
            way_out = None if other.id == record.id else _NAME_HELP
            against.append(_Conflict(f"there is an agent named {quoted(record.name)} already", way_out))
        if other.id == record.id:
            help_text = (
                f"an agent is in a project once; to take in this one, move away {folder.agents_dir / other.id}.json "
                f"and all of {memory}*, which are {quoted(other.name)} and what it remembers"
            )
            against.append(_Conflict(f"its id {record.id} is that of the agent {quoted(other.name)}", help_text))
    if memory.exists() and all(other.id != record.id for other in others):
        help_text = f"look whose it was, and move all of {memory}* away"
        against.append(_Conflict(f"there is a memory of its id without an agent: {memory}", help_text))
    return against


@contextmanager
def _announced(folder: ProjectFolder, record: AgentRecord, draft: Draft, clock: Clock) -> Iterator[None]:
    """Write the audit lines of all entries before the block, and take them back when it raises."""
    chain = Chain()
    places: list[tuple[bytes, bytes]] = []
    """What each batch of lines was linked to: enough to tell them again."""
    try:
        for lines in draft.lines():
            written = folder.audit.append(lines, Wait(), after=chain.head, durable=False)
            places.append((chain.head, bytes.fromhex(decode_line(written.lines[0]).above or "")))
            chain = Chain(chain.length + len(lines), written.last)
        folder.audit.sync()
        draft.close(chain)
        yield
    except BaseException:
        trail = Trail(
            agent_id=record.id,
            agent_name=record.name,
            audit=folder.audit,
            telemetry=folder.telemetry,
            clock=clock,
        )
        for lines, (after, above) in zip(draft.lines(), places, strict=False):
            trail.aborted(link(lines, after=after, above=above).lines, Wait())
        raise


@contextmanager
def _storing(folder: ProjectFolder) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        message = f"cannot import into {folder.state_dir}: {error.strerror or error}"
        raise StoreError(message) from error


def _genes(folder: ProjectFolder, lines: Sequence[GeneLine]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    here = {gene.name for gene in folder.genes()}
    now = {gene.name: gene.gene_id for gene in know_genes(folder, [line.name for line in lines if line.name in here])}
    return (
        tuple(line.name for line in lines if line.name not in here),
        tuple(
            line.name for line in lines if line.gene_id is not None and now.get(line.name) not in (None, line.gene_id)
        ),
    )
