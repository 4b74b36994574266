"""The command `rotifer mcp`, where it does not come to serving."""

from __future__ import annotations

import sys

import pytest

from rotifer_host import Project
from rotifer_host.cli import main
from rotifer_host.extras import how_to_install


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ([], 2, "missing option '--agent'"),
        (["--agent", "nobody"], 1, "error[AGENT_NOT_FOUND]: there is no agent named nobody"),
        (["--agent", "prober", "--gene", "nothing"], 1, "error[GENE_NOT_FOUND]: there is no gene nothing"),
        (["--agent", "prober", "--json"], 2, "mcp has no --json: standard output is for the protocol"),
        (["--agent", "prober", "--fuel", "0"], 2, "--fuel must be a whole number from 1"),
    ],
)
def test_wrong_usage(
    shared: Project, capfd: pytest.CaptureFixture[str], arguments: list[str], status: int, said: str
) -> None:
    """What is wrong is said before anything is served."""
    assert main(["-C", str(shared.root), "mcp", *arguments]) == status
    assert said in capfd.readouterr().err


def test_no_option_is_offered_that_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    """Its help has the options of other commands without `--json`, which it has no use for."""
    assert main(["mcp", "--help"]) == 0
    shown = capfd.readouterr().out
    assert "-C DIR" in shown
    assert "--json" not in shown


def test_a_gene_without_an_id(shared: Project, capfd: pytest.CaptureFixture[str]) -> None:
    """A gene that is not compiled has no v2 id to act under: the help says how it gets one."""
    artefact = shared.genes_path / "hello" / "gene.ir.wasm"
    away = artefact.with_suffix(".away")
    artefact.rename(away)
    try:
        assert main(["-C", str(shared.root), "mcp", "--agent", "greeter", "--gene", "hello"]) == 1
    finally:
        away.rename(artefact)
    said = capfd.readouterr().err
    assert "error[GENE_NOT_COMPILED]" in said
    assert "rotifer compile" in said


def test_without_the_sdk(shared: Project, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the SDK the command says what to install."""
    monkeypatch.delitem(sys.modules, "rotifer_host.mcp.server", raising=False)
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert main(["-C", str(shared.root), "mcp", "--agent", "prober"]) == 2
    assert how_to_install("mcp") in capfd.readouterr().err
