"""`rotifer audit` and `rotifer agent memory check`, over a real project."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rotifer_host import Project
from rotifer_host.audit import AuditLog, line_hash
from rotifer_host.lock import Wait
from rotifer_host.store.pages import read_metas
from rotifer_host.store.seal import seal

Run = Callable[..., Any]


@pytest.fixture
def bob(rotifer: Run, project: Path) -> Path:
    """Make an agent that has changed its memory three times; give the project."""
    assert rotifer("agent", "create", "bob", "--genes", "hello", cwd=project).status == 0
    for name in ("Ada", "Grace", "Ada"):
        assert rotifer("agent", "run", "bob", "--input", json.dumps({"name": name}), cwd=project).status == 0
    return project


def log_of(project: Path) -> Path:
    """Return the audit log of a project."""
    return project / ".rotifer" / "audit.jsonl"


def spoil(project: Path, change: Callable[[list[str]], Any]) -> None:
    """Change lines of the log."""
    lines = log_of(project).read_text(encoding="utf-8").splitlines(keepends=True)
    change(lines)
    log_of(project).write_text("".join(lines), encoding="utf-8")


def test_an_honest_log_is_proven(rotifer: Run, bob: Path) -> None:
    """Of one agent and of all, with a word on each, as text and as a document."""
    assert rotifer("agent", "create", "idle", "--genes", "hello", cwd=bob).status == 0
    outcome = rotifer("audit", "verify", cwd=bob)
    assert (outcome.status, outcome.stdout) == (
        0,
        "bob: proven, 3 lines, 3 changes\nidle: proven, 0 lines, 0 changes\n",
    )
    document = rotifer("audit", "verify", "bob", "--json", cwd=bob).document
    assert document["proven"] is True
    assert document["agents"] == [
        {
            "agent": "bob", "lines": 3, "changes": 3, "missing": [], "changed": [], "reordered": [], "unfounded": [],
            "neverSaved": [], "takenBack": [], "lost": [], "beforeImport": [], "problems": [],
        }
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda lines: lines.pop(1), "change 2 is missing"),
        (lambda lines: lines.__setitem__(1, lines[1].replace('"bytes":5', '"bytes":4')), "line 2 was changed"),
        (lambda lines: lines.reverse(), "is out of order"),
        (lambda lines: lines.clear(), "changes 1 to 3 are missing"),
        (lambda lines: lines.insert(1, "nonsense\n"), "line 2 is not an audit line"),
    ],
    ids=["removed", "changed", "reordered", "emptied", "nonsense"],
)
def test_a_spoilt_log_is_not(rotifer: Run, bob: Path, change: Any, says: str) -> None:
    """Both commands say what is wrong and exit 1."""
    spoil(bob, change)
    for command in (("audit", "verify", "bob"), ("agent", "memory", "check", "bob")):
        outcome = rotifer(*command, cwd=bob)
        assert outcome.status == 1
        assert says in outcome.stdout
        document = rotifer(*command, "--json", cwd=bob)
        assert document.status == 1
        assert document.document["sound" if command[0] == "agent" else "proven"] is False


def test_a_log_that_was_moved_away_is_read_with_the_new_one(rotifer: Run, bob: Path) -> None:
    """Without it the changes in it are missing, and the help says how to name it."""
    log_of(bob).rename(bob / "older.jsonl")
    assert rotifer("agent", "run", "bob", "--input", '{"name": "Eve"}', cwd=bob).status == 0
    outcome = rotifer("audit", "verify", cwd=bob)
    assert outcome.status == 1
    assert "--log" in outcome.stderr
    for command in (("audit", "verify", "bob"), ("agent", "memory", "check", "bob")):
        assert rotifer(*command, "--log", str(bob / "older.jsonl"), cwd=bob).status == 0
    shown = rotifer("audit", "show", "--log", str(bob / "older.jsonl"), "--json", cwd=bob).document["lines"]
    assert [line["seq"] for line in shown] == [1, 2, 3, 4]


def test_what_never_became_a_change_is_told(rotifer: Run, bob: Path) -> None:
    """It is no fault: exit status 0."""
    last = log_of(bob).read_bytes().splitlines()[-1]
    orphan = {name: member for name, member in json.loads(last).items() if name not in {"prev", "above"}}
    log = AuditLog(log_of(bob))
    log.append([json.dumps(orphan | {"seq": 4}).encode()], Wait(), after=line_hash(last).digest(), durable=False)
    log.close()
    spoil(bob, lambda lines: lines.append('{"v":1,"ts'))
    outcome = rotifer("audit", "verify", cwd=bob)
    assert outcome.status == 0
    assert "line 4 never became a change: a crash, or a run that goes on" in outcome.stdout
    assert "line 5 is torn" in outcome.stdout
    document = rotifer("audit", "verify", "--json", cwd=bob).document
    assert (document["agents"][0]["neverSaved"], document["torn"]) == (["line 4"], "line 5")
    assert rotifer("agent", "run", "bob", "--input", '{"name": "Eve"}', cwd=bob).status == 0
    assert "line 5 holds what a crash left of a line" in rotifer("audit", "verify", cwd=bob).stdout


def memory_of(project: Path) -> Path:
    """Return bob's memory file."""
    return project / ".rotifer" / "memory" / Project.open(project).agent("bob").id


def lose(project: Path) -> None:
    """Have bob's memory gone, with all that lies beside it."""
    path = memory_of(project)
    for each in path.parent.glob(f"{path.name}*"):
        each.unlink()


def test_a_lost_memory_is_reported_and_stays_so(rotifer: Run, bob: Path) -> None:
    """By both commands, with nothing in its place, with an empty file, and after new changes: exit status 1."""
    lose(bob)
    says = "the memory that was here is lost: 3 changes, line 1 to line 3, are in none that is here now"

    def told() -> None:
        for command in (("audit", "verify", "bob"), ("agent", "memory", "check", "bob")):
            outcome = rotifer(*command, cwd=bob)
            assert (outcome.status, says in outcome.stdout) == (1, True)
            assert "a crash" not in outcome.stdout

    told()
    assert not memory_of(bob).exists()
    memory_of(bob).touch()
    told()
    lose(bob)
    assert rotifer("agent", "run", "bob", "--input", '{"name": "Eve"}', cwd=bob).status == 0
    told()
    document = rotifer("audit", "verify", "--json", cwd=bob).document
    assert (document["proven"], document["agents"][0]["lost"]) == (False, ["line 1", "line 2", "line 3"])


def test_an_agent_that_was_moved_away_and_back_is_proven(rotifer: Run, bob: Path, tmp_path: Path) -> None:
    """Its chain begins anew with the import; what was before is told, and is no fault."""
    exported = str(tmp_path / "bob.jsonl")
    assert rotifer("agent", "export", "bob", exported, cwd=bob).status == 0
    refused = rotifer("agent", "import", exported, "--name", "twin", cwd=bob)
    record = bob / ".rotifer" / "agents" / f"{memory_of(bob).name}.json"
    assert f"move away {record} and all of {memory_of(bob)}*" in refused.stderr
    assert "--name" not in refused.stderr
    lose(bob)
    record.unlink()
    assert rotifer("agent", "import", exported, cwd=bob).status == 0
    outcome = rotifer("audit", "verify", cwd=bob)
    assert outcome.status == 0
    assert "3 changes, from line 1 on, of a memory that was here before the agent was imported" in outcome.stdout
    assert rotifer("audit", "verify", "--json", cwd=bob).document["agents"][0]["beforeImport"] == [
        "line 1", "line 2", "line 3",
    ]  # fmt: skip
    lose(bob)
    assert "is lost" in rotifer("audit", "verify", cwd=bob).stdout


NO_LOGS = {
    "text": b"hello\n",
    "text without a line end": b"hello",
    "JSON": b'{"hello": 1}\n',
    "JSON without a line end": b'{"hello": 1}',
    "true for a version": b'{"v": true, "agentId": null, "action": "memory.deny"}\n',
    "a fraction for a version": b'{"v": 1.0, "agentId": null, "action": "memory.deny"}\n',
    "another version": b'{"v": 2, "agentId": null, "action": "memory.deny"}\n',
    "bytes": bytes(range(1, 10)),
}


@pytest.mark.parametrize("command", ["audit show bob", "audit verify", "agent memory check bob"])
@pytest.mark.parametrize("content", NO_LOGS.values(), ids=NO_LOGS)
def test_a_file_that_is_no_log_is_none_for_every_command(
    rotifer: Run, bob: Path, tmp_path: Path, command: str, content: bytes
) -> None:
    """Each names its line and exits 1."""
    path = tmp_path / "no.log"
    path.write_bytes(content)
    outcome = rotifer(*command.split(), "--log", str(path), cwd=bob)
    assert outcome.status == 1
    assert f"line 1 of {path} is not an audit line" in outcome.stdout + outcome.stderr


@pytest.mark.parametrize("torn", [b"", b"{", b'{"v":1,"ts":"2026', b"\0" * 100, b'{"v":1,"ts":"2026\0\0'])
def test_what_a_crash_leaves_of_a_log_is_none_of_its_faults(rotifer: Run, bob: Path, torn: bytes) -> None:
    """A begin of a line, or zeros in its place, is told by the checks, and all of them exit 0."""
    with log_of(bob).open("ab") as file:
        file.write(torn)
    for command in ("audit show bob", "audit verify", "agent memory check bob"):
        outcome = rotifer(*command.split(), cwd=bob)
        assert outcome.status == 0
        if "show" not in command:
            assert ("line 4 is torn" in outcome.stdout) == bool(torn)


def test_a_sound_memory(rotifer: Run, bob: Path) -> None:
    """`memory check` sums up what it found."""
    outcome = rotifer("agent", "memory", "check", "bob", cwd=bob)
    assert (outcome.status, outcome.stdout) == (0, "bob is sound: 1 entry, 3 changes on record\n")
    assert rotifer("agent", "memory", "check", "bob", "--json", cwd=bob).document == {
        "v": 1, "agent": "bob", "sound": True, "entries": 1, "used": len("greeting/last-name") + 3, "expired": 0,
        "changes": 3, "neverSaved": 0, "torn": None, "problems": [],
    }  # fmt: skip


def test_a_memory_that_a_failing_disk_changed(rotifer: Run, bob: Path) -> None:
    """`memory check` looks through all pages, also of a file that was closed in order: exit status 1, and help."""
    path = bob / ".rotifer" / "memory" / Project.open(bob).agent("bob").id
    data = bytearray(path.read_bytes())
    data[max(read_metas(path)).rows.root * 4096 + 12] ^= 1
    path.write_bytes(data)
    seal(path, path.with_name(f"{path.name}.lock"))
    outcome = rotifer("agent", "memory", "check", "bob", cwd=bob)
    assert (outcome.status, outcome.stdout) == (1, "")
    assert "it is damaged: page" in outcome.stderr
    assert "help: put a copy of it back" in outcome.stderr


@pytest.mark.parametrize(
    ("options", "numbers"),
    [
        ([], [1, 2, 3]),
        (["bob"], [1, 2, 3]),
        (["idle"], []),
        (["--action", "create"], [1]),
        (["--action", "update", "--limit", "1"], [3]),
        (["--key", "greeting/last-name"], [1, 2, 3]),
        (["--key", "greeting"], []),
        (["--until", "2000-01-01T00:00:00Z"], []),
        (["--since", "2000-01-01T00:00:00+01:00"], [1, 2, 3]),
    ],
    ids=["all", "agent", "idle", "create", "last update", "key", "no key", "before", "zone"],
)
def test_show_filters(rotifer: Run, bob: Path, options: list[str], numbers: list[int]) -> None:
    """By agent, action, key and time, and down to the last few; text shows as many lines as the document."""
    assert rotifer("agent", "create", "idle", "--genes", "hello", cwd=bob).status == 0
    document = rotifer("audit", "show", *options, "--json", cwd=bob).document
    assert [line["seq"] for line in document["lines"]] == numbers
    text = rotifer("audit", "show", *options, cwd=bob)
    assert len(text.stdout.splitlines()) == (len(numbers) + 1 if numbers else 0)
    assert text.stderr == f"{len(numbers)} {'line' if len(numbers) == 1 else 'lines'}\n"


def test_times_bound_what_is_shown(rotifer: Run, bob: Path) -> None:
    """`--since` is inclusive, `--until` is not."""
    times = [json.loads(line)["ts"] for line in log_of(bob).read_text(encoding="utf-8").splitlines()]
    shown = rotifer("audit", "show", "--since", times[1], "--until", times[2], "--json", cwd=bob).document["lines"]
    assert [line["ts"] for line in shown] == [time for time in times if times[1] <= time < times[2]]


@pytest.mark.parametrize(
    "options", [["--since", "yesterday"], ["--action", "read"], ["--action", "a.B"], ["--limit", "0"], ["--log", "no"]]
)
def test_wrong_options_are_usage_errors(rotifer: Run, bob: Path, options: list[str]) -> None:
    """They exit 2."""
    assert rotifer("audit", "show", *options, cwd=bob).status == 2


def test_unknown_agents_are_errors(rotifer: Run, bob: Path) -> None:
    """Of all three commands."""
    for command in (("audit", "verify"), ("audit", "show"), ("agent", "memory", "check")):
        outcome = rotifer(*command, "nobody", cwd=bob)
        assert (outcome.status, outcome.stdout) == (1, "")
