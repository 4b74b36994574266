"""Another turn memory for an agent, or none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from rotifer_host.agent.checked import checked_turn_memory
from rotifer_host.agent.record import AgentRecord, turn_memory_fields

if TYPE_CHECKING:
    from rotifer_host.project import ProjectFolder

__all__ = ["set_turn_memory"]


def set_turn_memory(folder: ProjectFolder, name: str, turn_memory: Mapping[str, object] | None) -> AgentRecord:
    """Put a turn memory in the place of the one that the agent has, None for none, and return its new record.

    What was kept stays, and a source with the same `agentRef` finds it again. Raises what
    `ProjectFolder.create_agent` does.
    """
    told = checked_turn_memory(folder, turn_memory)
    return folder.change_agent(name, lambda record: msgspec.structs.replace(record, **turn_memory_fields(told)))
