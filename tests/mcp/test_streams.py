"""Lines of standard input, as they come, and of standard output, as long as somebody reads them."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from rotifer_host.mcp.streams import Output, private_streams, read_lines


async def lines_of(descriptor: int) -> list[bytes]:
    """Return all lines."""
    return [line async for line in read_lines(descriptor)]


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"\n\n \r\n", []),
        (b"a", [b"a"]),
        (b"a\n\nb\r\n c", [b"a", b"b\r", b" c"]),
        (b"x" * 200_000 + b"\n" + b"y", [b"x" * 200_000, b"y"]),
    ],
)
def test_lines_of_a_file(tmp_path: Path, data: bytes, lines: list[bytes]) -> None:
    """A line is what ends with a line feed, or with the file; blank ones are passed over."""
    file = tmp_path / "input"
    file.write_bytes(data)
    descriptor = os.open(file, os.O_RDONLY)
    try:
        assert asyncio.run(lines_of(descriptor)) == lines
    finally:
        os.close(descriptor)


def test_lines_come_before_the_end() -> None:
    """A line from a pipe is there as soon as it is whole, and waiting for the next one can be given up."""
    reading, writing = os.pipe()

    async def first_then_give_up() -> list[bytes]:
        lines = read_lines(reading)
        os.write(writing, b"one\ntw")
        found = [await anext(lines)]
        os.write(writing, b"o\n")
        found.append(await anext(lines))
        waiting = asyncio.ensure_future(anext(lines))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        return found

    try:
        assert asyncio.run(first_then_give_up()) == [b"one", b"two"]
    finally:
        os.close(reading)
        os.close(writing)


def test_streams_are_nobody_elses() -> None:
    """While a client is talked to, descriptor 0 leads nowhere and 1 to standard error; afterwards all is as it was."""
    before = [os.fstat(number).st_ino for number in (0, 1)]
    with private_streams() as private:
        assert [os.fstat(descriptor).st_ino for descriptor in private] == before
        assert os.read(0, 1) == b""
        assert os.fstat(1).st_ino == os.fstat(2).st_ino
    assert [os.fstat(number).st_ino for number in (0, 1)] == before


def test_output_waits_for_its_reader() -> None:
    """A text larger than the pipe is written as it is read, and waiting for a reader can be given up."""
    reading, writing = os.pipe()
    gone: list[bool] = []
    output = Output(writing, lambda: gone.append(True))
    text = "grün" * 50_000

    async def write_twice() -> bytes:
        task = asyncio.ensure_future(output.write(text))
        found = b""
        while len(found) < len(text.encode()):
            await asyncio.sleep(0)
            found += await asyncio.to_thread(os.read, reading, 1 << 16)
        await task
        task = asyncio.ensure_future(output.write(text))
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return found

    try:
        assert asyncio.run(write_twice()).decode() == text
        assert gone == []
    finally:
        os.close(reading)
        os.close(writing)


def test_output_that_nobody_reads() -> None:
    """When the reader is gone this is said, and nothing raised."""
    reading, writing = os.pipe()
    os.close(reading)
    gone: list[bool] = []
    try:
        asyncio.run(Output(writing, lambda: gone.append(True)).write("text"))
    finally:
        os.close(writing)
    assert gone == [True]


def test_output_into_a_file(tmp_path: Path) -> None:
    """A file takes all at once."""
    descriptor = os.open(tmp_path / "output", os.O_WRONLY | os.O_CREAT)
    try:
        asyncio.run(Output(descriptor, lambda: None).write("x" * 10_000))
    finally:
        os.close(descriptor)
    assert (tmp_path / "output").read_text() == "x" * 10_000
