"""What a call of a host module's function does, on every call path."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from tests.modules.conftest import Register, audited, only_call, relay
from tests.modules.modules import NOTES, buggy

from rotifer_host import Agent, Limits, contract
from rotifer_host.modules.functions import SHARED_ERRORS
from rotifer_host.verify import MemoryFile, verify_log

pytestmark = pytest.mark.usefixtures("call_path")
MakeAgent = Callable[..., Agent]


@pytest.fixture
def notes(register: Register, agent_of: MakeAgent) -> MakeAgent:
    """Return a function that makes an agent of one guest, granted the module `notes`."""
    register("notes", NOTES)
    return lambda guest, settings=None: agent_of(guest, "notes", settings=settings)


def test_every_refusal_of_a_function_is_counted() -> None:
    """C has room to count as many different errors as a function can be refused with."""
    native = pytest.importorskip("rotifer_host.sandbox._native", reason="the extension is not built")
    assert contract.MAX_OWN_ERRORS + len(SHARED_ERRORS) <= native.ERROR_KINDS


def test_a_module_keeps_documents_for_an_agent(notes: MakeAgent) -> None:
    """What one run puts another gets; each change has its line, numbered like any other, and the log proves it."""
    agent = notes(relay("notes.put"))
    assert agent.run({"a": "é"}).output is True
    (line,) = audited(agent)
    assert (line["action"], line["key"], line["bytes"], line["seq"]) == ("notes.put", "note", 10, 1)
    assert (line["actor"], line["entryId"], line["category"]) == ("gene", None, None)
    project = agent._project
    log, proofs = project.verify_audit()
    assert proofs[agent.name].problems(log.name) == []
    check = agent.memory().check()
    assert (check.problems, check.used, check.entries) == ([], 0, 0)


def test_documents_come_back_and_go(notes: MakeAgent) -> None:
    """A document is read as it was put, gone once it was removed, and removing nothing changes nothing."""
    agent = notes(relay("notes.put"))
    project = agent._project
    agent.run([1, 2])
    for name in ("get", "remove"):
        source = project.genes_path / "gene" / "gene.wat"
        source.write_text(relay(f"notes.{name}"))
        (project.genes_path / "gene" / "gene.wasm").unlink(missing_ok=True)
        project.compile("gene")
        assert agent.run(None).output == {"get": [1, 2], "remove": None}[name]
    assert agent.run(None).output is None
    assert [(line["action"], line["bytes"]) for line in audited(agent)] == [("notes.put", 5), ("notes.remove", None)]
    assert agent.memory().check().problems == []


def test_a_module_knows_whose_call_it_is(notes: MakeAgent) -> None:
    """Agent, gene, domain, settings, project, time of day and how long it may wait are all it is told."""
    agent = notes(relay("notes.about"), settings={"notes": {"size": 3}})
    gene_id = agent._project.gene("gene").current_id()
    assert agent.run(None).output == {
        "agent": "test-agent",
        "id": agent.id,
        "gene": gene_id,
        "domain": "test",
        "settings": {"size": 3},
        "project": "project",
        "time": True,
        "left": True,
    }


@pytest.mark.parametrize(
    ("function", "result", "code", "message"),
    [
        ("full", -101, "NOTES_FULL", "no room for notes"),
        ("refuse", -10, "NOTES_RULE", "not like this"),
    ],
)
def test_a_refusal_is_the_guest_s_to_handle(
    notes: MakeAgent, function: str, result: int, code: str, message: str
) -> None:
    """A shared error and one of the module's own are a negative result with a payload, which is counted."""
    kept = "(i32.store8 (i32.const 2097154) (i32.const 120))"  # no longer `__rotifer_error`: not a rejection
    run = notes(relay(f"notes.{function}", ends=kept)).run(None)
    assert run.output == {"x_rotifer_error": {"code": code, "message": message}}
    assert only_call(run) == (f"rotifer.ext.notes.{function}", {result: 1})


def test_a_wait_that_ended_is_a_used_up_budget(notes: MakeAgent) -> None:
    """A lock that stays taken answers -4, and `out` is untouched."""
    run = notes(relay("notes.late")).run(None)
    assert (run.output, only_call(run)[1]) == ("nothing", {-4: 1})


def test_nothing_changes_when_the_response_does_not_fit(notes: MakeAgent) -> None:
    """A guest without room gets -1, and neither the memory nor the audit log has anything of it."""
    agent = notes(relay("notes.put", out_cap=3))
    run = agent.run(None)
    assert (run.output, only_call(run)[1]) == ("nothing", {-1: 1})
    assert not agent._project.audit_path.exists()


def test_calls_are_charged_like_memory_calls(notes: MakeAgent) -> None:
    """Without fuel for one call the answer is -4, before the handler hears of it."""
    agent = notes(relay("notes.put"))
    run = agent.run(None, limits=Limits(fuel=20_000))
    assert (run.output, only_call(run)[1]) == ("nothing", {-4: 1})
    assert agent.run(None).genes[0].fuel > 20_000 + 10 * (len("null") + len("true"))
    assert len(audited(agent)) == 1


def test_pointers_are_checked_before_the_module(notes: MakeAgent) -> None:
    """An `out` outside memory is -10, and nothing is called."""
    agent = notes(relay("notes.put", out_cap=0x7FFF_FFFF))
    run = agent.run(None)
    assert (run.output, only_call(run)[1]) == ("nothing", {-10: 1})
    assert not agent._project.audit_path.exists()


def test_an_action_elsewhere_is_on_record(notes: MakeAgent) -> None:
    """It has a line without a number, and the log still proves the memory."""
    agent = notes(relay("notes.note"))
    assert agent.run([1]).output is True
    (line,) = audited(agent)
    assert (line["action"], line["key"], line["bytes"], "seq" in line) == ("notes.sent", "outside", 3, False)
    log, proofs = agent._project.verify_audit()
    assert proofs[agent.name].problems(log.name) == []


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("raise RuntimeError('boom')", "RuntimeError: boom"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("return 'text'", "TypeError: returned a str after None bytes were admitted"),
        ("call.admit(2); return b'123'", "TypeError: returned 3 bytes after 2 bytes were admitted"),
        ("call.admit(2); call.admit(2)", "RuntimeError: a response is admitted once"),
        ("raise Foreign('not registered')", "Foreign: not registered"),
        (
            "call.change_document('put', 'k', lambda old: b'')",
            "RuntimeError: a change needs its response admitted first",
        ),
        ("call.noted('put', 'k', 1)", "RuntimeError: a change needs its response admitted first"),
        ("call.admit(0); call.noted('Put!', 'k', 1)", "ValueError: the verb of an action must be"),
        ("f(call, request)", "RecursionError: maximum recursion depth exceeded"),
    ],
)
def test_a_bug_in_a_module_fails_the_run(register: Register, agent_of: MakeAgent, body: str, message: str) -> None:
    """It reaches neither the guest nor the program: the run has failed, with its exception and where it was raised."""
    module = register("bad", buggy(body))
    agent = agent_of(relay("bad.f"), "bad")
    run = agent.run(None)
    assert run.status == "failed"
    assert run.error is not None
    assert run.error.code == "HOST_MODULE_FAILED"
    assert run.error.message.startswith(f"rotifer.ext.bad.f: {message}")
    assert "returned" in message or any(f"{module}.py:" in frame for frame in run.error.backtrace)
    assert agent.memory().check().problems == []


def test_changes_are_saved_with_a_run_or_not_at_all(notes: MakeAgent) -> None:
    """With durability `run` a document is seen by the run at once, and saved with it."""
    agent = notes(relay("notes.put"))
    assert agent.run([7], durability="run").output is True
    with agent._open_store() as store, store.snapshot() as snapshot:
        assert [(name.module, name.name, size) for name, size in snapshot.documents()] == [("notes", "note", 3)]
    memory = MemoryFile(agent.id, agent._project._folder.memory_path(agent.id), agent._open_store)
    log, proofs = verify_log([agent._project.audit_path], [memory])
    assert proofs[agent.id].problems(log.name) == []


def test_a_run_document_names_the_function_with_its_module(notes: MakeAgent) -> None:
    """The report's host calls tell a module's function from the host's own."""
    run = notes(relay("notes.get")).run(None)
    calls = json.loads(json.dumps(run.to_json()))["genes"][0]["hostCalls"]
    assert list(calls) == ["rotifer.ext.notes.get"]
