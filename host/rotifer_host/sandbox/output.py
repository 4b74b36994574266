"""What a gene's output means: a value, a refusal of its input, or a failed run."""

from __future__ import annotations

from typing import Final

import msgspec

from rotifer_host import contract
from rotifer_host.errors import DocumentError
from rotifer_host.limits import format_size
from rotifer_host.sandbox.documents import compact, decode_document
from rotifer_host.sandbox.result import Ending

__all__ = ["NO_OUTPUT", "Output", "input_too_large", "output_too_large", "read_output"]

_SHOWN_BYTES: Final = 60
_REFUSED: Final = Ending("rejected", "INVALID_INPUT", "gene refused the input")


class Output(msgspec.Struct, frozen=True):
    """An output, decoded and as compact JSON."""

    value: object
    encoded: bytes


NO_OUTPUT: Final = Output(None, b"null")


def read_output(data: bytes) -> Output | Ending:
    """Decode the output of a gene, or say why the run is not `ok`."""
    try:
        value = decode_document(data)
        encoded = compact(value)
    except DocumentError as error:
        return Ending("failed", "BAD_OUTPUT", f"the output is not one JSON document ({error.message}): {_shown(data)}")
    if isinstance(value, dict) and len(value) == 1 and contract.ERROR_KEY in value:
        payload = value[contract.ERROR_KEY]
        words = payload.get("message") if isinstance(payload, dict) else None
        return _REFUSED._replace(message=words) if isinstance(words, str) else _REFUSED
    return Output(value, encoded)


def output_too_large() -> Ending:
    """Return the ending of a gene that produced too much."""
    return Ending("failed", "OUTPUT_TOO_LARGE", f"the output has more than {format_size(contract.MAX_OUTPUT_BYTES)}")


def input_too_large(size: int) -> Ending:
    """Return the ending of a gene that would be given too much."""
    limit = format_size(contract.MAX_INPUT_BYTES)
    return Ending("failed", "INPUT_TOO_LARGE", f"the input has {size} bytes; at most {limit} are allowed")


def _shown(data: bytes) -> str:
    """Return the first bytes of a guest's output, escaped."""
    return repr(data[:_SHOWN_BYTES])[1:] + (" and more" if len(data) > _SHOWN_BYTES else "")
