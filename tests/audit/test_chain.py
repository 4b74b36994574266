"""The chain of an agent's lines: whatever is done to it shows, and what never happened is told apart."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.audit.conftest import AGENT, QUOTA

from rotifer_host.audit import last_hash, line_hash
from rotifer_host.errors import StorageError, StoreError
from rotifer_host.memory import Caller, DataPolicy, write_request
from rotifer_host.store import open_store
from rotifer_host.store.change import LmdbChange
from rotifer_host.verify import check_without_memory, verify_log

Kept = Any
GENE = Caller(f"v2:{'a' * 64}", "format")
CHANGES = [0, 1, 2, 3, 5, 6, 7]
"""Places of changes in the log of `busy`; the line at 4 is a refusal."""


def test_each_change_names_the_one_before_it(busy: Kept) -> None:
    """Changes are numbered from 1 and hold the hash of the line before; a refusal holds it too and is not numbered."""
    lines = [line.removesuffix(b"\n") for line in busy.lines()]
    documents = [json.loads(line) for line in lines]
    changes = [documents[place] for place in CHANGES]
    assert [change["seq"] for change in changes] == [1, 2, 3, 4, 5, 6, 7]
    hashes = [line_hash(lines[place]).hexdigest() for place in CHANGES]
    assert [change["prev"] for change in changes] == [None, *hashes[:-1]]
    assert documents[4]["action"] == "memory.deny"
    assert documents[4]["prev"] == hashes[3]
    assert "seq" not in documents[4]


def test_a_log_as_it_was_written_proves_the_memory(busy: Kept) -> None:
    """All changes are found, nothing is wrong, and the check of the whole agent agrees."""
    proof = busy.proof()
    assert busy.problems() == []
    assert (proof.lines, len(proof.changes), proof.never, proof.taken_back) == (8, 7, [], [])
    check = busy.check()
    assert (check.problems, check.entries, check.used) == ([], 3, 3 + 2 + 0 + 3)


def test_an_agent_that_remembers_nothing_is_proven_by_nothing(kept: Kept) -> None:
    """Without a single line, and without a log."""
    assert kept.problems() == []
    assert kept.check().problems == []
    assert not kept.path.exists()


@pytest.mark.parametrize("place", CHANGES)
def test_a_removed_line_shows(busy: Kept, place: int) -> None:
    """Whichever change it is about; what the others prove is still found."""
    busy.spoil(lambda lines: lines.pop(place))
    proof = busy.proof()
    assert [tuple(gap) for gap in proof.missing] == [(CHANGES.index(place) + 1,) * 2]
    assert len(proof.changes) == 6
    assert busy.check().problems


@pytest.mark.parametrize("place", CHANGES)
@pytest.mark.parametrize(
    ("old", "new"),
    [(b'"key":"', b'"key":"z'), (b'"agent":"formatter"', b'"agent":"former"'), (b'"ts":"2026', b'"ts":"2025')],
)
def test_a_changed_line_shows(busy: Kept, place: int, old: bytes, new: bytes) -> None:
    """By its number in the log, whatever was changed in it."""

    def change(lines: list[bytes]) -> None:
        assert old in lines[place]
        lines[place] = lines[place].replace(old, new)

    busy.spoil(change)
    assert [changed.number for changed in busy.proof().changed] == [place + 1]
    assert busy.problems()


@pytest.mark.parametrize("first", [0, 1, 2, 5, 6])
def test_lines_that_changed_places_show(busy: Kept, first: int) -> None:
    """The later one of two neighbours stands before what it goes on from."""

    def swap(lines: list[bytes]) -> None:
        lines[first], lines[first + 1] = lines[first + 1], lines[first]

    busy.spoil(swap)
    proof = busy.proof()
    assert first + 1 in [place.number for place in proof.reordered]
    assert busy.problems()


def test_a_repeated_line_shows(busy: Kept) -> None:
    """A copy is no second change."""
    busy.spoil(lambda lines: lines.append(lines[2]))
    assert [place.number for place in busy.proof().reordered] == [9]


def test_an_invented_line_shows(busy: Kept) -> None:
    """One that goes on from a line that others went on from already, or from none there is."""
    for prev, seq, found in ((None, 1, "out of order"), ("ab" * 32, 8, "not there")):
        invented = json.loads(busy.lines()[0]) | {"prev": prev, "seq": seq, "key": "invented"}
        before = busy.lines()
        busy.spoil(lambda lines, invented=invented: lines.append(json.dumps(invented).encode() + b"\n"))
        assert any(found in problem for problem in busy.problems())
        busy.path.write_bytes(b"".join(before))


def test_a_refusal_moved_before_what_it_followed_shows(busy: Kept) -> None:
    """Its `prev` stands after it then."""
    busy.spoil(lambda lines: lines.insert(0, lines.pop(4)))
    assert [place.number for place in busy.proof().reordered] == [1]


def test_a_line_that_is_no_json_shows(busy: Kept) -> None:
    """In the middle no crash leaves one: it is named, and so is the change it was."""
    busy.spoil(lambda lines: lines.__setitem__(2, b"{garbage\n"))
    log, proofs = verify_log([busy.path], [busy.file])
    assert log.problems() == ["line 3 is not an audit line", "what stood above line 4 is missing or was changed"]
    assert [tuple(gap) for gap in proofs["agent-1"].missing] == [(3, 3)]


@given(cut=st.integers(0, 8), place=st.integers(0, 7))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_end_of_a_log_that_is_cut_off_shows(busy: Kept, cut: int, place: int) -> None:
    """At a line end or within a line: changes are missing, exactly those that are not there."""
    whole = busy.lines()
    try:
        busy.path.write_bytes(b"".join(whole[:place]) + whole[place][:cut])
        proof = busy.proof()
        lost = sum(change >= place for change in CHANGES)
        assert [tuple(gap) for gap in proof.missing] == ([(8 - lost, 7)] if lost else [])
    finally:
        busy.path.write_bytes(b"".join(whole))


def test_a_torn_tail_proves_and_is_told(busy: Kept) -> None:
    """What a crash left of a line it had not finished is no change; sealed, it is still told."""
    with busy.path.open("ab") as file:
        file.write(b'{"v":1,"ts":"2026')
    log, proofs = verify_log([busy.path], [busy.file])
    assert log.torn is not None
    assert log.torn.number == 9
    assert proofs["agent-1"].problems(log.name) == log.problems() == []
    busy.write("e")
    log, proofs = verify_log([busy.path], [busy.file])
    assert (log.torn, [place.number for place in log.sealed]) == (None, [9])
    assert proofs["agent-1"].problems(log.name) == []
    assert busy.check().problems == []


def test_a_moved_log_proves_with_its_older_files_only(busy: Kept, tmp_path: Path) -> None:
    """Alone, the newer file lacks the changes of the older one; their places are told by file."""
    older = tmp_path / "audit.1"
    busy.path.rename(older)
    busy.write("e")
    assert busy.problems() == ["changes 1 to 7 are missing"]
    assert busy.problems(older) == []
    log, _ = verify_log([older, busy.path], [busy.file])
    assert log.name(log.by_agent["agent-1"][-1].place) == f"line 1 of {busy.path}"


def test_a_run_that_goes_on_is_not_a_change_yet(busy: Kept) -> None:
    """Its lines are in the log before its end: told, and no fault; saved, they are changes."""
    run = busy.open(durability="run")
    for key in ("x", "y"):
        run.write(GENE, write_request(key, b"", "CACHE"))
    busy.refuse(run)
    proof = busy.proof()
    assert [place.number for place in proof.never] == [9, 10]
    assert busy.problems() == []
    run.finish()
    assert busy.proof().never == []
    assert busy.check().problems == []


def test_a_run_taken_back_is_told_from_a_crash(busy: Kept) -> None:
    """Each `memory.abort` names the line it takes back; the next change goes on from before them."""
    run = busy.open(durability="run")
    for key in ("x", "y"):
        run.write(GENE, write_request(key, b"", "CACHE"))
    busy.refuse(run)
    run.rollback()
    busy.write("z")
    proof = busy.proof()
    assert busy.problems() == []
    assert ([place.number for place in proof.taken_back], proof.never) == ([9, 10], [])
    lines = [line.removesuffix(b"\n") for line in busy.lines()]
    for aborted, abort in ((8, 11), (9, 12)):
        assert json.loads(lines[abort])["prev"] == line_hash(lines[aborted]).hexdigest()
        assert "seq" not in json.loads(lines[abort])
    assert json.loads(lines[13])["prev"] == json.loads(lines[8])["prev"]
    assert json.loads(lines[13])["seq"] == json.loads(lines[8])["seq"] == 8
    assert busy.check().problems == []


CRASH = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
import conftest
kept = conftest.Kept(Path(sys.argv[1]))
run = kept.open(durability="run")
for key in "xyz":
    run.write(conftest.GENE, conftest.write_request(key, b"", "CACHE"))
kept.refuse(run)
os._exit(9)
"""


@pytest.mark.parametrize("crashes", [1, 3])
def test_the_lines_of_a_killed_run_never_became_changes(busy: Kept, tmp_path: Path, crashes: int) -> None:
    """However often it happens: the memory is proven, before the next change and after it."""
    busy.store.close()
    for _ in range(crashes):
        done = subprocess.run(
            [sys.executable, "-c", CRASH, str(tmp_path), str(Path(__file__).parent)], check=False, timeout=60
        )
        assert done.returncode == 9
    orphans = [line for crash in range(crashes) for line in range(9 + 4 * crash, 12 + 4 * crash)]
    assert [place.number for place in busy.proof().never] == orphans
    assert busy.problems() == []
    again = type(busy)(tmp_path)
    again.write("later")
    assert [place.number for place in again.proof().never] == orphans
    assert again.check().problems == []
    again.store.close()


def test_a_line_whose_change_could_not_be_saved_is_taken_back(busy: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit that fails leaves a line, its abort, and a memory that is proven."""

    def fail(change: LmdbChange) -> None:
        change.abort()
        message = "the disk failed"
        raise StoreError(message)

    monkeypatch.setattr(LmdbChange, "commit", fail)
    with pytest.raises(StorageError):
        busy.write("e")
    monkeypatch.undo()
    assert [place.number for place in busy.proof().taken_back] == [9]
    assert busy.check().problems == []


def test_entries_are_held_against_their_lines(busy: Kept) -> None:
    """A memory that was changed behind the log's back is not proven, though the chain is whole."""
    change = busy.store.begin(_Now())
    identity, record = next(iter(change.records()))
    change.remove(identity)
    change.commit()
    assert busy.problems() == [f"entry {identity.hex()} should be in the memory by its last line"]
    change = busy.store.begin(_Now())
    change.put(identity, msgspec.structs.replace(record, updated_ms=record.updated_ms + 1000))
    change.put(bytes(32), msgspec.structs.replace(record, sequence=99))
    change.commit()
    assert set(busy.problems()) == {
        f"entry {identity.hex()} is not what its last line says",
        f"entry {'00' * 32} is in the memory, but no line says so",
    }


class _Now:
    def remaining_s(self) -> float:
        """Wait for nobody."""
        return 0.0


def test_a_memory_that_is_gone_is_missed(busy: Kept) -> None:
    """Changes on record without a memory file are a contradiction; the file is not made."""
    busy.store.close()
    busy.file.path.unlink()
    lost = "the memory that was here is lost: 7 changes, line 1 to line 8, are in none that is here now"
    assert busy.problems() == [lost]
    assert check_without_memory(AGENT, [busy.path]).problems == [lost]
    assert not busy.file.path.exists()


def test_a_memory_that_was_begun_anew_does_not_hide_the_loss(busy: Kept) -> None:
    """Whatever is written from then on: a memory is made before its first line, so no crash explains lines above."""
    lost = "the memory that was here is lost: 7 changes, line 1 to line 8, are in none that is here now"
    busy.lose()
    assert busy.problems() == [lost]
    busy.write("a")
    assert (busy.problems(), busy.check().problems) == ([lost], [lost])
    assert len(busy.proof().changes) == 1


def test_one_lost_change_is_told_as_one(kept: Kept) -> None:
    """In the singular, and also where the log that told of it was moved away since."""
    kept.write("a")
    kept.lose()
    kept.write("b")
    lost = "the memory that was here is lost: line 1{} is in none that is here now"
    assert kept.problems() == [lost.format("")]
    older = kept.path.rename(kept.path.with_name("audit.1.jsonl"))
    kept.write("c")
    assert kept.problems(older) == [lost.format(f" of {older}")]


def test_first_changes_that_were_never_saved_are_no_loss(kept: Kept, tmp_path: Path) -> None:
    """However often the process was killed before its memory had any: that memory was there before their lines."""
    with open_store(tmp_path / "other", agent_id="agent-2", quota=QUOTA) as store:
        kept.open(agent_id="agent-2", store=store).write(GENE, write_request("a", b"", "CACHE"))
    kept.lose()  # nothing: it is begun below the line of the other agent
    kept.store.close()
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", CRASH.replace("xyz", "abc"), str(tmp_path), str(Path(__file__).parent)],
            check=False,
            timeout=60,
        )
        assert done.returncode == 9
    assert [place.number for place in kept.proof().never] == [2, 3, 4, 6, 7, 8]
    kept.store = kept.open_file()
    kept.memory = kept.open()
    kept.write("later")
    assert (len(kept.proof().never), kept.check().problems) == (6, [])


def test_a_memory_that_knows_of_no_log_claims_nothing(busy: Kept, tmp_path: Path) -> None:
    """One that was made where there was no line, or by a host that did not note it: older lines are left alone."""
    with open_store(tmp_path / "blank", agent_id=AGENT, quota=QUOTA) as store:
        assert store.begun_below == b""
    with busy.open_file() as store:
        assert store.begun_below == b""
    busy.lose()
    assert busy.store.begun_below.hex() == line_hash(busy.lines()[-1].rstrip()).hexdigest()


def test_a_log_without_a_readable_end_has_no_last_line(tmp_path: Path) -> None:
    """A torn end is passed over, however long the line above it is; a folder in its place is no log."""
    path = tmp_path / "log"
    assert last_hash(path) == b""
    for whole in (b"a" * 10, b"b" * 70_000):
        for above in (b"", b"first\n"):
            path.write_bytes(above + whole + b"\n" + b"torn")
            assert last_hash(path) == line_hash(whole).digest()
    path.write_bytes(b"torn")
    assert last_hash(path) == b""
    assert last_hash(tmp_path) == b""


def test_agents_of_one_log_have_chains_of_their_own(busy: Kept, tmp_path: Path) -> None:
    """Lines of another agent between them, or of a gene outside any, change nothing."""
    (tmp_path / "other").mkdir()
    other = type(busy)(tmp_path / "other")
    with busy.path.open("ab") as file:
        file.write(other_lines := b"".join(line.replace(b"agent-1", b"agent-2") for line in busy.lines()))
        file.write(b'{"v":1,"ts":"2026-01-01T00:00:00.000Z","agentId":null,"action":"memory.deny"}\n')
    assert other_lines
    busy.write("e")
    other.store.close()
    log, proofs = verify_log([busy.path], [busy.file])
    assert proofs["agent-1"].problems(log.name) == []
    assert (proofs["agent-1"].lines, log.outside, len(log.by_agent["agent-2"])) == (9, 1, 8)


@pytest.mark.parametrize("own", [True, False])
def test_what_has_expired_is_found_neither_served_nor_counted(
    kept: Kept,
    own: bool,  # noqa: FBT001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The check asks on every path without removing anything, and notices where one of them fails."""
    policy = {"maxRetentionDays": 1, "autoDeleteOnTermination": False, "anonymizationSupported": False}
    kept.write("short", b"12345", retention_policy=policy if own else None)
    if not own:
        kept.policy = DataPolicy(maxRetentionDays=1)
    kept.clock.advance(days=1)
    before = kept.lines()
    check = kept.check()
    assert (check.problems, check.entries, check.used, check.expired) == ([], 0, 0, 1)
    assert kept.lines() == before

    def never(*_: object) -> bool:
        return False

    monkeypatch.setattr("rotifer_host.memory.agent_memory.is_expired", never)
    monkeypatch.setattr("rotifer_host.memory.query.is_expired", never)
    assert kept.check().problems == [
        "the expired entry 'short' is listed",
        "10 bytes counted as used, a recount gives 0",
        "the expired entry 'short' is served",
        "the expired entry 'short' is found by a query",
    ]
