"""Arguments of the wrong kind, and a call path that is not there, are refused in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rotifer_host import Project
from rotifer_host.errors import UsageError
from rotifer_host.sandbox import available_call_paths


@pytest.mark.parametrize("method", ["memory", "json_memory", "markdown_memory"])
@pytest.mark.parametrize("caller", ["hello", 7, Path("genes/hello")])
def test_a_caller_is_a_gene(tmp_path: Path, method: str, caller: Any) -> None:
    """The name of a gene is none: the error says what is, before anything is read."""
    agent = Project.init(tmp_path / "project").create_agent("greeter", ["hello"])
    with pytest.raises(UsageError, match="caller must be a Gene, as") as caught:
        getattr(agent, method)(caller=caller)
    assert type(caller).__name__ in str(caught.value)


def test_the_environment_names_a_call_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is not there is an error that names the variable; a path that is asked for goes before it."""
    project = Project.init(tmp_path / "project")
    project.compile("hello")
    agent = project.create_agent("greeter", ["hello"])
    monkeypatch.setenv("ROTIFER_CALL_PATH", "zzz")
    allowed = ", ".join(["auto", *available_call_paths()])
    with pytest.raises(UsageError, match=f"^ROTIFER_CALL_PATH must be one of {allowed}, not 'zzz'$"):
        agent.run({"name": "Ada"})
    assert agent.run({"name": "Ada"}, call_path="plain").call_path == "plain"
    for fine in ("", "auto", "plain"):
        monkeypatch.setenv("ROTIFER_CALL_PATH", fine)
        assert agent.run({"name": "Ada"}).status == "ok"
