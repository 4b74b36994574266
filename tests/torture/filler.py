"""Write until nothing goes in any more, and see what still works then."""

from __future__ import annotations

import json
import resource
import sys
from itertools import count
from pathlib import Path
from typing import Final

from tests.torture.place import Place, gene

from rotifer_host.errors import StorageError
from rotifer_host.memory import AgentMemory, delete_request, read_request, write_request

__all__ = ["QUOTA", "VALUE_BYTES", "delete_all", "fill", "unread"]

QUOTA: Final = 64 << 20
VALUE_BYTES: Final = 20_000


def fill(memory: AgentMemory, most: int = 2000) -> list[str]:
    """Write entries until one is refused with a storage error; return the keys that were answered."""
    keys: list[str] = []
    for number in count():
        assert number < most, "the disk does not fill"
        key = f"k{number}"
        try:
            memory.write(gene("a"), write_request(key, bytes(VALUE_BYTES), "PREFERENCE"))
        except StorageError:
            return keys
        keys.append(key)
    raise AssertionError


def unread(memory: AgentMemory, keys: list[str]) -> list[str]:
    """Return which of the entries are not there, or not whole."""
    return [key for key in keys if len(memory.read(gene("a"), read_request(key))) < VALUE_BYTES]


def delete_all(memory: AgentMemory, keys: list[str]) -> None:
    """Delete entries one by one."""
    for key in keys:
        memory.delete(gene("a"), delete_request(key))


def _main(folder: str, limit: str) -> None:
    """Fill a memory whose files may not grow beyond a limit, then delete all of it and fill it again."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), resource.RLIM_INFINITY))
    with Place(Path(folder), QUOTA).open() as (_, memory):
        keys = fill(memory)
        lost = unread(memory, keys)
        delete_all(memory, keys)
        again = fill(memory)
    print(json.dumps({"first": len(keys), "lost": lost, "again": len(again)}))  # noqa: T201 - the result


if __name__ == "__main__":
    _main(*sys.argv[1:])
