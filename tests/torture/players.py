"""Children that play stories, forked from a process whose system calls are tampered with.

    strace … python -m tests.torture.players FILE SYSCALL

takes lines `FOLDER STORY DURABILITY SPARE`, by tabs, and answers each with what the child's `play`
returned, as JSON. strace counts the calls of each child by itself: a child first makes
SPARE calls of SYSCALL on FILE that do nothing, so that one number in strace's options
means another call of the story for each child.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.torture.guest import Answer, Guest
from tests.torture.place import Place
from tests.torture.scenario import STORIES, Played, play

__all__ = ["SPARE", "decode", "encode"]

SPARE: Final[dict[str, Callable[[int], object]]] = {
    "write": lambda fd: os.write(fd, b""),
    "pwrite64": lambda fd: os.pwrite(fd, b"", 0),
    "writev": lambda fd: os.writev(fd, [b""]),
    "fdatasync": os.fdatasync,
}


def encode(played: Played) -> str:
    """Return one line of JSON."""
    answers = [answer and (answer.result, answer.response.decode(), answer.by_shortcut) for answer in played.answers]
    return json.dumps([answers, played.saved])


def decode(line: str) -> Played:
    """Return what `encode` was given."""
    answers, saved = json.loads(line)
    return Played([a and Answer(a[0], a[1].encode(), a[2]) for a in answers], saved)


def _spend(path: Path, syscall: str, spare: int) -> None:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    for _ in range(spare):
        SPARE[syscall](fd)
    os.close(fd)


def _serve(path: Path, syscall: str) -> None:
    for line in sys.stdin:
        folder, name, durability, spare = line.split("\t")
        story = STORIES[name]
        child = os.fork()
        if child == 0:
            try:
                _spend(path, syscall, int(spare))
                place = Place(Path(folder), policy=story.policy)
                played = play(place, Guest(), story, "run" if durability == "run" else "call")
                os.write(1, f"{encode(played)}\n".encode())
                os._exit(0)
            finally:
                os._exit(1)
        if os.waitpid(child, 0)[1] != 0:
            print("failed", flush=True)  # noqa: T201 - the answer


if __name__ == "__main__":
    _serve(Path(sys.argv[1]), sys.argv[2])
