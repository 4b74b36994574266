"""What the figures were taken on."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from rotifer_host.bench.machine import file_system, processor

__all__ = ["describe", "file_system", "pin"]

_PACKAGES: Final = ("rotifer-host", "wasmtime", "lmdb", "msgspec", "orjson", "cffi", "extism", "extism-sys")


def pin() -> int | None:
    """Keep this process, and every thread it will start, on one CPU; returns which, None where that cannot be done."""
    try:
        cpu = max(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cpu})
    except (AttributeError, OSError):
        return None
    return cpu


def describe() -> dict[str, str]:
    """Return processor, system and versions, in words."""
    facts = {
        "processor": f"{processor()}, {os.cpu_count()} CPUs",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
    }
    for package in _PACKAGES:
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            continue
    return facts
