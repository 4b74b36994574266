"""Write `abi/vectors/`: `python -m rotifer_host.conformance.vectors DIR`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from rotifer_host import contract
from rotifer_host.conformance.vectors import PARTS, guest_source, vectors_of
from rotifer_host.sandbox import assemble

__all__ = ["files"]


def files() -> dict[str, bytes]:
    """Return what the folder holds besides its README, by name."""
    made = {
        f"{number:02}-{part}.json": _document(part, list(vectors_of(part)))
        for number, part in enumerate(PARTS, start=1)
    }
    return made | {"guest.wat": guest_source(), "guest.wasm": assemble(guest_source())}


def _document(part: str, vectors: list[dict[str, object]]) -> bytes:
    lines = ",\n".join(json.dumps(vector, ensure_ascii=False) for vector in vectors)
    return f'{{"v": {contract.FORMAT_VERSION}, "part": "{part}", "vectors": [\n{lines}\n]}}\n'.encode()


def main() -> None:
    """Write every file, and remove vectors of parts that are no more."""
    folder = Path(sys.argv[1])
    made = files()
    for old in folder.glob("*.json"):
        if old.name not in made:
            old.unlink()
    for name, data in made.items():
        (folder / name).write_bytes(data)


if __name__ == "__main__":
    main()
