"""The rules for single fields, whichever way a request comes in.

memory-api.en.md, "Errors". Each check returns what it was given, in its own type, or
raises an `InvalidInputError` that names the field and the rule.
"""

from __future__ import annotations

import json
from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from collections.abc import Mapping
from typing import Any, Final, NoReturn, cast

import msgspec

from rotifer_host import contract
from rotifer_host.errors import InvalidInputError
from rotifer_host.memory.entry import AccessPolicy, Category, RetentionPolicy
from rotifer_host.memory.timestamp import ceil_ms

__all__ = [
    "access_policy_of",
    "category_of",
    "checked_key",
    "choice",
    "decoded_value",
    "instant",
    "kind_of",
    "refuse",
    "retention_policy_of",
    "shown",
    "sized",
    "text",
    "whole",
]

_SHOWN_CHARACTERS: Final = 60
_MAX_BASE64: Final = (contract.MAX_VALUE_BYTES + 2) // 3 * 4


def category_of(value: object) -> Category:
    """Check a category."""
    return cast("Category", choice("category", value, contract.CATEGORIES))


def checked_key(value: object) -> str:
    """Check a key: not empty, no NUL, at most 1,024 bytes in UTF-8."""
    if type(value) is str and 0 < len(value) <= contract.MAX_KEY_BYTES and value.isascii() and "\0" not in value:
        return value
    key = text("key", value)
    if not key:
        refuse("key must not be empty")
    if "\0" in key:
        refuse("key must not contain a NUL character")
    length = len(key.encode())
    if length > contract.MAX_KEY_BYTES:
        refuse(f"key must be at most {contract.MAX_KEY_BYTES} bytes in UTF-8, not {length}")
    return key


def text(name: str, value: object) -> str:
    """Check that a field is a string that UTF-8 can write."""
    if not isinstance(value, str):
        refuse(f"{name} must be a string, not {kind_of(value)}")
    try:
        value.encode()
    except UnicodeEncodeError:
        refuse(f"{name} must not contain lone surrogates")
    return value


def decoded_value(value: object) -> bytes:
    """Decode a value that came in JSON: canonical standard base64 with padding."""
    if not isinstance(value, str):
        refuse(f"value must be a string in base64, not {kind_of(value)}")
    if len(value) > _MAX_BASE64:
        refuse(f"value must be at most {contract.MAX_VALUE_BYTES} bytes")
    try:
        raw = a2b_base64(value)
    except (Base64Error, ValueError):
        raw = b""
    if b2a_base64(raw, newline=False) != value.encode():  # decoding alone forgives stray characters and padding bits
        refuse("value must be canonical standard base64 with padding")
    return sized(raw)


def sized(value: bytes) -> bytes:
    """Check the size of a value."""
    if len(value) > contract.MAX_VALUE_BYTES:
        refuse(f"value must be at most {contract.MAX_VALUE_BYTES} bytes, not {len(value)}")
    return value


def choice(name: str, value: object, allowed: tuple[str, ...]) -> str:
    """Check that a field is one of the allowed words."""
    if not isinstance(value, str) or value not in allowed:
        refuse(f"{name} must be one of {', '.join(allowed)}, not {shown(value)}")
    return value


def whole(name: str, value: object, maximum: int) -> int:
    """Check that a field is a whole number, written as one, from 1 to `maximum`."""
    if type(value) is not int or not 1 <= value <= maximum:
        refuse(f"{name} must be a whole number from 1 to {maximum}, not {shown(value)}")
    return value


def instant(name: str, value: object) -> int:
    """Check that a field is an RFC 3339 text and return it as `timestamp.ceil_ms` does."""
    given = text(name, value)
    try:
        return ceil_ms(given)
    except ValueError:
        refuse(f"{name} must be a date and time of RFC 3339 with a zone, like 2026-01-31T12:00:00Z, not {shown(given)}")


def access_policy_of(value: object) -> AccessPolicy | None:
    """Check an access policy, as an object or a struct; None is left out."""
    if value is None:
        return None
    members = _exactly("accessPolicy", value, AccessPolicy)
    scopes = (choice(f"accessPolicy.{name}", members[name], contract.SCOPES) for name in ("readScope", "writeScope"))
    share = choice("accessPolicy.sharePolicy", members["sharePolicy"], contract.SHARE_POLICIES)
    return AccessPolicy(*cast("Any", (*scopes, share)))


def retention_policy_of(value: object) -> RetentionPolicy | msgspec.UnsetType | None:
    """Check a retention policy, as an object or a struct; None and UNSET stay what they are."""
    if value is None or value is msgspec.UNSET:
        return value
    members = _exactly("retentionPolicy", value, RetentionPolicy)
    days = members["maxRetentionDays"]
    if days is not None:
        whole("retentionPolicy.maxRetentionDays, unless null,", days, contract.MAX_RETENTION_DAYS)
    for name in ("autoDeleteOnTermination", "anonymizationSupported"):
        if type(members[name]) is not bool:
            refuse(f"retentionPolicy.{name} must be true or false, not {shown(members[name])}")
    return value if isinstance(value, RetentionPolicy) else RetentionPolicy(**members)


def _exactly(name: str, value: object, kind: type[msgspec.Struct]) -> Mapping[str, Any]:
    members = msgspec.structs.asdict(value) if isinstance(value, kind) else value
    if not isinstance(members, Mapping) or set(members) != set(kind.__struct_fields__):
        refuse(f"{name} must be an object with exactly {', '.join(kind.__struct_fields__)}")
    return members


def kind_of(value: object) -> str:
    """Name what a value is in the words of JSON."""
    for kinds, name in (
        (type(None), "null"),
        (bool, "a boolean"),
        (int | float, "a number"),
        (str, "a string"),
        (list, "an array"),
        (dict, "an object"),
    ):
        if isinstance(value, kinds):
            return name
    return type(value).__name__


def shown(value: object) -> str:
    """Return a value as a message may show it, shortened."""
    if isinstance(value, str):
        return json.dumps(value if len(value) <= _SHOWN_CHARACTERS else f"{value[:_SHOWN_CHARACTERS]}…")
    if isinstance(value, float) or (isinstance(value, int) and abs(value) < 1 << 64):
        return json.dumps(value)
    return kind_of(value)


def refuse(message: str) -> NoReturn:
    """Raise `InvalidInputError`."""
    raise InvalidInputError(message)
