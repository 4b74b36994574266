"""The seams that split runs time: all there, all seen, all put back."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

import pytest

from rotifer_host import Project
from rotifer_host.bench import seams
from rotifer_host.bench.memory import BenchMemory, find_target, memories
from rotifer_host.bench.seams import FUNCTIONS, METHODS, timed_seams
from rotifer_host.bench.stages import Recorder
from rotifer_host.project import ProjectFolder


@pytest.fixture
def memory(project: Project) -> Iterator[BenchMemory]:
    """The memory a gene is measured on."""
    folder = ProjectFolder.find(project.root)
    with memories(folder, find_target(folder, "every"), ["only"], in_place=False) as (_, made):
        yield made["only"]


def current(memory: BenchMemory) -> dict[str, object]:
    """Return what is at each seam now."""
    types = seams._types(memory)
    found: dict[str, object] = {
        f"{module}.{name}": getattr(import_module(module), name) for _, module, names in FUNCTIONS for name in names
    }
    return found | {f"{part}.{name}": getattr(types[part], name) for _, part, names in METHODS for name in names}


def test_every_seam_is_timed_and_put_back(memory: BenchMemory) -> None:
    """Inside the block each seam is another function, afterwards the very same as before, where it is imported too."""
    before = current(memory)
    importer = vars(import_module("rotifer_host.agent.memory_calls"))
    decode = importer["decode_read"]
    with timed_seams(Recorder(), memory):
        inside = current(memory)
        assert importer["decode_read"] is not decode
    assert [name for name in before if inside[name] is before[name]] == []
    assert current(memory) == before
    assert importer["decode_read"] is decode


@pytest.mark.parametrize(
    ("table", "gone"),
    [
        ("FUNCTIONS", ("decode", "rotifer_host.memory.request", ("decode_nothing",))),
        ("METHODS", ("store", "change", ("nothing",))),
    ],
)
def test_a_seam_that_is_gone_is_an_error(
    memory: BenchMemory, monkeypatch: pytest.MonkeyPatch, table: str, gone: tuple[str, str, tuple[str, ...]]
) -> None:
    """A seam that no longer exists stops the measurement, and leaves no other seam timed."""
    before = current(memory)
    monkeypatch.setattr(seams, table, (*getattr(seams, table), gone))
    with pytest.raises(AttributeError), timed_seams(Recorder(), memory):
        pass
    assert current(memory) == before


def test_the_protocols_have_the_seams_that_are_named() -> None:
    """The lists made of the protocols hold the methods that the stages are about."""
    named = {(part, name) for _, part, names in METHODS for name in names}
    assert named >= {
        ("store", "begin"),
        ("store", "snapshot"),
        ("snapshot", "get"),
        ("snapshot", "__exit__"),
        ("change", "put"),
        ("change", "remove"),
        ("change", "commit"),
        ("audit", "append"),
        ("audit", "sync"),
        ("telemetry", "access_denied"),
    }
