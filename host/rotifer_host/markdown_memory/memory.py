"""The four operations: write, update, read, search.

markdown-memory.zh.md, whose words for parameters, results and codes these are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from rotifer_host import contract
from rotifer_host.clock import rfc3339
from rotifer_host.errors import BudgetExhaustedError, MarkdownError
from rotifer_host.lock import Wait
from rotifer_host.markdown_memory.blocks import Block, parse_blocks, render_block, without_block
from rotifer_host.markdown_memory.files import MarkdownFiles
from rotifer_host.memory.fields import shown
from rotifer_host.text import is_unicode

if TYPE_CHECKING:
    from rotifer_host.clock import Clock
    from rotifer_host.lock import Patience

__all__ = [
    "DEFAULT_LIMIT",
    "MAX_LIMIT",
    "MEMORY_FOLDER",
    "Change",
    "Found",
    "Kind",
    "MarkdownMemory",
    "Target",
    "Written",
]

MEMORY_FOLDER: Final = Path(".agent/memory")
"""Below the project's folder."""
DEFAULT_LIMIT: Final = contract.DEFAULT_MARKDOWN_RESULTS
MAX_LIMIT: Final = contract.MAX_MARKDOWN_RESULTS

_SUMMARY: Final = "MEMORY.md"

Kind = Literal["summary", "daily"]
Target = Literal["daily", "summary"]


class Written(NamedTuple):
    """What `write` did."""

    key: str
    target: Target
    path: str
    """Of the file, relative to the folder of memories."""


class Updated(NamedTuple):
    """What `update` did."""

    key: str
    path: str
    kind: Kind
    """Of the block that was replaced."""


class Found(NamedTuple):
    """A memory."""

    key: str
    content: str
    tags: tuple[str, ...]
    file: str
    """Relative to the folder of memories."""
    kind: Kind
    created_at: str | None
    """What the block's comment says, as `updated_at`: an update is a new block. None for one written by hand."""
    updated_at: str | None

    def to_json(self) -> dict[str, Any]:
        """Return the members of a result, in their order."""
        return self._asdict() | {"tags": list(self.tags)}


class Change(NamedTuple):
    """What is about to be saved."""

    action: Literal["write", "update"]
    key: str
    path: str
    bytes: int
    """Of the content in UTF-8."""


class _Place(NamedTuple):
    block: Block
    file: str
    kind: Kind


class MarkdownMemory:
    """The memories in the Markdown files below `root / folder`, shared by whoever works on these files.

    In a run `patience` is the run's deadline, and an operation that meets it raises
    `BudgetExhaustedError`; without it one waits at most ten seconds for others.
    `announce` is entered before a change is saved, which it stops by raising, and left
    when it is saved or has failed.

    Raises `MarkdownError` with a code of markdown-memory.zh.md, "Error codes", and
    `LockTimeoutError` when somebody else keeps the folder for too long.
    """

    def __init__(
        self,
        root: Path,
        *,
        clock: Clock,
        folder: Path = MEMORY_FOLDER,
        patience: Patience | None = None,
        announce: Callable[[Change], AbstractContextManager[None]] = lambda _change: nullcontext(),
    ) -> None:
        self._files = MarkdownFiles(root, folder)
        self._clock = clock
        self._patience = patience
        self._announce = announce

    def write(
        self,
        key: str,
        content: str,
        *,
        target: str = "daily",
        tags: Sequence[str] = (),
        admit: Callable[[Written], None] = lambda _written: None,
    ) -> Written:
        """Make a new memory, in today's file (UTC) or in the summary.

        `MEMORY_KEY_EXISTS` when any file has a block with this key. `admit` sees the
        result before anything is saved, and stops it by raising.
        """
        key, tags, kind = _checked_key(key), _checked(content, tags), _checked_target(target)
        with self._files.locked(self._patience or Wait()):
            texts = self._files.read()
            if any(self._places(texts, key)):
                message = f"there is a memory {key!r} already: read it, and update it"
                raise MarkdownError(message, code="MEMORY_KEY_EXISTS")
            at = rfc3339(self._clock.now_ms())
            path = _SUMMARY if kind == "summary" else f"{at[0:4]}/{at[5:7]}/{at[8:10]}.md"
            texts[path] = _append(texts.get(path, ""), key, content, tags, at)
            self._files.check_room(texts, path)
            result = Written(key, kind, path)
            admit(result)
            with self._announce(Change("write", key, path, len(content.encode()))):
                self._files.replace(path, texts[path])
        return result

    def update(
        self,
        key: str,
        content: str,
        *,
        tags: Sequence[str] | None = None,
        admit: Callable[[Updated], None] = lambda _updated: None,
    ) -> Updated:
        """Replace the block that `read` finds by a new one at the end of the same file.

        Tags that are not given stay as they are. `MEMORY_KEY_NOT_FOUND` when there is none.
        """
        key = _checked_key(key)
        given = _checked(content, () if tags is None else tags)
        with self._files.locked(self._patience or Wait()):
            texts = self._files.read()
            block, path, kind = _canonical(self._places(texts, key), key)
            rest = without_block(texts[path], block)
            at = rfc3339(self._clock.now_ms())
            texts[path] = _append(rest, key, content, block.tags if tags is None else given, at)
            self._files.check_room(texts, path)
            result = Updated(key, path, kind)
            admit(result)
            with self._announce(Change("update", key, path, len(content.encode()))):
                self._files.replace(path, texts[path])
        return result

    def read(self, key: str) -> Found:
        """Return the memory: of the blocks in the summary the newest, else of all others. `MEMORY_KEY_NOT_FOUND`."""
        key = _checked_key(key)
        return _found(_canonical(self._places(self._files.read(), key), key))

    def search(self, query: str, *, tags: Sequence[str] = (), limit: int = DEFAULT_LIMIT) -> list[Found]:
        """Return blocks with `query` in key or content, whatever the case, that have all of `tags`.

        Those of the summary come first, the newest first, at most `limit` of 1 to 100.
        """
        tags = _checked(query, tags, name="query")
        if type(limit) is not int or not 1 <= limit <= MAX_LIMIT:
            raise _invalid(f"limit must be a whole number from 1 to {MAX_LIMIT}, not {shown(limit)}")
        wanted = query.casefold()
        found = [
            place
            for place in self._places(self._files.read())
            if (wanted in place.block.key.casefold() or wanted in place.block.content.casefold())
            and set(tags) <= set(place.block.tags)
        ]
        found.sort(key=_age, reverse=True)
        found.sort(key=lambda place: place.kind == "daily")
        return [_found(place) for place in found[:limit]]

    def _places(self, texts: Mapping[str, str], key: str | None = None) -> Iterator[_Place]:
        for name, text in texts.items():
            kind: Kind = "summary" if name == _SUMMARY else "daily"
            self._check_time()
            for block in parse_blocks(text, key):
                self._check_time()
                yield _Place(block, name, kind)

    def _check_time(self) -> None:
        if self._patience is not None and self._patience.remaining_s() <= 0:
            message = "the run's deadline has passed"
            raise BudgetExhaustedError(message)


def _canonical(places: Iterator[_Place], key: str) -> _Place:
    found = list(places)
    if not found:
        raise MarkdownError(f"there is no memory {key!r}", code="MEMORY_KEY_NOT_FOUND")
    summaries = [place for place in found if place.kind == "summary"]
    return max(summaries or found, key=_age)


def _age(place: _Place) -> tuple[float, str, int]:
    """Order blocks from old to new; of two of one time the one further down is newer."""
    try:
        at = datetime.fromisoformat(place.block.at or "")
        seconds = (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        seconds = float("-inf")
    return seconds, place.file, place.block.begin


def _found(place: _Place) -> Found:
    block = place.block
    return Found(block.key, block.content, block.tags, place.file, place.kind, block.at, block.at)


def _append(text: str, key: str, content: str, tags: Sequence[str], at: str) -> str:
    if text and not text.endswith("\n"):
        text += "\n"
    if text and not text.endswith(("\n\n", "\r\n\r\n")) and text != "\n":
        text += "\n"
    return text + render_block(key, content, tags, at)


def _checked_key(key: object) -> str:
    """Return a key as a heading holds it, without white space around it."""
    if not isinstance(key, str):
        raise _invalid(f"key must be a string, not {shown(key)}")
    stripped = key.strip()
    if not is_unicode(key):
        raise MarkdownError("key must be text that is written in UTF-8", code="MEMORY_INVALID_KEY")
    if not stripped or key.splitlines() != [key] or "\0" in key:
        message = "key must be one line of text that is not empty"
        raise MarkdownError(message, code="MEMORY_INVALID_KEY")
    size = len(stripped.encode())
    if size > contract.MAX_KEY_BYTES:
        message = f"key has {size} bytes, at most {contract.MAX_KEY_BYTES} are allowed"
        raise MarkdownError(message, code="MEMORY_INVALID_KEY")
    return stripped


def _checked_target(target: object) -> Target:
    if target == "daily":
        return "daily"
    if target == "summary":
        return "summary"
    raise MarkdownError(f"target must be daily or summary, not {shown(target)}", code="MEMORY_INVALID_TARGET")


def _checked(text: object, tags: object, name: str = "content") -> tuple[str, ...]:
    """Check what a block or a search is made of, and return the tags."""
    if not isinstance(text, str) or not is_unicode(text):
        raise _invalid(f"{name} must be a string of Unicode characters")
    if not isinstance(tags, Sequence) or isinstance(tags, str) or not all(isinstance(tag, str) for tag in tags):
        raise _invalid("tags must be an array of strings")
    for tag in tags:
        if not tag or tag != tag.strip() or "|" in tag or "--" in tag or not tag.isprintable():
            raise _invalid(
                f"a tag must be printable text without | and -- and without spaces around it, not {shown(tag)}"
            )
    return tuple(tags)


def _invalid(message: str) -> MarkdownError:
    return MarkdownError(message, code="INVALID_PATH")
