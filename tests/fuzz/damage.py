"""Damage a memory file in many ways, and use what is left of it: each time in a fork, so that a crash shows.

    python damage.py FILE SEED COUNT

FILE is the memory of agent `agent`, with keys `0` to `199`. Prints a JSON object: for each kind of damage, how often
it came to `works`, `refused` (MEMORY_STORAGE_ERROR), `signal N`, or `bug`.
"""

from __future__ import annotations

import json
import os
import random
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

from rotifer_host.audit import Nowhere
from rotifer_host.clock import SystemClock
from rotifer_host.errors import AccessDeniedError, NotFoundError, RotiferError, StorageError, StoreError
from rotifer_host.memory import (
    AgentMemory,
    Caller,
    DataPolicy,
    delete_request,
    query_request,
    read_request,
    write_request,
)
from rotifer_host.store import open_store
from rotifer_host.store.protocol import Store

AGENT: Final = "agent"
QUOTA: Final = 1 << 20
CALLER: Final = Caller("v2:" + "a" * 64, "fuzz")
PAGE: Final = 4096

WORKS, REFUSED, BUG = 0, 1, 2


def _memory(store: Store) -> AgentMemory:
    sink = Nowhere()
    return AgentMemory(
        agent_id=AGENT,
        agent_name=AGENT,
        store=store,
        audit=sink,
        telemetry=sink,
        clock=SystemClock(),
        quota=QUOTA,
        policy=DataPolicy(),
        durability="run",  # one sync
    )


def use(path: Path) -> None:
    """Do everything that can be done with a memory."""
    with open_store(path, agent_id=AGENT, quota=QUOTA) as store:
        memory = _memory(store)
        memory.list()
        memory.query(CALLER, query_request(limit=1000))
        memory.query(CALLER, query_request(key_prefix="1", category="CACHE"))
        for key in range(200):
            memory.read(CALLER, read_request(str(key)))
        for key in range(60):
            size = 9000 if key % 2 else 10
            memory.write(CALLER, write_request(str(key), b"y" * size, "CACHE"))
            try:
                memory.delete(CALLER, delete_request(str(key + 30)))
            except NotFoundError:
                continue
        memory.finish()


def make(path: Path, randomness: random.Random) -> None:
    """Make a memory with small and large entries of all categories, some rewritten, some deleted."""
    with open_store(path, agent_id=AGENT, quota=QUOTA) as store:
        memory = _memory(store)
        for number in range(300):
            key, size = str(randomness.randrange(200)), randomness.choice([1, 50, 300, 9000])
            category = randomness.choice(["CACHE", "PATTERN", "CONTEXT", "PREFERENCE"])
            memory.write(CALLER, write_request(key, b"x" * size, category))
            if number % 50 == 0:
                memory.finish()
        for number in range(0, 200, 7):
            try:
                memory.delete(CALLER, delete_request(str(number)))
            except NotFoundError:
                continue
        memory.finish()


def a_bit(data: bytearray, randomness: random.Random) -> bytearray:
    """Flip one bit anywhere."""
    at = randomness.randrange(len(data) * 8)
    data[at // 8] ^= 1 << at % 8
    return data


def a_header(data: bytearray, randomness: random.Random) -> bytearray:
    """Flip one bit where a page says what it is: LMDB's own numbers."""
    page = randomness.randrange(len(data) // PAGE)
    at = page * PAGE + randomness.randrange(200 if page < 2 else 64)
    data[at] ^= 1 << randomness.randrange(8)
    return data


def an_end(data: bytearray, randomness: random.Random) -> bytearray:
    """Cut the file short."""
    return data[: randomness.randrange(len(data))]


def a_page(data: bytearray, randomness: random.Random) -> bytearray:
    """Put a page of the same file where another one was."""
    here, there = (randomness.randrange(len(data) // PAGE) * PAGE for _ in range(2))
    data[here : here + PAGE] = data[there : there + PAGE]
    return data


def zeros(data: bytearray, randomness: random.Random) -> bytearray:
    """Overwrite a stretch with zeros, as a disk does that lost some blocks."""
    begin = randomness.randrange(len(data) // 512) * 512
    end = min(begin + 512 * randomness.randrange(1, 64), len(data))
    data[begin:end] = bytes(end - begin)
    return data


DAMAGES: Final[tuple[Callable[[bytearray, random.Random], bytearray], ...]] = (a_bit, a_header, an_end, a_page, zeros)


def in_fork(path: Path) -> str:
    """Use a file in a child and say what came of it."""
    child = os.fork()
    if child == 0:
        status = BUG
        try:
            use(path)
            status = WORKS
        except RotiferError as error:
            status = REFUSED if isinstance(error, (StorageError, StoreError, AccessDeniedError)) else BUG
            if status == BUG:
                traceback.print_exc()
        except BaseException:  # noqa: BLE001 - the parent learns it from the status
            traceback.print_exc()
        os._exit(status)
    _, waited = os.waitpid(child, 0)
    if os.WIFSIGNALED(waited):
        return f"signal {os.WTERMSIG(waited)}"
    return ("works", "refused", "bug")[os.WEXITSTATUS(waited)]


def main(path: Path, seed: int, count: int) -> None:
    """Make the file, and damage copies of it."""
    make(path, random.Random(seed))  # noqa: S311 - to be repeated
    good = path.read_bytes()
    seen = {damage.__name__: Counter[str]() for damage in DAMAGES}
    copy = path.with_name("damaged")
    for number in range(count):
        damage = DAMAGES[number % len(DAMAGES)]
        randomness = random.Random(f"{seed} {number}")  # noqa: S311
        copy.write_bytes(damage(bytearray(good), randomness))
        came_to = in_fork(copy)
        seen[damage.__name__][came_to] += 1
        if came_to not in ("works", "refused"):
            sys.stderr.write(f"seed {seed}, number {number}: {damage.__name__} came to {came_to}\n")
    sys.stdout.write(json.dumps(seen))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
