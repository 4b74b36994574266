"""What the figures were taken on."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Final

import rotifer_host
from rotifer_host.bench.report import Machine

__all__ = ["describe", "file_system", "processor"]

_PACKAGES: Final = ("wasmtime", "lmdb", "msgspec", "orjson", "cffi")


def describe(folder: Path) -> Machine:
    """Return processor, system, load, versions, and the file system `folder` lies on."""
    return Machine(
        node=platform.node(),
        processor=processor(),
        cpus=os.cpu_count() or 1,
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        python=f"{platform.python_implementation()} {platform.python_version()}",
        file_system=file_system(folder),
        load_before=round(os.getloadavg()[0], 2),
        versions={"rotifer-host": rotifer_host.__version__} | {name: metadata.version(name) for name in _PACKAGES},
    )


def processor() -> str:
    """Return the name of the processor's model."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or "unknown")


def file_system(folder: Path) -> str:
    """Return the type of the file system with the longest mount point above `folder`."""
    longest, kind = -1, "unknown"
    try:
        lines = Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    for line in lines:
        _, mounted_at, found, *_ = line.split()
        if len(mounted_at) >= longest and folder.resolve().is_relative_to(mounted_at):
            longest, kind = len(mounted_at), found
    return kind
