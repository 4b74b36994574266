"""Which host modules an agent's genes may import from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from rotifer_host.errors import HostModuleError, UsageError
from rotifer_host.modules.registry import find_module

if TYPE_CHECKING:
    from rotifer_host.agent.record import AgentRecord
    from rotifer_host.modules import HostModule
    from rotifer_host.project import ProjectFolder

__all__ = ["Grants", "change_grants", "granted_modules", "read_grants"]

Grants = Sequence[str] | Mapping[str, Mapping[str, Any]]
"""Names of host modules, or their settings by name."""


def read_grants(grants: Grants) -> dict[str, dict[str, Any]]:
    """Return grants as an agent's record holds them.

    Raises `UsageError` for settings that a module does not take, `HostModuleError` for a
    module that is not there or cannot be used.
    """
    if isinstance(grants, str):
        message = f"grants must be a list of names of host modules, not {grants!r}"
        raise UsageError(message)
    found = {name: dict(grants[name]) if isinstance(grants, Mapping) else {} for name in grants}
    for name, settings in found.items():
        _check_grant(name, settings)
    return found


def _check_grant(name: str, settings: Mapping[str, Any]) -> HostModule:
    """Return the host module of this name.

    Raises `HostModuleError` where there is none, or none that can be used, `UsageError` for
    settings that it does not take.
    """
    module = find_module(name)
    try:
        if module.check_settings is not None:
            module.check_settings(settings)
        elif settings:
            message = "this host module takes none"
            raise ValueError(message)  # noqa: TRY301 - as its own check would
    except ValueError as error:
        message = f"settings of {name}: {error}"
        raise UsageError(message) from error
    return module


def granted_modules(record: AgentRecord) -> tuple[HostModule, ...]:
    """Return the host modules an agent is granted, by name; raises what `read_grants` does, with a way out."""
    found = []
    for name in sorted(record.grants):
        try:
            found.append(_check_grant(name, record.grants[name]))
        except (HostModuleError, UsageError) as error:
            error.help = f"the agent {record.name} is granted it: `rotifer agent grant {record.name} --revoke {name}`"
            raise
    return tuple(found)


def change_grants(folder: ProjectFolder, name: str, grants: Grants, revoked: Iterable[str]) -> AgentRecord:
    """Grant an agent host modules and revoke others, all at once, and return its new record.

    One that is granted already gets the settings given now. What a revoked one keeps for
    the agent stays. Raises what `read_grants` does, `UsageError` for revoking one that is
    not granted or is to be, `AgentError`, `LockTimeoutError`.
    """
    added = read_grants(grants)
    revoked = list(revoked)
    for each in revoked:
        if each in added:
            message = f"{each} is to be granted and revoked at once"
            raise UsageError(message)

    def changed(record: AgentRecord) -> AgentRecord:
        kept = dict(record.grants)
        for each in revoked:
            if kept.pop(each, None) is None:
                granted = f"is granted {', '.join(record.grants)}" if record.grants else "is granted nothing"
                message = f"{name} is not granted {each}: it {granted}"
                raise UsageError(message)
        return msgspec.structs.replace(record, grants=kept | added)

    return folder.change_agent(name, changed)
