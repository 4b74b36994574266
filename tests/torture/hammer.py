"""A process whose threads use one agent's memory as hard as they can, by guests where genes would.

    python -m tests.torture.hammer PROJECT WORKER SEED OPERATIONS

Prints a line `KEY NUMBER` for each write of a key of its own that was answered, `run
KEY… NUMBER` for each run that was saved, `problem …` for what must not happen, and at
its end `count NAME NUMBER` for each kind of answer, and for `shortcuts`, the calls that C answered.
"""

from __future__ import annotations

import os
import random
import sys
import threading
from collections import Counter
from typing import Final

from tests.torture.guest import Guest, Refused, Step, delete, query, read, write
from tests.torture.place import gene

from rotifer_host import Agent, Project
from rotifer_host.contract import ACCESS_DENIED, BUDGET_EXHAUSTED, NOT_FOUND
from rotifer_host.errors import BudgetExhaustedError, RotiferError
from rotifer_host.lock import Patience
from rotifer_host.memory import AgentMemory
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
_EXPECTED: Final = (BUDGET_EXHAUSTED, NOT_FOUND, ACCESS_DENIED)


class _Thread:
    def __init__(self, agent: Agent, guest: Guest, name: str, seed: int) -> None:
        self.counts: Counter[str] = Counter()
        self._agent = agent
        self._guest = guest
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
                except Refused as refused:
                    self.counts[str(refused.result)] += 1
                    if refused.result not in _EXPECTED:
                        _say(f"problem {kind.__name__}: {refused}")
                except RotiferError as error:
                    _say(f"problem {kind.__name__}: {type(error).__name__}: {error}")
                else:
                    self.counts[kind.__name__.strip("_")] += 1

    def _memory(self, store: Store, patience: Patience) -> AgentMemory:
        return self._agent._memory(store, patience)

    def _ask(self, memory: AgentMemory, step: Step) -> None:
        """Make a call, of a guest that itself has time: `Refused` when the memory had none, or for another reason."""
        self.counts["shortcuts"] += self._guest.get(memory, step).by_shortcut

    def _write_own(self, store: Store, patience: Patience, number: int) -> None:
        key = self._choose.choice(self._own)
        self._ask(self._memory(store, patience), write(self._caller, key, str(number).encode(), "PREFERENCE"))
        _say(f"{key} {number}")

    def _run(self, store: Store, patience: Patience, number: int) -> None:
        memory = self._agent._memory(store, patience, durability="run")
        try:
            for key in self._own:
                self._ask(memory, write(self._caller, key, str(number).encode(), "PREFERENCE"))
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
        self._ask(self._memory(store, patience), write(self._caller, self._shared(), value))

    def _read(self, store: Store, patience: Patience, number: int) -> None:
        del number
        memory = self._memory(store, patience)
        self._ask(memory, read(self._caller, self._shared()))
        memory.finish()

    def _refused(self, store: Store, patience: Patience, number: int) -> None:
        del number
        memory = self._memory(store, patience)
        try:
            self._ask(memory, read(_STRANGER, self._choose.choice(self._own)))
        finally:
            memory.finish()

    def _query(self, store: Store, patience: Patience, number: int) -> None:
        del number
        self._ask(self._memory(store, patience), query(self._caller, keyPrefix="shared/", limit=5))

    def _delete(self, store: Store, patience: Patience, number: int) -> None:
        del number
        self._ask(self._memory(store, patience), delete(self._caller, self._shared()))

    def _list(self, store: Store, patience: Patience, number: int) -> None:
        del number
        listing = self._memory(store, patience).list()
        if listing.used > listing.quota:
            _say(f"problem {listing.used} bytes of {listing.quota} are used")


def _say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


def _main(project: str, worker: str, seed: str, operations: str) -> None:
    agent = Project.open(project).agent(AGENT_NAME)
    guest = Guest()
    workers = [_Thread(agent, guest, f"{worker}.{number}", int(seed) + number) for number in range(THREADS)]
    threads = [threading.Thread(target=worker.work, args=(int(operations),)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name, count in sum((worker.counts for worker in workers), Counter[str]()).items():
        _say(f"count {name} {count}")


if __name__ == "__main__":
    _main(*sys.argv[1:])
