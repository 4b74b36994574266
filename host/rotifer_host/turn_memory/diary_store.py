"""Where a diary lies: its entries, and apart from them the rounds that wait for one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeVar

import msgspec

from rotifer_host import contract
from rotifer_host.errors import StoreError
from rotifer_host.store.protocol import DocumentName

if TYPE_CHECKING:
    from rotifer_host.memory import AgentMemory, Caller

__all__ = ["Diary", "DiaryStore", "Entry", "OvertakenError", "Round", "Rounds"]

_MOST_ROUND_TEXT: Final = 16_384
"""Characters kept of what each of the two said in a round."""
_MOST_ROUNDS_BYTES: Final = 512 * contract.KIB
_MOST_DIARY_BYTES: Final = 768 * contract.KIB


class Round(msgspec.Struct, frozen=True):
    """What was said in a turn."""

    round: int
    """Its number, from 1."""
    user: str
    assistant: str


class Rounds(msgspec.Struct, kw_only=True):
    """One document: how many rounds there were, and the texts of those that no entry is about yet."""

    v: Literal[1] = 1
    count: int = 0
    declined: int = 0
    """Through this round the generator had nothing to say."""
    waiting: list[Round] = msgspec.field(default_factory=list)


class Entry(msgspec.Struct, kw_only=True):
    """What was made of some rounds."""

    first: int
    last: int
    at: str
    """RFC 3339."""
    summary: str
    diary: str | None


class Diary(msgspec.Struct, kw_only=True):
    """The other document."""

    v: Literal[1] = 1
    entries: list[Entry] = msgspec.field(default_factory=list)

    @property
    def through(self) -> int:
        """The last round that an entry is about, 0 before the first."""
        return self.entries[-1].last if self.entries else 0


_Document = TypeVar("_Document", Rounds, Diary)


class OvertakenError(Exception):
    """Another run has written an entry meanwhile."""


class DiaryStore:
    """One diary of an agent. Its methods raise `StoreError`, `HostCallError` and `LockTimeoutError`."""

    def __init__(self, memory: AgentMemory, agent_ref: str) -> None:
        self._memory = memory
        self._rounds_name = DocumentName(contract.TURN_DOCUMENTS, f"rounds/{agent_ref}")
        self._diary_name = DocumentName(contract.TURN_DOCUMENTS, f"diary/{agent_ref}")

    def read(self) -> Diary:
        """Return the entries."""
        return _decoded(self._memory.documents.read(None, self._diary_name), Diary, "the entries")

    def count(self, user: str, assistant: str, through: int) -> Rounds:
        """Add a round, and return them all; the texts of those through `through` go.

        So do the oldest ones beyond 512 KiB, and of each text what goes beyond 16,384 characters.
        """
        rounds = Rounds()

        def counted(old: bytes | None) -> bytes:
            nonlocal rounds
            rounds = _decoded(old, Rounds, "the rounds")
            rounds.count += 1
            rounds.waiting.append(Round(rounds.count, user[:_MOST_ROUND_TEXT], assistant[:_MOST_ROUND_TEXT]))
            rounds.waiting = [each for each in rounds.waiting if each.round > max(through, rounds.declined)]
            while len(data := msgspec.json.encode(rounds)) > _MOST_ROUNDS_BYTES:
                del rounds.waiting[0]
            return data

        self._memory.documents.change(None, "turn.round", self._rounds_name, counted)
        return rounds

    def decline(self, through: int) -> None:
        """Note that there is nothing to be said of the rounds through this one."""

        def declined(old: bytes | None) -> bytes:
            rounds = _decoded(old, Rounds, "the rounds")
            rounds.declined = max(rounds.declined, through)
            rounds.waiting = [each for each in rounds.waiting if each.round > rounds.declined]
            return msgspec.json.encode(rounds)

        self._memory.documents.change(None, "turn.round", self._rounds_name, declined)

    def append(self, entry: Entry, *, after: int, caller: Caller | None) -> None:
        """Add an entry after the one through `after`; beyond 768 KiB the oldest go.

        Raises `OvertakenError` where that is not the last one any more.
        """

        def appended(old: bytes | None) -> bytes:
            diary = _decoded(old, Diary, "the entries")
            if diary.through != after:
                raise OvertakenError
            diary.entries.append(entry)
            while len(data := msgspec.json.encode(diary)) > _MOST_DIARY_BYTES:
                del diary.entries[0]
            return data

        self._memory.documents.change(caller, "turn.diary", self._diary_name, appended)

    def forget(self) -> None:
        """Begin anew."""
        for name in (self._diary_name, self._rounds_name):
            self._memory.documents.change(None, "turn.forget", name, lambda _old: None)


def _decoded(data: bytes | None, kind: type[_Document], what: str) -> _Document:
    if data is None:
        return kind()
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.MsgspecError as error:
        message = f"{what} of the diary are not in a form this host can read: {error}"
        raise StoreError(message) from error
