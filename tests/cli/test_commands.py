"""What each command does, over a real project."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
AddGene = Callable[[str, str], Path]

ECHO = """(module (memory (export "memory") 1)
  (func (export "alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "express") (param i32 i32) (result i32) (local.get 0)))"""
SPIN = """(module (memory (export "memory") 1)
  (func (export "express") (param i32 i32) (result i32) (loop $again (br $again)) (unreachable)))"""
TRAP = """(module (memory (export "memory") 1)
  (func $inner (unreachable))
  (func (export "express") (param i32 i32) (result i32) (call $inner) (i32.const 0)))"""


def test_init_makes_a_project(rotifer: Run, tmp_path: Path) -> None:
    """`init` makes a folder with rotifer.json, a starter gene, and a private, ignored .rotifer."""
    outcome = rotifer("init", "new")
    root = tmp_path / "new"
    assert (outcome.status, outcome.stdout) == (0, f"made the project new in {root}\n")
    assert json.loads((root / "rotifer.json").read_text(encoding="utf-8"))["name"] == "new"
    assert ".rotifer/" in (root / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert stat.S_IMODE((root / ".rotifer").stat().st_mode) == 0o700
    assert rotifer("init", "other", "--json").document == {
        "v": 1,
        "project": "other",
        "root": str(tmp_path / "other"),
        "template": None,
        "warnings": [],
    }


@pytest.mark.parametrize("name", ["../up", "Upper", "a/b", "a..b", "-x", "x" * 101, "", "a\nb"])
def test_init_refuses_names(rotifer: Run, tmp_path: Path, name: str) -> None:
    """A name outside the rule of the contract makes nothing."""
    outcome = rotifer("init", "--", name)
    assert outcome.status == 2
    assert outcome.stderr.startswith("error[USAGE]: ")
    assert list(tmp_path.iterdir()) == []


def test_init_keeps_what_is_there(rotifer: Run, tmp_path: Path) -> None:
    """`init` over something that exists fails and changes nothing."""
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "mine").touch()
    outcome = rotifer("init", "new")
    assert (outcome.status, outcome.stdout) == (1, "")
    assert [path.name for path in tmp_path.rglob("*")] == ["new", "mine"]


@pytest.mark.parametrize(
    "line",
    ["list", "compile x", "run x", "agent list", "agent create a --genes x", "agent run a", "agent memory list a"],
)
def test_commands_need_a_project(rotifer: Run, line: str) -> None:
    """Outside a project the error says how to make or name one."""
    outcome = rotifer(*line.split())
    assert outcome.status == 1
    assert outcome.stderr.startswith("error[NO_PROJECT]: ")
    assert "rotifer init" in outcome.stderr


def test_a_project_is_found_from_below(rotifer: Run, project: Path) -> None:
    """The project is the nearest folder upwards with rotifer.json."""
    assert rotifer("list", "--json", cwd=project / "genes" / "hello").document["genes"] != []


def test_compile_prints_the_gene_id(rotifer: Run, project: Path) -> None:
    """`compile` prints the v2 id, the same as --json and as `list`."""
    document = rotifer("compile", "hello", "--json", cwd=project).document
    shown = rotifer("compile", "hello", cwd=project)
    listed = {gene["name"]: gene for gene in rotifer("list", "--json", cwd=project).document["genes"]}
    assert document["geneId"].startswith("v2:")
    assert f"Gene ID (v2): {document['geneId']}\n" in shown.stdout
    assert listed["hello"]["geneId"] == document["geneId"]
    assert set(document) == {
        "v", "gene", "geneId", "domain", "mode", "source", "sourceSha256", "output", "sizeBytes", "steps", "exports",
        "imports", "features", "sections", "warnings"
    }  # fmt: skip


def test_check_writes_nothing(rotifer: Run, project: Path) -> None:
    """`compile --check` says what compiling would, and leaves the folder as it was."""
    artefact = project / "genes" / "hello" / "gene.ir.wasm"
    artefact.unlink()
    outcome = rotifer("compile", "hello", "--check", "--json", cwd=project)
    assert outcome.document["output"] is None
    assert not artefact.exists()


def test_files_are_named_from_the_chosen_folder(rotifer: Run, project: Path) -> None:
    """With -C DIR, paths of other options start in DIR too."""
    (project / "in.json").write_text('{"name": "Ada"}', encoding="utf-8")
    assert rotifer("compile", "hello", "--wasm", "genes/hello/gene.wat", cwd=project).status == 0
    assert rotifer("run", "hello", "--input", "@in.json", cwd=project).status == 1  # refused its memory, not its input
    assert rotifer("run", "hello", "--input", "@genes/../no.json", cwd=project).status == 2


def test_list_says_what_stops_a_gene(rotifer: Run, project: Path) -> None:
    """`list` shows each gene's state and, as a note, what to type."""
    genes = project / "genes"
    (genes / "hello" / "gene.wat").write_text(ECHO, encoding="utf-8")
    (genes / "counter" / "gene.ir.wasm").unlink()
    (genes / "bad").mkdir()
    (genes / "bad" / "phenotype.json").write_text("{", encoding="utf-8")
    outcome = rotifer("list", cwd=project)
    states = {line.split()[0]: line for line in outcome.stdout.splitlines()[1:]}
    assert "stale" in states["hello"]
    assert "not compiled" in states["counter"]
    assert "broken" in states["bad"]
    assert "rotifer compile hello" in outcome.stderr
    document = rotifer("list", "--json", cwd=project).document
    assert {gene["name"]: gene["state"] for gene in document["genes"]} == {
        "bad": "broken",
        "counter": "not compiled",
        "hello": "stale",
    }


def test_run_has_no_memory(rotifer: Run, project: Path) -> None:
    """`run` works outside any agent: the document has none, and memory calls are refused."""
    document = rotifer("run", "hello", "--input", '{"name": "Ada"}', "--json", cwd=project).document
    assert (document["v"], document["agent"], document["agentId"], document["composition"]) == (1, None, None, None)
    assert document["genes"][0]["hostCalls"]["readMemory"]["errors"] == {"-2": 1}
    assert document["error"]["code"] == "INVALID_INPUT"


def test_run_shows_output_and_costs(rotifer: Run, add_gene: AddGene, project: Path) -> None:
    """A run shows its output as JSON, then its costs."""
    add_gene("echo", ECHO)
    outcome = rotifer("run", "echo", "--input", '{"a": [1, 1.5, "é"]}', cwd=project)
    assert (outcome.status, outcome.stderr) == (0, "")
    assert json.loads(outcome.stdout.split("\n\n")[0]) == {"a": [1, 1.5, "é"]}
    assert "of 500,000,000" in outcome.stdout


@pytest.mark.parametrize(
    ("wat", "options", "ending"),
    [
        (SPIN, ["--fuel", "100000"], (3, "FUEL_EXHAUSTED")),
        (SPIN, ["--fuel", "9223372036854775807", "--deadline-ms", "50"], (3, "DEADLINE_EXCEEDED")),
        (TRAP, [], (1, "TRAP")),
        (ECHO.replace('"memory") 1', '"memory") 2'), ["--max-memory", "64KB"], (3, "MEMORY_EXCEEDED")),
    ],
    ids=["fuel", "deadline", "trap", "memory"],
)
def test_a_run_that_ends_badly_says_why(
    rotifer: Run, add_gene: AddGene, wat: str, options: list[str], ending: tuple[int, str]
) -> None:
    """Limits exit 3 and failures 1, with the code on standard error and in the document."""
    status, code = ending
    outcome = rotifer("run", "bad", *options, "--json", cwd=add_gene("bad", wat))
    assert outcome.status == status
    assert outcome.document["error"]["code"] == code
    assert outcome.document["output"] is None
    assert outcome.stderr.startswith(f"error[{code}]: ")


def test_an_agent_remembers(rotifer: Run, project: Path) -> None:
    """What one run writes the next one reads, and the deployer sees and deletes it."""
    created = rotifer("agent", "create", "bob", "--genes", "hello", "--memory-quota", "50MB", "--json", cwd=project)
    assert created.document["memoryQuota"] == 50 * 1024 * 1024
    run = ["agent", "run", "bob", "--input", '{"name": "Ada"}', "--json"]
    first, second = (rotifer(*run, cwd=project).document for _ in range(2))
    assert first["output"] == {"greeting": "Hello, Ada!"}
    assert second["output"] == {"greeting": "Welcome back, Ada!"}
    assert second["agent"] == "bob"
    assert second["agentId"] == created.document["agentId"]
    assert second["composition"] == "Single"

    listing = rotifer("agent", "memory", "list", "bob", "--json", cwd=project).document
    assert set(listing) == {"v", "agent", "used", "quota", "entries"}
    (entry,) = listing["entries"]
    assert entry == {
        "key": "greeting/last-name",
        "category": "CONTEXT",
        "size": 3,
        "createdBy": second["genes"][0]["geneId"],
        "updatedAt": entry["updatedAt"],
        "reachable": True,
    }
    shown = rotifer("agent", "memory", "list", "bob", cwd=project)
    assert shown.stdout.splitlines()[1].split() == [
        "greeting/last-name", "CONTEXT", "3", "B", entry["updatedAt"], entry["createdBy"]
    ]  # fmt: skip
    assert "1 entry" in shown.stderr

    assert (
        rotifer("agent", "memory", "list", "bob", "--category", "CACHE", "--json", cwd=project).document["entries"]
        == []
    )
    delete = ["agent", "memory", "delete", "bob", "--key", "greeting/last-name"]
    deleted = rotifer(*delete, cwd=project)
    assert (deleted.status, deleted.stdout) == (0, "deleted 1 entry\n")
    again = rotifer(*delete, "--json", cwd=project)
    assert again.status == 1
    assert again.document["error"]["code"] == "MEMORY_NOT_FOUND"
    assert rotifer("agent", "memory", "delete", "bob", "--category", "CONTEXT", "--json", cwd=project).document == {
        "v": 1,
        "deleted": 0,
    }


@pytest.mark.parametrize("key", ["", "x" * 1025, "a\0b", "\udcff"])
def test_a_key_that_cannot_be_is_wrong_usage(rotifer: Run, project: Path, key: str) -> None:
    """`memory delete --key` with what no key can be exits 2 and names the rule."""
    assert rotifer("agent", "create", "bob", "--genes", "hello", cwd=project).status == 0
    outcome = rotifer("agent", "memory", "delete", "bob", "--key", key, cwd=project)
    assert outcome.status == 2
    assert outcome.stderr.startswith("error[MEMORY_INVALID_INPUT]: ")
    assert outcome.stderr.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    "words",
    [
        ["--genes", "hello", "counter"],
        ["--genes", "hello,counter"],
        ["--genes", "hello, counter"],
        ["--genes=hello", "counter"],
        ["--genes=hello,counter"],
        ["--genes", "hello", "--genes", "counter"],
        ["--genes", "hello", "--composition", "Seq", "--genes", "counter"],
        ["--genes", "hello", "counter", "--memory-quota=1.5GB", "--composition=Seq"],
    ],
    ids=" ".join,
)
def test_genes_are_given_in_every_way(rotifer: Run, project: Path, words: list[str]) -> None:
    """--genes takes names apart by spaces, by commas, or the option again, and other options after it."""
    document = rotifer("agent", "create", "pair", *words, "--json", cwd=project).document
    assert (document["genes"], document["composition"]) == (["hello", "counter"], "Seq")
    listed = rotifer("agent", "list", "--json", cwd=project).document["agents"]
    assert listed == [{key: value for key, value in document.items() if key != "v"}]


@pytest.mark.parametrize(
    ("words", "status", "code"),
    [
        (["bob", "--genes", "hello"], 1, "AGENT_EXISTS"),
        (["Bob", "--genes", "hello"], 2, "USAGE"),
        (["new", "--genes", "nobody"], 1, "GENE_NOT_FOUND"),
        (["new", "--genes", ","], 2, "USAGE"),
        (["new", "--genes", "hello", "counter", "--composition", "Single"], 2, "USAGE"),
        (["new", "--genes", "hello", "--data-policy", "bad.json"], 2, "USAGE"),
    ],
)
def test_an_agent_that_cannot_be_is_not_made(
    rotifer: Run, project: Path, words: list[str], status: int, code: str
) -> None:
    """A refused `agent create` leaves the agents as they were."""
    assert rotifer("agent", "create", "bob", "--genes", "hello", cwd=project).status == 0
    (project / "bad.json").write_text('{"maxRetentionDays": 0}', encoding="utf-8")
    outcome = rotifer("agent", "create", *words, cwd=project)
    assert (outcome.status, outcome.stderr.split("]")[0]) == (status, f"error[{code}")
    assert [agent["agent"] for agent in rotifer("agent", "list", "--json", cwd=project).document["agents"]] == ["bob"]


def test_durability_is_passed_on(rotifer: Run, project: Path) -> None:
    """--durability run saves a run's changes too."""
    assert rotifer("agent", "create", "bob", "--genes", "counter", cwd=project).status == 0
    for count in (1, 2):
        document = rotifer("agent", "run", "bob", "--durability", "run", "--json", cwd=project).document
        assert document["output"] == {"count": count}


def test_recompile_runs_what_has_changed(rotifer: Run, add_gene: AddGene, project: Path) -> None:
    """A stale gene is refused with the command to type, and --recompile does it."""
    folder = add_gene("echo", TRAP)
    (folder / "gene.wat").write_text(ECHO, encoding="utf-8")
    stale = rotifer("run", "echo", cwd=project)
    assert stale.status == 1
    assert stale.stderr.startswith("error[GENE_STALE]: ")
    assert "rotifer compile echo" in stale.stderr
    assert rotifer("run", "echo", "--recompile", "--json", cwd=project).document["output"] == {}


def test_an_unknown_call_path_is_wrong_usage(rotifer: Run, project: Path) -> None:
    """--call-path names the allowed ones."""
    outcome = rotifer("run", "hello", "--call-path", "magic", cwd=project)
    assert outcome.status == 2
    assert "plain" in outcome.stderr


def test_doctor_looks_at_everything(rotifer: Run, project: Path, tmp_path: Path) -> None:
    """`doctor` finds nothing wrong here, in or outside a project, and changes nothing."""
    before = sorted(project.rglob("*"))
    inside = rotifer("doctor", "--json", cwd=project)
    outside = rotifer("doctor", "--json")
    assert (inside.status, outside.status) == (0, 0)
    found = {finding["name"]: finding for finding in inside.document["findings"]}
    assert list(found) == [
        "rotifer", "python", "platform", "wasmtime", "lmdb", "msgspec", "orjson", "cffi", "sandbox", "module cache",
        "node", "host modules", "telemetry", "project", "genes", "agents", "memory", "grants", "left over", "state",
    ]  # fmt: skip
    assert found["genes"]["detail"] == "2 ready"
    assert found["project"]["detail"] == str(project)
    assert sorted(project.rglob("*")) == before
    assert not (tmp_path / ".rotifer").exists()


def test_doctor_finds_what_is_wrong(rotifer: Run, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`doctor` exits 1 for state that others can read, a cache that others can write, and an unreadable agent."""
    (project / ".rotifer").chmod(0o755)
    (project / ".rotifer" / "agents" / "12345678-1234-1234-1234-123456789abc.json").write_text("{", encoding="utf-8")
    cache = project / "cache"
    cache.mkdir()
    cache.chmod(0o777)
    monkeypatch.setenv("ROTIFER_CACHE_DIR", str(cache))
    outcome = rotifer("doctor", "--json", cwd=project)
    wrong = {finding["name"]: finding["detail"] for finding in outcome.document["findings"] if not finding["ok"]}
    assert outcome.status == 1
    assert set(wrong) == {"module cache", "agents", "state"}
    assert "chmod 700" in wrong["state"]


@pytest.mark.parametrize(("name", "value"), [("DO_NOT_TRACK", "1"), ("ROTIFER_TELEMETRY", "0")])
def test_doctor_knows_whether_telemetry_is_off(
    rotifer: Run, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    """`doctor` says whether refused accesses leave events."""

    def state() -> str:
        findings = rotifer("doctor", "--json").document["findings"]
        return str(next(finding["detail"] for finding in findings if finding["name"] == "telemetry"))

    assert state() == "on, local files only"
    monkeypatch.setenv(name, value)
    assert state() == "off"
