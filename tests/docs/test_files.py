"""What holds for every file of the project."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HIDDEN = {".ci", ".gitignore"}

REGISTRY = re.compile(r"pypi\.org|pythonhosted\.org|npmjs\.org|debian\.org|crates\.io|index-url|find-links|file://")
MACHINE_PATH = re.compile(r"(?<![\w.$}/-])/(?:work|root|opt|mnt)/|(?<![\w.$}/-])/home/\w")


def project_files(folder: Path = ROOT) -> Iterator[Path]:
    """Yield the files of the project that its tools have not made."""
    for path in sorted(folder.iterdir()):
        made = path.name in {"build", "__pycache__"} or path.suffix == ".egg-info"
        if made or (path.name.startswith(".") and path.name not in HIDDEN):
            continue
        if path.is_dir():
            yield from project_files(path)
        else:
            yield path


def relative(path: Path) -> str:
    """Name a file for people."""
    return str(path.relative_to(ROOT))


FILES = list(project_files())
PAGES = [path for path in FILES if path.suffix == ".md"]


def without_code(text: str) -> str:
    """Drop fenced blocks and code spans of a Markdown text."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))


def anchors(text: str) -> set[str]:
    """Return the anchors of a Markdown text's headings."""
    fenceless = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", fenceless, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_links_resolve(page: Path) -> None:
    """Every link within the project leads to a file, and its anchor to a heading."""
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text(encoding="utf-8"))):
        if target.startswith("https://"):
            continue
        file, _, anchor = target.partition("#")
        there = (page.parent / file).resolve() if file else page
        assert there.exists(), f"{target} leads nowhere"
        assert there.is_relative_to(ROOT), f"{target} leads out of the project"
        if anchor:
            assert anchor in anchors(there.read_text(encoding="utf-8")), f"{target} has no such heading"


def test_links_are_found() -> None:
    """The test above has links to look at."""
    assert sum(len(re.findall(r"\]\(", without_code(page.read_text(encoding="utf-8")))) for page in PAGES) > 30


def test_no_file_names_a_registry_or_a_machine() -> None:
    """Where packages come from is the user's setting, and no path is that of one machine."""
    here = Path(__file__)
    found = [
        f"{relative(path)}:{number}: {line.strip()[:100]}"
        for path in FILES
        if path != here
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if REGISTRY.search(line) or MACHINE_PATH.search(line)
    ]
    allowed = {"Makefile": "--no-emit-index-url --no-emit-find-links"}
    assert [line for line in found if allowed.get(line.partition(":")[0], "\0") not in line] == []


@pytest.mark.parametrize(
    "line",
    ["--index-url https://x", f"https://pypi{'.'}org/simple", f"cd /{'work'}/x", "see /root/.cache", '"/home/me/x"'],
)
def test_registries_and_machines_are_recognised(line: str) -> None:
    """The patterns of the test above find what they are for."""
    assert REGISTRY.search(line) or MACHINE_PATH.search(line)


def pins(file: str) -> dict[str, tuple[str, int]]:
    """Return version and number of hashes by package of a lock file."""
    text = (ROOT / "requirements" / file).read_text(encoding="utf-8")
    entries = re.findall(
        r"^([a-z0-9-]+)==(\S+)[^\n]*\\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n?)+)", text, flags=re.MULTILINE
    )
    listed = [line for line in text.splitlines() if line and not line.startswith((" ", "#"))]
    assert len(entries) == len(listed), "a line of the lock is not a pin with hashes"
    return {name: (version, hashes.count("--hash")) for name, version, hashes in entries}


def test_extras_are_told() -> None:
    """README.md says what each extra is for that `make setup` does not install, and names no other."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = text.partition("| extra | for |")[2].partition("\n\n")[0]
    told = re.findall(r"^\| `(\w+)` \|", table, flags=re.MULTILINE)
    assert sorted(told) == sorted(project["optional-dependencies"].keys() - {"test"})


def test_lock_is_complete() -> None:
    """All dependencies are pinned with hashes, for more machines than the one that wrote them, and both files agree."""
    run, dev = pins("run.txt"), pins("dev.txt")
    assert run.items() <= dev.items()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups = project["dependency-groups"]
    wanted = {
        "run": (
            run,
            project["project"]["dependencies"] + project["project"]["optional-dependencies"]["test"] + groups["build"],
        ),
        "dev": (dev, groups["dev"]),
    }
    for pinned, requirements in wanted.values():
        assert {re.split(r"[<>=]", requirement)[0] for requirement in requirements} <= pinned.keys()
    for native in ("cffi", "lmdb", "msgpack", "msgspec", "orjson"):
        assert run[native][1] > 20
