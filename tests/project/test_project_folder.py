"""The project's folder: found, made, and read."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from rotifer_host.audit import AuditLine, encode_line
from rotifer_host.errors import GeneError, ProjectError, UsageError
from rotifer_host.gene import Gene
from rotifer_host.lock import Wait
from rotifer_host.project import ProjectFolder, module_cache_dir

MakeGene = Callable[..., Gene]


def tree(root: Path) -> set[str]:
    """Return every path below a folder."""
    return {path.relative_to(root).as_posix() for path in root.rglob("*")}


def test_a_new_project_has_all_it_needs(tmp_path: Path) -> None:
    """`init` makes the project file, the starter gene, the private state folder and what git should ignore."""
    project = ProjectFolder.init(tmp_path / "my-agent", "my-agent")
    assert tree(project.root) == {
        *("rotifer.json", ".gitignore", "genes", ".rotifer", ".rotifer/agents", ".rotifer/memory"),
        *(f"genes/hello{name}" for name in ("", "/phenotype.json", "/gene.wat", "/testsuite.json")),
    }
    text = (project.root / "rotifer.json").read_text()
    assert json.loads(text) == {
        "v": 1,
        "name": "my-agent",
        "version": "0.1.0",
        "author": "local-dev",
        "genes_dir": "genes",
    }
    assert text.endswith("}\n")
    assert project.state_dir.stat().st_mode & 0o777 == 0o700
    assert {".rotifer/", "gene.ir.wasm"} < set((project.root / ".gitignore").read_text().splitlines())
    assert [gene.name for gene in project.genes()] == ["hello"]
    assert list(tmp_path.iterdir()) == [project.root]


def test_an_empty_folder_may_become_a_project(tmp_path: Path) -> None:
    """A folder that somebody made beforehand is as good as none."""
    (tmp_path / "a").mkdir()
    ProjectFolder.init(tmp_path / "a", "a")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("kind", ["file", "folder", "link", "dangling"])
def test_what_is_there_is_left_alone(tmp_path: Path, kind: str) -> None:
    """A file, a folder with something in it and a link are neither replaced nor added to."""
    path = tmp_path / "a"
    if kind == "file":
        path.write_text("mine")
    elif kind == "folder":
        path.mkdir()
        (path / "mine").touch()
    else:
        path.symlink_to(tmp_path / "other")
        if kind == "link":
            (tmp_path / "other").mkdir()
    before = tree(tmp_path)
    with pytest.raises(ProjectError, match="is there already"):
        ProjectFolder.init(path, "a")
    assert tree(tmp_path) == before


def test_a_failure_leaves_nothing_half_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the disk fills up in the middle, there is no project, no folder, and no rest of one."""

    def full(*_arguments: object, **_named: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        with pytest.raises(ProjectError, match=r"cannot make the project .*No space left"):
            ProjectFolder.init(tmp_path / "a", "a")
    assert tree(tmp_path) == set()
    with pytest.raises(ProjectError, match="No such file"):
        ProjectFolder.init(tmp_path / "none" / "a", "a")
    with pytest.raises(UsageError, match="project name must be"):
        ProjectFolder.init(tmp_path / "B", "B")
    assert tree(tmp_path) == set()


def test_the_nearest_project_upwards_is_found(project: ProjectFolder) -> None:
    """From the folder itself and from anywhere below, the nearest project is the one."""
    deep = project.genes_dir / "hello"
    assert ProjectFolder.find(project.root).root == project.root
    assert ProjectFolder.find(deep).root == project.root
    inner = ProjectFolder.init(project.root / "inner", "inner")
    assert ProjectFolder.find(inner.genes_dir / "..").root == inner.root
    (deep / "rotifer.json").mkdir()  # a folder of that name makes no project
    assert ProjectFolder.find(deep).root == project.root


def test_without_a_project_the_error_says_what_to_do(tmp_path: Path) -> None:
    """No project above, and no folder at all, are told apart, with the same code."""
    for start, expected in ((tmp_path, f"no rotifer.json in {tmp_path}"), (tmp_path / "none", "there is no folder")):
        with pytest.raises(ProjectError, match=expected) as caught:
            ProjectFolder.find(start)
        assert caught.value.code == "NO_PROJECT"


def test_the_root_of_the_file_system_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project in `/` itself is found."""
    asked: list[Path] = []

    def is_file(path: Path, _error: object) -> bool:
        asked.append(path)
        return False

    monkeypatch.setattr("rotifer_host.project.is_file", is_file)
    with pytest.raises(ProjectError):
        ProjectFolder.find(tmp_path)
    assert asked[0] == tmp_path / "rotifer.json"
    assert asked[-1] == Path("/rotifer.json")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"name": "a", "genes_dir": "genes"}', None),
        ('{"v": 1, "name": "A name of the original", "default_domain": "x"}', None),
        ('{"name": "a", "genes_dir": "src/genes"}', None),
        ("{", "line 1, column 2"),
        ("[]", "must be a JSON object"),
        ("{}", "name must be text, and is missing"),
        ('{"name": null}', "name must be text, not null"),
        ('{"name": ""}', "name must be text"),
        ('{"name": 1}', "name must be text, not 1"),
        ('{"v": 2, "name": "a"}', "v is 2; this host reads format version 1"),
        ('{"v": true, "name": "a"}', "v is true"),
        ('{"name": "a", "genes_dir": ""}', "genes_dir must be"),
        ('{"name": "a", "genes_dir": 1}', "genes_dir must be"),
        ('{"name": "a", "genes_dir": "/etc"}', "genes_dir must be"),
        ('{"name": "a", "genes_dir": "a/../.."}', "genes_dir must be"),
        ('{"name": "a", "genes_dir": "a\\u0000"}', "genes_dir must be"),
        ('{"name": "a", "genes_dir": "\\ud800"}', "genes_dir must be"),
    ],
    ids=range(17),
)
def test_the_project_file_is_read_or_its_mistake_named(tmp_path: Path, content: str, expected: str | None) -> None:
    """Files of other hosts are read; a wrong field is named together with the file."""
    (tmp_path / "rotifer.json").write_text(content)
    if expected is None:
        assert ProjectFolder.find(tmp_path).genes() == []
    else:
        with pytest.raises(ProjectError) as caught:
            ProjectFolder.find(tmp_path)
        assert str(tmp_path / "rotifer.json") in caught.value.message
        assert expected in caught.value.message


def test_genes_are_folders_with_a_phenotype(project: ProjectFolder, make_gene: MakeGene) -> None:
    """A gene with a wrong phenotype is listed, what has none or no gene's name is not."""
    make_gene("broken", changes={"domain": 1})
    make_gene("a.b")
    for name in ("empty", "Upper", ".hidden"):
        (project.genes_dir / name).mkdir()
    (project.genes_dir / "Upper" / "phenotype.json").touch()
    (project.genes_dir / "file").touch()
    assert [gene.name for gene in project.genes()] == ["a.b", "broken", "hello"]
    assert project.gene("broken") == project.genes()[1]
    assert len({project.gene("hello"), project.gene("hello")}) == 1


@pytest.mark.parametrize("name", ["../hello", "hello/", "", "Hello", "hello\0", "."], ids=ascii)
def test_a_gene_s_name_never_becomes_another_path(project: ProjectFolder, name: str) -> None:
    """What is no gene's name is refused before the disk is looked at."""
    with pytest.raises(UsageError, match="gene name must be"):
        project.gene(name)


def test_an_unknown_gene_is_not_found(project: ProjectFolder) -> None:
    """A name with no folder, or with a file in its place, is an error of its own."""
    (project.genes_dir / "file").touch()
    for name in ("nobody", "file"):
        with pytest.raises(GeneError, match=f"there is no gene {name}") as caught:
            project.gene(name)
        assert caught.value.code == "GENE_NOT_FOUND"


def test_a_fresh_clone_gets_its_state_when_it_is_needed(project: ProjectFolder) -> None:
    """Without `.rotifer/` a project can be looked at without a trace, and what is written makes it again."""
    shutil.rmtree(project.state_dir)
    clone = ProjectFolder.find(project.root)
    assert (clone.agents(), clone.state_dir.exists()) == ([], False)
    path = clone.memory_path("id")
    assert (path.parent, path.exists()) == (clone.state_dir / "memory", False)
    assert path.parent.stat().st_mode & 0o777 == 0o700
    shutil.rmtree(project.state_dir)
    clone.create_agent("scribe", ["hello"])
    shutil.rmtree(project.state_dir)
    line = AuditLine(
        ts="2026-01-02T03:04:05.678Z",
        agentId=None,
        agent=None,
        actor="gene",
        geneId=None,
        domain=None,
        action="memory.deny",
        key=None,
        entryId=None,
        category=None,
        bytes=None,
    )
    clone.audit.append([encode_line(line)], Wait(), durable=True)
    assert {path.name for path in clone.state_dir.iterdir()} == {"audit.jsonl", "audit.lock"}
    assert clone.state_dir.stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in clone.state_dir.iterdir())


def test_a_state_folder_that_others_may_enter_is_closed(project: ProjectFolder) -> None:
    """A `.rotifer/` that came out of an archive with other rights is made private before it is used."""
    project.state_dir.chmod(0o755)
    project.memory_path("id")
    assert project.state_dir.stat().st_mode & 0o777 == 0o700


def test_a_file_in_the_state_folder_s_place_is_a_project_error(project: ProjectFolder) -> None:
    """What cannot be made is told with the system's reason."""
    shutil.rmtree(project.state_dir)
    project.state_dir.touch()
    with pytest.raises(ProjectError, match=r"cannot use .*\.rotifer: Not a directory"):
        project.memory_path("id")


def test_telemetry_follows_the_environment(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The project's telemetry is on, unless the user's environment says otherwise."""
    assert project.telemetry.enabled
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    other = ProjectFolder.find(project.root)
    assert not other.telemetry.enabled
    assert other.telemetry.path == project.state_dir / "telemetry.jsonl"


def test_the_module_cache_is_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled modules lie where `ROTIFER_CACHE_DIR` says, else in the user's cache, never in a project."""
    monkeypatch.setenv("ROTIFER_CACHE_DIR", str(tmp_path / "cache"))
    assert module_cache_dir() == tmp_path / "cache"
    monkeypatch.setenv("ROTIFER_CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert module_cache_dir() == tmp_path / "xdg" / "rotifer-host" / "modules"
    for nowhere in ("", "relative/folder"):
        monkeypatch.setenv("XDG_CACHE_HOME", nowhere)
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        assert module_cache_dir() == tmp_path / "home" / ".cache" / "rotifer-host" / "modules"
