"""The external memory service: asked before a run, told of it afterwards.

json-and-turn-memory.zh.md, "Hinos"; the members of its
messages are in docs/turn-memory.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, TypeVar
from urllib.parse import urlsplit

import msgspec

from rotifer_host import contract
from rotifer_host.errors import BudgetExhaustedError, TurnMemoryError, UsageError
from rotifer_host.sandbox import encode_document
from rotifer_host.text import shortened
from rotifer_host.turn_memory.conversation import Message, text_of
from rotifer_host.turn_memory.exchange import post, require_client
from rotifer_host.turn_memory.report import TurnEvent

if TYPE_CHECKING:
    from rotifer_host.sandbox import Deadline
    from rotifer_host.turn_memory.sources import MemorySource

__all__ = ["TIMEOUT_VARIABLE", "URL_VARIABLE", "HinosMemory", "Service", "Turn"]

URL_VARIABLE: Final = "HINOS_MEMORY_URL"
TIMEOUT_VARIABLE: Final = "HINOS_MEMORY_TIMEOUT_MS"
_MOST_TIMEOUT_MS: Final = 86_400_000
_SHOWN: Final = 200
_Reply = TypeVar("_Reply", bound=msgspec.Struct)


class _Prepared(msgspec.Struct):
    claim_id: Annotated[str, msgspec.Meta(min_length=1)]
    memory: str
    turn: Annotated[int, msgspec.Meta(ge=0)]
    state_through_round: Annotated[int, msgspec.Meta(ge=0)]


class _Committed(msgspec.Struct):
    committed: bool
    claim_id: str | msgspec.UnsetType = msgspec.UNSET


class Service(NamedTuple):
    """Where the service is, and how many milliseconds each request may take."""

    url: str
    timeout_ms: int

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> Service:
        """Read `HINOS_MEMORY_URL` and `HINOS_MEMORY_TIMEOUT_MS`. Raises `UsageError`."""
        url, timeout = environ.get(URL_VARIABLE, ""), environ.get(TIMEOUT_VARIABLE, "")
        if not url:
            message = f"turn memory of the runtime hinos needs {URL_VARIABLE}, the address of its service"
            raise UsageError(message)
        if not _is_address(url):  # not shown: it may hold a password
            message = f"{URL_VARIABLE} must be an address such as https://memory.example, without ? and #"
            raise UsageError(message)
        if timeout and not (re.fullmatch(r"[0-9]{1,8}", timeout) and 1 <= int(timeout) <= _MOST_TIMEOUT_MS):
            message = f"{TIMEOUT_VARIABLE} must be a whole number from 1 to {_MOST_TIMEOUT_MS}, not {timeout!r}"
            raise UsageError(message)
        require_client()
        return cls(url.rstrip("/"), int(timeout) if timeout else contract.DEFAULT_HINOS_TIMEOUT_MS)


class Turn(NamedTuple):
    """One run of an agent, as the service knows it."""

    request_id: str
    agent_id: str
    """Also the conversation's id: all that an agent says and hears is one conversation."""
    agent: str
    genes: Sequence[str | None]
    """The v2 ids of its genes."""
    deadline: Deadline


class HinosMemory:
    """The service's memory for the length of one turn."""

    def __init__(self, service: Service, source: MemorySource, turn: Turn, chat: Sequence[Message]) -> None:
        self._service = service
        self._source = source
        self._turn = turn
        self._chat = chat
        self._claim_id = ""

    def recall(self) -> dict[str, str]:
        """Ask for what this turn should know. Raises `TurnMemoryError`."""
        turn, source = self._turn, self._source
        prepared = self._asked(
            "prepare",
            {
                "agent": {"id": turn.agent_id, "name": turn.agent, "genes": list(turn.genes)},
                "source": {"id": source.id, "agent_ref": source.agentRef},
                "messages": list(self._chat),
            },
            _Prepared,
        )
        self._claim_id = prepared.claim_id
        return {source.variable: prepared.memory}

    def remember(self, output: Any) -> list[TurnEvent]:  # noqa: ANN401 - any JSON value
        """Tell what was said in this turn, once: a commit that may have been made is not made again."""
        said = {"claim_id": self._claim_id, "user": self._chat[-1]["content"], "assistant": text_of(output)}
        try:
            answer = self._asked("commit", said, _Committed)
            if answer.claim_id not in (msgspec.UNSET, self._claim_id):
                raise TurnMemoryError("commit: the service's response is for another claim_id")  # noqa: TRY301
            if not answer.committed:
                raise TurnMemoryError("commit: the service answered committed: false", certain=True)  # noqa: TRY301
        except TurnMemoryError as error:
            return [TurnEvent("memory.commit_failed", self._source.id, error.message, uncertain=not error.certain)]
        return [TurnEvent("memory.committed", self._source.id, "the service has taken this turn in")]

    def _asked(self, what: str, request: Mapping[str, Any], reply: type[_Reply]) -> _Reply:
        turn = self._turn
        document = {
            "v": contract.FORMAT_VERSION,
            "request_id": turn.request_id,
            "conversation_id": turn.agent_id,
            **request,
        }
        try:
            answer = post(
                f"{self._service.url}/v1/memory/{what}",
                {"x-flow-conversation-id": turn.agent_id, "x-request-id": turn.request_id},
                encode_document(document),
                timeout_s=min(self._service.timeout_ms / 1000, _time_left(turn.deadline)),
                deadline=turn.deadline,
            )
        except TurnMemoryError as error:
            raise TurnMemoryError(f"{what}: {error.message}", certain=error.certain) from error
        try:
            return msgspec.json.decode(answer, type=reply)
        except (msgspec.MsgspecError, RecursionError) as error:
            message = shortened(str(error), _SHOWN)
            raise TurnMemoryError(f"{what}: the service's response is not as it must be: {message}") from error


def _time_left(deadline: Deadline) -> float:
    try:
        left = deadline.remaining_s()
    except BudgetExhaustedError:
        left = 0
    if left <= 0:
        raise TurnMemoryError("not sent: the run's time is up", certain=True)
    return left


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and parts.port != 0
            and not set(url) & {"?", "#"}
            and url.isascii()
            and url.isprintable()
            and " " not in url
        )
    except ValueError:  # a port that is none
        return False
