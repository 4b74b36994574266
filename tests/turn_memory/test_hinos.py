"""The external service: asked before a run, told of it afterwards, and never trusted."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from tests.turn_memory.conftest import HINOS, events
from tests.turn_memory.service import Answer, Service, body, dies, prepared, raw, says

from rotifer_host import Limits
from rotifer_host.sandbox import available_call_paths

MANY = b'{"claim_id":"' + b"x" * 1_100_000 + b'"}'
OK = b"HTTP/1.1 200 OK\r\n"


def mine(agent: Any) -> list[dict[str, Any]]:
    """Return the telemetry events of an agent."""
    path = agent._project.audit_path.with_name("telemetry.jsonl")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [event for event in map(json.loads, lines) if event["agentId"] == agent.id]


@pytest.mark.parametrize("call_path", available_call_paths())
def test_a_turn(make: Any, hinos: Service, call_path: str) -> None:
    """The service is asked, its text is in the input of the gene, and it is told what both said."""
    agent = make("echo", turn_memory=HINOS)
    chat = [
        {"role": "system", "content": "You are a guard."},
        {"role": "assistant", "content": "Halt!"},
        {"role": "user", "content": "I give the key back tomorrow.", "name": "left out"},
    ]
    result = agent.run({"messages": chat, "mood": "calm"}, call_path=call_path)
    assert result.output == {"messages": chat, "mood": "calm", "hinosMemory": "owes a copper key"}
    prepare, commit = hinos.received
    assert (prepare.path, commit.path) == ("/v1/memory/prepare", "/v1/memory/commit")
    identifiers = {"v": 1, "request_id": result.turn.request_id, "conversation_id": agent.id}
    assert prepare.body == {
        **identifiers,
        "agent": {"id": agent.id, "name": agent.name, "genes": [agent._project.gene("echo").current_id()]},
        "source": {"id": "external-memory", "agent_ref": "your-hinos-source"},
        "messages": [{"role": each["role"], "content": each["content"]} for each in chat],
    }
    assert commit.body == {
        **identifiers,
        "claim_id": "claim-1",
        "user": "I give the key back tomorrow.",
        "assistant": json.dumps(result.output, separators=(",", ":")),
    }
    for received in hinos.received:
        assert received.headers["x-flow-conversation-id"] == agent.id
        assert received.headers["x-request-id"] == result.turn.request_id
        assert received.headers["content-type"] == "application/json"
    assert (result.turn.recalled, events(result), result.warnings) == ({"hinosMemory": 17}, ["memory.committed"], ())
    assert mine(agent) == []


def test_an_input_without_messages_is_what_the_user_says(make: Any, hinos: Service) -> None:
    """Then the message is the input as JSON, and an output that is text is said as it is."""
    make("text", turn_memory=HINOS).run({"a": "å"})
    assert hinos.received[0].body["messages"] == [{"role": "user", "content": '{"a":"å"}'}]
    assert (hinos.received[1].body["user"], hinos.received[1].body["assistant"]) == ('{"a":"å"}', "I noted it.")


def test_an_empty_memory_leaves_the_input_alone(make: Any, hinos: Service) -> None:
    """A service with nothing to tell puts nothing in, and is told of the turn all the same."""
    hinos.prepare = prepared(memory="")
    result = make("echo", turn_memory=HINOS).run({})
    assert (result.output, result.turn.recalled) == ({}, {})
    assert hinos.asked == ["prepare", "commit"]


def test_a_path_before_the_service_is_kept(make: Any, hinos: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service may lie below a path."""
    monkeypatch.setenv("HINOS_MEMORY_URL", f"{hinos.url}/memory/")
    assert make("echo", turn_memory=HINOS).run({}).status == "ok"
    assert hinos.received[0].path == "/memory/v1/memory/prepare"


def test_a_password_in_the_address(make: Any, hinos: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is sent as basic authentication, and stands in no report, whatever goes wrong."""
    monkeypatch.setenv("HINOS_MEMORY_URL", hinos.url.replace("//", "//user:s3cret@"))
    hinos.commit = dies
    result = make("text", turn_memory=HINOS).run({})
    credentials = base64.b64encode(b"user:s3cret").decode()
    assert {each.headers["authorization"] for each in hinos.received} == {f"Basic {credentials}"}
    assert events(result) == ["memory.commit_failed"]
    assert "s3cret" not in json.dumps(result.to_json())


BAD_ANSWERS: dict[str, tuple[Answer, str]] = {
    "status 500": (says({}, 500), "status 500"),
    "status 404": (says({}, 404), "status 404"),
    "no content": (raw(b"HTTP/1.1 204 No Content\r\n\r\n"), "not as it must be"),
    "elsewhere": (body(b"", 307, location="http://127.0.0.1:1/v1/memory/prepare"), "status 307"),
    "no JSON": (body(b"<html>"), "not as it must be"),
    "no UTF-8": (body(b'{"claim_id":"\xff"}'), "not as it must be"),
    "deep": (body(b"[" * 100_000), "not as it must be"),
    "an array": (says([]), "not as it must be"),
    "too much": (body(MANY), "more than 1048576 bytes"),
    "too much, chunk by chunk": (
        raw(OK + b"transfer-encoding: chunked\r\n\r\n" + (b"20000\r\n" + b" " * 0x20000 + b"\r\n") * 9),
        "more than 1048576 bytes",
    ),
    "compressed": (body(b"{}", content_encoding="gzip"), "compressed"),
    "cut": (raw(OK + b"content-length: 99\r\n\r\n{"), "the exchange with the service failed"),
    "no HTTP": (raw(b"220 mail.example ESMTP\r\n"), "the exchange with the service failed"),
    "closed": (raw(b""), "the exchange with the service failed"),
    "dead": (dies, "the exchange with the service failed"),
}
BAD_PREPARED: dict[str, tuple[Answer, str]] = {
    **BAD_ANSWERS,
    "no claim_id": (prepared(claim_id=None), "claim_id"),
    "empty claim_id": (prepared(claim_id=""), "claim_id"),
    "claim_id no text": (prepared(claim_id=1), "claim_id"),
    "no memory": (prepared(memory=None), "memory"),
    "memory no text": (prepared(memory=["x"]), "memory"),
    "no turn": (prepared(turn=None), "turn"),
    "turn below 0": (prepared(turn=-1), "turn"),
    "turn no number": (prepared(turn="3"), "turn"),
    "turn true": (prepared(turn=True), "turn"),
    "no state": (prepared(state_through_round=None), "state_through_round"),
    "half a round": (prepared(state_through_round=0.5), "state_through_round"),
}


@pytest.mark.parametrize("kind", BAD_PREPARED)
def test_a_failed_prepare_stops_the_run(make: Any, hinos: Service, kind: str) -> None:
    """Whatever is wrong with the answer, no gene runs, nothing is committed, and nothing is asked twice."""
    hinos.prepare, expected = BAD_PREPARED[kind]
    result = make("echo", turn_memory=HINOS).run({})
    assert (result.status, result.error.code, result.genes) == ("failed", "TURN_MEMORY", ())
    assert expected in result.error.message
    assert (hinos.asked, events(result), result.exit_status) == (["prepare"], [], 1)


BAD_COMMITTED: dict[str, tuple[Answer, str, bool]] = {
    **{kind: (*answer, kind != "status 404") for kind, answer in BAD_ANSWERS.items()},
    "refused": (says({"committed": False}), "committed: false", False),
    "no word": (says({}), "committed", True),
    "nearly true": (says({"committed": 1}), "committed", True),
    "another claim": (says({"committed": True, "claim_id": "claim-2"}), "another claim_id", True),
}


@pytest.mark.parametrize("kind", BAD_COMMITTED)
def test_a_failed_commit_leaves_the_output(make: Any, hinos: Service, kind: str) -> None:
    """It is an event, a warning and a line of telemetry, it says what is certain, and it is not tried again."""
    hinos.commit, expected, uncertain = BAD_COMMITTED[kind]
    agent = make("text", turn_memory=HINOS)
    result = agent.run({})
    assert (result.status, result.output, result.exit_status) == ("ok", "I noted it.", 0)
    (event,) = result.turn.events
    assert (event.event, event.source, event.uncertain) == ("memory.commit_failed", "external-memory", uncertain)
    assert expected in event.message
    assert [warning.startswith("memory.commit_failed: external-memory: ") for warning in result.warnings] == [True]
    assert hinos.asked == ["prepare", "commit"]
    (line,) = mine(agent)
    assert (line["event"], line["source"], line["requestId"]) == (
        "memory.commit_failed", "external-memory", result.turn.request_id,
    )  # fmt: skip


def test_a_claim_that_is_repeated_is_right(make: Any, hinos: Service) -> None:
    """A service may say which claim it has committed."""
    hinos.commit = says({"committed": True, "claim_id": "claim-1", "more": []})
    assert events(make("text", turn_memory=HINOS).run({})) == ["memory.committed"]


@pytest.mark.parametrize("kind", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("what", ["prepare", "commit"])
def test_no_redirect_is_followed(make: Any, hinos: Service, kind: int, what: str) -> None:
    """What the user said goes to the host that was named, and to no other, not even to another path."""
    setattr(hinos, what, body(b"", kind, location=f"{hinos.url}/v1/memory/elsewhere"))
    make("text", turn_memory=HINOS).run({})
    assert hinos.asked == ["prepare", "commit"][: 1 if what == "prepare" else 2]


@pytest.mark.parametrize(
    ("gene", "limits"),
    [
        ("trap", Limits()),
        ("refuse", Limits()),
        ("loop", Limits(fuel=100_000)),
        ("loop", Limits(fuel=10**15, deadline_ms=1500)),
    ],
    ids=["failed", "rejected", "out of fuel", "out of time"],
)
def test_only_a_run_that_ended_ok_is_committed(make: Any, hinos: Service, gene: str, limits: Limits) -> None:
    """A run that failed, was rejected or met a limit is not told to the service."""
    result = make(gene, turn_memory=HINOS).run({}, limits=limits)
    assert result.status != "ok"
    assert (hinos.asked, events(result)) == (["prepare"], [])


def test_a_run_whose_changes_were_not_saved_is_not_committed(make: Any, hinos: Service) -> None:
    """The service learns of a turn after the run's own changes are on the disk, and not without them."""
    agent = make("writer", turn_memory=HINOS)
    audit = agent._project.audit_path
    kept = audit.with_suffix(".kept")
    if audit.exists():
        audit.rename(kept)
    audit.mkdir()
    try:
        result = agent.run({}, durability="run")
    finally:
        audit.rmdir()
        if kept.exists():
            kept.rename(audit)
    assert (result.status, result.error.code) == ("failed", "MEMORY_STORAGE_ERROR")
    assert hinos.asked == ["prepare"]


@pytest.mark.parametrize("composition", ["Seq", "Par", "Cond", "Try"])
def test_every_composition_is_one_turn(make: Any, hinos: Service, composition: str) -> None:
    """However many genes run, the service is asked once and told once."""
    result = make("echo", "echo", turn_memory=HINOS, composition=composition).run({"type": "primary"})
    assert result.output == {"type": "primary", "hinosMemory": "owes a copper key"}
    assert hinos.asked == ["prepare", "commit"]


@pytest.mark.usefixtures("hinos")
def test_nothing_of_the_environment_sends_it_elsewhere(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proxies of the environment are not used."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert events(make("echo", turn_memory=HINOS).run({})) == ["memory.committed"]
