"""Let a guest write until nothing goes in any more, and see what still works then.

    python -m tests.torture.filler FOLDER POLICY BYTES

does so with files that may not grow beyond so many bytes.
"""

from __future__ import annotations

import json
import resource
import sys
from itertools import count
from pathlib import Path
from typing import Final

from tests.torture.guest import Guest, delete, read, write
from tests.torture.place import POLICIES, Place, gene

from rotifer_host.contract import STORAGE_ERROR
from rotifer_host.memory import AgentMemory

__all__ = ["QUOTA", "VALUE_BYTES", "Filler"]

QUOTA: Final = 64 << 20
VALUE_BYTES: Final = 20_000
_A: Final = gene("a")


class Filler:
    """A guest that fills memories, and empties them again."""

    def __init__(self, place: Place) -> None:
        self._guest = Guest()
        self._ordinary = self._guest.takes_shortcuts and place.policy.maxRetentionDays is None

    def fill(self, memory: AgentMemory, most: int = 2000) -> list[str]:
        """Write entries until one is refused with a storage error; return the keys that were answered.

        All are answered by C where the memory is one that it answers.
        """
        keys: list[str] = []
        for number in count():
            assert number < most, "the disk does not fill"
            key = f"k{number}"
            if not self.fits(memory, key):
                return keys
            keys.append(key)
        raise AssertionError

    def fits(self, memory: AgentMemory, key: str, size: int = VALUE_BYTES) -> bool:
        """Write an entry; return whether it was kept, or refused with a storage error."""
        answer = self._guest.ask(memory, write(_A, key, bytes(size), "PREFERENCE"))
        assert answer is not None
        assert answer.by_shortcut == self._ordinary
        assert answer.result > 0 or answer.result == STORAGE_ERROR
        return answer.result > 0

    def unread(self, memory: AgentMemory, keys: list[str]) -> list[str]:
        """Return which of the entries are not there, or not whole."""
        return [key for key in keys if self._guest.get(memory, read(_A, key)).result < VALUE_BYTES]

    def delete_all(self, memory: AgentMemory, keys: list[str]) -> None:
        """Delete entries one by one."""
        for key in keys:
            self._guest.get(memory, delete(_A, key))


def _main(folder: str, policy: str, limit: str) -> None:
    """Fill a memory whose files may not grow beyond a limit, then delete all of it and fill it again."""
    place = Place(Path(folder), QUOTA, policy=POLICIES[policy])
    filler = Filler(place)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), resource.RLIM_INFINITY))
    with place.open() as (_, memory):
        keys = filler.fill(memory)
        lost = filler.unread(memory, keys)
        filler.delete_all(memory, keys)
        again = filler.fill(memory)
    print(json.dumps({"first": len(keys), "lost": lost, "again": len(again)}))  # noqa: T201 - the result


if __name__ == "__main__":
    _main(*sys.argv[1:])
