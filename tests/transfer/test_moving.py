"""An agent that moves: what goes along, what stays, and how it is afterwards."""

from __future__ import annotations

import io
import json
import stat
import threading
import tracemalloc
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.transfer.conftest import OLD, SHORT, add_gene, records, tree, without_cache, write

from rotifer_host import Agent, DataPolicy, Project
from rotifer_host.errors import TransferError
from rotifer_host.lock import Wait
from rotifer_host.memory import write_request
from rotifer_host.testing import ManualClock


def test_everything_but_cache_goes_along_unchanged(agent: Agent, away: Project, file: Path) -> None:
    """Policies, creators and their domains, last readers, times, order, and the agent itself."""
    exported = agent.export(file)
    moved, imported = away.import_agent(file)
    assert (exported.entries, exported.left_behind, imported.entries, imported.bytes) == (5, 2, 5, exported.bytes)
    assert records(moved) == without_cache(agent)
    assert [moved.id, moved.name, moved.genome, moved.quota, moved.created_at] == [
        agent.id, agent.name, agent.genome, agent.quota, agent.created_at,
    ]  # fmt: skip
    assert moved.data_policy == agent.data_policy
    assert moved.composition == agent.composition


def test_cache_goes_along_when_asked_for(agent: Agent, away: Project, file: Path) -> None:
    """Then nothing stays."""
    assert agent.export(file, with_cache=True).left_behind == 0
    moved, _ = away.import_agent(file)
    assert records(moved) == records(agent)


def test_what_has_expired_stays_behind(agent: Agent, away: Project, file: Path, clock: ManualClock) -> None:
    """Whether it was removed yet or not, and whichever policy says so."""
    write(agent, OLD, "old/short", b"s", "PREFERENCE", retention_policy=SHORT)
    clock.advance(days=1)
    agent.export(file)
    moved, _ = away.import_agent(file)
    assert "old/short" not in {record.key for _, record in records(moved)}
    assert "old/short" in {record.key for _, record in records(agent)}  # an export changes nothing


def test_the_log_proves_an_imported_memory(agent: Agent, away: Project, file: Path) -> None:
    """Its chain starts with the import: a line for each entry, by the deployer, that names its creator."""
    agent.export(file, with_cache=True)
    moved, _ = away.import_agent(file)
    log, proofs = away.verify_audit()
    assert proofs["mover"].problems(log.name) == []
    assert moved.memory().check().problems == []
    lines = [json.loads(line) for line in away.audit_path.read_bytes().splitlines()]
    assert {(line["action"], line["actor"], line["geneId"], line["reason"]) for line in lines} == {
        ("memory.create", "deployer", None, "imported")
    }
    assert [line["seq"] for line in lines] == list(range(1, 8))
    assert {(line["key"], line["createdBy"]) for line in lines} == {
        (record.key, record.created_by) for _, record in records(agent)
    }
    write(moved, OLD, "old/preference", b"5", "PREFERENCE")
    moved.memory().delete(key="old/pattern")
    assert moved.memory().check().problems == []


@pytest.mark.parametrize("member", ["createdBy", "updatedAt"])
def test_a_forged_origin_shows(agent: Agent, away: Project, file: Path, member: str) -> None:
    """A memory whose imported entry is not the one its line names is not proven."""
    agent.export(file)
    moved, _ = away.import_agent(file)
    with moved._open_store() as store:
        change = store.begin(Wait())
        identity, record = next(iter(change.records()))
        forged: dict[str, dict[str, Any]] = {
            "createdBy": {"created_by": f"v2:{'c' * 64}"},
            "updatedAt": {"updated_ms": 5},
        }
        change.put(identity, msgspec.structs.replace(record, **forged[member]))
        change.commit()
    assert any("is not what its last line says" in problem for problem in moved.memory().check().problems)


def test_a_moved_agent_goes_on_as_before(agent: Agent, away: Project, file: Path) -> None:
    """New entries are newer than those that came along, and the oldest of these is evicted first."""
    agent.export(file)
    moved, _ = away.import_agent(file)
    write(moved, OLD, "old/new", b"n", "CONTEXT")
    sequences = {record.key: record.sequence for _, record in records(moved)}
    assert max(sequences, key=sequences.__getitem__) == "old/new"
    assert [entry.key for entry in moved.memory().stats().next_evicted] == [
        "old/pattern", "old/last", "other/context", "ключ/\u202e", "old/new",
    ]  # fmt: skip


def test_an_agent_can_come_back(agent: Agent, away: Project, file: Path, tmp_path: Path, home: Project) -> None:
    """Into the project it left, once it is gone from there, though its old lines are in the log."""
    agent.export(file)
    (home.root / ".rotifer" / "agents" / f"{agent.id}.json").unlink()
    (home.root / ".rotifer" / "memory" / agent.id).unlink()
    moved, _ = away.import_agent(file)
    write(moved, OLD, "old/more", b"m", "CONTEXT")
    back = tmp_path / "back.jsonl"
    moved.export(back)
    returned, _ = home.import_agent(back)
    assert records(returned) == records(moved)
    assert returned.memory().check().problems == []


def test_genes_are_named_and_stay(agent: Agent, away: Project, file: Path) -> None:
    """An import says which of them the project does not have, and which are not what they were."""
    agent.export(file)
    add_gene(away, "first", version="1.0.1")
    moved, imported = away.import_agent(file)
    assert (imported.missing_genes, imported.changed_genes) == (("second",), ("first",))
    head = json.loads(file.read_bytes().splitlines()[0])
    assert [gene["name"] for gene in head["genes"]] == list(moved.genome)
    assert all(gene["geneId"].startswith("v2:") for gene in head["genes"])


def test_name_quota_and_policy_can_be_chosen_anew(agent: Agent, away: Project, file: Path) -> None:
    """The record has them, and the audit lines the new name."""
    agent.export(file)
    policy = DataPolicy(maxRetentionDays=60)
    moved, _ = away.import_agent(file, name="renamed", memory_quota=1 << 20, data_policy=policy)
    assert (away.agent("renamed").quota, away.agent("renamed").data_policy) == (1 << 20, policy)
    assert {json.loads(line)["agent"] for line in away.audit_path.read_bytes().splitlines()} == {"renamed"}
    assert moved.memory().check().problems == []


def test_an_agent_without_memory_moves(home: Project, away: Project, file: Path) -> None:
    """Of nothing remembered nothing is said in the log."""
    home.create_agent("empty", ["first"]).export(file)
    moved, imported = away.import_agent(file)
    assert (imported.entries, moved.memory().list().entries) == (0, ())
    assert not away.audit_path.exists()
    assert moved.memory().check().problems == []


def test_streams_serve_as_files(agent: Agent, away: Project, file: Path) -> None:
    """Export and import take any binary stream."""
    agent.export(file)
    stream = io.BytesIO()
    agent.export(stream)
    assert stream.getvalue().splitlines()[1:] == file.read_bytes().splitlines()[1:]  # but for the time
    stream.seek(0)
    moved, _ = away.import_agent(stream)
    assert moved.id == agent.id


def test_a_file_is_private_and_never_replaced_unasked(agent: Agent, file: Path, tmp_path: Path) -> None:
    """Mode 0600 whatever the umask says; what is there stays, byte for byte, but for `force`."""
    agent.export(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.write_bytes(b"mine")
    with pytest.raises(TransferError, match="is there already"):
        agent.export(file)
    assert file.read_bytes() == b"mine"
    agent.export(file, force=True)
    assert file.read_bytes() != b"mine"
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nothing")
    with pytest.raises(TransferError, match="is there already"):
        agent.export(link)
    assert {path.name for path in tmp_path.iterdir()} == {"home", file.name, "link"}


@pytest.mark.parametrize("place", ["no/folder/x", "\0", "x" * 300, "home"])
@pytest.mark.parametrize("force", [False, True])
def test_a_file_that_cannot_be_written_is_named(agent: Agent, tmp_path: Path, place: str, *, force: bool) -> None:
    """And leaves nothing."""
    before = {path.name for path in tmp_path.iterdir()}
    with pytest.raises(TransferError, match=r"is there already|cannot write"):
        agent.export(tmp_path / place, force=force)
    assert {path.name for path in tmp_path.iterdir()} == before


def test_a_failed_export_leaves_no_file(agent: Agent, file: Path, tmp_path: Path) -> None:
    """Neither a draft nor the name it had claimed."""
    memory = agent._project.root / ".rotifer" / "memory" / agent.id
    memory.write_bytes(b"no memory at all" * 1000)
    with pytest.raises(Exception, match=agent.id):
        agent.export(file)
    assert {path.name for path in tmp_path.iterdir()} == {"home"}


def test_an_export_is_of_one_moment(agent: Agent, away: Project) -> None:
    """Two entries that are always changed together are always the same in an export beside the writer."""
    stop = threading.Event()

    def keep_writing() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            with agent._open_store() as store:
                memory = agent._memory(store, durability="run")
                for key in ("old/pair-1", "old/pair-2"):
                    memory.write(OLD, write_request(key, b"%d" % number, "PREFERENCE"))
                memory.finish()

    writer = threading.Thread(target=keep_writing)
    writer.start()
    try:
        for number in range(20):
            stream = io.BytesIO()
            agent.export(stream)
            pair = [line for line in stream.getvalue().splitlines() if b"old/pair" in line]
            assert len({json.loads(line)["value"] for line in pair}) == min(len(pair), 1), number
    finally:
        stop.set()
        writer.join()
    stream.seek(0)
    moved, _ = away.import_agent(stream)
    assert moved.memory().check().problems == []


def test_memory_in_use_does_not_grow_with_the_agent(home: Project, away: Project, file: Path) -> None:
    """Exporting and importing 16 MB takes a fraction of it."""
    agent = home.create_agent("large", ["hello"], memory_quota=64 << 20)  # not compiled: no module to read
    with agent._open_store() as store:
        memory = agent._memory(store, durability="run")
        for number in range(2000):
            memory.write(OLD, write_request(f"old/{number}", b"%08192d" % number, "CONTEXT"))
        memory.finish()
    tracemalloc.start()
    try:
        agent.export(file)
        assert tracemalloc.get_traced_memory()[1] < 2 << 20
        tracemalloc.reset_peak()
        moved, imported = away.import_agent(file)
        assert tracemalloc.get_traced_memory()[1] < 3 << 20
    finally:
        tracemalloc.stop()
    assert imported.entries == 2000
    assert file.stat().st_size > 20_000_000
    assert moved.memory().list().entries == agent.memory().list().entries


def test_an_import_leaves_only_the_agent(agent: Agent, away: Project, file: Path) -> None:
    """Its record, its memory and the log: no draft, no mark."""
    agent.export(file)
    before = tree(away.root)
    away.import_agent(file)
    assert set(tree(away.root)) - set(before) == {
        f".rotifer/agents/{agent.id}.json", f".rotifer/memory/{agent.id}", ".rotifer/audit.jsonl",
    } | {name for name in tree(away.root) if "gene" in name} - set(before)  # fmt: skip
