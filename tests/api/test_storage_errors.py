"""What a guest is told when its memory fails."""

from __future__ import annotations

from rotifer_host.testing import temporary_project

WRITER = """(module
    (import "rotifer" "writeMemory" (func $write (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (data (i32.const 4096) "{\\"key\\":\\"k\\",\\"value\\":\\"\\",\\"category\\":\\"CACHE\\"}")
    (func (export "express") (param i32 i32) (result i32)
        (drop (call $write (i32.const 4096) (i32.const 41) (i32.const 8192) (i32.const 4096)))
        (i32.const 8192)))"""


def test_no_place_of_the_host_is_told() -> None:
    """The message of a -13 names the file that failed, and not where on the machine it lies."""
    with temporary_project({"writer": WRITER}) as project:
        agent = project.create_agent("writer", ["writer"])
        (project.root / ".rotifer" / "audit.jsonl").mkdir()
        result = agent.run({})
        assert result.error is not None
        assert "audit.jsonl" in result.error.message
        assert str(project.root) not in result.error.message
