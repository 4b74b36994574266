"""What a query returns, in which order, and how much of it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.memory.patience import Passed

from rotifer_host.errors import BudgetExhaustedError, InvalidInputError
from rotifer_host.memory import decode_query


@pytest.fixture
def filled(world: Any) -> Any:
    """Write five entries, a second apart."""
    for key, category in (
        ("fmt/a", "CACHE"),
        ("fmt/b", "PREFERENCE"),
        ("fmtx", "CACHE"),
        ("other", "PATTERN"),
        ("é/x", "CONTEXT"),
    ):
        world.write(world.gene("a"), key, category=category)
        world.clock.advance(seconds=1)
    return world


@pytest.mark.parametrize(
    ("fields", "keys"),
    [
        ({}, ["é/x", "other", "fmtx", "fmt/b", "fmt/a"]),
        ({"limit": 2}, ["é/x", "other"]),
        ({"category": "CACHE"}, ["fmtx", "fmt/a"]),
        ({"category": "CACHE", "limit": 1}, ["fmtx"]),
        ({"key_prefix": "fmt"}, ["fmtx", "fmt/b", "fmt/a"]),
        ({"key_prefix": "fmt/"}, ["fmt/b", "fmt/a"]),
        ({"key_prefix": "fmt/", "limit": 1}, ["fmt/b"]),
        ({"key_prefix": "fmt", "category": "CACHE"}, ["fmtx", "fmt/a"]),
        ({"key_prefix": "fmt/a"}, ["fmt/a"]),
        ({"key_prefix": "fmt/a/"}, []),
        ({"key_prefix": ""}, ["é/x", "other", "fmtx", "fmt/b", "fmt/a"]),
        ({"key_prefix": "é"}, ["é/x"]),
        ({"key_prefix": "e"}, []),
        ({"key_prefix": "%"}, []),
        ({"key_prefix": "fmt*"}, []),
        ({"key_prefix": "fmt\0"}, []),
        ({"key_prefix": "f" * 2000}, []),
        ({"since": "2026-01-01T00:00:03Z"}, ["é/x", "other"]),
        ({"since": "2026-01-01T00:00:03.0001Z"}, ["é/x"]),
        ({"since": "2026-01-01T01:00:03+01:00"}, ["é/x", "other"]),
        ({"until": "2026-01-01T00:00:01Z"}, ["fmt/a"]),
        ({"until": "2026-01-01T00:00:01.00000001Z"}, ["fmt/b", "fmt/a"]),
        ({"since": "2026-01-01T00:00:01Z", "until": "2026-01-01T00:00:03Z"}, ["fmtx", "fmt/b"]),
        ({"since": "2026-01-01T00:00:03Z", "until": "2026-01-01T00:00:03Z"}, []),
        ({"since": "0000-01-01T00:00:00Z", "until": "9999-12-31T23:59:60Z", "category": "PATTERN"}, ["other"]),
    ],
)
def test_all_given_fields_must_match(filled: Any, fields: dict[str, Any], keys: list[str]) -> None:
    """Prefixes are plain, `since` is inclusive, `until` exclusive, the newest comes first."""
    assert keys == filled.query(filled.gene("a"), **fields)


def test_the_order_is_that_of_changes_not_of_the_clock(filled: Any) -> None:
    """An entry rewritten with an earlier time is still the most recent one."""
    filled.clock.advance(days=-1)
    filled.write(filled.gene("a"), "fmt/a")
    assert filled.query(filled.gene("a"))[0] == "fmt/a"
    assert filled.query(filled.gene("a"), since="2026-01-01T00:00:00Z")[0] == "é/x"


def test_entries_the_gene_may_not_read_are_left_out_silently(filled: Any) -> None:
    """They neither count for the limit nor appear in the log."""
    filled.write(filled.gene("b", "search"), "mine")
    filled.write(
        filled.gene("a"),
        "shared",
        access_policy={"readScope": "ALL_GENES", "writeScope": "ALL_GENES", "sharePolicy": "PRIVATE"},
    )
    filled.audit.take()
    assert filled.query(filled.gene("b", "search"), limit=2) == ["shared", "mine"]
    assert filled.query(filled.gene("c", "third")) == ["shared"]
    assert filled.audit.lines == []
    assert filled.telemetry.denied == []


def test_the_default_limit_is_a_hundred(world: Any) -> None:
    """Without a limit a query returns a hundred entries, with one up to a thousand."""
    world.reopen(durability="run")
    for number in range(1001):
        world.write(world.gene("a"), f"{number:04}", b"")
    assert len(world.query(world.gene("a"))) == 100
    assert len(world.query(world.gene("a"), limit=1000)) == 1000
    assert world.query(world.gene("a"), key_prefix="0", limit=3) == ["0999", "0998", "0997"]
    world.memory.rollback()


def test_a_result_over_four_mebibytes_is_refused_whole(world: Any) -> None:
    """Keys and raw values of the returned entries count, and never a silently cut result."""
    world.reopen(quota=8 << 20)
    for key in ("a", "b", "c"):
        world.write(world.gene("a"), key, bytes(1 << 20))
    world.write(world.gene("a"), "d", bytes((1 << 20) - 4))
    assert len(world.query(world.gene("a"))) == 4
    world.write(world.gene("a"), "e", b"")
    with pytest.raises(InvalidInputError, match="larger than 4194304 bytes: lower limit or narrow the filter"):
        world.query(world.gene("a"))
    assert len(world.query(world.gene("a"), limit=4)) == 4


def test_no_entries_are_an_empty_array(world: Any) -> None:
    """Nothing found is an answer."""
    assert world.memory.query(world.gene("a"), decode_query(b"null")) == b"[]"


def test_a_long_walk_ends_at_the_deadline(world: Any) -> None:
    """A query over many entries minds the run's time: those it may not return, and those with a prefix."""
    world.reopen(durability="run")
    for number in range(300):
        world.write(world.gene("a"), f"{number:04}", b"")
    world.memory.finish()

    world.reopen(patience=Passed())
    with pytest.raises(BudgetExhaustedError):
        world.query(world.gene("b", "search"))
    with pytest.raises(BudgetExhaustedError):
        world.query(world.gene("b", "search"), key_prefix="0")
    assert world.query(world.gene("a"), key_prefix="00", limit=1) == ["0099"]


def test_long_keys_with_a_common_start_are_told_apart(world: Any) -> None:
    """Prefixes longer than any index key are matched to their last byte."""
    start = "é" * 239  # 478 bytes
    keys = [start, start + "a", start + "ab", start + "b", "k" * 1024, "k" * 1023 + "l", "k" * 477 + "é"]
    for key in keys:
        world.write(world.gene("a"), key)
    for prefix in (start[:-1], start, start + "a", start + "ab", "k" * 478, "k" * 1023, "k" * 1024, "k" * 477):
        expected = [key for key in reversed(keys) if key.startswith(prefix)]
        assert expected == world.query(world.gene("a"), key_prefix=prefix)
