"""What the documentation tells people to type works, and shows what it says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def blocks(file: str, language: str) -> list[str]:
    """Return the fenced blocks of one language."""
    return re.findall(
        rf"^```{language}\n(.*?)^```", (ROOT / file).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )


def run(command: list[str], folder: Path) -> str:
    """Run a command in a folder; return its output."""
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": PATH}, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def positions(output: str, answers: list[str]) -> list[int]:
    """Return where in an output the texts of some JSON answers stand."""
    return [output.find(text) for answer in answers for text in json.loads(answer).values()]


def test_first_gene(tmp_path: Path) -> None:
    """Every command of the walk-through can be typed, and the runs answer what it says, in its order."""
    output = run(["/bin/sh", "-euc", "\n".join(blocks("docs/first-gene.md", "sh"))], tmp_path)
    found = positions(output, blocks("docs/first-gene.md", "json"))
    assert len(found) == 2
    assert -1 not in found
    assert found == sorted(found)
    assert "Gene ID (v2)" in output
    assert '"action":"memory.create"' in output


def test_python_page(tmp_path: Path) -> None:
    """The page's program runs as it stands."""
    gene = "\n".join(block for block in blocks("docs/first-gene.md", "sh") if "cat >" in block)
    (tmp_path / "rotifer.sh").write_text("rotifer() { :; }\nmkdir genes/meet\n" + gene, encoding="utf-8")
    first, *rest = blocks("docs/python.md", "python")
    make_gene = "import subprocess\nsubprocess.run(['/bin/sh', '-eu', '../rotifer.sh'], cwd='greeter', check=True)\n"
    run([sys.executable, "-W", "error", "-c", "\n".join([first, make_gene, *rest])], tmp_path)


@pytest.mark.parametrize(
    "page",
    [
        "docs/testing-a-gene.md",
        "docs/recordings.md",
        "docs/compositions.md",
        "docs/markdown-memory.md",
        "docs/json-memory.md",
        "docs/mcp.md",
        "docs/looking-inside.md",
        "docs/moving-an-agent.md",
        "docs/turn-memory.md",
        "docs/benchmarking.md",
    ],
)
def test_page_of_commands(tmp_path: Path, page: str) -> None:
    """Every command of the page can be typed, and its program runs where they leave off."""
    (commands,) = blocks(page, "sh")
    run(["/bin/sh", "-euc", commands], tmp_path)
    project = next(path.parent for path in tmp_path.glob("*/rotifer.json"))
    for program in blocks(page, "python"):
        run([sys.executable, "-W", "error", "-c", program], project)


def test_readme_example(tmp_path: Path) -> None:
    """The README's two runs of the formatter give the output it shows."""
    example = blocks("README.md", "console")[0]
    commands = re.findall(r"^\$ (.*)$", example, flags=re.MULTILINE)
    shown = json.loads(example.partition("\n{")[2].join(["{", ""]))
    setting_up = [
        "rotifer init demo",
        "cd demo",
        f"cp -R '{ROOT}/guest-examples/formatter' genes/",
        "rotifer compile formatter",
        "rotifer agent create tidy --genes formatter",
    ]
    output = run(
        ["/bin/sh", "-euc", "\n".join([*setting_up, *(f"{command} --json" for command in commands)])], tmp_path
    )
    assert json.loads(output.splitlines()[-1])["output"] == shown


def test_guests_read_me(tmp_path: Path) -> None:
    """The commands in each example's README work in a project that has the gene."""
    for folder in sorted((ROOT / "guest-examples").iterdir()):
        if (folder / "phenotype.json").is_file():
            project = tmp_path / folder.name
            run(["rotifer", "init", folder.name], tmp_path)
            shutil.copytree(folder, project / "genes" / folder.name)
            (commands,) = blocks(f"guest-examples/{folder.name}/README.md", "sh")
            run(["/bin/sh", "-euc", commands], project)
