"""Agents' records: made once, read liberally, never guessed at."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rotifer_host import contract
from rotifer_host.agent.record import AgentRecord, check_name, read_data_policy
from rotifer_host.errors import AgentError, GeneError, UsageError
from rotifer_host.gene import Gene
from rotifer_host.memory.entry import DataPolicy
from rotifer_host.project import ProjectFolder
from rotifer_host.testing import ManualClock

ID = "9f0f3c1e-0000-4000-8000-000000000001"
MakeGene = Callable[..., Gene]


def put(project: ProjectFolder, document: object, name: str = ID) -> Path:
    """Write a record file as another host might have."""
    folder = project.state_dir / "agents"
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return path


def original(**changes: object) -> dict[str, object]:
    """Return a record as the original implementation writes it, with these changes; None leaves a field out."""
    record: dict[str, object] = {
        "id": ID,
        "name": "scribe",
        "state": "Active",
        "genome": ["echo", "hello"],
        "composition": {"type": "Seq"},
        "strategy": "greedy",
        "createdAt": "2026-01-02T03:04:05.678Z",
        "reputation": 0,
    }
    return {name: value for name, value in {**record, **changes}.items() if value is not None}


def test_a_new_agent_is_on_disk_as_it_was_returned(project: ProjectFolder, make_gene: MakeGene) -> None:
    """The record has all its fields in order, in a private file named by its id."""
    make_gene()
    policy = DataPolicy(maxRetentionDays=30)
    record = project.create_agent(
        "scribe", ["echo", "hello"], memory_quota=7, data_policy=policy, clock=ManualClock("2026-01-02T12:04:05.678Z")
    )
    path = project.state_dir / "agents" / f"{record.id}.json"
    assert json.loads(path.read_bytes()) == {
        "v": 1,
        "id": str(uuid.UUID(record.id, version=4)),
        "name": "scribe",
        "state": "Active",
        "genome": ["echo", "hello"],
        "composition": {"type": "Seq"},
        "exclusive": False,
        "strategy": "manual",
        "createdAt": "2026-01-02T12:04:05.678Z",
        "reputation": 0,
        "memoryQuota": 7,
        "dataPolicy": {"maxRetentionDays": 30, "autoDeleteOnTermination": False, "anonymizationSupported": False},
        "grants": {},
    }
    assert path.stat().st_mode & 0o777 == 0o600
    assert project.agent("scribe") == record
    assert project.agents() == [record]


@pytest.mark.parametrize(
    ("genome", "asked", "expected"),
    [
        (["hello"], None, "Single"),
        (["hello"], "Single", "Single"),
        (["hello"], "Seq", "Seq"),
        (["hello", "hello"], None, "Seq"),
        (["hello", "hello"], "Seq", "Seq"),
    ],
    ids=range(5),
)
def test_the_composition_follows_from_the_genome(
    project: ProjectFolder, genome: list[str], asked: str | None, expected: str
) -> None:
    """One gene is Single, more are a Seq, and a Seq may hold a gene more than once."""
    record = project.create_agent("scribe", genome, composition=asked)
    assert (record.composition.type, record.genome) == (expected, genome)
    assert project.agent("scribe") == record


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"genome": []}, "at least one gene"),
        ({"genome": ["hello", "hello"], "composition": "Single"}, "Single runs one gene, not 2"),
        ({"composition": "Zip"}, 'composition.type must be one of Single, Seq, Par, Cond, Try, not "Zip"'),
        ({"composition": "seq"}, 'composition.type must be one of Single, Seq, Par, Cond, Try, not "seq"'),
        ({"memory_quota": 0}, "memory quota must be"),
        ({"memory_quota": contract.MAX_QUOTA_BYTES + 1}, "memory quota must be"),
        ({"memory_quota": 1.5}, "memory quota must be"),
        ({"memory_quota": True}, "memory quota must be"),
        ({"memory_quota": "50MB"}, "memory quota must be"),
        ({"data_policy": {}}, "data policy must be a DataPolicy"),
        ({"data_policy": DataPolicy(0)}, "data policy: maxRetentionDays must be a whole number"),
        ({"data_policy": DataPolicy(maxRetentionDays=True)}, "data policy: maxRetentionDays must be a whole number"),
        ({"data_policy": DataPolicy(1, 0, object())}, "autoDeleteOnTermination must be true or false, not 0; anonym"),  # type: ignore[arg-type]
        ({"name": "Scribe"}, "agent name must be"),
        ({"name": None}, "agent name must be"),
        ({"genome": ["../hello"]}, "gene name must be"),
        ({"genome": [1]}, "gene name must be"),
        ({"genome": "hello"}, "genes must be a list of names"),
    ],
    ids=range(18),
)
def test_arguments_that_do_not_fit_make_no_agent(
    project: ProjectFolder, arguments: dict[str, Any], expected: str
) -> None:
    """Wrong usage is told by what is wrong, and nothing is written."""
    with pytest.raises(UsageError, match=expected):
        project.create_agent(**{"name": "scribe", "genome": ["hello"], **arguments})
    assert list((project.state_dir / "agents").iterdir()) == []


def test_genes_must_exist_and_be_valid(project: ProjectFolder, make_gene: MakeGene) -> None:
    """An agent of an unknown gene, or of one that could never use memory, is not made."""
    with pytest.raises(GeneError, match="there is no gene nobody") as caught:
        project.create_agent("scribe", ["hello", "nobody"])
    assert caught.value.code == "GENE_NOT_FOUND"
    make_gene("wrong", changes={"domain": "X"})
    with pytest.raises(GeneError, match="domain must be"):
        project.create_agent("scribe", ["hello", "wrong"])
    assert project.agents() == []


def test_a_name_is_taken_once(project: ProjectFolder) -> None:
    """A second agent of the same name is refused, and the first stays."""
    first = project.create_agent("scribe", ["hello"])
    with pytest.raises(AgentError, match="scribe already") as caught:
        project.create_agent("scribe", ["hello"])
    assert caught.value.code == "AGENT_EXISTS"
    assert project.agents() == [first]


def test_of_many_who_take_a_name_at_once_one_wins(project: ProjectFolder) -> None:
    """Processes and threads that create the same agent together make it exactly once."""
    script = """
        import sys, threading
        from pathlib import Path
        from rotifer_host.errors import AgentError
        from rotifer_host.project import ProjectFolder

        barrier = threading.Barrier(3)
        won = []

        def create():
            project = ProjectFolder.find(Path(sys.argv[1]))
            barrier.wait()
            try:
                won.append(project.create_agent("scribe", ["hello"]).id)
            except AgentError as error:
                assert error.code == "AGENT_EXISTS", error

        print("ready", flush=True)
        sys.stdin.readline()
        threads = [threading.Thread(target=create) for _ in range(2)]
        for thread in threads: thread.start()
        barrier.wait()
        for thread in threads: thread.join()
        print(*won)
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(project.root)]
    with ExitStack() as stack:
        running = [
            stack.enter_context(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
            for _ in range(3)
        ]
        for process in running:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in running:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        won = [process.communicate(timeout=60)[0].split() for process in running]
    assert [process.returncode for process in running] == [0, 0, 0]
    assert [agent_id for ids in won for agent_id in ids] == [project.agent("scribe").id]
    assert len(project.agents()) == 1


@pytest.mark.parametrize(
    ("changes", "composition"),
    [
        ({}, "Seq"),
        ({"composition": "Seq"}, "Seq"),
        ({"composition": None}, "Seq"),
        ({"composition": None, "genome": ["echo"]}, "Single"),
        ({"composition": {"type": "Single"}, "genome": ["echo"]}, "Single"),
        ({"v": 1}, "Seq"),
        ({"reputation": 0.5, "more": {"fields": True}}, "Seq"),
        ({"state": None, "strategy": None, "reputation": None}, "Seq"),
    ],
    ids=range(8),
)
def test_records_of_other_hosts_are_read(project: ProjectFolder, changes: dict[str, object], composition: str) -> None:
    """Without version, quota and policy, and with the composition in any of its spellings, a record is read."""
    put(project, original(**changes))
    record = project.agent("scribe")
    assert record.composition.type == composition
    assert record.memoryQuota == contract.DEFAULT_QUOTA_BYTES
    assert record.dataPolicy == DataPolicy()


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ("{", "not JSON: .* at line 1, column 2"),
        ("[]", "must be a JSON object"),
        (original(v=2), "v is 2; this host reads format version 1"),
        (original(v="1"), 'v is "1"'),
        (original(v=True), "v is true"),
        (original(v=1.0), "v is 1.0"),
        (original(name=None), "`name`"),
        (original(name=1), r"\$\.name"),
        (original(genome=None), "`genome`"),
        (original(genome=[]), "genome is empty"),
        (original(genome="echo"), r"\$\.genome"),
        (original(genome=[1, 2]), r"\$\.genome\[0\]"),
        (original(genome=["../echo"]), "gene name must be"),
        (original(composition="Single"), "Single runs one gene, not 2"),
        (original(composition={"type": "Zip"}), "composition.type must be one of Single, Seq, Par, Cond, Try"),
        (original(composition={"type": ["Seq"]}), "composition.type must be one of"),
        (original(composition=[]), r"composition must be an object with a type, not \[\]"),
        (original(composition={}), "composition.type must be one of .* not null"),
        (original(state="Sleeping"), r"\$\.state"),
        (original(createdAt=5), r"\$\.createdAt"),
        (original(memoryQuota="10MB"), r"\$\.memoryQuota"),
        (original(memoryQuota=0), r"\$\.memoryQuota"),
        (original(memoryQuota=True), r"\$\.memoryQuota"),
        (original(memoryQuota=contract.MAX_QUOTA_BYTES + 1), r"\$\.memoryQuota"),
        (original(dataPolicy={"maxRetentionDays": 1}), "dataPolicy: autoDeleteOnTermination is missing"),
        (original(dataPolicy=7), "dataPolicy: a data policy must be an object"),
        (original(grants=["json"]), r"\$\.grants"),
        (original(grants={"json": 1}), r"\$\.grants\[\.\.\.\]"),
        (original(id="9f0f3c1e-0000-4000-8000-000000000002"), "id must be the file's name"),
    ],
    ids=range(29),
)
def test_a_record_that_is_wrong_is_named_and_not_skipped(
    project: ProjectFolder, document: object, expected: str
) -> None:
    """Looking for any agent, listing, and making one tell the file and the field that is wrong."""
    path = put(project, document)
    for use in (
        project.agents,
        lambda: project.agent("scribe"),
        lambda: project.create_agent("scribe", ["hello"]),
    ):
        with pytest.raises(AgentError, match=expected) as caught:
            use()
        assert str(path) in caught.value.message
        assert caught.value.code == "AGENT"
    unreadable: list[AgentError] = []
    assert project.agents(unreadable.append) == []
    assert len(unreadable) == 1


def test_one_bad_record_does_not_hide_the_others(project: ProjectFolder) -> None:
    """An agent whose record is good is found beside one whose record is not."""
    record = project.create_agent("scribe", ["hello"])
    put(project, "{")
    assert project.agent("scribe") == record
    with pytest.raises(AgentError, match="no readable agent is named other"):
        project.agent("other")


def test_two_agents_of_one_name_are_an_error(project: ProjectFolder) -> None:
    """A name that two records have, as other hosts allow, is not guessed at."""
    second = ID[:-1] + "2"
    put(project, original())
    put(project, original(id=second), second)
    with pytest.raises(AgentError, match=f"2 agents are named scribe: {ID}.json, {second}.json"):
        project.agent("scribe")


@pytest.mark.parametrize("name", ["scribe.fitness", "notes", ID.upper(), f"{ID}.copy", "../x"[3:]])
def test_files_that_are_no_records_are_skipped(project: ProjectFolder, name: str) -> None:
    """Only files named by an id are records."""
    put(project, "not a record", name)
    assert project.agents() == []
    with pytest.raises(AgentError) as caught:
        project.agent("scribe")
    assert caught.value.code == "AGENT_NOT_FOUND"


def test_a_folder_that_cannot_be_read_or_written_is_an_agent_error(project: ProjectFolder) -> None:
    """A file in the folder's place, or a folder in the lock's, is told with the system's reason."""
    lock = project.state_dir / "agents.lock"
    lock.mkdir()
    with pytest.raises(AgentError, match="Is a directory"):
        project.create_agent("scribe", ["hello"])
    (project.state_dir / "agents").rmdir()
    (project.state_dir / "agents").touch()
    with pytest.raises(AgentError, match="Not a directory"):
        project.agents()


@pytest.mark.parametrize("name", ["a", "0", "a1", "a-b", "a_b", "a.b", "a.b.c", "x" * 100])
def test_names_that_are_allowed(name: str) -> None:
    """Lower-case letters, digits, and in between dots, hyphens and underscores."""
    check_name(name, "agent")


@pytest.mark.parametrize(
    "name",
    ["", "A", "-a", "a-", ".a", "a.", "_", "a..b", "a b", "a/b", "a\\b", "a\0", "a\n", "ä", "²", "x" * 101, "..", "."],
    ids=ascii,
)
def test_names_that_are_not_allowed(name: str) -> None:
    """Everything else is refused, with the rule and the name as Python shows it."""
    with pytest.raises(UsageError) as caught:
        check_name(name, "agent")
    assert caught.value.message.endswith(repr(name))


ALL_THREE = {"maxRetentionDays": 30, "autoDeleteOnTermination": True, "anonymizationSupported": False}


@pytest.mark.parametrize("days", [None, 1, 2_147_483_647])
def test_a_data_policy_is_read(tmp_path: Path, days: int | None) -> None:
    """A file with exactly the three fields is the policy."""
    path = tmp_path / "policy.json"
    path.write_text(json.dumps({**ALL_THREE, "maxRetentionDays": days}))
    assert read_data_policy(path) == DataPolicy(days, autoDeleteOnTermination=True, anonymizationSupported=False)


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ([], ["must be an object"]),
        (None, ["must be an object"]),
        ({}, [f"{name} is missing" for name in ALL_THREE]),
        ({**ALL_THREE, "maxDays": 1}, ["unknown field 'maxDays'"]),
        ({**ALL_THREE, "maxRetentionDays": 0}, ["maxRetentionDays must be"]),
        ({**ALL_THREE, "maxRetentionDays": -1}, ["maxRetentionDays must be"]),
        ({**ALL_THREE, "maxRetentionDays": 2_147_483_648}, ["maxRetentionDays must be"]),
        ({**ALL_THREE, "maxRetentionDays": 1.0}, ["maxRetentionDays must be"]),
        ({**ALL_THREE, "maxRetentionDays": True}, ["maxRetentionDays must be"]),
        ({**ALL_THREE, "maxRetentionDays": "30"}, ["maxRetentionDays must be"]),
        ({**ALL_THREE, "maxRetentionDays": []}, ["maxRetentionDays must be"]),
        ({**ALL_THREE, "autoDeleteOnTermination": 1}, ["autoDeleteOnTermination must be true or false, not 1"]),
        ({**ALL_THREE, "anonymizationSupported": None}, ["anonymizationSupported must be true or false, not null"]),
        (
            {"maxRetentionDays": 0, "autoDeleteOnTermination": "no", "other": 1},
            [
                *(
                    "unknown field 'other'",
                    "maxRetentionDays must be a whole number from 1 to 2147483647, or null, not 0",
                ),
                *('autoDeleteOnTermination must be true or false, not "no"', "anonymizationSupported is missing"),
            ],
        ),
    ],
    ids=range(14),
)
def test_a_wrong_data_policy_is_told_whole(tmp_path: Path, document: object, expected: list[str]) -> None:
    """Every field that is missing, unknown or wrong is named, with what it may be."""
    path = tmp_path / "policy.json"
    path.write_text(json.dumps(document))
    with pytest.raises(UsageError) as caught:
        read_data_policy(path)
    assert str(path) in caught.value.message
    for part in expected:
        assert part in caught.value.message


def test_a_data_policy_that_cannot_be_read_is_a_usage_error(tmp_path: Path) -> None:
    """A missing file and one that is not JSON are wrong arguments."""
    with pytest.raises(UsageError, match="No such file"):
        read_data_policy(tmp_path / "none.json")
    (tmp_path / "policy.json").write_text('{"maxRetentionDays": NaN}')
    with pytest.raises(UsageError, match="NaN"):
        read_data_policy(tmp_path / "policy.json")


def test_a_record_s_default_policy_is_the_contract_s() -> None:
    """Without configuration there is no limit, no deletion and no anonymisation."""
    default = {field.name: field.default for field in msgspec.structs.fields(AgentRecord)}["dataPolicy"]
    assert default == DataPolicy(None, autoDeleteOnTermination=False, anonymizationSupported=False)


def test_a_read_only_folder_is_an_agent_error(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the record cannot be written, the reason is told and no agent is there."""

    def refuse(*_arguments: object) -> None:
        raise OSError(30, "Read-only file system")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", refuse)
        with pytest.raises(AgentError, match="Read-only file system"):
            project.create_agent("scribe", ["hello"])
    assert project.agents() == []
