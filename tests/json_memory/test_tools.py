"""`get_memory` and `update_memory` over any store."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from tests.modules.conftest import audited, relay

from rotifer_host import Agent, create_memory_tools
from rotifer_host.errors import AccessDeniedError, InvalidInputError, MemoryConflictError, StorageError
from rotifer_host.json_memory import InMemoryStore, JsonMemoryStore, MemoryTool
from rotifer_host.testing import temporary_agent

GATE = {"scene": "城门", "keyHolder": "用户"}


@pytest.fixture(scope="module")
def agent() -> Iterator[Agent]:
    """Give an agent that is granted the memory, with the gene that reads it."""
    with temporary_agent({"get": relay("json.getMemory")}, grants=["json"]) as made:
        yield made


@pytest.fixture(params=["in memory", "of an agent"])
def store(request: pytest.FixtureRequest, agent: Agent) -> JsonMemoryStore:
    """Run a test over each store there is, empty."""
    if request.param == "in memory":
        return InMemoryStore()
    made = agent._project.create_agent(f"agent-{len(agent._project.agents())}", ["get"], grants=["json"])
    return made.json_memory()


def update(tool: MemoryTool, expected: Any, memory: Any) -> Any:
    """Update and return the details."""
    return tool.execute("call", {"expectedRevision": expected, "memory": memory}).details


def test_the_minimal_acceptance(store: JsonMemoryStore) -> None:
    """Read, one definite change with its receipt, a new request that reads it back; one conflict."""
    get_memory, update_memory = create_memory_tools(store)
    assert get_memory.execute("read-1", {}).details == {"revision": 0, "memory": None}
    assert update(update_memory, 0, GATE) == {"revision": 1}
    again, _ = create_memory_tools(store)
    assert again.execute("read-2", {}).details == {"revision": 1, "memory": GATE}
    with pytest.raises(MemoryConflictError, match="the memory has revision 1, not 0"):
        update(update_memory, 0, {})
    assert again.execute(arguments={}).details == {"revision": 1, "memory": GATE}


def test_an_agent_s_genes_see_the_same(agent: Agent) -> None:
    """What a tool saved the next run of a gene reads, and the log says that the deployer did it."""
    project = agent._project
    made = project.create_agent("seen", ["get"], grants=["json"])
    _, update_memory = create_memory_tools(made.json_memory())
    update(update_memory, 0, GATE)
    assert made.run({}).output == {"revision": 1, "memory": GATE}
    assert audited(agent)[-1]["actor"] == "deployer"
    gene = project.gene("get")
    _, update_memory = create_memory_tools(made.json_memory(gene))
    update(update_memory, 1, GATE)
    assert (audited(agent)[-1]["actor"], audited(agent)[-1]["geneId"]) == ("gene", gene.current_id())
    assert made.memory().check().problems == []


def test_an_agent_s_schema_holds_for_its_tools(agent: Agent) -> None:
    """The check in the record is asked on every path."""
    made = agent._project.create_agent("strict", ["get"], grants={"json": {"schema": {"required": ["scene"]}}})
    get_memory, update_memory = create_memory_tools(made.json_memory())
    with pytest.raises(InvalidInputError, match="'scene' is a required property"):
        update(update_memory, 0, {})
    assert get_memory.execute().details["revision"] == 0


def test_tools_describe_themselves() -> None:
    """Names, schemas that take exactly the arguments, and that neither is replayed."""
    get_memory, update_memory = create_memory_tools(InMemoryStore())
    assert (get_memory.name, get_memory.replay) == ("get_memory", "never")
    assert (update_memory.name, update_memory.replay) == ("update_memory", "never")
    assert get_memory.parameters == {"type": "object", "properties": {}, "additionalProperties": False}
    assert update_memory.parameters["required"] == ["expectedRevision", "memory"]
    assert update_memory.parameters["additionalProperties"] is False
    assert set(update_memory.parameters["properties"]) == {"expectedRevision", "memory"}


def nested(depth: int) -> dict[str, Any]:
    """Return an object of this depth."""
    inner: dict[str, Any] = {}
    for _ in range(depth - 1):
        inner = {"a": inner}
    return inner


ROUND: dict[str, Any] = {}
ROUND["self"] = ROUND


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"expectedRevision": 0}, "memory is required"),
        ({"expectedRevision": 0, "memory": {}, "userId": "other"}, 'undefined field "userId"'),
        ([], "arguments of update_memory must be an object, not an array"),
        ({"expectedRevision": True, "memory": {}}, "expectedRevision must be a whole number"),
        ({"expectedRevision": 2**53 - 1, "memory": {}}, "expectedRevision must be a whole number"),
        ({"expectedRevision": 0, "memory": None}, "memory must be an object, not null"),
        ({"expectedRevision": 0, "memory": (1,)}, "memory must be an object, not tuple"),
        ({"expectedRevision": 0, "memory": {"f": print}}, r'memory\["f"\] must be a JSON value, not builtin_function'),
        ({"expectedRevision": 0, "memory": {"a": [b"x"]}}, r'memory\["a"\]\[0\] must be a JSON value, not bytes'),
        ({"expectedRevision": 0, "memory": {1: 2}}, "names in memory must be strings, not a number"),
        ({"expectedRevision": 0, "memory": {"a": float("nan")}}, "memory is not a JSON value"),
        ({"expectedRevision": 0, "memory": {"a": "\ud800"}}, "memory is not a JSON value"),
        ({"expectedRevision": 0, "memory": ROUND}, "memory must be nested at most 32 deep"),
        ({"expectedRevision": 0, "memory": nested(33)}, "memory must be nested at most 32 deep"),
        ({"expectedRevision": 0, "memory": {"a": "x" * 65_529}}, "at most 65536 bytes"),
    ],
)
def test_arguments_that_are_not_allowed_touch_nothing(store: JsonMemoryStore, arguments: Any, message: str) -> None:
    """Not JSON, too large, too deep, or naming somebody else's memory."""
    get_memory, update_memory = create_memory_tools(store)
    with pytest.raises(InvalidInputError, match=message):
        update_memory.execute("call", arguments)
    with pytest.raises(InvalidInputError, match='undefined field "userId": get_memory takes none'):
        get_memory.execute("call", {"userId": "other"})
    assert get_memory.execute("call", {}).details == {"revision": 0, "memory": None}


def test_the_check_before_an_update_comes_first(store: JsonMemoryStore) -> None:
    """It refuses with its words before the store is touched; what it does to its copy nobody sees."""
    seen = []

    def check(memory: dict[str, Any]) -> None:
        seen.append(dict(memory))
        if not isinstance(memory.get("scene"), str):
            raise ValueError("scene 必填")  # noqa: TRY004 - whatever it raises
        memory.clear()

    get_memory, update_memory = create_memory_tools(store, before_update=check)
    with pytest.raises(InvalidInputError, match="scene 必填"):
        update(update_memory, 7, {"scene": 1})
    assert update(update_memory, 0, GATE) == {"revision": 1}
    with pytest.raises(InvalidInputError, match="nested"):
        update(update_memory, 1, nested(33))
    assert seen == [{"scene": 1}, GATE]
    assert get_memory.execute().details["memory"] == GATE


def test_a_check_may_refuse_with_an_error_of_the_host(store: JsonMemoryStore) -> None:
    """Its code reaches the caller."""

    def check(_memory: dict[str, Any]) -> None:
        raise AccessDeniedError("not you")

    with pytest.raises(AccessDeniedError):
        update(create_memory_tools(store, check)[1], 0, {})


def test_a_check_that_would_have_to_be_awaited_refuses(store: JsonMemoryStore) -> None:
    """It has checked nothing: neither a coroutine nor anything else to await lets an update through."""

    class Promise:
        def __await__(self) -> Iterator[None]:
            yield

    async def check(_memory: dict[str, Any]) -> None:
        raise ValueError("never asked")

    def later(_memory: dict[str, Any]) -> Promise:
        return Promise()

    for before_update in (check, later):
        get_memory, update_memory = create_memory_tools(store, before_update)
        with pytest.raises(InvalidInputError, match="before_update is asynchronous"):
            update(update_memory, 0, GATE)
        assert get_memory.execute().details["revision"] == 0


class Lying:
    """A store that says what it is told to."""

    def __init__(self, answer: Any, found: Any = None) -> None:
        self.answer = answer
        self.found = found
        self.commits: list[Mapping[str, Any]] = []

    def get(self, signal: object) -> Any:
        """Answer, or fail."""
        del signal
        if isinstance(self.found, Exception):
            raise self.found
        return self.found

    def compare_and_set(self, commit: Any, signal: object) -> Any:
        """Answer, or fail."""
        del signal
        self.commits.append(commit)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize("answer", [4, 6, 0, None, True, 5.0, "5", {}, {"revision": 4}, OSError("disk full")])
def test_an_update_of_unknown_outcome_says_to_read_back(answer: Any) -> None:
    """A store that answers anything but the old revision + 1, or fails, may have written: never retry."""
    store = Lying(answer)
    with pytest.raises(StorageError, match="read it back with get_memory, do not retry"):
        update(create_memory_tools(store)[1], 4, {"a": 1})
    assert store.commits == [{"expectedRevision": 4, "memory": {"a": 1}}]


@pytest.mark.parametrize("answer", [5, {"revision": 5}])
def test_a_store_of_somebody_else_may_answer_either_way(answer: Any) -> None:
    """With the revision, or with an object that holds it."""
    assert update(create_memory_tools(Lying(answer))[1], 4, {}) == {"revision": 5}


@pytest.mark.parametrize(
    "found",
    [
        None,
        {},
        {"revision": 0, "memory": {}},
        {"revision": 1, "memory": None},
        {"revision": 1, "memory": []},
        {"revision": -1, "memory": {}},
        {"revision": True, "memory": {}},
        {"revision": 2**53, "memory": {}},
        {"revision": 1, "memory": {"a": "x" * 65_529}},
        OSError("no connection"),
    ],
)
def test_a_store_that_cannot_be_right_is_a_storage_error(found: Any) -> None:
    """An empty memory is revision 0 and null, any other a revision of 1 or more and an object."""
    with pytest.raises(StorageError):
        create_memory_tools(Lying(None, found))[0].execute("read", {})


def test_a_signal_stops_a_call_before_it_begins() -> None:
    """It is handed on to the store otherwise."""
    store, signal = Lying(1), threading.Event()
    _, update_memory = create_memory_tools(store)
    update_memory.execute("write", {"expectedRevision": 0, "memory": {}}, signal)
    signal.set()
    with pytest.raises(InvalidInputError, match="cancelled before it began"):
        update_memory.execute("write", {"expectedRevision": 1, "memory": {}}, signal)
    assert len(store.commits) == 1


def hammer(store: JsonMemoryStore, rounds: int) -> None:
    """Add one as often as told, reading again after each conflict."""
    get_memory, update_memory = create_memory_tools(store)
    for _ in range(rounds):
        while True:
            now = get_memory.execute().details
            count = 0 if now["memory"] is None else now["memory"]["count"]
            try:
                update(update_memory, now["revision"], {"count": count + 1})
            except MemoryConflictError:
                continue
            break


def test_no_increment_is_lost_between_threads(store: JsonMemoryStore) -> None:
    """Comparing and writing are one step."""
    threads = [threading.Thread(target=hammer, args=(store, 10)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert create_memory_tools(store)[0].execute().details == {"revision": 40, "memory": {"count": 40}}
