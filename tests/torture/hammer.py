"""A process whose threads use one agent's memory as hard as they can.

    python -m tests.torture.hammer PROJECT WORKER SEED OPERATIONS

Prints a line `KEY NUMBER` for each write of a key of its own that was answered, `run
KEY… NUMBER` for each run that was saved, `problem …` for what must not happen, and at
its end `count NAME NUMBER` for each kind of answer.
"""

from __future__ import annotations

import os
import random
import sys
import threading
from collections import Counter
from typing import Final

from tests.torture.place import gene

from rotifer_host import Agent, Project
from rotifer_host.errors import AccessDeniedError, BudgetExhaustedError, NotFoundError, RotiferError
from rotifer_host.lock import Patience
from rotifer_host.memory import AgentMemory, delete_request, query_request, read_request, write_request
from rotifer_host.sandbox import Deadline
from rotifer_host.store import Store

__all__ = ["AGENT_NAME", "OWN_KEYS", "THREADS"]

AGENT_NAME: Final = "busy"
THREADS: Final = 2
OWN_KEYS: Final = 3
_SHARED_KEYS: Final = 20
_LARGEST: Final = 3000
_SHORT_MS: Final = 3
_STRANGER: Final = gene("c", "search")


class _Thread:
    def __init__(self, agent: Agent, name: str, seed: int) -> None:
        self.counts: Counter[str] = Counter()
        self._agent = agent
        self._own = [f"own/{name}/{number}" for number in range(OWN_KEYS)]
        self._choose = random.Random(seed)  # noqa: S311 - to be repeated
        self._caller = gene(self._choose.choice("ab"))

    def work(self, operations: int) -> None:
        """Make operations of all kinds, some with next to no time; each with a view and a lock of its own."""
        kinds = (
            self._write_own, self._run, self._write_shared, self._read, self._query, self._delete, self._list,
            self._refused,
        )  # fmt: skip
        with self._agent._open_store() as store:
            for number in range(1, operations + 1):
                kind = self._choose.choice(kinds)
                patience = Deadline(_SHORT_MS if self._choose.random() < 0.3 else 60_000)
                try:
                    kind(store, patience, number)
                except BudgetExhaustedError:
                    self.counts["-4"] += 1
                except NotFoundError:
                    self.counts["-12"] += 1
                except AccessDeniedError:
                    self.counts["-2"] += 1
                except RotiferError as error:
                    _say(f"problem {kind.__name__}: {type(error).__name__}: {error}")
                else:
                    self.counts[kind.__name__.strip("_")] += 1

    def _memory(self, store: Store, patience: Patience) -> AgentMemory:
        return self._agent._memory(store, patience)

    def _write_own(self, store: Store, patience: Patience, number: int) -> None:
        key = self._choose.choice(self._own)
        self._memory(store, patience).write(self._caller, write_request(key, str(number).encode(), "PREFERENCE"))
        _say(f"{key} {number}")

    def _run(self, store: Store, patience: Patience, number: int) -> None:
        memory = self._agent._memory(store, patience, durability="run")
        try:
            for key in self._own:
                memory.write(self._caller, write_request(key, str(number).encode(), "PREFERENCE"))
        except BaseException:
            memory.rollback()
            raise
        memory.finish()
        _say(f"run {' '.join(self._own)} {number}")

    def _shared(self) -> str:
        return f"shared/{self._choose.randrange(_SHARED_KEYS)}"

    def _write_shared(self, store: Store, patience: Patience, number: int) -> None:
        del number
        value = bytes(self._choose.randrange(_LARGEST))
        self._memory(store, patience).write(self._caller, write_request(self._shared(), value, "CACHE"))

    def _read(self, store: Store, patience: Patience, number: int) -> None:
        del number
        memory = self._memory(store, patience)
        memory.read(self._caller, read_request(self._shared()))
        memory.finish()

    def _refused(self, store: Store, patience: Patience, number: int) -> None:
        del number
        memory = self._memory(store, patience)
        try:
            memory.read(_STRANGER, read_request(self._choose.choice(self._own)))
        finally:
            memory.finish()

    def _query(self, store: Store, patience: Patience, number: int) -> None:
        del number
        self._memory(store, patience).query(self._caller, query_request(key_prefix="shared/", limit=5))

    def _delete(self, store: Store, patience: Patience, number: int) -> None:
        del number
        self._memory(store, patience).delete(self._caller, delete_request(self._shared()))

    def _list(self, store: Store, patience: Patience, number: int) -> None:
        del number
        listing = self._memory(store, patience).list()
        if listing.used > listing.quota:
            _say(f"problem {listing.used} bytes of {listing.quota} are used")


def _say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


def _main(project: str, worker: str, seed: str, operations: str) -> None:
    agent = Project.open(project).agent(AGENT_NAME)
    workers = [_Thread(agent, f"{worker}.{number}", int(seed) + number) for number in range(THREADS)]
    threads = [threading.Thread(target=worker.work, args=(int(operations),)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name, count in sum((worker.counts for worker in workers), Counter[str]()).items():
        _say(f"count {name} {count}")


if __name__ == "__main__":
    _main(*sys.argv[1:])
