"""Another process that uses an agent's memory as it is told to, line by line, and who tells it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

from tests.memory.twins import Twin, gene

from rotifer_host import DataPolicy
from rotifer_host.memory import delete_request, read_request, write_request


class Other:
    """Another process that uses the memories when it is told to."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._stdin: IO[str] = process.stdin
        self._stdout: IO[str] = process.stdout

    def then(self, call: list[str], twin: Twin) -> None:
        """Make one call."""
        self(twin, call)

    def __call__(self, twin: Twin, *calls: list[Any]) -> None:
        """Make calls in the memory of a twin, at its time."""
        asked = {"folder": str(twin.folder), "now_ms": twin.clock.now_ms(), "calls": calls}
        self._stdin.write(f"{json.dumps(asked)}\n")
        self._stdin.flush()
        assert self._stdout.readline() == "done\n"


if __name__ == "__main__":
    for line in sys.stdin:
        asked = json.loads(line)
        twin = Twin(Path(asked["folder"]), "raw", quota=1 << 20, policy=DataPolicy(), pages=1)
        twin.clock.set(asked["now_ms"])
        for call, key, letter, *more in asked["calls"]:
            if call == "write":
                category, *retention = more
                request = write_request(key, b"theirs", category, None, *retention)
                twin.memory.write(gene(letter), request)
            elif call == "delete":
                twin.memory.delete(gene(letter), delete_request(key))
            else:
                twin.memory.read(gene(letter), read_request(key))
        twin.memory.finish()
        twin.close()
        print("done", flush=True)  # noqa: T201 - this is what it is for
