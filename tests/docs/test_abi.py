"""`abi/README.md` says what the code does: its tables are checked against the code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from rotifer_host import contract, errors
from rotifer_host.agent.memory_calls import memory_functions
from rotifer_host.audit import Action, AuditLine
from rotifer_host.memory.entry import DEFAULT_ACCESS, AccessPolicy, DataPolicy, RetentionPolicy, make_record
from rotifer_host.modules import find_module
from rotifer_host.sandbox import HostFunction, core_functions, wasi_functions
from rotifer_host.sandbox.result import GuestError

ABI = Path(__file__).parents[2] / "abi"
TEXT = (ABI / "README.md").read_text(encoding="utf-8")
RULING = re.compile(r"\s*\*\*\[R\]\*\*(\s*\*\((?:[^*])*\)\*)?")


def tables(heading: str) -> list[list[list[str]]]:
    """Return the tables in the section of a heading: rows of cells, without header and rule."""
    section = re.search(rf"^#+ {re.escape(heading)}\n(.*?)(?=^#|\Z)", TEXT, flags=re.MULTILINE | re.DOTALL)
    assert section is not None, heading
    found = re.findall(r"(?:^\|.*\n)+", section[1], flags=re.MULTILINE)
    rows = [
        [[cell.strip() for cell in RULING.sub("", line).strip()[1:-1].split("|")] for line in table.splitlines()[2:]]
        for table in found
    ]
    assert rows, heading
    return rows


def names(cell: str) -> list[str]:
    """Return what stands in backticks."""
    return re.findall(r"`([^`]+)`", cell)


def column(heading: str, index: int = 0, table: int = 0) -> list[str]:
    """Return the names in one column of a table, in order."""
    return [name for row in tables(heading)[table] for name in names(row[index])]


def test_rulings_have_reasons() -> None:
    """Every ruling is followed by its reason."""
    rulings = re.findall(r"\*\*\[R\]\*\*(.{0,3})", TEXT.partition("ABI version")[2], flags=re.DOTALL)
    assert len(rulings) > 30
    assert {follows.lstrip()[:2] for follows in rulings} == {"*("}


def test_abi_version() -> None:
    """The version is the code's."""
    assert f"ABI version: **{contract.ABI_VERSION}**" in TEXT


LIMITS = {
    "key": contract.MAX_KEY_BYTES,
    "value": contract.MAX_VALUE_BYTES,
    "request": contract.MAX_REQUEST_BYTES,
    "query result": contract.MAX_QUERY_BYTES,
    "entries a query returns": contract.MAX_QUERY_LIMIT,
    "entries a query returns by default": contract.DEFAULT_QUERY_LIMIT,
    "quota by default": contract.DEFAULT_QUOTA_BYTES,
    "largest quota": contract.MAX_QUOTA_BYTES,
    "fuel by default": contract.DEFAULT_FUEL,
    "linear memory by default": contract.DEFAULT_GUEST_MEMORY_BYTES,
    "table elements": contract.MAX_TABLE_ELEMENTS,
    "deadline by default": contract.DEFAULT_DEADLINE_MS,
    "host time": contract.DEFAULT_HOST_TIME_MS,
    "module": contract.MAX_MODULE_BYTES,
    "input": contract.MAX_INPUT_BYTES,
    "output": contract.MAX_OUTPUT_BYTES,
    "log text kept": contract.MAX_LOG_BYTES,
}


def test_limits() -> None:
    """The table of limits has the code's numbers, and no others."""
    assert {row[0]: int(re.sub(r"\D", "", row[1])) for row in tables("Limits")[0]} == LIMITS


@pytest.mark.parametrize(
    "phrase",
    [
        f"A call costs {contract.CALL_BASE_FUEL:,} fuel, and {contract.CALL_FUEL_PER_BYTE} for each byte",
        f"1 to {contract.MAX_QUERY_LIMIT}, default {contract.DEFAULT_QUERY_LIMIT}",
        f"from 1 to {contract.MAX_RETENTION_DAYS:,}",
        f"max({contract.MIN_ENTRY_LIMIT:,}, quota / {contract.BYTES_PER_ENTRY_OF_QUOTA})",
        f"its days × {contract.SECONDS_PER_DAY:,}",
        f"at most {contract.MAX_VALUE_BYTES:,} bytes when decoded",
        f"1 to {contract.MAX_KEY_BYTES:,} bytes of UTF-8",
        f"may hold\n{contract.MAX_QUERY_BYTES:,} bytes",
        "evicts {}, then {}, then {}".format(*(f"`{name}`" for name in contract.EVICTION_ORDER)),
        f"one member `{contract.ERROR_KEY}`",
    ],
)
def test_numbers_in_sentences(phrase: str) -> None:
    """Numbers in the text are the code's, too."""
    assert phrase in TEXT


def test_results() -> None:
    """Results and codes of a memory call are those of the error classes."""
    documented = {int(names(row[0])[0]): names(row[1]) for row in tables("Results")[0]}
    kinds = [kind for kind in errors.HostCallError.__subclasses__() if kind.__module__ == errors.__name__]
    refusals = {kind.result: [kind.code] for kind in kinds if kind is not errors.MemoryConflictError}
    assert documented == {**refusals, contract.BUDGET_EXHAUSTED: []}


def test_json_memory() -> None:
    """Functions, result and limits of `rotifer.ext.json` are the code's."""
    text = (ABI / "host-modules.md").read_text(encoding="utf-8")
    section = text.partition("## `rotifer.ext.json`")[2].partition("\n## ")[0]
    for said in (
        *(f"| `{name}` |" for name in find_module("json").functions),
        f"| `{errors.MemoryConflictError.result}` | `{errors.MemoryConflictError.code}` |",
        f"at most {contract.MAX_JSON_MEMORY_BYTES:,} bytes",
        f"depth of at most {contract.MAX_JSON_MEMORY_DEPTH}",
        f"from 0 to {contract.MAX_JSON_REVISION - 1:,}",
    ):
        assert said in section


def test_ends_of_a_run() -> None:
    """Codes and statuses of a run are those the sandbox documents."""
    documented = {(names(row[0])[0], names(row[1])[0]) for row in tables("How a run ends")[0] if names(row[0])}
    assert documented == set(re.findall(r"\| `([A-Z_]+)` +\| (\w+) +\|", GuestError.__doc__ or ""))


def test_imports() -> None:
    """The imports are those the host offers, with their types."""

    def signature(function: HostFunction) -> str:
        return f"{' '.join(function.params)} -> {' '.join(function.results)}"

    def documented(text: str) -> str:
        params, _, result = text.partition(")")
        count = 0 if params == "(" else len(params.split(","))
        return f"{' '.join(['i32'] * count)} -> {result.rpartition('-> ')[2]}"

    rows = tables("Imports")[0]
    assert {(names(row[0])[0], names(row[1])[0]): documented(names(row[2])[0]) for row in rows} == {
        (function.module, function.name): signature(function) for function in (*core_functions(), *memory_functions())
    }


def test_wasi() -> None:
    """Every WASI function is described, or listed as one that answers EBADF."""
    rest = TEXT.partition("`EBADF` (8):")[2].partition(".")[0]
    described, refused = column("WASI"), names(rest)
    assert len({*described, *refused}) == len(described) + len(refused)
    assert {*described, *refused} == {function.name for function in wasi_functions()}


def test_entry() -> None:
    """The members of an entry are documented in their order."""
    record = make_record(
        identity=bytes(32), sequence=1, key="k", category="CACHE", value=b"", created_by="", domain="d", reader="",
        created_ms=0, updated_ms=0, access=DEFAULT_ACCESS, retention=None,
    )  # fmt: skip
    assert column("Responses", table=1) == list(msgspec.json.decode(record.body))


def test_requests() -> None:
    """The fields of the policies are the code's, and every call has its row."""
    rows = tables("Requests")[0]
    assert [names(row[0])[0] for row in rows if names(row[0])] == [function.name for function in memory_functions()]
    fields = {names(row[1])[0]: row[3] for row in rows}
    assert tuple(names(fields["accessPolicy"])[:3]) == AccessPolicy.__struct_fields__
    assert tuple(names(fields["retentionPolicy"])[:3]) == RetentionPolicy.__struct_fields__


def test_words() -> None:
    """Scopes, share policies, categories and the data policy have the code's names."""
    assert tuple(column("Access")) == contract.SCOPES
    sentence = re.search(r"Share policies are (.*?)\.", TEXT, flags=re.DOTALL)
    assert sentence is not None
    assert tuple(names(sentence[1])) == contract.SHARE_POLICIES
    assert tuple(column("Categories")) == contract.CATEGORIES
    category = next(row[1] for row in tables("Responses")[1] if row[0] == "`category`")
    assert tuple(names(category)) == contract.CATEGORIES
    policy = re.search(r"An agent has `\{(.*?)\}`", TEXT)
    assert policy is not None
    assert tuple(re.findall(r'"(\w+)"', policy[1])) == DataPolicy.__struct_fields__


def test_audit_lines() -> None:
    """Members and actions of an audit line are the code's."""
    assert tuple(column("Audit lines")) == tuple(name for name in AuditLine.__struct_fields__)
    assert tuple(column("Audit lines", table=1)) == contract.AUDIT_ACTIONS == get_args(Action)


CITED = re.compile(r'memory-api\.en\.md(?:\\?"|`)?,\s+(?:# )?\\?"([^"\\{]+)')
"""A citation of the Memory API: in a comment, in JSON, over the end of a line."""
SUFFIXES = (".json", ".js", ".md", ".mjs", ".py")
FOLDERS = ("abi", "bench", "docs", "guest-examples", "host", "tests")


def test_citations_of_the_memory_api_can_be_followed() -> None:
    """Every section that is cited anywhere stands in the table that leads to its rules: the page itself is not here."""
    rows = tables("The Memory API")[0]
    listed = {name for row in rows for name in re.findall(r'"([^"]+)"', row[0])}
    root = ABI.parent
    files = [path for folder in FOLDERS for path in (root / folder).rglob("*") if path.suffix in SUFFIXES]
    cited = {
        section.replace("'", "’"): str(path)  # noqa: RUF001 - as the page has it
        for path in [*files, *root.glob("*.md")]
        if "node_modules" not in path.parts
        for section in CITED.findall(path.read_text(encoding="utf-8"))
    }
    assert len(cited) > 10
    assert {section: path for section, path in cited.items() if section not in listed} == {}
    assert [row for row in rows if "](" not in row[1]] == []


@pytest.mark.parametrize(
    "page", [*(ABI.parent / "docs").rglob("*.md"), *ABI.parent.glob("*.md")], ids=lambda page: page.name
)
def test_pages_send_nobody_to_what_is_not_here(page: Path) -> None:
    """What users read links to the guest ABI, and does not cite a page that they cannot open."""
    text = page.read_text(encoding="utf-8")
    assert CITED.findall(text) == []
    assert "memory-api.en.md" not in text or "abi/README.md#the-memory-api" in text
