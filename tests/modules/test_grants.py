"""Which agent's genes may import from which host module."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.modules.conftest import Register, relay
from tests.modules.modules import NOTES

from rotifer_host import Agent
from rotifer_host.errors import HostCallError, HostModuleError, NotGrantedError, UsageError
from rotifer_host.modules import HostModule
from rotifer_host.modules.registry import find_module
from rotifer_host.testing import temporary_project

MakeAgent = Callable[..., Agent]
GET = relay("json.getMemory")


def test_what_is_not_granted_is_refused_before_the_run(agent_of: MakeAgent) -> None:
    """By name, saying what to type; the same gene outside an agent, too."""
    agent = agent_of(GET)
    with pytest.raises(
        NotGrantedError, match=r"gene gene imports rotifer\.ext\.json, which the agent test-agent"
    ) as refused:
        agent.run({})
    assert refused.value.help == "type `rotifer agent grant test-agent json`"
    with pytest.raises(NotGrantedError, match="outside an agent no host module is granted"):
        agent._project.run_gene("gene", {})
    assert agent.grant(["json"]).run({}).output == {"revision": 0, "memory": None}


def test_a_grant_can_be_revoked(agent_of: MakeAgent) -> None:
    """What is not granted cannot be; what the module keeps outlives it."""
    agent = agent_of(GET, "json")
    agent.json_memory().compare_and_set({"expectedRevision": 0, "memory": {}})
    without = agent.grant(revoke=["json"])
    with pytest.raises(NotGrantedError):
        without.run({})
    with pytest.raises(UsageError, match="test-agent is not granted json: it is granted nothing"):
        without.grant(revoke=["json"])
    assert without.grant(["json"]).run({}).output == {"revision": 1, "memory": {}}


def test_grants_are_in_the_agent_s_record(agent_of: MakeAgent) -> None:
    """A record from before there were any reads as none."""
    agent = agent_of(GET, settings={"json": {"schema": {}}})
    path = agent._project.root / ".rotifer" / "agents" / f"{agent.id}.json"
    record = json.loads(path.read_text())
    assert record["grants"] == agent.grants == {"json": {"schema": {}}}
    del record["grants"]
    path.write_text(json.dumps(record))
    assert agent._project.agent("test-agent").grants == {}


@pytest.mark.parametrize(
    ("grants", "error", "message"),
    [
        (["nope"], HostModuleError, "there is no host module 'nope'; there are json, markdown"),
        ("json", UsageError, "must be a list of names"),
        ({"json": {"shema": {}}}, UsageError, "settings of json: undefined field 'shema'"),
        ({"json": {"schema": {"type": 3}}}, UsageError, "settings of json: .*is not JSON Schema"),
        ({"notes": {"most": 3}}, UsageError, "settings of notes: size is all there is"),
    ],
)
def test_a_grant_that_cannot_be_is_refused(
    register: Register, agent_of: MakeAgent, grants: object, error: type[Exception], message: str
) -> None:
    """Unknown modules and settings they do not take never get into a record."""
    register("notes", NOTES)
    project = agent_of(GET)._project
    with pytest.raises(error, match=message):
        project.create_agent("other", ["gene"], grants=grants)  # type: ignore[arg-type]
    assert [agent.name for agent in project.agents()] == ["test-agent"]


def test_settings_that_were_written_into_a_record_are_checked(agent_of: MakeAgent) -> None:
    """A run does not begin with settings that the module would not have been granted with."""
    agent = agent_of(GET, "json")
    path = agent._project.root / ".rotifer" / "agents" / f"{agent.id}.json"
    path.write_text(path.read_text().replace('"json": {}', '"json": {"schema": 3}'))
    with pytest.raises(UsageError, match=r"settings of json"):
        agent._project.agent("test-agent").run({})


BROKEN = [
    ("raise ImportError('no such library')", "MODULE", "cannot be loaded: ImportError: no such library"),
    ("raise SystemExit(1)", "MODULE", "cannot be loaded: SystemExit: 1"),
    ("OTHER = 1", "MODULE", "cannot be loaded: AttributeError"),
    ("MODULE = 7", "MODULE", "is no HostModule: .* is a int"),
    (NOTES, "MODULE", "calls itself notes"),
]


@pytest.mark.parametrize(("source", "value", "message"), BROKEN)
def test_a_broken_module_names_its_distribution(
    register: Register, agent_of: MakeAgent, source: str, value: str, message: str
) -> None:
    """To who grants it or imports it; nobody else notices."""
    register("broken", source, value, distribution="some-package")
    agent = agent_of(GET, "json")
    assert agent.run({}).status == "ok"
    with pytest.raises(HostModuleError, match=rf"host module broken of some-package 1\.2 {message}"):
        agent.grant(["broken"])
    folder = agent._project.genes_path / "gene"
    (folder / "gene.wat").write_text(relay("broken.f"))
    (folder / "gene.wasm").unlink()
    with pytest.raises(HostModuleError, match=rf"some-package 1\.2 {message}"):
        agent._project.compile("gene")


def test_doctor_names_a_broken_module(register: Register, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anybody is granted it."""
    module = register("broken", "raise ImportError", distribution="some-package")
    (folder,) = [path for path in sys.path if (Path(path) / f"{module}.py").is_file()]
    monkeypatch.setenv("PYTHONPATH", folder)
    command = [sys.executable, "-m", "rotifer_host", "doctor", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    (finding,) = [each for each in json.loads(done.stdout)["findings"] if each["name"] == "host modules"]
    assert not finding["ok"]
    assert "host module broken of some-package 1.2 cannot be loaded" in finding["detail"]


def test_a_module_that_is_gone_can_be_revoked(register: Register, agent_of: MakeAgent) -> None:
    """A run of whoever is granted it says how, and then works again."""
    register("notes", NOTES, distribution="one")
    agent = agent_of(GET, "json", "notes")
    find_module.cache_clear()
    register("notes", NOTES, distribution="two")
    with pytest.raises(HostModuleError, match="is registered by") as refused:
        agent.run({})
    assert refused.value.help == ("the agent test-agent is granted it: `rotifer agent grant test-agent --revoke notes`")
    assert agent.grant(revoke=["notes"]).run({}).status == "ok"


def test_two_of_a_name_are_neither(register: Register, agent_of: MakeAgent) -> None:
    """Which one an agent was granted would depend on the order of folders."""
    register("notes", NOTES, distribution="one")
    register("notes", NOTES, distribution="two")
    with pytest.raises(HostModuleError, match=r"registered by (one|two) 1\.2 and (one|two) 1\.2"):
        agent_of(GET, "notes")


def test_nobody_takes_the_place_of_the_host_s_own(register: Register, agent_of: MakeAgent) -> None:
    """A distribution that registers `json` is not loaded for it."""
    register("json", "raise ImportError")
    assert agent_of(GET, "json").run({}).output == {"revision": 0, "memory": None}


class TakenError(HostCallError):
    """A result that is the host's."""

    result = -14
    code = "MINE"


class FractionError(HostCallError):
    """A result that no guest can get."""

    result = -100.5  # type: ignore[assignment]
    code = "MINE"


class NoResultError(HostCallError):
    """None at all."""

    code = "MINE"


class OddCodeError(HostCallError):
    """A code that is no word."""

    result = -100
    code = "\x1b[31m"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "memory", "functions": {"f": print}}, "name must match"),
        ({"name": "audit", "functions": {"f": print}}, "name must match"),
        ({"name": "Notes", "functions": {"f": print}}, "name must match"),
        ({"name": "a.b", "functions": {"f": print}}, "name must match"),
        ({"name": "notes", "functions": {}}, "needs functions"),
        ({"name": "notes", "functions": {"f g": print}}, "needs functions"),
        ({"name": "notes", "functions": {"f": 5}}, "handler of f in host module notes must be a function, not 5"),
        ({"name": "notes", "functions": {"f": print}, "errors": (ValueError,)}, "must be subclasses of HostCallError"),
        ({"name": "notes", "functions": {"f": print}, "errors": (5,)}, "must be subclasses of HostCallError, not 5"),
        ({"name": "notes", "functions": {"f": print}, "errors": (FractionError,)}, "to -100, not -100.5"),
        ({"name": "notes", "functions": {"f": print}, "errors": (NoResultError,)}, "to -100, not None"),
        ({"name": "notes", "functions": {"f": print}, "errors": (OddCodeError,)}, "code of OddCodeError must match"),
        ({"name": "notes", "functions": {"f": print}, "errors": (TakenError,)}, "result of TakenError must be from"),
        ({"name": "notes", "functions": {"f": print}, "errors": (TakenError,) * 17}, "more than 16 errors"),
    ],
)
def test_a_module_that_cannot_be_registered(arguments: dict[str, object], message: str) -> None:
    """Names that would read like the host's own, and errors that a guest cannot get or would take for the host's."""
    with pytest.raises(ValueError, match=message):
        HostModule(**arguments)  # type: ignore[arg-type]


def test_the_command_grants_lists_and_revokes() -> None:
    """With settings as JSON or from a file, with --json as one document; wrong ones exit 2."""

    def rotifer(*arguments: str, status: int = 0) -> str:
        command = [sys.executable, "-m", "rotifer_host", "-C", str(project), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == status, done.stderr
        return done.stdout if status == 0 else done.stderr

    with temporary_project({"gene": GET}) as made:
        project = made.root
        (project / "settings.json").write_text('{"schema": {"required": ["scene"]}}')
        document = json.loads(rotifer("agent", "create", "a", "--genes", "gene", "--grant", "json", "--json"))
        assert document["grants"] == {"json": {}}
        assert rotifer("agent", "grant", "a") == "a is granted json\n"
        assert "gene   json     10 MB" in rotifer("agent", "list")
        rotifer("agent", "grant", "a", "json=@settings.json")
        assert json.loads(rotifer("agent", "grant", "a", "--json"))["grants"] == {
            "json": {"schema": {"required": ["scene"]}}
        }
        assert rotifer("agent", "grant", "a", "--revoke", "json") == "a is granted no host module\n"
        for wrong, said in (
            (("json=[]",), "the settings of json must be a JSON object"),
            (("json={",), "the settings of json are not JSON"),
            (("json,json",), "json is granted twice"),
            (("json=@none.json",), "cannot read the settings of json"),
            (("--revoke", "json"), "a is not granted json"),
            (("json", "--revoke", "json"), "json is to be granted and revoked at once"),
        ):
            assert said in rotifer("agent", "grant", "a", *wrong, status=2)
        assert "there is no host module 'nope'" in rotifer("agent", "grant", "a", "nope", status=1)
        assert "NOT_GRANTED" in rotifer("agent", "run", "a", "--input", "{}", status=1)


def test_a_project_without_grants_does_not_look_for_modules() -> None:
    """What nobody is granted costs a run nothing."""
    with temporary_project(
        {"gene": relay("json.getMemory").replace("rotifer.ext.json", "rotifer").replace("getMemory", "readMemory")}
    ) as made:
        made.create_agent("a", ["gene"])
        program = (
            "import sys, rotifer_host; "
            "rotifer_host.Project.open(sys.argv[1]).agent('a').run({'key': 'k'}); "
            "print([m for m in sys.modules if m in ('importlib.metadata', 'rotifer_host.modules.functions')])"
        )
        done = subprocess.run(
            [sys.executable, "-c", program, str(made.root)], capture_output=True, text=True, check=True
        )
        assert done.stdout == "[]\n"


def test_testing_a_gene_grants_it_what_there_is() -> None:
    """`rotifer test` runs it with every host module, on a memory that is gone afterwards."""
    takes = {"inputSchema": {"type": "object", "maxProperties": 0}}
    with temporary_project({"gene": GET}, phenotype=takes) as project:
        tested = project.test_gene("gene")
        assert [check for check in tested.checks if check.verdict == "fail"] == []
        assert not (project.root / ".rotifer" / "audit.jsonl").exists()
