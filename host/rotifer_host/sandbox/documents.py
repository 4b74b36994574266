"""JSON documents that cross the sandbox's border: strict on the way in, compact on the way out."""

from __future__ import annotations

import json
from json.encoder import c_make_encoder, encode_basestring  # type: ignore[attr-defined]  # unknown to typeshed
from typing import Final

import msgspec

from rotifer_host.errors import DocumentError

__all__ = ["compact", "decode_document", "encode_document"]

_decoder = msgspec.json.Decoder()
_SETTING: Final = (json.JSONEncoder().default, encode_basestring, None, ":", ",", False, False, False)
"""For other types, for texts, indent, separators; keys are not sorted, none are skipped, NaN is not allowed."""


def decode_document(data: bytes) -> object:
    """Decode exactly one JSON document in UTF-8.

    Whitespace around it is allowed; a byte order mark, NaN, Infinity, numbers no
    double can hold, lone surrogates and anything after the document are not. The
    last of two equal member names counts. Whole numbers stay whole, whatever their size.

    Raises `DocumentError`, also for a document nested deeper than the interpreter's stack.
    """
    try:
        return _decoder.decode(data)
    except msgspec.MsgspecError as error:
        raise DocumentError(str(error)) from None
    except RecursionError:
        raise DocumentError("nested too deep") from None


def encode_document(value: object) -> bytes:
    """Encode as compact JSON in UTF-8, non-ASCII text as it is.

    Raises `DocumentError` for what JSON has no word for: NaN, Infinity, lone
    surrogates, other types, cycles, nesting deeper than the interpreter's stack.
    """
    try:
        # what `JSONEncoder.encode` does, without what takes it longer than a small document
        return "".join(c_make_encoder({}, *_SETTING)(value, 0)).encode()
    except (TypeError, ValueError) as error:  # UnicodeEncodeError is a ValueError
        raise DocumentError(f"not a JSON value: {error}") from None
    except RecursionError:
        raise DocumentError("nested too deep") from None


def compact(value: object) -> bytes:
    """Encode what `decode_document` returned: it holds nothing that JSON has no word for. Raises `DocumentError`."""
    try:
        return msgspec.json.encode(value)
    except RecursionError:
        raise DocumentError("nested too deep") from None
