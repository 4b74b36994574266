"""Genes to start from, for `rotifer init --template`.

Each is an example gene with the guest library beside it. `templates/files.json` says
which files those are; in a checkout they lie where they belong, and building a
package puts a copy of each into `templates/<name>/`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec

from rotifer_host import contract
from rotifer_host.errors import UsageError

__all__ = ["TEMPLATE_GENE", "template_files"]

TEMPLATE_GENE: Final = "formatter"
"""The name of the gene that every template gives."""

_FOLDER: Final = Path(__file__).parent / "templates"
_CHECKOUT: Final = Path(__file__).parents[3]


def template_files(template: str) -> dict[str, bytes]:
    """Return the files of a gene to start from: contents by name. Raises `UsageError` for an unknown template."""
    if template not in contract.TEMPLATES:
        message = f"template must be one of {', '.join(contract.TEMPLATES)}, not {template!r}"
        raise UsageError(message)
    entry = msgspec.json.decode((_FOLDER / "files.json").read_bytes())[template]
    files = {name: _read(_FOLDER / template / name, _CHECKOUT / origin) for name, origin in entry["files"].items()}
    readme = (_FOLDER / "readme.md").read_text(encoding="utf-8").replace("{build}", _build(entry, files))
    return {**files, "README.md": readme.encode()}


def _read(packaged: Path, origin: Path) -> bytes:
    return (packaged if packaged.exists() else origin).read_bytes()


def _build(entry: dict[str, Any], files: dict[str, bytes]) -> str:
    compiling = f"```sh\nrotifer compile {TEMPLATE_GENE}\n```"
    if entry["build"] is not None:
        return f"In this folder, with {entry['needs']}:\n\n```sh\n{entry['build']}\n```\n\nThen\n\n{compiling}"
    if "gene.wat" in files:
        return f"Nothing has to be installed:\n\n{compiling}"
    return "Nothing has to be built: it runs on Node.js as it is. `rotifer list` says whether there is one that can."
