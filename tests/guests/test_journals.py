"""The host module `markdown` in the guest libraries: journals in every language, and the gene in WAT."""

from __future__ import annotations

from pathlib import Path

import pytest
import wasmtime
from tests.guests.modules import LANGUAGES, ODD, ROOT, Guests, said

from rotifer_host import Agent


@pytest.fixture(params=LANGUAGES)
def agent(request: pytest.FixtureRequest, guests: Guests, tmp_path: Path) -> Agent:
    """Return an agent of each language's journal, granted what it needs."""
    name = f"journal-{request.param}"
    return guests.project(tmp_path / "p", name).create_agent("scribe", [name], grants=["markdown"])


def test_notes_are_kept_changed_read_and_found(agent: Agent) -> None:
    """Every optional field is sent when it is set and left out when it is not, and any text comes back as it was."""
    assert said(agent, {"key": "a"}) == {"content": None}
    assert said(agent, {"key": 'a "é"', "content": ODD, "tags": ["t", 'é "u"']}) == {"new": True}
    assert said(agent, {"key": "b", "content": "", "tags": []}) == {"new": True}
    assert said(agent, {"key": 'a "é"'}) == {"content": ODD}
    assert said(agent, {"key": 'a "é"', "content": "### other"}) == {"new": False}
    assert said(agent, {"find": "OTHER", "tags": ["t", 'é "u"'], "limit": 1}) == {"keys": ['a "é"']}
    assert said(agent, {"find": "", "limit": 1}) == {"keys": ['a "é"']}
    assert sorted(said(agent, {"find": ""})["keys"]) == ['a "é"', "b"]
    assert said(agent, {"find": "", "tags": ["v"]}) == {"keys": []}


def test_refusals_are_handed_on(agent: Agent) -> None:
    """What the library does not expect of the host becomes the gene's output, whole."""
    assert said(agent, {"key": " ", "content": ""}) == ("rejected", "key must be one line of text that is not empty")
    assert said(agent, {"find": "", "limit": 101}) == (
        "rejected",
        "limit must be a whole number from 1 to 100, not 101",
    )
    assert said(agent, {"tags": []}) == ("rejected", "key or find must be a string")


def test_notes_of_people_are_used(agent: Agent) -> None:
    """A note that somebody wrote into a file is read, and changed where it stands."""
    folder = agent._project.root / ".agent/memory"
    folder.mkdir(parents=True)
    (folder / "team.md").write_text(f"# Team\n\n### long\n{'x' * 10_000}\n\n## More\n", encoding="utf-8")
    assert said(agent, {"key": "long"}) == {"content": "x" * 10_000}
    assert said(agent, {"key": "long", "content": "short"}) == {"new": False}
    assert (folder / "team.md").read_text(encoding="utf-8").startswith("# Team\n\n## More\n\n### long\n\nshort\n")


def test_wat_imports_them_alike() -> None:
    """The imports that the gene in WAT shows as comments fit in where they stand."""
    text = (ROOT / "abi/guest/rotifer.wat").read_text(encoding="utf-8")
    imported = text.replace(";; (import", "(import")
    engine = wasmtime.Engine()
    before, after = (wasmtime.Module(engine, bytes(wasmtime.wat2wasm(wat))) for wat in (text, imported))
    assert len(after.imports) > len(before.imports)
    assert [each.name for each in after.imports if each.module == "rotifer.ext.markdown"] == [
        f"memory_{name}" for name in ("write", "update", "read", "search")
    ]
