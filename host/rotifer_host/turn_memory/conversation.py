"""Which texts of a turn are the user's and the agent's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypedDict

from rotifer_host.errors import UsageError
from rotifer_host.sandbox import encode_document

__all__ = ["Message", "chat_of", "text_of"]

_ROLES: Final = ("system", "user", "assistant")


class Message(TypedDict):
    """One message of a chat."""

    role: str
    content: str


def chat_of(document: Mapping[str, Any]) -> list[Message]:
    """Return the chat in the input of a run; its last message is what the user says in this turn.

    That is the member `messages`, where there is one, and otherwise the input itself as
    compact JSON. Raises `UsageError` for `messages` that are no chat.
    """
    if "messages" not in document:
        return [Message(role="user", content=encode_document(document).decode())]
    messages = document["messages"]
    if not isinstance(messages, list) or not messages:
        raise UsageError("messages in the input of an agent with turn memory must be a list of at least one message")
    chat = [_message(message, index) for index, message in enumerate(messages)]
    if chat[-1]["role"] != "user":
        message = f"messages must end with one of the user, who speaks in this turn, not with one of {chat[-1]['role']}"
        raise UsageError(message)
    return chat


def text_of(output: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return what an agent said: an output that is text itself, and any other as compact JSON."""
    return output if isinstance(output, str) else encode_document(output).decode()


def _message(message: object, index: int) -> Message:
    if isinstance(message, Mapping):
        role, content = message.get("role"), message.get("content")
        if role in _ROLES and isinstance(content, str):
            return Message(role=role, content=content)
    raise UsageError(f"messages[{index}] must be an object with role, one of {', '.join(_ROLES)}, and content, a text")
