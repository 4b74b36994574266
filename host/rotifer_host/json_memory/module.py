"""The JSON memory of an agent as the host module `rotifer.ext.json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from rotifer_host.json_memory import rules
from rotifer_host.memory.request import members_of
from rotifer_host.modules.module import HostModule

if TYPE_CHECKING:
    from rotifer_host.modules import ModuleCall

__all__ = ["MODULE"]

_SCHEMA: Final = "schema"


def _get(call: ModuleCall, request: bytes) -> bytes:
    """`{}` → `{"revision", "memory"}`."""
    members_of(request, "getMemory", ())
    return rules.response(call.document(rules.DOCUMENT))


def _update(call: ModuleCall, request: bytes) -> bytes:
    """`{"expectedRevision", "memory"}` → `{"revision"}`."""
    fields = ("expectedRevision", "memory")
    members = members_of(request, "updateMemory", fields, required=fields)
    expected = rules.checked_revision(members["expectedRevision"])
    memory = rules.checked_memory(members["memory"])
    schema = call.settings.get(_SCHEMA)
    if schema is not None:
        rules.check_schema(schema, memory)
    response = b'{"revision":%d}' % (expected + 1)

    def change(old: bytes | None) -> bytes:
        new = rules.replaced(old, expected, memory)
        call.admit(len(response))
        return new

    call.change_document("update", rules.DOCUMENT, change)
    return response


def _check_settings(settings: Mapping[str, Any]) -> None:
    unknown = [name for name in settings if name != _SCHEMA]
    if unknown:
        message = f"undefined field {unknown[0]!a}: the settings of json are `schema`, a JSON Schema of the memory"
        raise ValueError(message)
    if _SCHEMA in settings:
        from rotifer_host.gene.schema import schema_problems  # noqa: PLC0415 - slow to load, and few have a schema

        problems = schema_problems(settings[_SCHEMA], _SCHEMA)
        if problems:
            raise ValueError("; ".join(problems))


MODULE: Final = HostModule("json", {"getMemory": _get, "updateMemory": _update}, check_settings=_check_settings)
