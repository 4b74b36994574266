"""What the figures were taken on."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

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
        "processor": f"{_cpu_model()}, {os.cpu_count()} CPUs",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
    }
    for package in _PACKAGES:
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            continue
    return facts


def file_system(folder: Path) -> str:
    """Return the type of the file system `folder` lies on."""
    best, kind = "", "unknown"
    for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines():
        _, mounted_at, found, *_ = line.split()
        if len(mounted_at) >= len(best) and folder.resolve().is_relative_to(mounted_at):
            best, kind = mounted_at, found
    return kind


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or "unknown"
