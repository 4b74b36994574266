"""A tool: what a client is told of it, and what it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from rotifer_host.errors import InvalidInputError
from rotifer_host.memory.fields import shown

if TYPE_CHECKING:
    from rotifer_host.sandbox import Deadline

__all__ = ["Answer", "Effect", "Schema", "Tool", "object_of"]

Schema = dict[str, Any]
"""JSON Schema 2020-12."""

Effect = Literal["reads", "adds", "changes"]
"""The most that a call can do: nothing to what is there, nothing to what was there, or anything."""

_INVALID: Final = InvalidInputError.code


class Answer(NamedTuple):
    """What a call came to."""

    document: dict[str, Any]
    """As the tool's `returns` says."""
    failed: bool = False
    """Whether the client is told that it failed."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of one agent; no argument of it says whose."""

    name: str
    title: str
    description: str
    parameters: Schema
    """Of the arguments, an object."""
    returns: Schema
    """Of the document it answers with, an object."""
    effect: Effect
    run: Callable[[Mapping[str, Any], Deadline], Answer]
    """Takes arguments that are all defined, those required among them; raises `RotiferError`."""
    invalid: str = _INVALID
    """The code of arguments that are not."""

    def call(self, arguments: Mapping[str, Any], deadline: Deadline) -> Answer:
        """Do it. A `deadline` that is cancelled ends a run of the agent's genes; raises `RotiferError`."""
        allowed = self.parameters["properties"]
        for name in arguments:
            if name not in allowed:
                takes = ", ".join(allowed) or "no arguments"
                raise InvalidInputError(
                    f"undefined argument {shown(name)}: {self.name} takes {takes}", code=self.invalid
                )
        for name in self.parameters["required"]:
            if name not in arguments:
                raise InvalidInputError(
                    f"{name} is required: {self.name} takes {', '.join(allowed)}", code=self.invalid
                )
        return self.run(arguments, deadline)


def object_of(properties: Mapping[str, Schema], *, optional: tuple[str, ...] = ()) -> Schema:
    """Return the schema of an object with these members, all required but the optional ones, and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }
