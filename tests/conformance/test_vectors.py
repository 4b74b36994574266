"""The vectors themselves, and the hosts that pass them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rotifer_host.conformance.host import CAPABILITIES, examine
from rotifer_host.conformance.host_own import STORES, OwnHost, StoreKind
from rotifer_host.conformance.protocol import Program
from rotifer_host.conformance.report import Report
from rotifer_host.conformance.vectors import PARTS, all_vectors, guest_source, vectors_of
from rotifer_host.conformance.vectors.__main__ import files
from rotifer_host.conformance.vectors.notation import expand, times, written
from rotifer_host.sandbox import assemble, available_call_paths

ROOT = Path(__file__).parents[2]
ABI = ROOT / "abi"
NODE_HOST = ROOT / "guest-examples" / "node-host" / "adapter.mjs"


def failures(report: Report) -> list[str]:
    """Return what failed, for a message that says it all."""
    return [
        f"{verdict.point} {verdict.title}: {verdict.seen}" for verdict in report.verdicts if verdict.verdict == "fail"
    ]


def test_committed_vectors_are_those_of_the_sources() -> None:
    """`abi/vectors` holds what the generator makes, and its README besides."""
    committed = {path.name: path.read_bytes() for path in (ABI / "vectors").iterdir() if path.name != "README.md"}

    assert sorted(committed) == sorted(files()), "type: python -m rotifer_host.conformance.vectors abi/vectors"
    stale = [name for name, data in files().items() if committed[name] != data]
    assert stale == [], "type: python -m rotifer_host.conformance.vectors abi/vectors"


def test_there_are_enough_vectors_and_each_is_itself() -> None:
    """At least 300 vectors, no id, title or content twice, each with something to demand."""
    vectors = list(all_vectors())

    assert len(vectors) >= 300
    for member in ("id", "title"):
        assert [value for value, count in Counter(v[member] for v in vectors).items() if count > 1] == []
    contents = {v["id"]: json.dumps(v | {"id": "", "title": "", "section": ""}) for v in vectors}
    counted = Counter(contents.values())
    assert [name for name, content in contents.items() if counted[content] > 1] == []
    assert [v["id"] for v in vectors if not v["steps"]] == []


def test_vectors_cite_sections_that_exist() -> None:
    """Each vector names a heading of the guest ABI, or a section of the Memory API that leads to one."""
    headings = {
        f"abi/{page}": set(re.findall(r"^#+ (.*)$", (ABI / page).read_text(encoding="utf-8"), re.MULTILINE))
        for page in ("README.md", "host-modules.md")
    }
    table = (ABI / "README.md").read_text(encoding="utf-8").partition("| `memory-api.en.md` | here |")[2]
    sections = headings | {"memory-api.en.md": set(re.findall(r'"([^"]+)"', table.partition("\n\n")[0]))}

    for vector in all_vectors():
        match = re.fullmatch(r'([\w./-]+), "(.*)"', vector["section"])
        assert match is not None, vector["section"]
        assert match[2] in sections[match[1]], vector["section"]


def test_vectors_need_only_capabilities_that_exist() -> None:
    """Every tag is a documented capability, and every capability is needed, or adds something to compare or to ask."""
    needed = {tag for vector in all_vectors() for tag in vector["needs"]}

    assert needed <= set(CAPABILITIES)
    # the chain is compared wherever there are audit lines, and recorded runs are replayed besides the vectors
    assert set(CAPABILITIES) - needed == {"audit-chain", "replay"}
    readme = (ABI / "vectors" / "README.md").read_text(encoding="utf-8")
    assert [name for name, meaning in CAPABILITIES.items() if f"| `{name}` | {meaning}" not in readme] == []


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("call_path", available_call_paths())
def test_this_host_passes_every_vector(call_path: str, store: StoreKind) -> None:
    """This host passes all of them, none skipped, on every call path and over every store."""
    with OwnHost(call_path, store) as host:
        report = examine(host, all_vectors(), assemble(guest_source()))

    assert failures(report) == []
    assert report.counts["pass"] == len(list(all_vectors()))


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed: there is no second host to test")
def test_the_host_in_node_passes_every_vector() -> None:
    """A host that shares no code with this one passes all it has the means for."""
    with Program(f"node '{NODE_HOST}'") as host:
        report = examine(host, all_vectors(), assemble(guest_source()))

    assert failures(report) == []
    assert {v.seen for v in report.verdicts if v.verdict == "skipped"} == {
        "the host has no fuel",
        "the host has no deadline",
        "the host has no deadline, wasi",
        "the host has no wasi",
        "the host has no ext.json",
        "the host has no ext.markdown",
    }
    assert report.counts["pass"] > 700


def test_this_host_speaks_the_protocol_as_a_program() -> None:
    """The adapter of this host passes as a process of its own what it passes within this one."""
    with Program(f"'{sys.executable}' -m rotifer_host.conformance.host_own") as host:
        report = examine(host, [*vectors_of("reading"), *vectors_of("results")], assemble(guest_source()))

    assert failures(report) == []
    assert report.passed


def test_every_part_has_its_file_and_numbers() -> None:
    """Ids are the part and a number that counts from 1."""
    for part in PARTS:
        ids = [vector["id"] for vector in vectors_of(part)]
        assert ids == [f"{part}-{number:03}" for number in range(1, len(ids) + 1)]


@pytest.mark.parametrize(
    ("notation", "data"),
    [
        ("", b""),
        ("é", b"\xc3\xa9"),
        ({"hex": "00ff"}, b"\x00\xff"),
        (times(3, "ab"), b"ababab"),
        (["a", {"times": 2, "of": ["b", {"hex": "00"}]}], b"ab\x00b\x00"),
    ],
)
def test_notation_of_bytes(notation: Any, data: bytes) -> None:
    """Strings, hex, repetitions and rows stand for the bytes the README says."""
    assert expand(notation) == data
    assert expand(written(data)) == data


@pytest.mark.parametrize("notation", [1, None, {"hex": 1}, {"times": 2}, {"hex": "00", "of": "x"}, ["a", 1]])
def test_no_notation_of_bytes(notation: Any) -> None:
    """Anything else is an error, never silently no bytes."""
    with pytest.raises(ValueError, match="not bytes in the notation"):
        expand(notation)


def test_generator_removes_what_is_no_vector_any_more(tmp_path: Path) -> None:
    """The generator writes every file and leaves no vectors of an earlier version behind."""
    (tmp_path / "99-gone.json").write_text("{}", encoding="utf-8")
    (tmp_path / "README.md").write_text("stays", encoding="utf-8")

    subprocess.run([sys.executable, "-m", "rotifer_host.conformance.vectors", str(tmp_path)], check=True)

    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*files(), "README.md"])


def test_state_of_many_entries_is_short() -> None:
    """Vectors with a thousand entries say so in a line."""
    longest: Sequence[Mapping[str, Any]] = max((v["entries"] for v in all_vectors()), key=len)
    assert len(longest) < 20
