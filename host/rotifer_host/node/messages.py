"""What the host and the process of a gene say to each other.

Each message is one MessagePack array behind its length in four bytes, big-endian;
`runtime/main.mjs` is the other side. JSON texts are carried as bytes, as they are:
requests and responses are those of the guest ABI.
"""

from __future__ import annotations

from typing import Final

import msgspec

from rotifer_host import contract

__all__ = [
    "MAX_MESSAGE_BYTES",
    "Call",
    "Crashed",
    "FromGene",
    "Mute",
    "Output",
    "Ready",
    "Stuck",
    "Threw",
    "Unusable",
    "decode",
    "done",
    "refused",
    "run",
]

MAX_MESSAGE_BYTES: Final = contract.MAX_OUTPUT_BYTES + contract.KIB
"""Of a message to the host: nothing is larger than an output."""


class Ready(msgspec.Struct, tag="ready", array_like=True, forbid_unknown_fields=True):
    """The runtime is loaded, nothing of the gene is."""


class Call(msgspec.Struct, tag="call", array_like=True, forbid_unknown_fields=True):
    """A memory call: its request, or why there is none."""

    name: str
    request: bytes | None
    problem: str | None


class Output(msgspec.Struct, tag="output", array_like=True, forbid_unknown_fields=True):
    """What `express` returned, as JSON."""

    text: bytes


class Mute(msgspec.Struct, tag="mute", array_like=True, forbid_unknown_fields=True):
    """`express` returned what is no JSON."""

    reason: str


class Threw(msgspec.Struct, tag="threw", array_like=True, forbid_unknown_fields=True):
    """`express` threw, or rejected its promise."""

    reason: str
    frames: list[str]


class Unusable(msgspec.Struct, tag="unusable", array_like=True, forbid_unknown_fields=True):
    """The module could not be loaded, or has no `express`."""

    reason: str
    frames: list[str]


class Crashed(msgspec.Struct, tag="crashed", array_like=True, forbid_unknown_fields=True):
    """Something was thrown where `express` could not catch it; the process ends."""

    reason: str
    frames: list[str]


class Stuck(msgspec.Struct, tag="stuck", array_like=True, forbid_unknown_fields=True):
    """Nothing is left that could settle the promise of `express`; the process ends."""


FromGene = Ready | Call | Output | Mute | Threw | Unusable | Crashed | Stuck

_decoder: Final = msgspec.msgpack.Decoder(FromGene)
_encoder: Final = msgspec.msgpack.Encoder()


def decode(data: bytes) -> FromGene:
    """Decode a message of the gene's process. Raises `ValueError` for anything else."""
    try:
        return _decoder.decode(data)
    except RecursionError:
        message = "nested too deep"
        raise ValueError(message) from None
    except msgspec.DecodeError as error:
        raise ValueError(str(error)) from None


def run(document: bytes, context: bytes) -> bytes:
    """Return the order to run once on a JSON document."""
    return _encoder.encode(("run", document, context))


def done(response: bytes) -> bytes:
    """Return the answer to a call that succeeded."""
    return _encoder.encode(("done", response))


def refused(code: str, message: str) -> bytes:
    """Return the answer to a call that failed."""
    return _encoder.encode(("refused", code, message))
