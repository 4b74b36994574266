"""What local turn memory keeps, for the agent's deployer: to be looked at, and forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rotifer_host import contract
from rotifer_host.errors import UsageError
from rotifer_host.turn_memory.diary import recalled
from rotifer_host.turn_memory.diary_store import DiaryStore
from rotifer_host.turn_memory.table import TableMemory

if TYPE_CHECKING:
    from rotifer_host.memory import AgentMemory
    from rotifer_host.turn_memory.sources import TurnMemory

__all__ = ["forget", "told"]


def told(memory: AgentMemory, turn_memory: TurnMemory) -> dict[str, str]:
    """Return the text of each variable that the next run will be told; nothing of an external service.

    Raises `StorageError`, `StoreError`, `LockTimeoutError`.
    """
    texts = {}
    for source in turn_memory.by_priority:
        if source.variable == contract.TABLE_VARIABLE:
            texts[source.variable] = TableMemory(memory, source).recall()
        elif turn_memory.diary is not None:
            store = DiaryStore(memory, source.agentRef)
            texts[source.variable] = recalled(store, turn_memory.diary.recall)
    return texts


def forget(memory: AgentMemory, turn_memory: TurnMemory, identity: str) -> None:
    """Remove all that is kept for the source with this `id`.

    Raises `UsageError` where there is none, or what it keeps lies with a service, and
    what `told` raises.
    """
    source = turn_memory.source(identity)
    if source.variable == contract.HINOS_VARIABLE:
        message = f"what {source.id} keeps lies with its service, and only that can forget it"
        raise UsageError(message)
    if source.variable == contract.TABLE_VARIABLE:
        TableMemory(memory, source).forget()
    else:
        DiaryStore(memory, source.agentRef).forget()
