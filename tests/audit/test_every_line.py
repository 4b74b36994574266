"""Lines from which no chain goes on: refusals, what was taken back, what is outside agents, what a crash left."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from rotifer_host.audit import line_hash
from rotifer_host.errors import AuditError, QuotaExceededError, StoreError
from rotifer_host.lock import Wait
from rotifer_host.memory import Caller, refused_outside_agent, write_request
from rotifer_host.store import open_store
from rotifer_host.store.codec import decode_chain, encode_chain
from rotifer_host.store.protocol import Chain
from rotifer_host.verify import verify_log

Kept = Any
GENE = Caller(f"v2:{'a' * 64}", "format")
QUOTA: Final = 1 << 16

KINDS: Final = {"deny": 1, "reject": 2, "outside": 3, "seal": 4, "never": 6, "abort": 8}
"""Where `full` has a line of each kind; between them and at both ends are changes."""


@pytest.fixture
def full(kept: Kept) -> Kept:
    """Give an agent with a line of each kind that changes nothing, and a run that has ended."""
    kept.write("a")
    kept.refuse()
    with pytest.raises(QuotaExceededError):
        kept.write("large", bytes(1 << 17))
    refused_outside_agent(
        audit=kept.log, telemetry=kept.telemetry, clock=kept.clock, patience=Wait(), agent_id=None, agent_name=None,
        gene_id=GENE.gene_id, domain="format", operation="readMemory",
    )  # fmt: skip
    with kept.path.open("ab") as file:
        file.write(b'{"v":1,"torn')
    kept.write("b")
    run = kept.open(durability="run")
    run.write(GENE, write_request("c", b"", "CACHE"))
    kept.refuse(run)
    run.rollback()
    kept.write("d")
    kept.memory.finish()
    return kept


def found(kept: Kept) -> list[str]:
    """Return all that verifying says is wrong."""
    log, proofs = verify_log([kept.path], [kept.file])
    return log.problems() + proofs["agent-1"].problems(log.name)


def _remove(lines: list[bytes], place: int) -> None:
    del lines[place]


def _change(lines: list[bytes], place: int) -> None:
    lines[place] = lines[place].replace(b'"v":1,"ts":"2026', b'"v":1,"ts":"2025')


def _forge(lines: list[bytes], place: int) -> None:
    """Change a line, and make it fit below the one above it."""
    _change(lines, place)
    above = line_hash(lines[place - 1].removesuffix(b"\n")).hexdigest()
    lines[place] = json.dumps(json.loads(lines[place]) | {"above": above}).encode() + b"\n"


def _swap(lines: list[bytes], place: int) -> None:
    lines[place], lines[place - 1] = lines[place - 1], lines[place]


def _move_up(lines: list[bytes], place: int) -> None:
    lines.insert(0, lines.pop(place))


def _move_down(lines: list[bytes], place: int) -> None:
    lines.append(lines.pop(place))


def _repeat(lines: list[bytes], place: int) -> None:
    lines.insert(place, lines[place])


def _repeat_at_the_end(lines: list[bytes], place: int) -> None:
    lines.append(lines[place])


TAMPERING: Final = (_remove, _change, _forge, _swap, _move_up, _move_down, _repeat, _repeat_at_the_end)


def test_a_log_with_every_kind_of_line_proves(full: Kept) -> None:
    """Every line names the hash of the one above it, whatever it is and whosever."""
    lines = [line.removesuffix(b"\n") for line in full.lines()]
    documents = [json.loads(line) for line in lines]
    actions = [document["action"].partition(".")[2] for document in documents]
    assert actions == ["create", "deny", "reject", "deny", "seal", "create", "create", "deny", "abort", "create"]
    assert [document["above"] for document in documents] == [
        None,
        *(line_hash(line).hexdigest() for line in lines[:-1]),
    ]
    assert found(full) == []
    assert full.check().problems == []


@pytest.mark.parametrize("tamper", TAMPERING, ids=lambda tamper: tamper.__name__.strip("_"))
@pytest.mark.parametrize("kind", KINDS)
def test_tampering_with_a_line_that_changes_nothing_shows(
    full: Kept, kind: str, tamper: Callable[[list[bytes], int], None]
) -> None:
    """Removed, changed, moved or repeated: verifying says so, and so does checking the memory."""
    full.spoil(lambda lines: tamper(lines, KINDS[kind]))
    assert found(full)
    assert full.check().problems


@pytest.mark.parametrize("place", range(1, 10))
def test_a_line_put_in_between_shows(full: Kept, place: int) -> None:
    """A refusal that nobody was given, made to fit below the line above it."""

    def insert(lines: list[bytes]) -> None:
        above = line_hash(lines[place - 1].removesuffix(b"\n")).hexdigest()
        lines.insert(place, json.dumps(json.loads(lines[1]) | {"above": above, "key": "invented"}).encode() + b"\n")

    full.spoil(insert)
    assert f"line {place + 2} does not stand below the line it was written below" in found(full)


@pytest.mark.parametrize("end", ["finish", "rollback"])
@pytest.mark.parametrize("durability", ["call", "run"])
@pytest.mark.parametrize("cut", [0, 1, 5])
def test_refusals_after_the_last_change_are_vouched_for_when_the_run_ends(
    kept: Kept, end: str, durability: str, cut: int
) -> None:
    """However little is cut from the end of the log then, it shows; the log's next line stands for all above it."""
    kept.write("a")
    run = kept.open(durability=durability)
    for _ in range(3):
        kept.refuse(run)
    whole = kept.path.read_bytes()
    getattr(run, end)()
    assert found(kept) == []
    kept.path.write_bytes(whole[: len(whole) - len(kept.lines()[-1]) + cut])
    assert found(kept) == ["the log ends before a line that the memory saw in it, or that line was changed"]
    kept.path.write_bytes(whole)
    kept.write("b")
    assert found(kept) == []
    kept.spoil(lambda lines: lines.pop(2))
    assert found(kept) == ["what stood above line 3 is missing or was changed"]


def test_the_refusals_of_an_agent_that_changed_nothing_are_vouched_for(kept: Kept) -> None:
    """There is no change that its memory could hold the hash of."""
    with pytest.raises(QuotaExceededError):
        kept.write("large", bytes(1 << 17))
    kept.memory.finish()
    assert found(kept) == []
    kept.path.unlink()
    assert found(kept) == ["the log ends before a line that the memory saw in it, or that line was changed"]


def test_a_refusal_is_no_commit(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that is refused takes no write transaction and waits for no disk; the end of its run does both, once."""
    kept.write("a")
    counts: Counter[str] = Counter()
    for owner, name in ((type(kept.store), "begin"), (type(kept.log), "_sync")):

        def counted(*arguments: Any, _name: str = name, _real: Any = getattr(owner, name)) -> Any:  # noqa: B008
            counts[_name] += 1
            return _real(*arguments)

        monkeypatch.setattr(owner, name, counted)
    for _ in range(5):
        kept.refuse()
    assert counts == Counter()
    kept.memory.finish()
    kept.memory.finish()
    assert counts == Counter(begin=1, _sync=1)


@pytest.mark.parametrize("fails", ["witness", "begin", "commit"])
def test_what_cannot_be_vouched_for_fails_nothing(kept: Kept, fails: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log proves as before, its last refusals are all that may go unseen."""
    kept.write("a")
    kept.refuse()

    def fail(*_: object) -> Any:
        raise StoreError("the disk failed") if fails != "witness" else AuditError("the disk failed")

    if fails == "commit":
        monkeypatch.setattr("rotifer_host.store.change.LmdbChange.commit", fail)
    else:
        monkeypatch.setattr(kept.log if fails == "witness" else kept.store, fails, fail)
    kept.memory.finish()
    monkeypatch.undo()
    assert found(kept) == []
    kept.spoil(lambda lines: lines.pop())
    assert found(kept) == []
    kept.write("b")
    assert found(kept) == []


KILLED = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
import conftest
kept = conftest.Kept(Path(sys.argv[1]))
kept.write("a")
for _ in range(3):
    kept.refuse()
os._exit(9)
"""


def test_a_killed_run_leaves_a_log_that_proves(tmp_path: Path, kept: Kept) -> None:
    """Nobody vouched for its refusals: they stand there, and the next change vouches for them."""
    kept.store.close()
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path), str(Path(__file__).parent)], check=False, timeout=60
    )
    assert done.returncode == 9
    assert found(kept) == []
    again = type(kept)(tmp_path)
    again.write("b")
    again.store.close()
    assert found(again) == []
    again.spoil(lambda lines: lines.pop(2))
    assert found(again) == ["what stood above line 3 is missing or was changed"]


def _age(kept: Kept) -> None:
    """Make the log, and what the memory knows of it, what they were before lines had an `above`."""
    aged: dict[str | None, str | None] = {None: None}
    lines = []
    for line in kept.lines():
        document = json.loads(line)
        del document["above"]
        if "prev" in document:
            document["prev"] = aged[document["prev"]]
        lines.append(json.dumps(document).encode())
        aged[line_hash(line.removesuffix(b"\n")).hexdigest()] = line_hash(lines[-1]).hexdigest()
    kept.path.write_bytes(b"".join(line + b"\n" for line in lines))
    change = kept.store.begin(Wait())
    chain = change.chain()
    change.extend(Chain(chain.length, bytes.fromhex(aged[chain.head.hex()] or "")))
    change.commit()


def test_a_log_from_before_proves_and_goes_on(full: Kept) -> None:
    """Lines without `above` prove what they always proved; the first that has one vouches for the one above it."""
    _age(full)
    assert found(full) == []
    old = len(full.lines())
    full.write("new")
    full.refuse()
    full.memory.finish()
    assert found(full) == []
    assert full.check().problems == []
    lines = full.lines()
    for place in range(len(lines)):
        full.path.write_bytes(b"".join(lines[:place] + lines[place + 1 :]))
        assert bool(found(full)) == (place >= old - 1 or "seq" in json.loads(lines[place]))


def test_a_line_of_before_after_one_of_now_shows(full: Kept) -> None:
    """To leave `above` out is no way around it."""
    without = {name: member for name, member in json.loads(full.lines()[1]).items() if name != "above"}
    full.spoil(lambda lines: lines.append(json.dumps(without).encode() + b"\n"))
    assert found(full) == ["what stood above line 11 is missing or was changed"]


@pytest.mark.parametrize("above", [1, [], {}, "x", True, ""])
def test_an_above_that_is_no_hash_shows(full: Kept, above: object) -> None:
    """Whatever a forged line holds, verifying names it."""
    full.spoil(lambda lines: lines.append(json.dumps(json.loads(lines[1]) | {"above": above}).encode() + b"\n"))
    assert found(full) == ["what stood above line 11 is missing or was changed"]


def test_files_of_a_log_begin_anew_or_go_on(full: Kept, tmp_path: Path) -> None:
    """A moved log's next file begins with null; one that was cut in two at a line end is still whole."""
    older = tmp_path / "audit.1"
    full.path.rename(older)
    full.write("e")
    full.refuse()
    full.memory.finish()
    log, proofs = verify_log([older, full.path], [full.file])
    assert log.problems() + proofs["agent-1"].problems(log.name) == []
    lines = older.read_bytes().splitlines(keepends=True)
    for cut in range(1, len(lines)):
        halves = [tmp_path / "audit.a", tmp_path / "audit.b"]
        for half, part in zip(halves, (lines[:cut], lines[cut:]), strict=True):
            half.write_bytes(b"".join(part))
        assert verify_log([*halves, full.path], [full.file])[0].problems() == []
        halves[0].write_bytes(b"".join(lines[: cut - 1]))
        assert verify_log([*halves, full.path], [full.file])[0].problems()


def test_a_refusal_in_a_log_that_is_moved_before_its_run_ends_is_vouched_for(kept: Kept, tmp_path: Path) -> None:
    """In the file it stands in."""
    kept.write("a")
    kept.refuse()
    older = kept.path.rename(tmp_path / "audit.1")
    kept.memory.finish()
    assert not kept.path.exists()
    log, proofs = verify_log([older, kept.path], [kept.file])
    assert proofs["agent-1"].problems(log.name) == []
    assert found(kept) == [
        "change 1 is missing",
        "the log ends before a line that the memory saw in it, or that line was changed",
    ]


@pytest.mark.parametrize(
    "chain",
    [Chain(), Chain(1, bytes([1]) * 32), Chain(0, b"", bytes([2]) * 32), Chain(1, bytes([1]) * 32, bytes([2]) * 32)],
)
def test_what_the_memory_knows_of_the_log_is_kept(chain: Chain) -> None:
    """With and without changes, with and without a last line; without one it is written as it always was."""
    raw = encode_chain(chain)
    assert decode_chain(raw) == chain
    assert len(raw) == (72 if chain.seen else 40)


def test_agents_vouch_for_each_others_lines(kept: Kept, tmp_path: Path) -> None:
    """A change of one stands for the refusals of the other above it."""
    kept.write("a")
    kept.refuse()
    with open_store(tmp_path / "other", agent_id="agent-2", quota=QUOTA) as store:
        kept.open(agent_id="agent-2", store=store).write(GENE, write_request("a", b"", "CACHE"))
    assert found(kept) == []
    kept.spoil(lambda lines: lines.pop(1))
    assert found(kept) == ["what stood above line 2 is missing or was changed"]
