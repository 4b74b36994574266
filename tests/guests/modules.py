"""The example genes in compiled languages: their committed modules, and what `make guests` built here."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Any

from rotifer_host import Agent, Project

ROOT = Path(__file__).parents[2]
GUESTS = ROOT / "guest-examples"
BUILT = ROOT / "build" / "guests"
SOURCES = ("gene.[!i]*", "rotifer.*", "*.ts", "Cargo.toml")

COMPILED = tuple(sorted(path.parent.name for path in GUESTS.glob("*/gene.wasm")))
"""Examples with a committed module: those that a compiler made."""
WASI = tuple(gene for gene in COMPILED if "wasi" in gene or gene.endswith("-typescript"))
"""Those that are programs, with their input on standard input."""
LANGUAGES = ("assemblyscript", "c", "rust", "zig")
"""Those of the examples that use a host module."""
ODD = 'é😀"\\\n\x1f/'
"""What JSON escapes, and what it does not."""

__all__ = [
    "BUILT",
    "COMPILED",
    "GUESTS",
    "LANGUAGES",
    "ODD",
    "ORIGINS",
    "ROOT",
    "SOURCES",
    "WASI",
    "Guests",
    "digest",
    "rebuilt",
    "said",
]


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def rebuilt(gene: str) -> Path | None:
    """Return what `make guests` made on this machine of the source as it is now; None when it did not."""
    module = BUILT / f"{gene}.wasm"
    changed = max(path.stat().st_mtime for pattern in SOURCES for path in (GUESTS / gene).glob(pattern))
    if not module.exists():
        return None
    same = digest(module) == digest(GUESTS / gene / "gene.wasm")  # a fresh clone is younger than any build
    return module if same or module.stat().st_mtime >= changed else None


DIFFERENT = frozenset(
    gene for gene in COMPILED if (module := rebuilt(gene)) and digest(module) != digest(GUESTS / gene / "gene.wasm")
)
ORIGINS = ("committed", "built") if DIFFERENT else ("committed",)
"""Where the modules under test come from: a build that gave the same bytes is not tested twice."""


class Guests:
    """Modules of the example genes: `committed`, or `built` by `make guests` on this machine."""

    def __init__(self, origin: str) -> None:
        self.origin = origin

    def module(self, gene: str) -> Path:
        """Return a gene's module, or its text for a gene in WAT."""
        committed = GUESTS / gene / "gene.wasm"
        if not committed.exists():
            return GUESTS / gene / "gene.wat"
        return BUILT / f"{gene}.wasm" if self.origin == "built" and gene in DIFFERENT else committed

    def project(self, folder: Path, *genes: str) -> Project:
        """Make a project of these genes, compiled."""
        project = Project.init(folder)
        for gene in genes:
            module = self.module(gene)
            to = project.root / "genes" / gene
            to.mkdir()
            shutil.copy(GUESTS / gene / "phenotype.json", to)
            shutil.copy(module, to / f"gene{module.suffix}")
            project.compile(gene)
        return project


def said(agent: Agent, document: dict[str, Any]) -> Any:
    """Return the output of a run, or the message it was rejected with."""
    result = agent.run(document)
    return result.output if result.status == "ok" else (result.status, result.error and result.error.message)
