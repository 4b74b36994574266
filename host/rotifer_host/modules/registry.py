"""Which host modules there are: the host's own, and those that installed distributions register."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

from rotifer_host import contract
from rotifer_host.errors import HostModuleError, NotGrantedError, UnknownImportError
from rotifer_host.modules.module import HostModule

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

__all__ = ["ENTRY_POINTS", "find_module", "module_names", "refuse_ungranted", "usable_modules"]

ENTRY_POINTS: Final = "rotifer_host.modules"
"""The group of entry points; the name of one is that of its module."""
_OWN: Final = {"json": "rotifer_host.json_memory.module", "markdown": "rotifer_host.markdown_memory.module"}
"""Where each of the host's own is, as `MODULE`; nobody else's takes its place."""


def _registered() -> EntryPoints:
    from importlib.metadata import entry_points  # noqa: PLC0415 - takes longer to load than a gene to run

    return entry_points(group=ENTRY_POINTS)


def module_names() -> list[str]:
    """Return the names of all that can be granted, sorted; nothing of others is loaded."""
    return sorted({*_OWN, *(point.name for point in _registered())})


@cache
def find_module(name: str) -> HostModule:
    """Return the host module of this name.

    Raises `HostModuleError`: `HOST_MODULE_UNKNOWN`, or what is wrong with it, naming the
    distribution that it comes from.
    """
    if name in _OWN:
        own: HostModule = import_module(_OWN[name]).MODULE
        return own
    points = list(_registered().select(name=name))
    if not points:
        raise HostModuleError(
            f"there is no host module {name!a}; there are {', '.join(module_names())}", code="HOST_MODULE_UNKNOWN"
        )
    if len(points) > 1:
        raise HostModuleError(f"host module {name} is registered by {' and '.join(map(_origin, points))}")
    return _load(points[0])


def usable_modules() -> tuple[HostModule, ...]:
    """Return all host modules but those that cannot be used: for what belongs to no agent, such as compiling."""
    found = []
    for name in module_names():
        with suppress(HostModuleError):
            found.append(find_module(name))
    return tuple(found)


def refuse_ungranted(error: UnknownImportError, gene: str, granted: Collection[str], agent: str | None) -> None:
    """Raise why a gene's imports are not offered, where they are from host modules that there are.

    `NotGrantedError`, saying how to grant them to the agent, None for a gene outside of
    any; `HostModuleError` for one that cannot be used.
    """
    named = {each.removeprefix(contract.EXTENSION_PREFIX) for each in error.modules}
    missing = sorted(named.difference(granted).intersection(module_names()))
    if not missing:
        return
    for name in missing:
        find_module(name)
    imports = " and ".join(f"{contract.EXTENSION_PREFIX}{name}" for name in missing)
    if agent is None:
        raise NotGrantedError(
            f"gene {gene} imports {imports}, and outside an agent no host module is granted",
            help=f"type `rotifer agent create NAME --genes {gene} --grant {','.join(missing)}`, and run that agent",
        ) from error
    raise NotGrantedError(
        f"gene {gene} imports {imports}, which the agent {agent} is not granted",
        help=f"type `rotifer agent grant {agent} {' '.join(missing)}`",
    ) from error


def _load(point: EntryPoint) -> HostModule:
    where = f"host module {point.name} of {_origin(point)}"
    try:
        module = point.load()
    except (Exception, SystemExit) as error:
        raise HostModuleError(f"{where} cannot be loaded: {type(error).__name__}: {error}") from error
    if not isinstance(module, HostModule):
        raise HostModuleError(f"{where} is no HostModule: {point.value} is a {type(module).__name__}")
    if module.name != point.name:
        raise HostModuleError(f"{where} calls itself {module.name}")
    return module


def _origin(point: EntryPoint) -> str:
    return "an unknown distribution" if point.dist is None else f"{point.dist.name} {point.dist.version}"
