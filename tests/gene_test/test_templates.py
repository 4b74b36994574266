"""`rotifer init --template`: each language's project passes its tests at once."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.gene_test.conftest import COMMAND, failures

from rotifer_host import Project, contract
from rotifer_host.errors import UsageError
from rotifer_host.gene.template import template_files

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "host" / "rotifer_host" / "gene" / "templates"
COMPILED = tuple(name for name in contract.TEMPLATES if name != "typescript")
FILES = json.loads((FOLDER / "files.json").read_text(encoding="utf-8"))


def test_every_template_has_files() -> None:
    """The names that the command offers are those there are."""
    assert tuple(FILES) == contract.TEMPLATES


@pytest.mark.parametrize("template", COMPILED)
def test_it_passes_at_once(tmp_path: Path, template: str) -> None:
    """Without a compiler, without another command: suite, generated inputs and ABI."""
    project = Project.init(tmp_path / "project", template=template)
    assert [gene.name for gene in project.genes()] == ["formatter"]
    test = project.test_gene("formatter")
    assert failures(test) == {}
    assert test.gate_passed


def test_typescript_runs_on_node(tmp_path: Path) -> None:
    """The TypeScript gene is not compiled, since it could not remember then, and passes where Node.js runs it."""
    project = Project.init(tmp_path / "project", template="typescript")
    assert not (project.genes_path / "formatter" / "gene.ir.wasm").exists()
    test = project.test_gene("formatter")
    failed = failures(test)
    if "ready" in failed:
        assert "Node.js" in failed["ready"].reason
        pytest.skip(f"{failed['ready'].reason}; {failed['ready'].todo}")
    assert failed == {}
    assert test.gate_passed
    assert {check.id: check.verdict for check in test.checks}["conformance"] == "skipped"


def test_typescript_without_node_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no Node.js the test fails with the command that brings one."""
    project = Project.init(tmp_path / "project", template="typescript")
    monkeypatch.setenv("ROTIFER_NODE", str(tmp_path / "none"))
    (check,) = failures(project.test_gene("formatter")).values()
    assert check.id == "ready"
    assert "pip install" in check.todo


@pytest.mark.parametrize("template", [None, "typescript"])
def test_init_warns_where_no_node_runs_the_gene(tmp_path: Path, template: str | None) -> None:
    """The project is made all the same; what is missing and how to get it is said, and in the document, too."""
    options = [] if template is None else ["--template", template]
    for name, more in (("first", []), ("second", ["--json"])):
        done = subprocess.run(
            [*COMMAND, "init", name, *options, *more],
            cwd=tmp_path,
            env=os.environ | {"ROTIFER_NODE": "/bin/false"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0
        assert (tmp_path / name / "rotifer.json").exists()
        warned = "warning: formatter cannot be run yet: a gene in TypeScript or JavaScript needs Node.js" in done.stderr
        assert warned == (template is not None) == ("pip install" in done.stderr)
    assert len(json.loads(done.stdout)["warnings"]) == (template is not None)


def test_unknown_templates_make_nothing(tmp_path: Path) -> None:
    """A template there is not is named with those there are."""
    with pytest.raises(UsageError, match="one of rust, assemblyscript, wat, c, typescript, not 'go'"):
        Project.init(tmp_path / "project", template="go")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("template", contract.TEMPLATES)
def test_files_are_those_of_the_checkout(template: str) -> None:
    """Source, module, tests and library are the project's own, byte for byte, and the test suite is there."""
    files = template_files(template)
    origins = {name: (ROOT / origin).read_bytes() for name, origin in FILES[template]["files"].items()}
    assert {name: data for name, data in files.items() if name != "README.md"} == origins
    assert {"phenotype.json", "testsuite.json"} <= files.keys()


def test_a_built_package_holds_them(tmp_path: Path) -> None:
    """What is built to be installed has the same files, and works without the checkout."""
    subprocess.run(
        [sys.executable, "setup.py", "-q", "egg_info", "-e", tmp_path, "build_py", "--build-lib", tmp_path / "lib"],
        cwd=ROOT,
        capture_output=True,
        timeout=60,
        check=True,
    )
    built = tmp_path / "lib" / "rotifer_host" / "gene" / "templates"
    for template in contract.TEMPLATES:
        for name, origin in FILES[template]["files"].items():
            assert (built / template / name).read_bytes() == (ROOT / origin).read_bytes()
    done = subprocess.run(
        [*COMMAND, "init", "made", "--template", "wat"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "lib")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "made" / "genes" / "formatter" / "gene.ir.wasm").exists()


@pytest.mark.parametrize("template", [name for name in COMPILED if FILES[name]["build"]])
def test_build_commands_are_those_of_the_language_pages(template: str) -> None:
    """The README builds a gene as docs/languages says."""

    def words(text: str) -> str:
        return " ".join(text.replace("\\\n", " ").replace("genes/meet/", "").split())

    page = (ROOT / "docs" / "languages" / f"{template}.md").read_text(encoding="utf-8")
    assert words(FILES[template]["build"]) in words(page)


@pytest.fixture
def shell(tmp_path: Path) -> Callable[[str, Path], str]:
    """Run lines as typed into a shell that finds `rotifer`."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "rotifer").write_text(f'#!/bin/sh\nexec {sys.executable} -m rotifer_host "$@"\n', encoding="utf-8")
    (programs / "rotifer").chmod(0o700)

    def run(lines: str, folder: Path) -> str:
        done = subprocess.run(
            ["/bin/sh", "-euc", lines],
            cwd=folder,
            env=os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def test_readme_and_next_steps_work(tmp_path: Path, shell: Callable[[str, Path], str]) -> None:
    """What `init` and the README say to type works, and the second run remembers."""
    project = Project.init(tmp_path / "project", template="wat")
    readme = (project.genes_path / "formatter" / "README.md").read_text(encoding="utf-8")
    trying, compiling = re.findall(r"^```sh\n(.*?)^```", readme, flags=re.MULTILINE | re.DOTALL)
    assert '"indent": 4' in shell(trying, project.root).rpartition("formatted")[2]
    shell(compiling, project.genes_path / "formatter")


@pytest.mark.parametrize("template", contract.TEMPLATES)
def test_readme_says_what_to_do_after_a_change(template: str) -> None:
    """Its build command, or that there is none."""
    readme = template_files(template)["README.md"].decode()
    assert "{" + "build}" not in readme
    assert (FILES[template]["build"] or "Nothing has to be") in readme
