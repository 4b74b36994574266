"""Host modules of distributions that are installed for a test, and genes that call them on every call path."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rotifer_host import Agent, RunResult
from rotifer_host.modules.registry import find_module
from rotifer_host.sandbox import available_call_paths
from rotifer_host.testing import temporary_agent

Register = Callable[..., str]
_numbers = itertools.count()


@pytest.fixture(params=available_call_paths())
def call_path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let every run take one of the call paths."""
    path: str = request.param
    monkeypatch.setenv("ROTIFER_CALL_PATH", path)
    return path


@pytest.fixture
def register(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Register]:
    """Return a function that installs a distribution with one host module; it gives the module's name in Python."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    find_module.cache_clear()
    made = []

    def install(name: str, source: str, value: str = "MODULE", distribution: str | None = None) -> str:
        module = f"host_module_{next(_numbers)}"
        made.append(module)
        (site / f"{module}.py").write_text(source, encoding="utf-8")
        info = site / f"{distribution or name}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution or name}\nVersion: 1.2\n")
        (info / "entry_points.txt").write_text(f"[rotifer_host.modules]\n{name} = {module}:{value}\n")
        return module

    yield install
    find_module.cache_clear()
    for module in made:
        sys.modules.pop(module, None)


def relay(function: str, *, out_cap: int = 1 << 20, calls: int = 1, ends: str = "") -> str:
    """Return a guest that hands its input to `rotifer.ext.<module>.<function>` and returns what it finds in `out`."""
    module, _, name = function.rpartition(".")
    again = "(drop (call $function (local.get 0) (local.get 1) (i32.const 2097152) (i32.const 0)))" * (calls - 1)
    return f"""(module
      (import "rotifer.ext.{module}" "{name}" (func $function (param i32 i32 i32 i32) (result i32)))
      (memory (export "memory") 64)
      (data (i32.const 2097152) "\\"nothing\\"")
      (func (export "alloc") (param i32) (result i32) (i32.const 65536))
      (func (export "express") (param i32 i32) (result i32) (local $length i32) {again}
        (local.set $length
          (call $function (local.get 0) (local.get 1) (i32.const 2097152) (i32.const {out_cap})))
        (if (i32.ge_s (local.get $length) (i32.const 0))
          (then (i32.store8 offset=2097152 (local.get $length) (i32.const 0))))
        {ends}
        (i32.const 2097152)))"""


def only_call(result: RunResult) -> tuple[str, dict[int, int]]:
    """Return the one host function that was called, and how often it answered each negative result."""
    ((name, call),) = result.genes[-1].host_calls.items()
    return name, call.errors


def audited(agent: Agent) -> list[dict[str, Any]]:
    """Return the lines of the audit log."""
    return list(map(json.loads, agent._project.audit_path.read_text(encoding="utf-8").splitlines()))


@pytest.fixture
def agent_of() -> Iterator[Callable[..., Agent]]:
    """Return a function that makes an agent of one guest; it is deleted after the test."""
    opened = []

    def make(guest: str, *grants: str, settings: Any = None) -> Agent:
        opened.append(temporary_agent({"gene": guest}, grants=settings or grants))
        return opened[-1].__enter__()

    yield make
    for context in opened:
        context.__exit__(None, None, None)
