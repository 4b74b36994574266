"""`rotifer agent list` in a project with a damaged record."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rotifer_host import Project
from rotifer_host.cli import main


def test_one_bad_record_hides_no_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Agents that can be read are listed, the record that cannot is named, and the status says so."""
    project = Project.init(tmp_path / "demo")
    agent = project.create_agent("good", ["hello"])
    record = project.root / ".rotifer" / "agents" / f"{agent.id}.json"
    bad = record.with_name("11111111-2222-4333-8444-555555555555.json")
    bad.write_text(json.dumps({**json.loads(record.read_text()), "v": 99}))
    assert main(["-C", str(project.root), "--json", "agent", "list"]) == 1
    out, err = capsys.readouterr()
    assert [each["agent"] for each in json.loads(out)["agents"]] == ["good"]
    assert bad.name in err
