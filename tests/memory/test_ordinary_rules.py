"""Who may, until when and for how much room: what C lets through is what the Python rules let through."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Final, get_args

import pytest
from tests.memory.twins import DURABILITIES, Call, Step, Twin, Twins, deleting, gene, paired, querying, reading, writing

from rotifer_host import DataPolicy, contract
from rotifer_host.clock import LAST_MS
from rotifer_host.memory import AccessPolicy, Caller, Durability, write_request
from rotifer_host.memory.entry import Record, Scope, SharePolicy, make_record

CREATOR: Final = gene("a")
CALLERS: Final[dict[str, Caller]] = {
    "the creator": CREATOR,
    "the same domain": gene("b"),
    "another domain": gene("c", "search"),
    "the creator in another domain": gene("a", "search"),
    "a domain that begins the same": gene("d", "format.more"),
    "a domain that is the begin of it": gene("d", "form"),
    "an id that begins the same": Caller("v2:" + "a" * 63 + "b", "search"),
}
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
SHARES: Final[tuple[SharePolicy, ...]] = get_args(SharePolicy)
DAY: Final = contract.SECONDS_PER_DAY


def record_of(key: str, *, access: AccessPolicy) -> Callable[[bytes, int], Record]:
    """Return a maker of a record by `CREATOR`, changed in 1970."""

    def make(identity: bytes, sequence: int) -> Record:
        return make_record(
            identity=identity,
            sequence=sequence,
            key=key,
            category="CACHE",
            value=b"123",
            created_by=CREATOR.gene_id,
            domain=CREATOR.domain,
            reader=CREATOR.gene_id,
            created_ms=1000,
            updated_ms=2000,
            access=access,
            retention=None,
        )

    return make


def putting(twins: Twins, key: str, access: AccessPolicy) -> None:
    """Put a record with an access policy into both memories."""
    for twin in twins.twins:
        twin.put(key, record_of(key, access=access))


def at(time: str | int) -> Callable[[Twin], None]:
    """Return a step that sets the clock."""
    return lambda twin: twin.clock.set(time)


@DURABILITIES
def test_scopes(tmp_path: Path, durability: Durability) -> None:
    """Every scope of reading with every one of writing, and every share policy; refused ones leave their lines."""
    with paired(tmp_path) as twins:
        for read, write in product(SCOPES, SCOPES):
            putting(twins, read + write, AccessPolicy(read, write, "PRIVATE"))
        for share in SHARES:
            putting(twins, share, AccessPolicy("ALL_GENES", "ALL_GENES", share))
        keys = [*map("".join, product(SCOPES, SCOPES)), *SHARES]
        steps: list[Step] = [call for key in keys for call in (reading(key), writing(key), reading(key, "CACHE"))]
        for twin in twins.twins:
            twin.watched = False
        runs = twins.run(*[(caller, steps) for caller in CALLERS.values()], durability=durability)
        assert [ran.results.count(-2) for ran in runs] == [12, 24, 36, 24, 36, 36, 36]
        assert twins.took_shortcuts()
        assert twins.each(lambda twin: twin.problems()) == []


def test_policies_of_the_guests_own(tmp_path: Path) -> None:
    """Given, repeated, changed, left out in turn: the rewrites that give none are ordinary again."""
    open_to_all = {"readScope": "ALL_GENES", "writeScope": "ALL_GENES", "sharePolicy": "PRIVATE"}
    closed = open_to_all | {"readScope": "CREATOR_GENE_ONLY", "writeScope": "CREATOR_GENE_ONLY"}
    kept = {"maxRetentionDays": 1, "autoDeleteOnTermination": True, "anonymizationSupported": False}
    for_ever = kept | {"maxRetentionDays": None}
    steps: list[Step] = [writing("k"), writing("k", accessPolicy=open_to_all), writing("k"), reading("k")]
    steps += [writing("k", retentionPolicy=kept), writing("k"), reading("k"), writing("l"), reading("l")]
    steps += [writing("k", retentionPolicy=for_ever), writing("k"), reading("k"), writing("k", retentionPolicy=None)]
    steps += [writing("k"), reading("k"), writing("k", accessPolicy=closed), writing("k"), reading("k")]
    others: list[Step] = [reading("k"), writing("k"), reading("l"), writing("l"), writing("l", accessPolicy=closed)]
    with paired(tmp_path) as twins:
        for durability in get_args(Durability):
            runs = twins.run(
                (CREATOR, steps),
                (gene("b"), others),
                (gene("c", "search"), others),
                (CREATOR, steps),
                durability=durability,
            )
            assert min(runs[0].results) > 0
            assert twins.took_shortcuts()


def test_a_gene_without_an_id(tmp_path: Path) -> None:
    """Is refused whatever it asks, between genes that are not."""
    steps: list[Step] = [writing("k"), reading("k"), Call("readMemory", b"?")]
    with paired(tmp_path) as twins:
        runs = twins.run((CREATOR, steps), (None, steps), (gene("b"), steps))
        assert runs[1].results == [-2, -2, -2]


@DURABILITIES
def test_last_readers(tmp_path: Path, durability: Durability) -> None:
    """Genes read each other's entries before, between and after changes: shown at once, saved in the end."""
    look: list[Step] = [reading("k"), reading("l"), querying()]
    steps: list[Step] = [
        *look,
        *look,
        writing("k"),
        *look,
        writing("new"),
        deleting("new"),
        *look,
        reading("k", "PATTERN"),
    ]
    small: list[Step] = [reading("k", cap=100), reading("l", fits=0), reading("l", fits=-1)]
    with paired(tmp_path) as twins:
        twins.run((CREATOR, [writing("k"), writing("l"), *look]), durability=durability)
        readers = [gene("b"), gene("c", "search"), CREATOR, gene("b"), gene("b"), CREATOR]
        for reader in readers:
            twins.run((reader, [*look, *small]), durability=durability)
        twins.run(*[(reader, steps) for reader in readers], durability=durability)
        twins.run(*[(reader, look) for reader in readers], durability=durability, end="rollback")
        twins.run(*[(reader, small) for reader in readers], durability=durability)
        assert twins.took_shortcuts()


TIMES: Final[list[str | int]] = [
    *(sign * (1 << bits) + more for bits in (5, 7, 8, 15, 16, 31, 32) for more in (-1, 0, 1) for sign in (-1, 1)),
    *(0, 1, -1, 999, 1000, -999, -1000, -1001, -(10**15), LAST_MS, LAST_MS - 1, LAST_MS + 1, LAST_MS * 9),
    *(
        1 << 62,
        -(1 << 62),
        (1 << 31) * 1000 - 1,
        (1 << 31) * 1000,
        (1 << 32) * 1000,
        1 << 32,
        1 << 53,
        127,
        128,
        255,
        256,
    ),
    *("1970-12-31T23:59:59.999Z", "1972-02-29T00:00:00Z", "1999-12-31T23:59:59.999Z", "2000-01-01T00:00:00Z"),
    *("2000-02-28T23:59:59.999Z", "2000-02-29T12:34:56.789Z", "2000-03-01T00:00:00Z", "2000-12-31T23:59:59Z"),
    *("2023-02-28T23:59:59.999Z", "2023-03-01T00:00:00Z", "2024-02-29T00:00:00Z", "2024-12-31T00:00:00.001Z"),
    *("2100-02-28T23:59:59.999Z", "2100-03-01T00:00:00Z", "2099-12-31T23:59:59.099Z", "2400-02-29T01:02:03.004Z"),
    *("9999-12-31T23:59:59.999Z", "9999-01-01T00:00:00Z", "2026-01-31T09:09:09.009Z", "2026-10-10T10:10:10.010Z"),
]


@DURABILITIES
def test_times(tmp_path: Path, durability: Durability) -> None:
    """Before 1970, beyond 9999, leap days, forth and back: in the entry, its rows, its audit line."""
    steps: list[Step] = []
    for number, time in enumerate(TIMES):
        steps += [at(time), writing(f"new {number}"), writing("k"), reading("k"), reading("new 0")]
    with paired(tmp_path) as twins:
        (ran,) = twins.run((CREATOR, steps), durability=durability)
        assert min(ran.results) > 0
        assert twins.took_shortcuts()
        assert twins.each(lambda twin: twin.problems()) == []


def test_any_times(tmp_path: Path) -> None:
    """Random milliseconds of all years that RFC 3339 can write, and a day in each of 400 years."""
    draw = random.Random(1)  # noqa: S311 - to be the same each time
    times = [draw.randrange(LAST_MS + 1) for _ in range(600)]
    times += [(year * 365 + year // 4 + day) * DAY * 1000 for year in range(400) for day in (58, 59)]
    steps: list[Step] = []
    for time in times:
        steps += [at(time), writing("k")]
    with paired(tmp_path) as twins:
        for twin in twins.twins:
            twin.watched = False
        twins.run((CREATOR, steps), durability="run")
        assert twins.took_shortcuts()


@DURABILITIES
@pytest.mark.parametrize("policy", [DataPolicy(), DataPolicy(maxRetentionDays=3)], ids=["for ever", "limited"])
def test_to_the_second_an_entry_expires(tmp_path: Path, policy: DataPolicy, durability: Durability) -> None:
    """One millisecond before, at it, after it; met by a read or a write of it or of another entry."""
    retention = {"maxRetentionDays": 1, "autoDeleteOnTermination": False, "anonymizationSupported": False}
    gone = "2026-01-02T00:00:{:02}.{:03}Z".format
    last: list[Step] = [reading("k"), reading("other"), writing("other"), reading("k")]
    meetings: dict[str, list[Step]] = {
        "a read of it": [reading("k")],
        "a read of another": [reading("other")],
        "a write of it": [writing("k")],
        "a write of another": [writing("other")],
        "a write of another that does not fit": [writing("other", how={"cap": 300})],
        "a query": [querying()],
    }
    for number, (name, meeting) in enumerate(meetings.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        with paired(folder, policy=policy) as twins:
            twins.run(
                (CREATOR, [at("2026-01-01T00:00:10.500Z"), writing("other"), writing("k", retentionPolicy=retention)])
            )
            times = [
                gone(9, 999),
                gone(10, 0),
                gone(10, 499),
                gone(10, 500),
                gone(11, 0),
                gone(9, 0),
                "2026-01-04T00:00:10Z",
            ]
            for time in times:
                steps: list[Step] = [
                    reading("other"),
                    reading("other"),
                    at(time),
                    *meeting,
                    *last,
                    at(gone(8, 0)),
                    *last,
                ]
                twins.run((CREATOR, steps), durability=durability)
            twins.run((gene("b"), last), durability=durability)
            assert twins.each(lambda twin: twin.problems()) == [], name
            assert policy.maxRetentionDays is not None or twins.took_shortcuts()


def test_expiry_within_a_held_change(tmp_path: Path) -> None:
    """An entry written and expired within one run of durability `run`, with ordinary calls all around."""
    retention = {"maxRetentionDays": 1, "autoDeleteOnTermination": False, "anonymizationSupported": False}
    steps: list[Step] = [
        writing("k"),
        writing("e", retentionPolicy=retention),
        writing("k"),
        reading("k"),
        reading("e"),
    ]
    steps += [at("2026-01-01T23:59:59.999Z"), reading("e"), writing("k"), at("2026-01-02T00:00:00Z"), reading("k")]
    steps += [writing("k"), reading("e"), writing("e"), reading("e"), querying()]
    with paired(tmp_path) as twins:
        for end in ("rollback", "finish"):
            twins.each(lambda twin: twin.clock.set("2026-01-01T00:00:00Z"))
            twins.run((CREATOR, steps), durability="run", end=end)
        assert twins.took_shortcuts()


@DURABILITIES
def test_data_policies_that_come_and_go(tmp_path: Path, durability: Durability) -> None:
    """Once there was a limit each write moves a row of its own, whether there still is one or not."""
    steps: list[Step] = [
        writing("k"),
        reading("k"),
        writing("new"),
        at("2026-01-03T00:00:00Z"),
        reading("k"),
        writing("k"),
    ]
    back: list[Step] = [at("2026-01-01T00:00:00Z"), reading("k")]
    with paired(tmp_path) as twins:
        for days in (None, 2, None, 1, None):
            for twin in twins.twins:
                twin.policy = DataPolicy(maxRetentionDays=days)
            twins.run((CREATOR, [*back, *steps]), durability=durability)
            assert twins.each(lambda twin: twin.problems()) == []
            assert twins.took_shortcuts() or days is not None


def _bytes(size: int) -> str:
    """Return a value of so many bytes in base64."""
    return "AAAA" * (size // 3) + ("", "AA==", "AAA=")[size % 3]


@DURABILITIES
@pytest.mark.parametrize("category", contract.CATEGORIES)
def test_full_to_the_byte(tmp_path: Path, category: str, durability: Durability) -> None:
    """What fits exactly, what is one byte too much; what is rewritten counts as free, and is no victim of its own."""
    steps: list[Step] = [writing("k0", _bytes(38), category), writing("k1", _bytes(38), category)]
    steps += [writing("k2", _bytes(size), category) for size in (17, 18, 19, 0, 18, 98, 99)]
    steps += [writing("k1", _bytes(size), other) for size in (38, 39, 98, 99, 0) for other in ("CACHE", "PREFERENCE")]
    steps += [writing("k0", _bytes(38), category), querying(), writing("k3", _bytes(96), category), reading("k3")]
    with paired(tmp_path, quota=100) as twins:
        for _ in range(2):
            twins.run((CREATOR, steps), (gene("b"), steps), durability=durability)
            assert twins.each(lambda twin: twin.problems()) == []
        assert twins.took_shortcuts()


@DURABILITIES
def test_the_entry_limit(tmp_path: Path, durability: Durability) -> None:
    """The last entry that may be added, one more, one more when one was deleted, rewrites at the limit."""

    def fill(twin: Twin) -> None:
        memory = twin.use("run")
        for number in range(contract.MIN_ENTRY_LIMIT - 1):
            category = "PREFERENCE" if number % 3 else "CACHE"
            memory.write(CREATOR, write_request(f"p{number}", b"", category))
        memory.finish()

    steps: list[Step] = [
        writing("p1"),
        writing("last"),
        reading("last"),
        writing("one more"),
        writing("last"),
        reading("p0"),
    ]
    steps += [
        deleting("p2"),
        writing("two more"),
        writing("two more"),
        writing("p1", category="CACHE"),
        writing("three"),
    ]
    with paired(tmp_path, quota=12_000) as twins:
        for twin in twins.twins:
            fill(twin)
            twin.watched = False
        for _ in range(2):
            twins.run((CREATOR, steps), durability=durability)
        assert twins.took_shortcuts()
        assert twins.each(lambda twin: twin.problems()) == []
