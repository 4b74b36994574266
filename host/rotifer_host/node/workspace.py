"""The folder a gene's process may read: a copy of the gene's files beside the runtime, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Final

from rotifer_host.gene.script import Script
from rotifer_host.scratch import ScratchFolder

__all__ = ["Workspace", "write_files"]

_RUNTIME: Final = {
    "main.mjs": "main.mjs",
    "closed.mjs": "closed.mjs",
    "msgpack.mjs": "msgpack.mjs",
    "playground/package.json": "node_modules/@rotifer/playground/package.json",
    "playground/memory.mjs": "node_modules/@rotifer/playground/memory.mjs",
}
"""Files of `runtime/`, and where the gene and Node.js look for them."""


class Workspace:
    """A private temporary folder; `close` deletes it. Raises `OSError`."""

    def __init__(self, script: Script) -> None:
        self._folder = ScratchFolder("rotifer-node-")
        # what Node.js is allowed to read is compared with paths without links
        self.root = Path(os.path.realpath(self._folder.path))
        self.main = self.root / "main.mjs"
        self.gene = self.root / "gene"
        runtime = resources.files("rotifer_host.node") / "runtime"
        try:
            write_files(self.root, {place: (runtime / name).read_bytes() for name, place in _RUNTIME.items()})
            write_files(self.gene, script.files)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Delete the folder."""
        self._folder.close()


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files by their path in `folder`, which is made where it is missing. Raises `OSError`."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
