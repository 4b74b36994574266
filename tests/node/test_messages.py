"""What a gene writes into the pipes itself: it ends its own run, or acts as itself, and nothing else."""

from __future__ import annotations

import random
from collections.abc import Callable

import msgpack
import pytest

from rotifer_host import contract
from rotifer_host.node import messages
from rotifer_host.sandbox import GuestResult

Express = Callable[..., GuestResult]

PRELUDE = """
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
const { writeSync } = fs;
let pipe;
function find(memory) {
  fs.writeSync = (fd, ...rest) => writeSync((pipe = fd), ...rest);
  syncBuiltinESMExports();
  try { memory.readMemory("k") } catch {}
}
function say(bytes) { writeSync(pipe, bytes) }
function frame(...parts) {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part)));
  const head = Buffer.alloc(4);
  head.writeUInt32BE(body.length);
  return Buffer.concat([head, body]);
}
"""
CASES = {
    "garbage": ("say(Buffer.from([0, 0, 0, 3, 1, 2, 3]))", "BAD_MESSAGE"),
    "an empty message": ("say(Buffer.alloc(4))", "BAD_MESSAGE"),
    "a tag there is not": ("say(frame([0x91, 0xa1, 0x78]))", "BAD_MESSAGE"),
    "out of turn": ('say(frame([0x91, 0xa5], "ready"))', "BAD_MESSAGE"),
    "nested without end": ("say(frame(Buffer.alloc(100000, 0x91)))", "BAD_MESSAGE"),
    "a call there is not": (
        'say(frame([0x94, 0xa4], "call", [0xa1, 0x78, 0xc0, 0xc0]))',
        "BAD_MESSAGE",
    ),
    "a message of 4 GiB": ("say(Buffer.alloc(1 << 16, 0xff))", "OUTPUT_TOO_LARGE"),
    "half a message": ("say(Buffer.from([0, 0, 1, 0, 5])); process.exit(7)", "EXIT_STATUS"),
    "half a message, and then waiting": ("say(Buffer.from([0, 0, 1, 0, 5])); for (;;);", "DEADLINE_EXCEEDED"),
    "closed pipes": ("fs.closeSync(pipe)", "BAD_MESSAGE"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_gene_that_writes_to_the_host_itself(name: str, express: Express) -> None:
    """Garbage, half a message, too long a one, or one out of turn is a failed run with words for it."""
    body, code = CASES[name]
    deadline_ms = 500 if code == "DEADLINE_EXCEEDED" else 10_000

    result = express(
        f"{PRELUDE}\nexport function express(input, {{ memory }}) {{ find(memory); {body}; for (;;); }}",
        deadline_ms=deadline_ms,
    )

    assert result.error is not None
    assert (result.error.code, result.output) == (code, None)


def test_a_flood_of_calls(express: Express) -> None:
    """Calls whose answers nobody takes end at the deadline, each of them answered as a call of this gene."""
    body = """
    const one = frame([0x94, 0xa4], "call", [0xaa], "readMemory", [0xc4, 2], "{}", [0xc0]);
    for (;;) say(one);
    """

    result = express(
        f"{PRELUDE}\nexport function express(input, {{ memory }}) {{ find(memory); {body} }}", deadline_ms=600
    )

    assert result.error is not None
    assert result.error.code == "DEADLINE_EXCEEDED"
    calls = result.host_calls["readMemory"]
    assert calls.errors == {contract.ACCESS_DENIED: calls.count}


def test_a_forged_output_is_the_genes_own(express: Express) -> None:
    """An output that a gene forges is its own output, checked like any other."""
    body = 'say(frame([0x92, 0xa6], "output", [0xc4, 1], "?"))'

    result = express(
        f"{PRELUDE}\nexport function express(input, {{ memory }}) {{ find(memory); {body}; for (;;); }}",
        deadline_ms=4000,
    )

    assert result.error is not None
    assert result.error.code == "BAD_OUTPUT"


def test_random_messages_are_decoded_or_refused() -> None:
    """Whatever bytes come, the decoder gives a message or a ValueError."""
    randomness = random.Random(7)  # noqa: S311 - no secret
    whole = [
        msgpack.packb(message)
        for message in (
            ["ready"],
            ["call", "readMemory", b"{}", None],
            ["output", b"1"],
            ["threw", "x", ["a", "b"]],
            ["stuck"],
            ["call", "x", msgpack.Timestamp(1), {1: 2}],
        )
    ]
    seen: set[type] = set()
    for _ in range(3000):
        data = bytearray(randomness.choice(whole))
        for _ in range(randomness.randrange(4)):
            data[randomness.randrange(len(data))] = randomness.randrange(256)
        try:
            seen.add(type(messages.decode(bytes(data))))
        except ValueError:
            seen.add(ValueError)

    assert {messages.Ready, messages.Call, messages.Output, messages.Threw, messages.Stuck, ValueError} <= seen
