"""What the audit log proves of documents."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.modules.conftest import relay

from rotifer_host import Agent
from rotifer_host.lock import Wait
from rotifer_host.store.protocol import DocumentName

NAME = DocumentName("json", "memory")


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        (NAME, b"other size", "document 'memory' of json is not what its last line says"),
        (NAME, None, "document 'memory' of json should be in the memory by its last line"),
        (DocumentName("json", "more"), b"1", "document 'more' of json is not what its last line says"),
    ],
)
def test_a_document_that_no_line_tells_of_is_found(
    agent_of: Callable[..., Agent], name: DocumentName, data: bytes | None, said: str
) -> None:
    """Changed, removed or put past the log."""
    agent = agent_of(relay("json.getMemory"), "json")
    agent.json_memory().compare_and_set({"expectedRevision": 0, "memory": {}})
    log, proofs = agent._project.verify_audit()
    assert proofs[agent.name].problems(log.name) == []
    with agent._open_store() as store:
        change = store.begin(Wait(1))
        change.put_document(name, data)
        change.commit()
    log, proofs = agent._project.verify_audit()
    assert proofs[agent.name].problems(log.name) == [said]
