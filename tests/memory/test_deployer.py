"""What the owner of an agent may see and clear."""

from __future__ import annotations

from typing import Any

import pytest

from rotifer_host.errors import InvalidInputError, NotFoundError, UsageError
from rotifer_host.memory import ListedEntry

CLOSED = {"readScope": "CREATOR_GENE_ONLY", "writeScope": "CREATOR_GENE_ONLY", "sharePolicy": "PRIVATE"}


@pytest.fixture
def filled(world: Any) -> Any:
    """Write entries of two genes, closed ones too."""
    for letter, key, category in (
        ("a", "z", "CACHE"),
        ("a", "b", "CACHE"),
        ("b", "closed", "PREFERENCE"),
        ("a", "k", "PATTERN"),
    ):
        world.write(world.gene(letter), key, b"12345", category, access_policy=CLOSED)
    world.audit.take()
    return world


def test_a_listing_shows_every_entry_without_its_value(filled: Any) -> None:
    """By category, then by key, whatever the access policies say."""
    listing = filled.memory.list()
    assert listing.quota == filled.quota
    assert listing.used == 4 * 5 + len("zbclosedk")
    assert [(entry.category, entry.key) for entry in listing.entries] == [
        ("PREFERENCE", "closed"),
        ("PATTERN", "k"),
        ("CACHE", "b"),
        ("CACHE", "z"),
    ]
    assert listing.entries[0] == ListedEntry(
        "closed", "PREFERENCE", 5, filled.gene("b").gene_id, "2026-01-01T00:00:00.000Z"
    )
    assert filled.audit.lines == []


def test_a_listing_of_one_category_counts_all(filled: Any) -> None:
    """`used` is that of the agent, not of the category."""
    listing = filled.memory.list("CACHE")
    assert [entry.key for entry in listing.entries] == ["b", "z"]
    assert listing.used == filled.memory.list().used
    with pytest.raises(InvalidInputError):
        filled.memory.list("cache")


def test_the_deployer_deletes_by_key(filled: Any) -> None:
    """Entries nobody else can reach any more too; the line says who did it."""
    assert filled.memory.delete_as_deployer(key="closed") == 1
    (line,) = filled.audit.lines
    assert (line.action, line.actor, line.geneId, line.domain) == ("memory.delete", "deployer", None, None)
    assert (line.key, line.bytes) == ("closed", 5)
    with pytest.raises(NotFoundError) as caught:
        filled.memory.delete_as_deployer(key="closed")
    assert caught.value.code == "MEMORY_NOT_FOUND"


def test_the_deployer_deletes_a_category(filled: Any) -> None:
    """All its entries, each with a line; an empty category is no error."""
    assert filled.memory.delete_as_deployer(category="CACHE") == 2
    assert filled.audit.take() == [("delete", "z"), ("delete", "b")]
    assert filled.memory.delete_as_deployer(category="CACHE") == 0
    assert filled.audit.take() == []
    assert filled.keys() == {"closed", "k"}


@pytest.mark.parametrize("given", [{}, {"key": "k", "category": "CACHE"}])
def test_exactly_one_of_key_and_category_is_given(filled: Any, given: dict[str, str]) -> None:
    """Neither and both are a mistake of usage."""
    with pytest.raises(UsageError):
        filled.memory.delete_as_deployer(**given)
    assert len(filled.keys()) == 4


@pytest.mark.parametrize("given", [{"key": ""}, {"key": "a\0"}, {"category": "cache"}])
def test_the_deployer_meets_the_same_rules_for_keys_and_categories(filled: Any, given: dict[str, str]) -> None:
    """A key no entry can have is invalid input, as for a gene."""
    with pytest.raises(InvalidInputError):
        filled.memory.delete_as_deployer(**given)
