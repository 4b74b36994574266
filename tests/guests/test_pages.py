"""Every command on the languages' pages can be typed in a fresh folder, and shows what the page says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.guests.modules import BUILT, ROOT

COMMANDS = {
    "wat": (),
    "c": ("clang-14", "wasm-ld-14"),
    "rust": ("/usr/bin/rustc", "wasm-ld-14"),
    "assemblyscript": ("npx", str(BUILT / "node_modules" / ".bin" / "asc")),
    "zig": (str(BUILT / "python" / "bin" / "python-zig"),),
    "typescript": ("node", str(BUILT / "node_modules" / ".bin" / "esbuild")),
}
"""What a page's compiler needs: of the system, or as `make guests` installs it."""
PATH = os.pathsep.join([str(Path(sys.executable).parent), str(BUILT / "python" / "bin"), os.environ["PATH"]])


def page(language: str) -> str:
    """Return a page's text."""
    return (ROOT / "docs" / "languages" / f"{language}.md").read_text(encoding="utf-8")


def blocks(language: str, fence: str) -> list[str]:
    """Return the fenced blocks of one kind."""
    return re.findall(rf"^```{fence}\n(.*?)^```", page(language), flags=re.MULTILINE | re.DOTALL)


def typed(commands: str, folder: Path) -> str:
    """Type commands in a folder; return their output."""
    done = subprocess.run(
        ["/bin/sh", "-euc", commands], cwd=folder, env={**os.environ, "PATH": PATH, "ROTIFER": str(ROOT)},
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def need(language: str) -> None:
    """Skip the test where a language's compiler is not installed."""
    missing = [command for command in COMMANDS[language] if shutil.which(command) is None]
    if missing:
        pytest.skip(f"{Path(missing[0]).name} is not installed: `make guests`")


def test_every_page_is_tried() -> None:
    """A new page cannot be left out of the tests here."""
    assert sorted(COMMANDS) == sorted(path.stem for path in (ROOT / "docs" / "languages").glob("*.md"))


@pytest.mark.parametrize("language", [language for language in COMMANDS if language != "typescript"])
def test_page(language: str, tmp_path: Path) -> None:
    """From an empty folder to a gene that remembers: the runs answer what the page says."""
    need(language)
    if language == "assemblyscript":
        (tmp_path / "node_modules").symlink_to(BUILT / "node_modules")  # instead of the page's `npm install`
    output = typed("\n".join(blocks(language, "sh")), tmp_path)
    answers = [json.loads(answer) for answer in blocks(language, "json")]
    after, before = (answers[-1], None) if language == "wat" else answers
    (greeting,) = after.values()
    assert output.count(greeting) == 2
    if before is not None:
        (stranger,) = before.values()
        typed("cd greeter; rotifer agent create nobody --genes meet", tmp_path)
        assert stranger in typed("cd greeter; rotifer agent run nobody --input '{}'", tmp_path)
    rejected = subprocess.run(
        ["rotifer", "agent", "run", "friend", "--input", '{"name": 5}', "--json"], cwd=tmp_path / "greeter",
        env={**os.environ, "PATH": PATH}, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert json.loads(rejected.stdout)["error"]["message"] == "name must be a string"


def test_page_without_memory(tmp_path: Path) -> None:
    """From an empty folder to a compiled gene in TypeScript: the runs answer what the page says, in its order."""
    need("typescript")
    first, *rest = blocks("typescript", "sh")
    (tmp_path / "node_modules").symlink_to(BUILT / "node_modules")  # instead of the page's `npm install`
    output = typed("\n".join([first, "ln -s ../node_modules .", *rest]), tmp_path)
    found = [output.find(json.dumps(json.loads(answer), indent=2)) for answer in blocks("typescript", "json")]
    assert len(found) == 2
    assert -1 not in found
    assert found == sorted(found)


@pytest.mark.parametrize("language", ["c", "rust"])
def test_wasi_command(language: str, tmp_path: Path) -> None:
    """The page's command for WASI builds the WASI example."""
    need(language)
    if language == "c" and not Path("/usr/include/wasm32-wasi").is_dir():
        pytest.skip("wasi-libc is not installed: `make guests`")
    shutil.copytree(ROOT / "guest-examples" / f"wasi-{language}", tmp_path / "gene")
    (tmp_path / "gene" / "gene.wasm").unlink()
    (command,) = blocks(language, "sh wasi")
    typed(command, tmp_path / "gene")
    assert (tmp_path / "gene" / "gene.wasm").read_bytes().startswith(b"\0asm")


@pytest.mark.parametrize("language", [language for language in COMMANDS if language != "wat"])
def test_versions_are_the_locked_ones(language: str) -> None:
    """The compilers that a page installs are those the examples were built with."""
    locked = json.loads((ROOT / "guest-examples" / "package.json").read_text(encoding="utf-8"))["dependencies"]
    locked |= dict(
        re.findall(r"^([\w-]+)==(\S+)", (ROOT / "guest-examples" / "requirements.in").read_text("utf-8"), re.MULTILINE)
    )
    packages = (ROOT / "guest-examples" / "Makefile").read_text(encoding="utf-8")
    installed = "\n".join([*blocks(language, "sh install"), page(language)])
    for name, version in re.findall(
        r"\b(assemblyscript|esbuild|json-as|qjs-[a-z-]+|ziglang)(?:@|==)([\d.]+)", installed
    ):
        assert locked[name] == version
    for line in re.findall(r"apt-get install (?:--no-install-recommends )?([^\n`]*)", installed):
        for package in line.split():
            assert package in packages or package == "python3-venv"
