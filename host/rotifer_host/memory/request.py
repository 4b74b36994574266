"""What the four memory calls are asked, checked once whichever way it comes in.

A guest's read, write or delete is decoded in one typed step. When that fails, and for
queries, the request is decoded without types and goes, field by field, through the
same checks as the arguments of a Python caller: the last of two equal members counts,
and the refusal can name the field and the rule. Rules from memory-api.en.md, "The four calls",
"Size limits" and "Errors".
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from rotifer_host import contract
from rotifer_host.memory.entry import AccessPolicy, Category, RetentionPolicy
from rotifer_host.memory.fields import (
    access_policy_of,
    category_of,
    checked_key,
    decoded_value,
    instant,
    kind_of,
    refuse,
    retention_policy_of,
    shown,
    sized,
    text,
    whole,
)

__all__ = [
    "DeleteRequest",
    "QueryRequest",
    "ReadRequest",
    "WriteRequest",
    "decode_delete",
    "decode_query",
    "decode_read",
    "decode_write",
    "delete_request",
    "members_of",
    "query_request",
    "read_request",
    "write_request",
]


class ReadRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A checked `readMemory`."""

    key: str
    category: Category | None = None


class DeleteRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A checked `deleteMemory`."""

    key: str


class WriteRequest(msgspec.Struct, frozen=True):
    """A checked `writeMemory`; `retention_policy` tells left out (`UNSET`) from null (`None`)."""

    key: str
    value: bytes
    category: Category
    access_policy: AccessPolicy | None = None
    retention_policy: RetentionPolicy | msgspec.UnsetType | None = msgspec.UNSET


class QueryRequest(msgspec.Struct, frozen=True):
    """A checked `queryMemory`: `since_ms <= updatedAt < until_ms`, both in milliseconds since 1970."""

    category: Category | None = None
    key_prefix: str = ""
    since_ms: int | None = None
    until_ms: int | None = None
    limit: int = contract.DEFAULT_QUERY_LIMIT


class _WriteMembers(msgspec.Struct, forbid_unknown_fields=True):
    key: str
    value: str
    category: Category
    accessPolicy: AccessPolicy | None = None  # noqa: N815 - the wire name
    retentionPolicy: RetentionPolicy | msgspec.UnsetType | None = msgspec.UNSET  # noqa: N815


_READ: Final = msgspec.json.Decoder(ReadRequest)
_DELETE: Final = msgspec.json.Decoder(DeleteRequest)
_WRITE: Final = msgspec.json.Decoder(_WriteMembers)
_ANY: Final = msgspec.json.Decoder()
_UNTYPED: Final = (msgspec.DecodeError, RecursionError)

_FILTER_FIELDS: Final = ("category", "keyPrefix", "since", "until", "limit")


def decode_read(request: bytes) -> ReadRequest:
    """Decode the JSON of a `readMemory`; raises `InvalidInputError`."""
    _check_length(request)
    try:
        decoded = _READ.decode(request)
    except _UNTYPED:
        members = members_of(request, "readMemory", ("key", "category"), required=("key",))
        return read_request(members["key"], members.get("category"))
    checked_key(decoded.key)
    return decoded


def decode_write(request: bytes) -> WriteRequest:
    """Decode the JSON of a `writeMemory`; raises `InvalidInputError`."""
    _check_length(request)
    try:
        members = _WRITE.decode(request)
    except _UNTYPED:
        fields = ("key", "value", "category", "accessPolicy", "retentionPolicy")
        loose = members_of(request, "writeMemory", fields, required=fields[:3])
        return write_request(
            loose["key"],
            decoded_value(loose["value"]),
            loose["category"],
            loose.get("accessPolicy"),
            loose.get("retentionPolicy", msgspec.UNSET),
        )
    retention = members.retentionPolicy
    if retention:  # neither null nor left out
        retention_policy_of(retention)
    return WriteRequest(
        checked_key(members.key), decoded_value(members.value), members.category, members.accessPolicy, retention
    )


def decode_query(request: bytes) -> QueryRequest:
    """Decode the JSON of a `queryMemory`; an empty request asks for everything. Raises `InvalidInputError`."""
    _check_length(request)
    if not request:
        return QueryRequest()
    members = members_of(request, "queryMemory", (*_FILTER_FIELDS, "filter"), nullable=True)
    nested = members.pop("filter", None)
    if nested is not None:
        if any(value is not None for value in members.values()):
            refuse("filter and the filter's own fields must not be given together")
        members = _fields(nested, "filter", _FILTER_FIELDS)
    return query_request(
        category=members.get("category"),
        key_prefix=members.get("keyPrefix"),
        since=members.get("since"),
        until=members.get("until"),
        limit=members.get("limit"),
    )


def decode_delete(request: bytes) -> DeleteRequest:
    """Decode the JSON of a `deleteMemory`; raises `InvalidInputError`."""
    _check_length(request)
    try:
        decoded = _DELETE.decode(request)
    except _UNTYPED:
        return delete_request(members_of(request, "deleteMemory", ("key",), required=("key",))["key"])
    checked_key(decoded.key)
    return decoded


def read_request(key: object, category: object = None) -> ReadRequest:
    """Check the arguments of a `readMemory`; raises `InvalidInputError`."""
    return ReadRequest(checked_key(key), None if category is None else category_of(category))


def write_request(
    key: object,
    value: object,
    category: object,
    access_policy: object = None,
    retention_policy: object = msgspec.UNSET,
) -> WriteRequest:
    """Check the arguments of a `writeMemory`; raises `InvalidInputError`.

    `value` is bytes; policies are objects with exactly the fields of the wire, or the
    structs of `memory.entry`. `retention_policy=None` asks to follow the data policy,
    `UNSET` leaves it as it is.
    """
    checked = checked_key(key)
    if not isinstance(value, bytes | bytearray | memoryview):
        refuse(f"value must be bytes, not {kind_of(value)}")
    return WriteRequest(
        checked,
        sized(bytes(value)),
        category_of(category),
        access_policy_of(access_policy),
        retention_policy_of(retention_policy),
    )


def query_request(
    *,
    category: object = None,
    key_prefix: object = None,
    since: object = None,
    until: object = None,
    limit: object = None,
) -> QueryRequest:
    """Check the fields of a filter, each None when left out; raises `InvalidInputError`."""
    return QueryRequest(
        None if category is None else category_of(category),
        "" if key_prefix is None else text("keyPrefix", key_prefix),
        None if since is None else instant("since", since),
        None if until is None else instant("until", until),
        contract.DEFAULT_QUERY_LIMIT if limit is None else whole("limit", limit, contract.MAX_QUERY_LIMIT),
    )


def delete_request(key: object) -> DeleteRequest:
    """Check the argument of a `deleteMemory`; raises `InvalidInputError`."""
    return DeleteRequest(checked_key(key))


def members_of(
    request: bytes, call: str, allowed: tuple[str, ...], *, required: tuple[str, ...] = (), nullable: bool = False
) -> dict[str, Any]:
    """Decode a request that is one JSON object with no members but the allowed ones; raises `InvalidInputError`.

    With `nullable`, `null` is an object without members.
    """
    try:
        value = _ANY.decode(request)
    except RecursionError:
        refuse("the request is nested too deeply")
    except msgspec.DecodeError:
        refuse(
            "the request must be one JSON document in UTF-8, without byte order mark, NaN, Infinity, lone surrogates"
        )
    if value is None and nullable:
        return {}
    members = _fields(value, call, allowed)
    for name in required:
        if name not in members:
            refuse(f"{name} is required: {call} takes {', '.join(allowed)}")
    return members


def _fields(value: object, owner: str, allowed: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(value, dict):
        what = "filter" if owner == "filter" else "the request"
        refuse(f"{what} must be an object, not {kind_of(value)}")
    for name in value:
        if name not in allowed:
            refuse(f"undefined field {shown(name)}: {owner} takes {', '.join(allowed) or 'none'}")
    return value


def _check_length(request: bytes) -> None:
    if len(request) > contract.MAX_REQUEST_BYTES:
        refuse(f"the request has {len(request)} bytes, at most {contract.MAX_REQUEST_BYTES} are allowed")
