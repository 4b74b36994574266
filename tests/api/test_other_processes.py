"""A run sees what other processes commit while it is going on, however often it asked before."""

from __future__ import annotations

import subprocess
import sys

import pytest

from rotifer_host import Limits
from rotifer_host.sandbox import available_call_paths
from rotifer_host.testing import temporary_project

WATCHER = """(module
    (import "rotifer" "readMemory" (func $read (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 2)
    (data (i32.const 4096) "{\\"key\\":\\"watched\\"}")
    (data (i32.const 5000) "\\"changed\\"\\00")
    (func $ask (result i32) (call $read (i32.const 4096) (i32.const 17) (i32.const 8192) (i32.const 4096)))
    (func (export "express") (param i32 i32) (result i32) (local $first i32)
        (local.set $first (call $ask))
        (loop $again (br_if $again (i32.eq (call $ask) (local.get $first))))
        (i32.const 5000)))"""

WRITER = """
import itertools, sys, time
from rotifer_host import Project
project = Project.open(sys.argv[1])
memory = project.agent("watcher").memory(project.gene("watcher"))
for count in itertools.count(2):
    time.sleep(0.3)
    memory.write("watched", bytes(count), "CACHE")
"""


@pytest.mark.parametrize("call_path", available_call_paths())
def test_commit_of_another_process_ends_the_wait(call_path: str) -> None:
    """A guest that reads one key over and over meets the value that another process writes."""
    with temporary_project({"watcher": WATCHER}) as project:
        agent = project.create_agent("watcher", ["watcher"])
        agent.memory(project.gene("watcher")).write("watched", b"1", "CACHE")
        with subprocess.Popen([sys.executable, "-c", WRITER, str(project.root)]) as writer:
            result = agent.run({}, limits=Limits(fuel=1 << 60, deadline_ms=20_000), call_path=call_path)
            assert writer.poll() is None
            writer.kill()
    assert (result.status, result.output) == ("ok", "changed")
