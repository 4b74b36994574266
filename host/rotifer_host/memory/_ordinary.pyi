"""The C extension behind `ordinary.py`."""

from collections.abc import Callable
from typing import Any

from rotifer_host.clock import SystemClock
from rotifer_host.memory.agent_memory import AgentMemory
from rotifer_host.store import LmdbStore

class Ordinary:
    """One agent's memory for one run, as far as ordinary requests need it."""

def bind(
    *,
    memory: type[AgentMemory],
    store: type[LmdbStore],
    system_clock: type[SystemClock],
    entry_limit: Callable[[int], int],
    error: type[Exception],
    sha256: Callable[[bytes], Any],
    operation: type[object],
    change: type[object],
    tally: type[tuple[int, ...]],
    totals: Callable[..., object],
    go_on: Callable[..., bytes],
    nothing: object,
    categories: tuple[str, ...],
    scopes: tuple[str, ...],
    share_policies: tuple[str, ...],
    default_words: tuple[str, ...],
    default_access: bytes,
    longest_key: int,
    largest_value: int,
    cut_key: int,
    most_waiting_lines: int,
    format_version: int,
    last_ms: int,
    never: int,
) -> tuple[object, object]: ...
