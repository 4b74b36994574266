"""A gene that Node.js runs: the files it consists of.

They are read once. What runs is a copy of just these bytes, so the v2 id that is made
of them is that of what runs, and the gene can read nothing else of its folder.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

import rfc8785

from rotifer_host import contract
from rotifer_host.errors import GeneError
from rotifer_host.gene.phenotype import PHENOTYPE_FILE
from rotifer_host.gene.source import ARTEFACT_FILE, read_module_file
from rotifer_host.limits import format_size

__all__ = ["Script", "read_script"]

_MAX_FILES: Final = 10_000
_NOT_CODE: Final = frozenset({PHENOTYPE_FILE, "testsuite.json", ARTEFACT_FILE, "gene.wasm", "gene.wat"})
"""Of the gene's own folder, not of those in it."""
_NOT_CODE_SUFFIXES: Final = (".md", ".d.ts")


@dataclass(frozen=True, slots=True)
class Script:
    """The files of a gene by their path in its folder, with `/`; `entry` is the one that exports `express`."""

    entry: str
    files: Mapping[str, bytes]

    @property
    def digest(self) -> str:
        """Lower-case hex SHA-256 of the RFC 8785 text of an object: the SHA-256 of each file, in hex, by its path."""
        digests = {path: hashlib.sha256(data).hexdigest() for path, data in self.files.items()}
        return hashlib.sha256(rfc8785.dumps(digests)).hexdigest()


def read_script(folder: Path, entry: str) -> Script:
    """Read all files of a gene's folder, those in it included.

    Left out are names that begin with a dot, what is no code (`phenotype.json`, the test
    suite, `.md`, `.d.ts`) and WebAssembly of the gene's own. Raises `GeneError` for a link,
    more than 64 MiB or 10,000 files, names that are not UTF-8, and what cannot be read.
    """
    files: dict[str, bytes] = {}
    total = 0
    for name in sorted(_names(folder)):
        try:
            files[name] = read_module_file(folder / name)
        except FileNotFoundError:  # gone since it was listed
            continue
        total += len(files[name])
        if total > contract.MAX_MODULE_BYTES or len(files) > _MAX_FILES:
            limit = f"{format_size(contract.MAX_MODULE_BYTES)} in {_MAX_FILES:,} files"
            raise GeneError(f"{folder} holds more than {limit}, the most a gene may consist of")
    return Script(entry, files)


def _names(top: Path) -> Iterator[str]:
    for folder, folders, names in os.walk(top, onerror=_cannot_read):
        folders[:] = [name for name in folders if not name.startswith(".")]
        inside = Path(folder).relative_to(top)
        for name in (*folders, *names):
            path = inside / name
            if name.startswith(".") or name.endswith(_NOT_CODE_SUFFIXES) or (folder == str(top) and name in _NOT_CODE):
                continue
            if (top / path).is_symlink():
                raise GeneError(f"{top / path} is a link: a gene that Node.js runs consists of files")
            if name not in folders:
                yield _utf8(path, top)


def _utf8(path: Path, top: Path) -> str:
    try:
        os.fspath(path).encode()
    except UnicodeEncodeError:
        raise GeneError(f"{os.fspath(top / path)!r} has a name that is not UTF-8") from None
    return path.as_posix()


def _cannot_read(error: OSError) -> NoReturn:
    raise GeneError(f"cannot read {error.filename}: {error.strerror}") from error
