"""How host calls are charged in batches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotifer_host.sandbox.fuel import FuelMeter


class FakeStore:
    """A store that holds fuel, and counts how often it was asked."""

    def __init__(self) -> None:
        self.left = 0
        self.asked = 0

    @property
    def fuel(self) -> int:
        """What is left."""
        self.asked += 1
        return self.left

    @fuel.setter
    def fuel(self, fuel: int) -> None:
        self.left = fuel


def meter(limit: int) -> tuple[FuelMeter, FakeStore]:
    """Make a meter."""
    store = FakeStore()
    return FuelMeter(store, limit), store  # type: ignore[arg-type]


def test_charges_are_settled_exactly() -> None:
    """What is left and what was used are exact whenever they are asked for."""
    fuel, store = meter(10_000_000)
    assert fuel.charge(20_000)
    store.left -= 5
    assert (fuel.remaining(), fuel.consumed()) == (9_979_995, 20_005)


def test_small_charges_do_not_ask_the_engine() -> None:
    """Charges are collected: of a hundred small ones, few reach the engine."""
    fuel, store = meter(500_000_000)
    for _ in range(100):
        assert fuel.charge(20_000)
    assert store.asked <= 2


@pytest.mark.parametrize(("amount", "covered"), [(1_000, True), (1_001, False)])
def test_last_fuel(amount: int, *, covered: bool) -> None:
    """The last fuel can be spent, and not one more; a refused charge takes nothing."""
    fuel, _ = meter(1_000)
    assert fuel.charge(amount) is covered
    assert fuel.remaining() == (0 if covered else 1_000)


@given(
    st.integers(1, 10**8),
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 3 * 10**6)), max_size=60),
)
def test_limit_is_passed_by_one_batch_at_most(limit: int, steps: list[tuple[int, int]]) -> None:
    """Whatever guest and host calls burn, charges above the limit stay within one batch."""
    fuel, store = meter(limit)
    burnt = charged = 0
    for instructions, amount in steps:
        instructions = min(instructions, store.left)  # noqa: PLW2901 - a guest cannot burn more
        store.left -= instructions
        burnt += instructions
        charged += amount if fuel.charge(amount) else 0
    assert burnt + charged <= limit + min(1_000_000, limit // 16)
    assert fuel.consumed() == min(burnt + charged, limit)
