"""Another turn memory for an agent, or none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from rotifer_host.agent.record import AgentRecord, find_agent, turn_memory_fields, write_record
from rotifer_host.errors import AgentError
from rotifer_host.lock import Wait

if TYPE_CHECKING:
    from rotifer_host.project import ProjectFolder

__all__ = ["set_turn_memory"]


def set_turn_memory(folder: ProjectFolder, name: str, turn_memory: Mapping[str, object] | None) -> AgentRecord:
    """Put a turn memory in the place of the one that the agent has, None for none, and return its new record.

    What was kept stays, and a source with the same `agentRef` finds it again. Raises what
    `ProjectFolder.create_agent` does.
    """
    told = folder.checked_turn_memory(turn_memory)
    agents_dir = folder.agents_dir
    find_agent(agents_dir, name)  # before a lock is made where there are no agents
    try:
        with folder.agents_lock.held(Wait()):
            record = msgspec.structs.replace(find_agent(agents_dir, name), **turn_memory_fields(told))
            write_record(agents_dir, record)
    except OSError as error:
        message = f"cannot write the agent's record into {agents_dir}: {error.strerror}"
        raise AgentError(message) from error
    return record
