"""An earlier measurement beside this one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from rotifer_host import contract
from rotifer_host.bench.report import PathReport, Report, Spread
from rotifer_host.errors import UsageError

__all__ = ["Difference", "compare", "differing_conditions", "read_report"]


class Difference(NamedTuple):
    """One figure then and now, microseconds."""

    call_path: str
    what: str
    """`run`, or a host function."""
    before: Spread
    now: Spread

    @property
    def real(self) -> bool:
        """Whether the two are further apart than they scatter; otherwise nothing may be said of them."""
        return self.before.differs(self.now)

    @property
    def ratio(self) -> float:
        """How many times as long it takes now."""
        return self.now.median / self.before.median


def read_report(path: Path) -> Report:
    """Read what `rotifer bench --json` printed. Raises `UsageError`."""
    help_text = "--compare takes a file that `rotifer bench NAME --json` has printed"
    try:
        report = msgspec.json.decode(path.read_bytes(), type=Report)
    except OSError as error:
        message = f"cannot read {path}: {error.strerror}"
        raise UsageError(message, help=help_text) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        message = f"{path} is no measurement: {error}"
        raise UsageError(message, help=help_text) from error
    if report.v != contract.FORMAT_VERSION:
        message = f"{path}: v is {report.v}; this host reads format version {contract.FORMAT_VERSION}"
        raise UsageError(message, help=help_text)
    return report


def compare(before: Report, now: Report) -> Iterator[Difference]:
    """Pair the figures that both measurements have."""
    earlier = {path.call_path: path for path in before.paths}
    for path in now.paths:
        if path.call_path in earlier:
            yield from _compare_paths(earlier[path.call_path], path)


def differing_conditions(before: Report, now: Report) -> list[str]:
    """Say in words what besides the code was not the same, so that a difference may come from it."""
    pairs = {
        "target": (before.target, now.target),
        "genes": (before.genes, now.genes),
        "memory": (before.memory, now.memory),
        "input": (before.input_sha256[:12], now.input_sha256[:12]),
        "durability": (before.durability, now.durability),
        "node": (before.machine.node, now.machine.node),
        "processor": (before.machine.processor, now.machine.processor),
        "CPUs": (before.machine.cpus, now.machine.cpus),
        "system": (before.machine.system, now.machine.system),
        "Python": (before.machine.python, now.machine.python),
        "file system": (before.machine.file_system, now.machine.file_system),
    }
    for name in sorted(before.machine.versions | now.machine.versions):
        pairs[name] = (before.machine.versions.get(name), now.machine.versions.get(name))
    return [f"{name}: {then} then, {today} now" for name, (then, today) in pairs.items() if then != today]


def _compare_paths(before: PathReport, now: PathReport) -> Iterator[Difference]:
    yield Difference(now.call_path, "run", before.run, now.run)
    for label, call in now.calls.items():
        if label in before.calls:
            yield Difference(now.call_path, label, before.calls[label].micros, call.micros)
