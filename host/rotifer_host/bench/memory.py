"""What is measured, and the memory it is measured on: copies that nobody else sees, unless asked otherwise."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from rotifer_host.agent.composition import Single
from rotifer_host.agent.record import AgentRecord
from rotifer_host.audit import AuditLog
from rotifer_host.clock import SystemClock, rfc3339
from rotifer_host.errors import AgentError, GeneError, ProjectError
from rotifer_host.files import make_private_folder
from rotifer_host.lock import Wait
from rotifer_host.modules.registry import usable_modules
from rotifer_host.scratch import ScratchFolder
from rotifer_host.store import open_store
from rotifer_host.telemetry import TelemetryLog, is_enabled
from rotifer_host.text import quoted

if TYPE_CHECKING:
    from rotifer_host.project import ProjectFolder
    from rotifer_host.store import Store

__all__ = ["BenchMemory", "MemoryKind", "Target", "find_target", "memories"]

MemoryKind = Literal["copy", "empty", "own"]

_CLOCK: Final = SystemClock()


@dataclass(frozen=True, slots=True)
class Target:
    """The agent that is measured; a gene is measured as the only one of an agent made for it."""

    kind: Literal["agent", "gene"]
    record: AgentRecord


@dataclass(frozen=True, slots=True)
class BenchMemory:
    """The files a call path is measured on."""

    root: Path
    """What host modules take for the project's folder."""
    store: Store
    audit: AuditLog
    telemetry: TelemetryLog


def find_target(folder: ProjectFolder, name: str) -> Target:
    """Return the agent of this name, else the gene. Raises `GeneError` when there is neither, `AgentError`."""
    try:
        return Target("agent", folder.agent(name))
    except AgentError as error:
        if error.code != "AGENT_NOT_FOUND":
            raise
    try:
        folder.gene(name)
    except GeneError as error:
        message = f"there is neither an agent nor a gene named {quoted(name)}"
        help_text = "`rotifer agent list` and `rotifer list` show those of this project"
        raise GeneError(message, code="NOT_FOUND", help=help_text) from error
    record = AgentRecord(
        id=str(uuid.uuid4()),
        name=f"bench-{name}",
        genome=[name],
        composition=Single(),
        createdAt=rfc3339(_CLOCK.now_ms()),
        grants={module.name: {} for module in usable_modules()},
    )
    return Target("gene", record)


@contextmanager
def memories(
    folder: ProjectFolder, target: Target, names: list[str], *, in_place: bool
) -> Iterator[tuple[MemoryKind, dict[str, BenchMemory]]]:
    """Give each of `names` a memory of its own that starts as the agent's is now; gone at the end.

    They lie in the project's `.rotifer/`, since what a sync costs depends on the disk;
    those of a measurement that was killed are removed by the next one.
    With `in_place` all are the agent's own memory, audit log and telemetry. Raises
    `ProjectError`, `StoreError`.
    """
    record = target.record
    with ExitStack() as stack:
        if in_place:
            store = stack.enter_context(folder.open_memory(record))
            yield "own", dict.fromkeys(names, BenchMemory(folder.root, store, folder.audit, folder.telemetry))
            return
        try:
            make_private_folder(folder.state_dir)
            root = stack.enter_context(ScratchFolder("bench-", folder.state_dir)).path
        except OSError as error:
            message = f"cannot make a folder for the measurement in {folder.state_dir}: {error.strerror}"
            raise ProjectError(message) from error
        made = {name: stack.enter_context(_memory(root / name, record)) for name in names}
        yield "copy" if _copy(folder, target, list(made.values())) else "empty", made


@contextmanager
def _memory(root: Path, record: AgentRecord) -> Iterator[BenchMemory]:
    root.mkdir(mode=0o700)
    with open_store(root / record.id, agent_id=record.id, quota=record.memoryQuota) as store:
        audit = AuditLog(root / "audit.jsonl")
        try:
            yield BenchMemory(
                root, store, audit, TelemetryLog(root / "telemetry.jsonl", enabled=is_enabled(dict(os.environ)))
            )
        finally:
            audit.close()


def _copy(folder: ProjectFolder, target: Target, copies: list[BenchMemory]) -> bool:
    """Put all that the agent's memory holds into each copy, as one snapshot shows them; False when it has none."""
    record = target.record
    path = folder.state_dir / "memory" / record.id
    if target.kind == "gene" or not path.exists():  # opening it would make it
        return False
    with open_store(path, agent_id=record.id, quota=record.memoryQuota) as source, ExitStack() as undo:
        changes = []
        for copy in copies:
            change = copy.store.begin(Wait())
            undo.callback(change.abort)
            changes.append(change)
        found = False
        with source.snapshot() as snapshot:
            for identity, entry in snapshot.records():
                found = True
                for change in changes:
                    change.put(identity, entry)
            for name, _ in snapshot.documents():
                found = True
                for change in changes:
                    change.put_document(name, snapshot.document(name))
        for change in changes:
            change.commit()
    return found
