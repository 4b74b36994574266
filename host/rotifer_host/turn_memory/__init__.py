"""Turn memory: what an agent is told before a run, and keeps after one, beside its own memory.

Rules from json-and-turn-memory.zh.md; a run of an agent is a turn. Each of these
memories is kept apart from the others and from the entries that genes read and write.

    sources.py        what an agent's record says: the runtime and its sources
    turn.py           a turn: recall, run, remember
    conversation.py   which texts of a turn are the user's and the agent's
    hinos.py          the external service, over exchange.py
    local.py          the diary (diary.py, diary_store.py) and the memory table (table.py) in the agent's own store
    report.py         what a turn's memory did, for the report of the run
    kept.py           what the deployer may see, and have forgotten
"""

from __future__ import annotations

from rotifer_host.turn_memory.sources import DiarySetting, MemorySource, TurnMemory, read_turn_memory

__all__ = ["DiarySetting", "MemorySource", "TurnMemory", "read_turn_memory"]
