"""The files of a gene on Node.js, and the v2 id made of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rotifer_host import contract
from rotifer_host.errors import GeneError
from rotifer_host.gene import script
from rotifer_host.gene.script import Script, read_script
from rotifer_host.gene.source import entry_of


def put(folder: Path, *names: str) -> None:
    """Make files that hold their own names."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)


def test_entry(tmp_path: Path) -> None:
    """`index.ts` comes before `index.js`, that before `index.mjs`; beside `asconfig.json` they are AssemblyScript."""
    assert entry_of(tmp_path) is None
    for name in ("index.mjs", "index.js", "index.ts"):
        put(tmp_path, name)
        assert entry_of(tmp_path) == name

    put(tmp_path, "asconfig.json")
    assert entry_of(tmp_path) is None


def test_files(tmp_path: Path) -> None:
    """All files count but those with a dot, and those that are no code."""
    put(tmp_path, "index.ts", "lib/a.ts", "lib/phenotype.json", "data.txt", "node_modules/x/index.js", "package.json")
    put(tmp_path, "phenotype.json", "testsuite.json", "gene.wasm", "gene.wat", "README.md", "rotifer.d.ts", "lib/b.md")
    put(tmp_path, ".git/x.js", ".hidden.js", "lib/.x.js")

    assert list(read_script(tmp_path, "index.ts").files) == [
        "data.txt",
        "index.ts",
        "lib/a.ts",
        "lib/phenotype.json",
        "node_modules/x/index.js",
        "package.json",
    ]


def test_digest() -> None:
    """The digest is that of the files' digests by path; every byte and every name counts, their order does not."""
    one = Script("index.js", {"index.js": b"1", "a/b.js": b"2"})

    assert one.digest == "fb58c946f72dc20913c5693f12ef283fe5764ae81d268ddd46465341afe00e6e"
    assert Script("index.js", {"a/b.js": b"2", "index.js": b"1"}).digest == one.digest
    others = ({"index.js": b"1", "a/b.js": b"3"}, {"index.js": b"1", "a/c.js": b"2"}, {"index.js": b"1"})
    assert one.digest not in {Script("index.js", files).digest for files in others}


@pytest.mark.parametrize("target", ["/etc/hostname", "index.js", "missing", "."])
def test_links(tmp_path: Path, target: str) -> None:
    """A link is refused by name, wherever it leads."""
    put(tmp_path, "index.js", "lib/x.js")
    (tmp_path / "lib" / "link.js").symlink_to(target)

    with pytest.raises(GeneError, match=r"link\.js is a link"):
        read_script(tmp_path, "index.js")


def test_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than 64 MiB, or too many files, are refused."""
    put(tmp_path, "index.js", "a.js", "b.js")
    monkeypatch.setattr(script, "_MAX_FILES", 2)
    with pytest.raises(GeneError, match="64 MB in 2 files"):
        read_script(tmp_path, "index.js")

    monkeypatch.undo()
    with (tmp_path / "big.bin").open("wb") as file:
        file.truncate(contract.MAX_MODULE_BYTES)
    with pytest.raises(GeneError, match="64 MB"):
        read_script(tmp_path, "index.js")


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    """A name that is not UTF-8 is refused: no id could be made of it."""
    put(tmp_path, "index.js")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.js")).touch()

    with pytest.raises(GeneError, match="not UTF-8"):
        read_script(tmp_path, "index.js")
