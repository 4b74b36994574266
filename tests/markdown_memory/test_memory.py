"""The four operations on real files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rotifer_host.errors import MarkdownError
from rotifer_host.markdown_memory import MarkdownMemory
from rotifer_host.markdown_memory.blocks import parse_blocks
from rotifer_host.testing import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    """Give a clock that stands until it is moved."""
    return ManualClock()


@pytest.fixture
def memory(tmp_path: Path, clock: ManualClock) -> MarkdownMemory:
    """Give the memories of a folder without any yet."""
    return MarkdownMemory(tmp_path, clock=clock)


def put(tmp_path: Path, name: str, data: str | bytes) -> Path:
    """Write a file as a person would."""
    path = tmp_path / ".agent/memory" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def code(call: Any, *arguments: Any, **named: Any) -> tuple[str, str]:
    """Return code and message of the refusal of a call."""
    with pytest.raises(MarkdownError) as caught:
        call(*arguments, **named)
    return caught.value.code, caught.value.message


def test_a_memory_lies_in_the_file_of_its_day(tmp_path: Path, memory: MarkdownMemory, clock: ManualClock) -> None:
    """`YYYY/MM/dd.md` in UTC, a heading, the content, and a comment with time and tags."""
    clock.set("2026-01-02T23:59:59.999Z")
    assert memory.write("style/indent", "four spaces", tags=["code", "team"]) == (
        "style/indent",
        "daily",
        "2026/01/02.md",
    )
    assert (tmp_path / ".agent/memory/2026/01/02.md").read_text() == (
        "### style/indent\n\nfour spaces\n\n<!-- agentool-memory: at=2026-01-02T23:59:59.999Z tags=code|team -->\n"
    )
    clock.set("2026-01-03T00:00:00.000Z")
    assert memory.write("b", "").path == "2026/01/03.md"


def test_a_memory_lies_in_the_summary(memory: MarkdownMemory) -> None:
    """With target `summary` it goes to MEMORY.md."""
    assert memory.write("a", "x", target="summary") == ("a", "summary", "MEMORY.md")
    assert memory.read("a").kind == "summary"


def test_reading_gives_every_field(memory: MarkdownMemory, clock: ManualClock) -> None:
    """Key, content, tags, file, kind, and the time of the block twice."""
    clock.set("2026-01-02T03:04:05.006Z")
    memory.write("a", "x\n", tags=["t"])
    assert memory.read(" a ").to_json() == {
        "key": "a",
        "content": "x\n",
        "tags": ["t"],
        "file": "2026/01/02.md",
        "kind": "daily",
        "created_at": "2026-01-02T03:04:05.006Z",
        "updated_at": "2026-01-02T03:04:05.006Z",
    }


@pytest.mark.parametrize("name", ["MEMORY.md", "2020/01/01.md", "notes/by-hand.md"])
def test_a_key_is_there_once(tmp_path: Path, memory: MarkdownMemory, name: str) -> None:
    """Writing a key that any file has is refused, and changes no file."""
    path = put(tmp_path, name, "### a\nby hand\n")
    assert code(memory.write, "a", "x")[0] == "MEMORY_KEY_EXISTS"
    assert path.read_text() == "### a\nby hand\n"
    assert list((tmp_path / ".agent").rglob("*.md")) == [path]


def test_an_update_moves_the_block_to_the_end_of_its_file(
    tmp_path: Path, memory: MarkdownMemory, clock: ManualClock
) -> None:
    """Everything else in the file stays byte for byte; the tags stay unless new ones are given."""
    path = put(tmp_path, "notes.md", b"\xef\xbb\xbf# Notes\r\n\r\n### a\r\nold\r\n\r\n## Later\r\nno end")
    clock.set("2026-01-02T00:00:00.000Z")
    assert memory.update("a", "new", tags=["t"]) == ("a", "notes.md", "daily")
    assert path.read_bytes() == (
        b"\xef\xbb\xbf# Notes\r\n\r\n## Later\r\nno end\n\n"
        b"### a\n\nnew\n\n<!-- agentool-memory: at=2026-01-02T00:00:00.000Z tags=t -->\n"
    )
    memory.update("a", "newer")
    assert memory.read("a")[:3] == ("a", "newer", ("t",))
    memory.update("a", "newest", tags=[])
    assert memory.read("a")[:3] == ("a", "newest", ())
    size = path.stat().st_size
    for _ in range(5):
        memory.update("a", "newest")
    assert path.stat().st_size == size


_BY_HAND = st.sampled_from(
    [
        "",
        "text",
        "### a",
        "### b",
        "# T",
        "\\### a",
        "### ",
        "é\r",
        "```",
        "<!-- agentool-memory: at=T tags=t -->",
        "\ufeff",
    ]
)


@given(st.lists(_BY_HAND, max_size=12).map("\n".join), st.sampled_from(["", "\n", "\r\n"]))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_an_update_leaves_all_else_as_it_is(tmp_path: Path, memory: MarkdownMemory, text: str, end: str) -> None:
    """Whatever a person wrote: the bytes around the block stay, and every other block is still there."""
    path = put(tmp_path, "MEMORY.md", "### a\n" + text + end)
    before = path.read_bytes().decode()
    blocks = list(parse_blocks(before))
    found = memory.read("a")
    (block,) = [
        each for each in blocks if (each.content, each.at) == (found.content, found.updated_at) and each.key == "a"
    ][-1:]
    memory.update("a", "new")
    after = path.read_bytes().decode()
    kept = before[: block.begin] + before[block.end :]
    assert after.startswith(kept) or after.replace("<!-- agentool-memory: at= -->\n", "", 1).startswith(kept)
    expected = [(each.key, each.content) for each in blocks if each is not block]
    assert [(each.key, each.content) for each in parse_blocks(after)] == [*expected, ("a", "new")]


def test_text_below_a_block_does_not_become_part_of_the_one_above(tmp_path: Path, memory: MarkdownMemory) -> None:
    """A comment without a time takes the place of the block that stood between."""
    comment = "<!-- agentool-memory: at=2026-01-01T00:00:00Z tags= -->"
    path = put(tmp_path, "MEMORY.md", f"### by hand\n\none\n\n### a\n{comment}\nnobody's\n")
    memory.update("a", "x")
    assert memory.read("by hand").content == "one"
    memory.update("by hand", "two")
    assert path.read_text().startswith("nobody's\n\n### a\n")
    assert "at= -->" not in path.read_text()


def test_updates_in_turn_leave_no_empty_lines_behind(tmp_path: Path, memory: MarkdownMemory) -> None:
    """However often blocks of one file are updated, it does not grow; an empty line that is no block's own stays."""
    path = put(tmp_path, "MEMORY.md", "# Title\n\nnotes\n\n\n")
    for key in "abc":
        memory.write(key, "x", target="summary")
    size = path.stat().st_size
    for key in "bacabbca" * 3:
        memory.update(key, "y")
    assert path.stat().st_size == size
    assert path.read_text().startswith("# Title\n\nnotes\n\n\n### ")


def test_the_summary_comes_first(tmp_path: Path, memory: MarkdownMemory) -> None:
    """A block of MEMORY.md is read before a newer one elsewhere, else the newest; one without time is oldest."""
    comment = "<!-- agentool-memory: at={} tags= -->\n"
    put(tmp_path, "2026/01/01.md", "### a\nnew\n" + comment.format("2026-06-01T00:00:00Z"))
    put(tmp_path, "2026/01/02.md", "### a\nolder\n" + comment.format("2026-05-01T00:00:00+00:00") + "### a\nby hand\n")
    assert memory.read("a").content == "new"
    path = put(
        tmp_path,
        "MEMORY.md",
        "### a\nby hand\n### a\nfirst\n"
        + comment.format("2020-01-02T00:00:00Z")
        + "### a\nno time\n"
        + comment.format("yesterday"),
    )
    assert memory.read("a").content == "first"
    memory.update("a", "second")
    assert [found.content for found in memory.search("")] == ["second", "no time", "by hand", "new", "older", "by hand"]
    assert path.read_text().startswith("### a\nby hand\n### a\nno time\n")


def test_search_finds_in_keys_and_contents(memory: MarkdownMemory, clock: ManualClock) -> None:
    """Whatever the case; all tags must be there; newest first; at most `limit`, 10 when nothing is said."""
    for number in range(12):
        clock.advance(days=1)
        memory.write(f"Key/{number}", f"Straße {number}", tags=["even" if number % 2 == 0 else "odd", "all"])
    assert [found.key for found in memory.search("KEY")] == [f"Key/{number}" for number in range(11, 1, -1)]
    assert [found.key for found in memory.search("strasse 1", limit=100)] == ["Key/11", "Key/10", "Key/1"]
    assert [found.key for found in memory.search("", tags=["odd", "all"], limit=2)] == ["Key/11", "Key/9"]
    assert memory.search("", tags=["odd", "even"]) == []
    assert memory.search("nowhere") == []


@pytest.mark.parametrize(
    ("operation", "arguments", "expected"),
    [
        ("write", {"key": "", "content": ""}, "MEMORY_INVALID_KEY"),
        ("write", {"key": " \t", "content": ""}, "MEMORY_INVALID_KEY"),
        ("write", {"key": "a\nb", "content": ""}, "MEMORY_INVALID_KEY"),
        ("write", {"key": "a\r", "content": ""}, "MEMORY_INVALID_KEY"),
        ("write", {"key": "a\u2028b", "content": ""}, "MEMORY_INVALID_KEY"),
        ("write", {"key": "\ud800", "content": ""}, "MEMORY_INVALID_KEY"),
        ("write", {"key": "a\0", "content": ""}, "MEMORY_INVALID_KEY"),
        ("write", {"key": "ä" * 513, "content": ""}, "MEMORY_INVALID_KEY"),
        ("update", {"key": "\n", "content": ""}, "MEMORY_INVALID_KEY"),
        ("read", {"key": "\n"}, "MEMORY_INVALID_KEY"),
        ("write", {"key": 1, "content": ""}, "INVALID_PATH"),
        ("write", {"key": "a", "content": None}, "INVALID_PATH"),
        ("write", {"key": "a", "content": "\ud800"}, "INVALID_PATH"),
        ("write", {"key": "a", "content": "", "tags": "t"}, "INVALID_PATH"),
        ("write", {"key": "a", "content": "", "tags": [1]}, "INVALID_PATH"),
        ("write", {"key": "a", "content": "", "tags": [""]}, "INVALID_PATH"),
        ("write", {"key": "a", "content": "", "tags": ["a|b"]}, "INVALID_PATH"),
        ("write", {"key": "a", "content": "", "tags": ["x -->\n### forged"]}, "INVALID_PATH"),
        ("write", {"key": "a", "content": "", "tags": ["a\nb"]}, "INVALID_PATH"),
        ("write", {"key": "a", "content": "", "tags": [" a"]}, "INVALID_PATH"),
        ("write", {"key": "a", "content": "", "target": "weekly"}, "MEMORY_INVALID_TARGET"),
        ("write", {"key": "a", "content": "", "target": None}, "MEMORY_INVALID_TARGET"),
        ("update", {"key": "a", "content": ""}, "MEMORY_KEY_NOT_FOUND"),
        ("read", {"key": "a"}, "MEMORY_KEY_NOT_FOUND"),
        ("search", {"query": None}, "INVALID_PATH"),
        ("search", {"query": "", "limit": 0}, "INVALID_PATH"),
        ("search", {"query": "", "limit": 101}, "INVALID_PATH"),
        ("search", {"query": "", "limit": True}, "INVALID_PATH"),
        ("search", {"query": "", "tags": ["a|b"]}, "INVALID_PATH"),
    ],
)
def test_refusals(
    tmp_path: Path, memory: MarkdownMemory, operation: str, arguments: dict[str, Any], expected: str
) -> None:
    """Every bad argument has its code, and leaves no file."""
    assert code(getattr(memory, operation), **arguments)[0] == expected
    assert list((tmp_path / ".agent").rglob("*.md")) == []


def test_a_key_that_is_not_utf8_is_told_so(memory: MarkdownMemory) -> None:
    """What a terminal sent in another encoding is not called empty."""
    assert code(memory.read, key="\udcff") == ("MEMORY_INVALID_KEY", "key must be text that is written in UTF-8")


def _not_utf8(tmp_path: Path) -> None:
    put(tmp_path, "bad.md", b"### a\n\xff\n")


def _link_to_a_file(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("### a\nsecret\n")
    put(tmp_path, "x.md", "").unlink()
    (tmp_path / ".agent/memory/bad.md").symlink_to(tmp_path / "secret")


def _link_to_a_folder(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".agent").mkdir()
    (tmp_path / ".agent/memory").symlink_to(tmp_path / "elsewhere")


def _pipe(tmp_path: Path) -> None:
    put(tmp_path, "x.md", "")
    os.mkfifo(tmp_path / ".agent/memory/bad.md")


@pytest.mark.parametrize("spoil", [_not_utf8, _link_to_a_file, _link_to_a_folder, _pipe])
def test_files_that_cannot_be_read_are_named(tmp_path: Path, memory: MarkdownMemory, spoil: Any) -> None:
    """What is no UTF-8 file, or a link that could lead out of the folder, stops every operation with its name."""
    spoil(tmp_path)
    for call in (lambda: memory.search(""), lambda: memory.write("b", "x"), lambda: memory.update("a", "x")):
        found, message = code(call)
        assert found == "MEMORY_STORAGE_ERROR"
        assert "bad.md" in message or ".agent/memory" in message


def test_names_that_are_no_text_are_refused(tmp_path: Path, memory: MarkdownMemory) -> None:
    """A file whose name is not UTF-8 could not be named in a result."""
    put(tmp_path, "x.md", "")
    (tmp_path / ".agent/memory" / os.fsdecode(b"\xff.md")).write_text("### a\n")
    assert code(memory.read, "a") == ("MEMORY_STORAGE_ERROR", r"the name of '\udcff.md' is not UTF-8")


def test_what_is_hidden_is_no_memory(tmp_path: Path, memory: MarkdownMemory) -> None:
    """Names with a dot in front are an editor's: locks, copies, folders of settings."""
    put(tmp_path, ".old.md", "### a\n")
    put(tmp_path, ".trash/a.md", "### a\n")
    put(tmp_path, "b.md", "### b\n")
    (tmp_path / ".agent/memory/.#b.md").symlink_to("user@host.1")
    assert [found.key for found in memory.search("")] == ["b"]


def test_links_to_folders_are_not_followed(tmp_path: Path, memory: MarkdownMemory) -> None:
    """A folder that is a link is not looked into, and nothing is written into it."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/x.md").write_text("### a\nsecret\n")
    put(tmp_path, "x.md", "")
    (tmp_path / ".agent/memory/1970").symlink_to(tmp_path / "elsewhere")
    assert memory.search("") == []
    clock = ManualClock()
    clock.set("1970-05-06T00:00:00.000Z")
    assert code(MarkdownMemory(tmp_path, clock=clock).write, "b", "x")[0] == "MEMORY_STORAGE_ERROR"
    assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == ["x.md"]


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path, memory: MarkdownMemory) -> None:
    """Who laid it into the folder makes no file elsewhere."""
    put(tmp_path, "x.md", "### a\n")
    (tmp_path / ".agent/memory/.lock").symlink_to(tmp_path / "elsewhere")
    assert code(memory.write, "b", "x")[0] == code(memory.update, "a", "x")[0] == "MEMORY_STORAGE_ERROR"
    assert not (tmp_path / "elsewhere").exists()
    assert memory.read("a").content == ""


def test_a_change_that_is_not_admitted_is_not_made(tmp_path: Path, clock: ManualClock) -> None:
    """Whoever announces a change, or cannot take its result, stops it by raising."""

    def refuse(_: object) -> Any:
        raise MarkdownError("no", code="NO")

    memory = MarkdownMemory(tmp_path, clock=clock)
    memory.write("a", "x")
    closed = MarkdownMemory(tmp_path, clock=clock, announce=refuse)
    assert code(closed.write, "b", "x")[0] == "NO"
    assert code(closed.update, "a", "y")[0] == "NO"
    assert code(memory.write, "b", "x", admit=refuse)[0] == "NO"
    assert code(memory.update, "a", "y", admit=refuse)[0] == "NO"
    assert [(found.key, found.content) for found in memory.search("")] == [("a", "x")]


_WRITER = """
import sys
from pathlib import Path
from rotifer_host.clock import SystemClock
from rotifer_host.markdown_memory import MarkdownMemory
memory = MarkdownMemory(Path(sys.argv[1]), clock=SystemClock())
for number in range(int(sys.argv[3])):
    memory.write(f"{sys.argv[2]}/{number}", "x" * 200, target="summary")
    memory.update(f"{sys.argv[2]}/{number}", "y" * 200)
    print(f"{sys.argv[2]}/{number}", flush=True)
"""


def _start(root: Path, name: str, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(root), name, str(count)], stdout=subprocess.PIPE, text=True
    )


def test_processes_lose_nothing(tmp_path: Path, memory: MarkdownMemory) -> None:
    """Four that write into one file at once find all their memories in it, and so does one that is killed."""
    processes = [_start(tmp_path, name, 15) for name in "abc"]
    victim = _start(tmp_path, "d", 1_000_000)
    assert victim.stdout is not None
    told = [victim.stdout.readline().strip() for _ in range(5)]
    victim.kill()
    told += victim.communicate()[0].split()
    assert victim.returncode == -signal.SIGKILL
    for process in processes:
        told += process.communicate()[0].split()
        assert process.returncode == 0
    text = (tmp_path / ".agent/memory/MEMORY.md").read_text()
    for key in told:
        assert memory.read(key).content == "y" * 200
        assert text.count(f"### {key}\n") == 1
