"""Is what lies in an LMDB file a tree that LMDB can walk? Answered without LMDB.

LMDB trusts its file: it maps it and follows page numbers, so that a damaged page is a
segmentation fault and a file that was cut short a bus error. Here the pages are read
as bytes, and every number LMDB would follow is checked first.

Layout (LMDB 0.9, 64-bit): pages 0 and 1 are meta pages, used in turn by transactions.
Each names the roots of two trees, free pages and rows. A page is a header, 2-byte
offsets of nodes, and nodes from the end; values that fit no page lie on overflow pages.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

from rotifer_host.errors import StoreError

__all__ = ["DAMAGED_HELP", "Meta", "check_pages", "read_metas", "shown"]

DAMAGED_HELP: Final = "put a copy of it back, or move it away to begin with an empty memory"

_HEADER: Final = struct.Struct("<QHHHH")  # number, padding, flags, end of offsets, begin of nodes
_META: Final = struct.Struct("<IIQQ48s48sQQ")  # magic, version, address, map size, two trees, last page, transaction
_TREE: Final = struct.Struct("<IHHQQQQQ")  # padding, flags, depth, 3 counts of pages, entries, root
_NODE: Final = struct.Struct("<HHHH")  # low and high half of a size or page, flags or the rest of it, key size
_NUMBER: Final = struct.Struct("<Q")

_MAGIC: Final = 0xBEEFC0DE
_VERSION: Final = 1
_BRANCH, _LEAF, _OVERFLOW, _IS_META = 1, 2, 4, 8
_NO_ROOT: Final = (1 << 64) - 1
_FIRST_PAGE: Final = 2
_INTEGER_KEYS: Final = 0x08
_NO_FOLDER: Final = 0x4000
_ON_OVERFLOW_PAGES: Final = 0x01
_PAGE_SIZES: Final = tuple(1 << power for power in range(9, 17))
_DEEPEST: Final = 32
_LONGEST_KEY: Final = 511
_FEWEST_IN_BRANCH: Final = 2
_ATTEMPTS: Final = 100


def shown(path: Path) -> str:
    """Return a memory's path from its project on: a guest reads errors, and need not see where the project lies."""
    folder = path.parts[-3:-1]
    return "/".join((*folder, path.name)) if folder == (".rotifer", "memory") else path.name


class _DamageError(Exception):
    """What is wrong, in words."""


class _Tree(NamedTuple):
    flags: int
    depth: int
    entries: int
    root: int


class Meta(NamedTuple):
    """What a meta page says."""

    transaction: int
    page_bytes: int
    last_page: int
    free: _Tree
    rows: _Tree


def read_metas(path: Path) -> tuple[Meta, ...]:
    """Return both meta pages of a file, none of an empty one; raises `StoreError` when LMDB must not map it.

    Another process may be writing: what does not fit together is read again.
    """
    with path.open("rb", buffering=0) as file:
        for _ in range(_ATTEMPTS):
            try:
                return _metas(file.fileno())
            except _DamageError as error:
                damage = error
    raise _refusal(path, damage)


def check_pages(path: Path, transaction: int) -> bool:
    """Walk the trees that a transaction committed, which a reader must hold; raises `StoreError` for any damage.

    False when two more were committed since, so that no meta page names it any longer.
    """
    for meta in read_metas(path):
        if meta.transaction == transaction:
            with path.open("rb", buffering=0) as file:
                try:
                    _Walk(file.fileno(), meta).run()
                except _DamageError as error:
                    raise _refusal(path, error) from None
            return True
    return False


def _metas(descriptor: int) -> tuple[Meta, ...]:
    first = os.pread(descriptor, _HEADER.size + _META.size, 0)
    if not first:
        return ()
    page_bytes = _meta(first, 0, None).page_bytes
    metas = (
        _meta(first, 0, page_bytes),
        _meta(os.pread(descriptor, _HEADER.size + _META.size, page_bytes), 1, page_bytes),
    )
    if abs(metas[0].transaction - metas[1].transaction) > 1:
        _damaged("its meta pages are not of neighbouring transactions")
    size = os.fstat(descriptor).st_size  # not before: what they name may have been added just now
    for meta in metas:
        for tree in (meta.free, meta.rows):
            if tree.root != _NO_ROOT and not _FIRST_PAGE <= tree.root <= min(meta.last_page, size // page_bytes - 1):
                _damaged("a root lies outside the file")
    return metas


def _meta(data: bytes, number: int, page_bytes: int | None) -> Meta:
    if len(data) < _HEADER.size + _META.size:
        _damaged("it ends within its meta pages")
    own, _, flags, _, _ = _HEADER.unpack_from(data)
    magic, version, _, _, free, rows, last_page, transaction = _META.unpack_from(data, _HEADER.size)
    if magic != _MAGIC or version != _VERSION or own != number or not flags & _IS_META:
        _damaged("it is not a file of LMDB, or of another version of it")
    size = _TREE.unpack(free)[0]
    if size not in _PAGE_SIZES or size != (page_bytes or size):
        _damaged(f"its pages cannot have {size} bytes")
    meta = Meta(transaction, size, last_page, _tree(free), _tree(rows))
    if meta.free.flags & ~_NO_FOLDER != _INTEGER_KEYS or meta.rows.flags:
        _damaged("its meta pages name tables of another kind")
    return meta


def _tree(data: bytes) -> _Tree:
    _, flags, depth, _, _, _, entries, root = _TREE.unpack(data)
    if depth > _DEEPEST or (root == _NO_ROOT) != (depth == 0) or (root == _NO_ROOT) != (entries == 0):
        _damaged("a meta page contradicts itself")
    return _Tree(flags, depth, entries, root)


class _Walk:
    """One way through all pages that one transaction can reach."""

    def __init__(self, descriptor: int, meta: Meta) -> None:
        self._descriptor = descriptor
        self._meta = meta
        self._bytes = meta.page_bytes
        self._pages = min(meta.last_page + 1, os.fstat(descriptor).st_size // meta.page_bytes)
        self._seen: set[int] = set()

    def run(self) -> None:
        for _ in self._leaves(self._meta.rows):
            pass
        free = [page for key, value in self._leaves(self._meta.free, values=True) for page in self._freed(key, value)]
        # Freed pages at the end may never have been written: only LMDB's own limit holds for them.
        if free and not _FIRST_PAGE <= min(free) <= max(free) <= self._meta.last_page:
            _damaged("a free page lies outside the file")
        if len(set(free)) != len(free) or not self._seen.isdisjoint(free):
            _damaged("a page is free and in use, or free twice")

    def _leaves(self, tree: _Tree, *, values: bool = False) -> Iterator[tuple[bytes, bytes]]:
        """Walk a tree in the order of its keys; gives keys and, where wanted, values."""
        if tree.root == _NO_ROOT:
            return
        integers = bool(tree.flags & _INTEGER_KEYS)
        count = 0
        last, least = b"", b""
        todo = [(tree.root, 1, b"")]
        while todo:
            number, level, separator = todo.pop()
            if separator:
                if separator <= last:
                    _damaged(f"the keys around page {number} are out of order")
                least = separator
            leaf = level == tree.depth
            nodes = self._nodes(number, leaf=leaf, integers=integers)
            if not leaf:
                todo += [(page, level + 1, key) for key, page, _ in reversed(nodes)]
                continue
            count += len(nodes)
            for key, data, size in nodes:
                if key <= last or key < least:
                    _damaged(f"the keys of page {number} are out of order")
                last = key
                if values:
                    yield key, os.pread(self._descriptor, size, data)
        if count != tree.entries:
            _damaged(f"a table has {count} entries, its meta page says {tree.entries}")

    def _nodes(self, number: int, *, leaf: bool, integers: bool) -> list[tuple[bytes, int, int]]:
        """Check a page; gives key, place and size of each value of a leaf, key and page of each child of a branch."""
        page = self._page(number)
        own, _, flags, lower, upper = _HEADER.unpack_from(page)
        count = (lower - _HEADER.size) >> 1
        if own != number or flags != (_LEAF if leaf else _BRANCH) or lower & 1:
            _damaged(f"page {number} is none of its kind")
        if not (lower <= upper <= self._bytes and count >= (1 if leaf else _FEWEST_IN_BRANCH)):
            _damaged(f"page {number} contradicts itself")
        nodes, places = [], []
        for index, at in enumerate(struct.unpack_from(f"<{count}H", page, _HEADER.size)):
            if not upper <= at <= self._bytes - _NODE.size:
                _damaged(f"a node lies outside page {number}")
            low, high, rest, key_bytes = _NODE.unpack_from(page, at)
            begin = at + _NODE.size + key_bytes
            end = begin
            key = page[at + _NODE.size : begin]
            if leaf:
                size, place = low | high << 16, number * self._bytes + begin
                end += _NUMBER.size if rest & _ON_OVERFLOW_PAGES else size
                if rest & ~_ON_OVERFLOW_PAGES or not 0 < key_bytes <= _LONGEST_KEY or end > self._bytes:
                    _damaged(f"page {number} has a node of another kind")
                if rest:
                    place = self._overflow(_NUMBER.unpack_from(page, begin)[0], size)
                nodes.append((_sortable(key, number) if integers else key, place, size))
            else:
                if (index > 0) != (key_bytes > 0) or key_bytes > _LONGEST_KEY or end > self._bytes:
                    _damaged(f"page {number} has a node of another kind")
                separator = _sortable(key, number) if integers and key else key
                nodes.append((separator, low | high << 16 | rest << 32, 0))
            places.append((at, end))
        places.sort()
        if any(end > begin for (_, end), (begin, _) in pairwise(places)):
            _damaged(f"the nodes of page {number} overlap")
        return nodes

    def _overflow(self, number: int, size: int) -> int:
        """Check the pages of a large value; gives its place."""
        own, _, flags, low, high = _HEADER.unpack_from(self._page(number))
        pages = low | high << 16
        last = number + pages
        if own != number or flags != _OVERFLOW or last > self._pages or size > pages * self._bytes - _HEADER.size:
            _damaged(f"page {number} does not hold the large value it should")
        others = range(number + 1, last)
        if not self._seen.isdisjoint(others):
            _damaged(f"a page after {number} is used twice")
        self._seen.update(others)
        return number * self._bytes + _HEADER.size

    def _page(self, number: int) -> bytes:
        if not _FIRST_PAGE <= number < self._pages or number in self._seen:
            _damaged(f"page {number} lies outside the file, or is used twice")
        self._seen.add(number)
        return os.pread(self._descriptor, self._bytes, number * self._bytes)

    def _freed(self, key: bytes, value: bytes) -> tuple[int, ...]:
        """Return the pages of one list of free ones: their count, then their numbers, the largest first."""
        count = _NUMBER.unpack_from(value)[0] if len(value) >= _NUMBER.size else len(value)
        if _NUMBER.size * (count + 1) > len(value):
            _damaged("a list of free pages is longer than its row")
        if int.from_bytes(key, "big") > self._meta.transaction:
            _damaged("a list of free pages is of a transaction to come")
        freed = struct.unpack_from(f"<{count}Q", value, _NUMBER.size)
        if any(page <= after for page, after in pairwise(freed)):
            _damaged("a list of free pages is out of order")
        return freed


def _sortable(key: bytes, number: int) -> bytes:
    """Return an integer key as bytes that sort as LMDB sorts it."""
    if len(key) != _NUMBER.size:
        _damaged(f"page {number} has a key that is no number")
    return key[::-1]


def _damaged(what: str) -> NoReturn:
    raise _DamageError(what)


def _refusal(path: Path, damage: _DamageError) -> StoreError:
    return StoreError(f"cannot open {shown(path)}: it is damaged: {damage}", help=DAMAGED_HELP)
