"""What an agent's record says of its turn memory, and everything that is wrong with it.

json-and-turn-memory.zh.md, "Hinos" and "应用接入开关与需要接通的依赖".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, cast

import msgspec

from rotifer_host import contract
from rotifer_host.errors import UsageError
from rotifer_host.memory.fields import shown
from rotifer_host.text import quoted, shortened

__all__ = ["DiarySetting", "MemorySource", "Runtime", "TurnMemory", "read_turn_memory"]

Runtime = Literal["hinos", "axon_go"]

_ELSEWHERE: Final = ("personalization", "axon_shadow")
"""Named there, and in need of services of its authors'."""
_VARIABLES: Final[dict[str, tuple[str, ...]]] = {
    "hinos": (contract.HINOS_VARIABLE,),
    "axon_go": (contract.DIARY_VARIABLE, contract.TABLE_VARIABLE),
}
_MOST_NAME_BYTES: Final = 200
_MOST_PRIORITY: Final = 1_000_000
_SHOWN: Final = 80


class MemorySource(msgspec.Struct, frozen=True, kw_only=True):
    """One memory, and the member of the input that its text becomes."""

    id: str
    """What reports call it; no other source of the agent has it."""
    agentRef: str  # noqa: N815 - the names in the record
    """Which memory it is: the service is sent it, and a diary or table is kept under it."""
    variable: str
    priority: int = 0
    """Sources with a larger one are asked first."""


class DiarySetting(msgspec.Struct, frozen=True, kw_only=True):
    """How a diary is written; the numbers are rounds, which are runs that ended `ok`."""

    generator: str
    """Name of the gene that writes its entries."""
    min_rounds: int = contract.DIARY_MIN_ROUNDS
    """How many before the first entry."""
    free_rounds_per_diary: int = contract.DIARY_ROUNDS
    """How many between one entry and the next."""
    recall: int = 1
    """How many entries, the last ones, a run is told of."""


class TurnMemory(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The runtime that serves an agent's sources."""

    memoryRuntime: Runtime  # noqa: N815
    memorySources: list[MemorySource]  # noqa: N815
    diary: DiarySetting | None = None
    """Of `axon_go` with a source of `compassMemory`, and then always."""

    @property
    def by_priority(self) -> list[MemorySource]:
        """The sources in the order they are asked in."""
        return sorted(self.memorySources, key=lambda source: -source.priority)

    def source(self, identity: str) -> MemorySource:
        """Return the source with this `id`. Raises `UsageError`."""
        for source in self.memorySources:
            if source.id == identity:
                return source
        known = ", ".join(quoted(source.id) for source in self.memorySources)
        message = f"the agent's turn memory has no source {quoted(identity)}; there is {known}"
        raise UsageError(message)

    @property
    def variables(self) -> tuple[str, ...]:
        """The members of the input that are the memory's."""
        return tuple(source.variable for source in self.by_priority)


def read_turn_memory(document: object, fail: Callable[[list[str]], Exception]) -> TurnMemory:
    """Return what a JSON object says, raising what `fail` makes of all that is wrong with it."""
    reader = _Reader()
    reader.whole(document)
    if reader.problems:
        raise fail(reader.problems)
    return msgspec.convert(document, TurnMemory)


class _Reader:
    def __init__(self) -> None:
        self.problems: list[str] = []

    def whole(self, document: object) -> None:
        if not isinstance(document, Mapping):
            self.problems.append("turn memory must be an object with memoryRuntime and memorySources")
            return
        self._members(document, "", ("memoryRuntime", "memorySources"), ("diary",))
        runtime = document.get("memoryRuntime")
        if "memoryRuntime" in document and not (isinstance(runtime, str) and runtime in _VARIABLES):
            allowed = " or ".join(_VARIABLES)
            why = " (that one is not offered by this host)" if runtime in _ELSEWHERE else ""
            self.problems.append(f"memoryRuntime must be {allowed}, not {_shown(runtime)}{why}")
            runtime = None
        variables = self._sources(document.get("memorySources"), runtime) if "memorySources" in document else []
        if runtime is not None:
            self._diary(document, wanted=runtime == "axon_go" and contract.DIARY_VARIABLE in variables)

    def _sources(self, sources: object, runtime: object) -> list[object]:
        if not isinstance(sources, list | tuple) or not sources:
            self.problems.append(f"memorySources must be a list of at least one source, not {_shown(sources)}")
            return []
        for index, source in enumerate(sources):
            self._source(source, f"memorySources[{index}]", runtime)
        objects = [source for source in sources if isinstance(source, Mapping)]
        self._unique("id", [source.get("id") for source in objects])
        variables = [source.get("variable") for source in objects]
        if runtime == "hinos":
            count = variables.count(contract.HINOS_VARIABLE)
            if count != 1:
                self.problems.append(
                    f"with hinos, memorySources must have exactly one source with the variable "
                    f"{contract.HINOS_VARIABLE}, not {count}"
                )
        else:
            self._unique("variable", variables)
        return variables

    def _source(self, source: object, where: str, runtime: object) -> None:
        if not isinstance(source, Mapping):
            self.problems.append(f"{where} must be an object with id, agentRef and variable, not {_shown(source)}")
            return
        self._members(source, f"{where}.", ("id", "agentRef", "variable"), ("priority",))
        for name in ("id", "agentRef"):
            if name in source and not _is_name(source[name]):
                self.problems.append(
                    f"{where}.{name} must be printable text of 1 to {_MOST_NAME_BYTES} bytes without blanks around it, "
                    f"not {_shown(source[name])}"
                )
        allowed = _VARIABLES[cast("str", runtime)] if runtime is not None else sum(_VARIABLES.values(), ())
        if "variable" in source and source["variable"] not in allowed:
            of = "" if runtime is None else f" with {runtime}"
            self.problems.append(
                f"{where}.variable must be {' or '.join(allowed)}{of}, not {_shown(source['variable'])}"
            )
        if "priority" in source:
            self._number(source["priority"], f"{where}.priority", -_MOST_PRIORITY, _MOST_PRIORITY)

    def _diary(self, document: Mapping[str, Any], *, wanted: bool) -> None:
        if "diary" not in document:
            if wanted:
                self.problems.append(
                    f"{contract.DIARY_VARIABLE} needs diary, an object with the gene that is its generator"
                )
            return
        diary = document["diary"]
        if not wanted:
            self.problems.append(f"diary goes with axon_go and a source of {contract.DIARY_VARIABLE}")
        if not isinstance(diary, Mapping):
            self.problems.append(f"diary must be an object with generator, not {_shown(diary)}")
            return
        self._members(diary, "diary.", ("generator",), ("min_rounds", "free_rounds_per_diary", "recall"))
        if "generator" in diary and not isinstance(diary["generator"], str):
            self.problems.append(f"diary.generator must be the name of a gene, not {_shown(diary['generator'])}")
        for name, most in (
            ("min_rounds", contract.DIARY_MOST_ROUNDS),
            ("free_rounds_per_diary", contract.DIARY_MOST_ROUNDS),
            ("recall", contract.DIARY_MOST_RECALLED),
        ):
            if name in diary:
                self._number(diary[name], f"diary.{name}", 1, most)

    def _members(
        self, document: Mapping[Any, object], where: str, needed: tuple[str, ...], optional: tuple[str, ...]
    ) -> None:
        self.problems += [
            f"unknown field {where}{quoted(str(name))}" for name in document if name not in (*needed, *optional)
        ]
        self.problems += [f"{where}{name} is missing" for name in needed if name not in document]

    def _number(self, value: object, where: str, least: int, most: int) -> None:
        if type(value) is not int or not least <= value <= most:
            self.problems.append(f"{where} must be a whole number from {least} to {most}, not {_shown(value)}")

    def _unique(self, member: str, values: list[object]) -> None:
        counted = Counter(value for value in values if isinstance(value, str))
        self.problems += [
            f"{count} of memorySources have the {member} {quoted(value)}"
            for value, count in counted.items()
            if count > 1
        ]


def _is_name(value: object) -> bool:
    return (
        isinstance(value, str)
        and value.isprintable()
        and value == value.strip()
        and 0 < len(value.encode()) <= _MOST_NAME_BYTES
    )


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    return shortened(quoted(value), _SHOWN) if isinstance(value, str) else shown(value)
