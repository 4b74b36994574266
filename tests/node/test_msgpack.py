"""The MessagePack of the runtime, beside that of Python's library."""

from __future__ import annotations

import json
import random
import subprocess
from importlib import resources
from pathlib import Path
from typing import Any

import msgpack

from rotifer_host.node.program import NodeProgram

CHECK = """
import fs from "node:fs";
import { decode, encode } from "./msgpack.mjs";
const plain = (v) => {
  if (v instanceof Uint8Array) return { hex: Buffer.from(v).toString("hex") };
  return Array.isArray(v) ? v.map(plain) : v;
};
const answers = JSON.parse(fs.readFileSync(0, "utf8")).map((hex) => {
  try {
    const value = decode(Buffer.from(hex, "hex"));
    return { value: plain(value), again: encode(value).toString("hex") };
  } catch (error) {
    return { error: error.name };
  }
});
process.stdout.write(JSON.stringify(answers));
"""


def plain(value: Any) -> Any:
    """Return a value with bytes as JSON can hold them."""
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    return [plain(member) for member in value] if isinstance(value, list) else value


def ask(node: NodeProgram, folder: Path, documents: list[bytes]) -> list[dict[str, Any]]:
    """Have each document decoded, and encoded again."""
    source = resources.files("rotifer_host.node") / "runtime" / "msgpack.mjs"
    (folder / "msgpack.mjs").write_bytes(source.read_bytes())
    (folder / "check.mjs").write_text(CHECK)
    asked = json.dumps([document.hex() for document in documents]).encode()
    done = subprocess.run([node.path, folder / "check.mjs"], input=asked, capture_output=True, check=True, timeout=60)
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return answers


def some_value(randomness: random.Random, depth: int = 0) -> Any:
    """Return null, a text, bytes, or an array of these."""
    length = randomness.choice((0, 1, 15, 16, 31, 32, 255, 256, 70_000 if depth == 0 else 3))
    match randomness.randrange(4 if depth < 3 else 3):
        case 0:
            return None
        case 1:
            return "".join(randomness.choice("a\0é🧬") for _ in range(length))
        case 2:
            return randomness.randbytes(length)
        case _:
            return [some_value(randomness, depth + 1) for _ in range(randomness.choice((0, 1, 4, 17)))]


def test_both_write_the_same(node: NodeProgram, tmp_path: Path) -> None:
    """What Python writes, the runtime reads, and writes again byte for byte."""
    randomness = random.Random(1)  # noqa: S311 - no secret
    values = [some_value(randomness) for _ in range(150)] + [["x"] * 70_000]
    documents = [msgpack.packb(value) for value in values]

    answers = ask(node, tmp_path, documents)

    for value, document, answer in zip(values, documents, answers, strict=True):
        assert answer == {"value": plain(value), "again": document.hex()}


def test_both_refuse_the_same(node: NodeProgram, tmp_path: Path) -> None:
    """Damaged documents are refused wherever Python's library refuses them, and so is every type beyond the subset."""
    randomness = random.Random(2)  # noqa: S311 - no secret
    documents = [msgpack.packb(value) for value in (1, 1.5, True, {"a": 1}, msgpack.Timestamp(1), [[1]])]
    documents += [b"", b"\xc1", b"\xa1\xff", b"\xdd\xff\xff\xff\xff", b"\xc0\xc0"]
    for _ in range(600):
        data = bytearray(msgpack.packb(some_value(randomness, 1)))
        data[randomness.randrange(len(data))] = randomness.randrange(256)
        documents.append(bytes(data[: randomness.choice((len(data), randomness.randrange(1, len(data) + 1)))]))

    answers = ask(node, tmp_path, documents)

    for document, answer in zip(documents, answers, strict=True):
        try:
            value = msgpack.unpackb(document, strict_map_key=False)
        except (ValueError, msgpack.UnpackException, msgpack.ExtraData):
            value = ...
        if "error" in answer:
            assert value is ... or not _in_subset(value), document.hex()
        else:
            assert answer["value"] == plain(value), document.hex()
    assert {answer.get("error") for answer in answers} >= {"TypeError", "RangeError", None}


def _in_subset(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_in_subset, value))
    return value is None or isinstance(value, str | bytes)
