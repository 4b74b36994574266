"""The refusals of real runs and of the library are vouched for when the run, or the call, has ended."""

from __future__ import annotations

import pytest

from rotifer_host import AccessPolicy, Project
from rotifer_host.errors import AccessDeniedError
from rotifer_host.testing import temporary_project

IDLE = """(module (memory (export "memory") 1) (data (i32.const 0) "1")
    (func (export "express") (param i32 i32) (result i32) (i32.const 0)))"""
CURIOUS = """(module
    (import "rotifer" "readMemory" (func $read (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1) (data (i32.const 4096) "{\\"key\\":\\"secret\\"}") (data (i32.const 5000) "1")
    (func (export "express") (param i32 i32) (result i32)
        (drop (call $read (i32.const 4096) (i32.const 16) (i32.const 8192) (i32.const 4096)))
        (i32.const 5000)))"""
OWN = AccessPolicy("CREATOR_GENE_ONLY", "CREATOR_GENE_ONLY", "PRIVATE")


def _problems(project: Project) -> list[str]:
    log, proofs = project.verify_audit()
    return log.problems() + proofs["spy"].problems(log.name)


@pytest.mark.parametrize("how", ["run", "call", "library"])
def test_a_refusal_cut_off_the_end_of_the_log_shows(how: str) -> None:
    """After a run of either durability, and after a call of the library."""
    with temporary_project({"owner": IDLE, "curious": CURIOUS}) as project:
        agent = project.create_agent("spy", ["curious", "owner"])
        agent.memory(project.gene("owner")).write("secret", b"1", "CACHE", access_policy=OWN)
        if how == "library":
            with pytest.raises(AccessDeniedError):
                agent.memory(project.gene("curious")).read("secret")
        else:
            result = agent.run({}, durability="run" if how == "run" else "call")
            assert (result.status, result.genes[0].denied) == ("ok", 1)
        assert _problems(project) == []
        assert agent.memory().check().problems == []
        lines = project.audit_path.read_bytes().splitlines(keepends=True)
        assert len(lines) == 2
        project.audit_path.write_bytes(lines[0])
        assert _problems(project) == ["the log ends before a line that the memory saw in it, or that line was changed"]
        assert agent.memory().check().problems == _problems(project)
