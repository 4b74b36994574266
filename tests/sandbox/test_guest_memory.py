"""The view of linear memory: checked ranges, growth, and what is left after a run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rotifer_host.limits import Limits
from rotifer_host.sandbox import GuestResult, PlainFunction, Run
from rotifer_host.sandbox.guest_memory import GuestMemory

RunGuest = Callable[..., GuestResult]
Writer = Callable[..., str]

PAGE = 65536
IMPORT = '(import "test" "probe" (func $probe))'


def probe(check: Callable[[Run], None]) -> tuple[PlainFunction, ...]:
    """Make a host function that looks at a run."""
    return (PlainFunction("test", "probe", (), (), check),)


RANGES = [
    (0, PAGE, True),
    (PAGE, 0, True),
    (PAGE - 1, 1, True),
    (PAGE - 1, 2, False),
    (PAGE + 1, 0, False),
    (0xFFFF_FFFF, 0, False),
    (0xFFFF_FFFF, 1, False),
    (0, 0xFFFF_FFFF, False),
    (0xFFFF_FFFF, 0xFFFF_FFFF, False),
]


@pytest.mark.parametrize(("address", "length", "inside"), RANGES)
def test_ranges(run_guest: RunGuest, gene: Writer, address: int, length: int, *, inside: bool) -> None:
    """Ranges are inside memory or not; what is not is neither read nor written."""

    def check(run: Run) -> None:
        assert run.memory.fits(address, length) is inside
        data = run.memory.read(address, length)
        assert (data is not None) is inside
        assert data is None or len(data) == length
        if length <= PAGE:
            assert run.memory.write(address, bytes(length)) is inside

    run_guest(gene("(call $probe)", imports=IMPORT), functions=probe(check))


def test_text_ends_at_a_nul_the_end_of_memory_or_the_most_wanted(run_guest: RunGuest, gene: Writer) -> None:
    """Text is found across chunk borders, and never read past the end of memory."""

    def check(run: Run) -> None:
        memory = run.memory
        for length in (0, 1, 1023, 1024, 1025, 3071, 3072, 3073, 60_000):
            memory.write(0, b"x" * length + b"\0")
            assert memory.read_until_nul(0, PAGE) == b"x" * length
            assert memory.read_until_nul(0, 100) == b"x" * min(length, 100)
        memory.write(PAGE - 5, b"abcde")
        assert memory.read_until_nul(PAGE - 5, PAGE) == b"abcde"
        assert memory.read_until_nul(PAGE, PAGE) is None

    run_guest(gene("(call $probe)", imports=IMPORT), functions=probe(check))


def test_memory_keeps_its_place_while_it_grows_to_the_limit(run_guest: RunGuest, gene: Writer) -> None:
    """A buffer taken before growth shows the same bytes after it: the base does not move."""
    buffers: list[object] = []
    sizes: list[int] = []

    def check(run: Run) -> None:
        memory = run.memory
        if isinstance(memory, GuestMemory):  # the one in C keeps none
            buffers.append(memory._buffer)
        sizes.append(memory.size)
        memory.write(sizes[-1] - 4, b"last")
        assert memory.read(sizes[-1] - 4, 4) == b"last"
        memory.write(0, len(sizes).to_bytes(4, "little"))
        assert all(buffer[:4] == len(sizes).to_bytes(4, "little") for buffer in buffers)  # type: ignore[index]

    body = "(call $probe)" + "(drop (memory.grow (i32.const 511))) (call $probe)" * 8
    result = run_guest(gene(body, imports=IMPORT), functions=probe(check), limits=Limits(memory_bytes=4089 * PAGE))
    assert (result.status, len(sizes), result.peak_memory_bytes) == ("ok", 9, 4089 * PAGE)
    buffers.clear()


def test_nothing_is_left_after_the_run(run_guest: RunGuest, gene: Writer) -> None:
    """A host function that keeps its run for longer finds no memory and no fuel, not freed ones."""
    kept: list[Run] = []
    run_guest(gene("(call $probe)", imports=IMPORT), functions=probe(kept.append))
    memory = kept[0].memory
    assert (memory.size, memory.read(0, 1), memory.write(0, b"x"), memory.fits(0, 0)) == (0, None, False, True)
    with pytest.raises(RuntimeError, match="the run has ended"):
        kept[0].fuel.remaining()


def test_numbers_that_no_memory_holds(run_guest: RunGuest, gene: Writer) -> None:
    """Numbers beyond 32 and 64 bits lie outside, and text that is none is refused."""

    def check(run: Run) -> None:
        memory = run.memory
        for huge in (1 << 32, 1 << 63, 1 << 64, 1 << 200):
            assert not memory.fits(huge, 0)
            assert not memory.fits(0, huge)
            assert memory.read(huge, 1) is None
            assert memory.read_u32(huge) is None
            assert memory.read_until_nul(huge, 1) is None
            assert not memory.write(huge, b"x")
        assert memory.read_until_nul(512, huge) == b""
        with pytest.raises(TypeError):
            memory.read("0", 1)  # type: ignore[arg-type]

    run_guest(gene("(call $probe)", imports=IMPORT), functions=probe(check))
