"""Agents whose genes run on Node.js, alone and beside compiled ones."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rotifer_host import Project
from rotifer_host.errors import GeneError
from rotifer_host.gene.toolchain import find_esbuild
from rotifer_host.memory import Durability
from rotifer_host.node.program import NodeProgram

AddGene = Callable[..., None]

ROOT = Path(__file__).parents[2]
EXAMPLE = """
import type { GeneMemoryAccess } from "@rotifer/playground/memory";

// reindent() is the gene's own formatting logic, not shown here.
const KEY = "formatter/indent";

export function express(
  input: { code: string; indent?: number },
  ctx: { memory: GeneMemoryAccess },
): { formatted: string; indent: number } {
  let indent = input.indent;

  if (indent === undefined) {
    const saved = ctx.memory.readMemory(KEY, "PREFERENCE");
    indent = saved ? Number(new TextDecoder().decode(saved.value)) : 2;
  } else {
    ctx.memory.writeMemory(
      KEY,
      new TextEncoder().encode(String(indent)),
      "PREFERENCE",
    );
  }

  return { formatted: reindent(input.code, indent), indent };
}
"""
"""As it stands in memory-api.en.md, "Example: a gene that remembers a preference"."""
REINDENT = """
function reindent(code: string, indent: number): string {
  return code.replaceAll("\\t", " ".repeat(indent));
}
"""
READER = """(module
  (import "rotifer" "readMemory" (func $read (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 1024) "{\\"key\\":\\"formatter/indent\\"}")
  (func (export "express") (param i32 i32) (result i32)
    (drop (call $read (i32.const 1024) (i32.const 26) (i32.const 2048) (i32.const 4096)))
    (i32.const 2048)))"""
ECHO = '(module (memory (export "memory") 1) (func (export "express") (param i32 i32) (result i32) (i32.const 0)))'


FAILURES = (
    ("memory.readMemory()", "MEMORY_INVALID_INPUT", "key is required"),
    ('memory.readMemory("")', "MEMORY_INVALID_INPUT", "key must not be empty"),
    ('memory.readMemory("\\ud800")', "MEMORY_INVALID_INPUT", "surrogates"),
    ('memory.readMemory("k", "cache")', "MEMORY_INVALID_INPUT", "category"),
    ('memory.writeMemory("k", "eA==", "CACHE")', "MEMORY_INVALID_INPUT", "value must be a Uint8Array"),
    ('memory.writeMemory("k", [1], "CACHE")', "MEMORY_INVALID_INPUT", "not Array"),
    ('memory.writeMemory("k", new Uint16Array(1), "CACHE")', "MEMORY_INVALID_INPUT", "not Uint16Array"),
    ('memory.writeMemory("k", null, "CACHE")', "MEMORY_INVALID_INPUT", "not null"),
    ('memory.writeMemory("k", undefined, "CACHE")', "MEMORY_INVALID_INPUT", "value is required"),
    ('memory.writeMemory("k", new Uint8Array((1 << 20) + 1), "CACHE")', "MEMORY_INVALID_INPUT", "1048576"),
    ('memory.writeMemory("k", new Uint8Array(1 << 25), "CACHE")', "MEMORY_INVALID_INPUT", "2097152"),
    ("memory.queryMemory({ limit: NaN })", "MEMORY_INVALID_INPUT", "NaN (limit)"),
    ("memory.queryMemory({ limit: new Number(NaN) })", "MEMORY_INVALID_INPUT", "NaN (limit)"),
    ("memory.queryMemory(() => 1)", "MEMORY_INVALID_INPUT", "a function (filter)"),
    ('memory.queryMemory(Symbol("x"))', "MEMORY_INVALID_INPUT", "a symbol (filter)"),
    ("memory.queryMemory({ keyPrefix() {} })", "MEMORY_INVALID_INPUT", "a function (keyPrefix)"),
    (
        'memory.writeMemory("k", Uint8Array.of(1), "CACHE", () => 1)',
        "MEMORY_INVALID_INPUT",
        "a function (accessPolicy)",
    ),
    ('memory.readMemory("k", Symbol("CACHE"))', "MEMORY_INVALID_INPUT", "a symbol (category)"),
    ("memory.queryMemory({ limit: 10n })", "MEMORY_INVALID_INPUT", "BigInt"),
    ("memory.queryMemory({ prefix: 1 })", "MEMORY_INVALID_INPUT", "prefix"),
    ('memory.queryMemory("k")', "MEMORY_INVALID_INPUT", "filter must be an object"),
    ("memory.queryMemory({ get limit() { throw new Error('mine') } })", "MEMORY_INVALID_INPUT", "mine"),
    ('memory.deleteMemory("none")', "MEMORY_NOT_FOUND", "no entry"),
    (
        (
            'memory.writeMemory("k", Uint8Array.of(1), "CACHE",'
            ' { readScope: "ALL_GENES", writeScope: "ALL_GENES", sharePolicy: "KNOWLEDGE_GENE" })'
        ),
        "MEMORY_ACCESS_DENIED",
        "KNOWLEDGE_GENE",
    ),
    ('memory.writeMemory("k", new Uint8Array(1 << 20), "PREFERENCE")', "MEMORY_QUOTA_EXCEEDED", "could be evicted"),
)


def needs_typescript(node: NodeProgram) -> None:
    """Skip where nothing can run TypeScript."""
    if not node.strips_types:
        try:
            find_esbuild(ROOT / "guest-examples")
        except GeneError:
            pytest.skip(f"Node.js {node.shown} does not run TypeScript, and esbuild is not there")


@pytest.fixture
def compiled(project: Project) -> Callable[[str, str], None]:
    """Return a function that puts a compiled gene into the project."""

    def add(name: str, wat: str) -> None:
        folder = project.genes_path / name
        folder.mkdir()
        (folder / "gene.wat").write_text(wat)
        phenotype = {"domain": "formatter", "version": "1.0.0", "inputSchema": {}, "outputSchema": {}}
        (folder / "phenotype.json").write_text(json.dumps(phenotype))
        project.compile(name)

    return add


def test_the_example_of_the_memory_api(
    each_node: NodeProgram, project: Project, add_gene: AddGene, compiled: Callable[[str, str], None]
) -> None:
    """The example remembers from run to run, and a compiled gene of its domain reads what it wrote."""
    needs_typescript(each_node)
    add_gene(project, "tidy", {"index.ts": EXAMPLE + REINDENT}, domain="formatter")
    compiled("reader", READER)
    agent = project.create_agent("formatter", ["tidy"])

    told = agent.run({"code": "if x:\n\tgo()", "indent": 4})
    assert (told.output, told.error) == ({"formatted": "if x:\n    go()", "indent": 4}, None)
    remembered = agent.run({"code": "\tx"})
    assert remembered.output == {"formatted": "    x", "indent": 4}

    assert remembered.genes[0].host_calls["readMemory"].count == 1
    entry = agent.memory(caller=project.gene("reader")).read("formatter/indent")
    assert entry is not None
    assert (entry.value, entry.created_by) == (b"4", told.genes[0].gene_id)
    assert told.genes[0].gene_id == project.gene("tidy").current_id()
    assert told.genes[0].gene_id != project.gene("reader").current_id()


def test_genes_of_both_kinds_in_one_sequence(
    project: Project, add_gene: AddGene, compiled: Callable[[str, str], None]
) -> None:
    """In a sequence each gene gets the output of the one before, acts as itself, and sees what was written."""
    writer = (
        "export const express = (input, { memory }) => { memory.writeMemory("
        '"formatter/indent", Uint8Array.of(56), "CACHE"); return [input] }'
    )
    taker = "export const express = (input) => [input.key, input.lastAccessedBy]"
    add_gene(project, "writer", writer, domain="formatter")
    add_gene(project, "taker", taker, domain="other")
    compiled("reader", READER)
    agent = project.create_agent("mixed", ["writer", "reader", "taker"], composition="Seq")

    result = agent.run({"a": 1})

    ids = [gene.gene_id for gene in result.genes]
    assert (result.output, result.error) == (["formatter/indent", ids[1]], None)
    assert ids == [project.gene(name).current_id() for name in ("writer", "reader", "taker")]
    assert [gene.fuel > 0 for gene in result.genes] == [False, True, False]


def test_a_gene_twice_in_one_run(project: Project, add_gene: AddGene) -> None:
    """A gene that stands twice in a genome has one process in a run, and a new one in the next."""
    add_gene(project, "count", "let n = 0; export const express = (input) => [...input, ++n]")
    agent = project.create_agent("twice", ["count", "count"], composition="Seq")

    assert [agent.run([]).output for _ in range(2)] == [[1, 2], [1, 2]]


def test_durability_of_a_run(project: Project, add_gene: AddGene) -> None:
    """With durability `run` a script's changes are saved together, and with `call` a failed run keeps its own."""
    source = (
        'export function express(input, { memory }) { memory.writeMemory("k", Uint8Array.of(1, 2), "CACHE");'
        ' const found = memory.readMemory("k"); memory.queryMemory({ keyPrefix: "k" });'
        ' if (input) memory.deleteMemory("k"); process.exit(found.value.length) }'
    )
    add_gene(project, "gene", source)
    agent = project.create_agent("agent", ["gene"])

    durabilities: tuple[Durability, ...] = ("call", "run")
    for durability in durabilities:
        assert agent.run(None, durability=durability).error is not None
        assert [one.key for one in agent.memory().list().entries] == ["k"]
        assert agent.run(1, durability=durability).error is not None
        assert agent.memory().list().entries == ()


def test_errors(project: Project, add_gene: AddGene) -> None:
    """A failed call throws a MemoryError, the class that the package exports, with the code of the Memory API."""
    tries = ", ".join(f"() => {call}" for call, _, _ in FAILURES)
    source = f"""
    import {{ MemoryError }} from "@rotifer/playground/memory";
    const tried = (attempt) => {{
      try {{ return [attempt()] }} catch (error) {{
        return [error instanceof MemoryError && error instanceof Error, error.name, error.code, error.message] }} }};
    export const express = (input, {{ memory }}) => [{tries}].map(tried)"""
    add_gene(project, "gene", source)

    result = project.create_agent("agent", ["gene"], memory_quota=1 << 19).run(None)

    assert result.error is None
    given: Any = result.output
    for (call, code, words), (*kind, message) in zip(FAILURES, given, strict=True):
        assert (call, kind) == (call, [True, "MemoryError", code])
        assert words in message


def test_values(project: Project, add_gene: AddGene) -> None:
    """Values are plain Uint8Arrays of their own, whatever view of memory was written; deleteMemory returns nothing."""
    source = (
        "export function express(input, { memory }) { const big = new Uint8Array([9, 0, 255, 9]);"
        ' const one = memory.writeMemory("a", big.subarray(1, 3), "CACHE", undefined, null);'
        ' const two = memory.writeMemory("b", Buffer.from("é"), "PATTERN");'
        ' const three = memory.writeMemory("c", new Uint8Array(0), "CONTEXT");'
        " one.value[0] = 7;"
        ' return [memory.readMemory("a"), two, three].map((e) => [e.value.constructor.name, e.value.buffer.byteLength,'
        " [...e.value], e.category, e.retentionPolicy])"
        ".concat([[memory.queryMemory().length, memory.queryMemory({ category: undefined, limit: 1 })[0].key,"
        ' memory.readMemory("none"), memory.readMemory("a", "PATTERN"), memory.deleteMemory("a") === undefined]]) }'
    )
    add_gene(project, "gene", source)

    result = project.create_agent("agent", ["gene"]).run(None)

    assert result.error is None
    assert result.output == [
        ["Uint8Array", 2, [0, 255], "CACHE", None],
        ["Uint8Array", 2, [0xC3, 0xA9], "PATTERN", None],
        ["Uint8Array", 0, [], "CONTEXT", None],
        [3, "c", None, None, True],
    ]


def test_a_gene_alone_has_no_memory(project: Project, add_gene: AddGene) -> None:
    """Outside an agent every call is refused, whatever it asks, and audited."""
    source = "export function express(input, { memory }) { try { memory.writeMemory() } catch (e) { return e.code } }"
    add_gene(project, "gene", source)

    result = project.run_gene("gene", None)

    assert (result.output, result.genes[0].denied) == ("MEMORY_ACCESS_DENIED", 1)
    line = json.loads(project.audit_path.read_text().splitlines()[-1])
    assert (line["action"], line["agentId"], line["geneId"]) == (
        "memory.deny",
        None,
        project.gene("gene").current_id(),
    )


def test_what_changes_the_id(project: Project, add_gene: AddGene) -> None:
    """A change of the code, of a file it uses or of its version is another gene; a test suite or a README is not."""
    add_gene(project, "gene", {"index.mjs": "export const express = () => 1", "data.txt": "1"})
    ids = [project.gene("gene").current_id()]
    folder = project.genes_path / "gene"
    for name in ("README.md", "testsuite.json", ".gene-manifest.json"):
        (folder / name).write_text("{}")
    assert project.gene("gene").current_id() == ids[0]

    for name, text in (("data.txt", "2"), ("index.mjs", "export const express = () => 2"), ("more.mjs", "")):
        (folder / name).write_text(text)
        ids.append(project.gene("gene").current_id())
    add_gene(project, "gene", {}, version="1.0.1")
    ids.append(project.gene("gene").current_id())

    assert len(set(ids)) == len(ids)
    assert ids[-1] == project.run_gene("gene", None).genes[0].gene_id


def test_a_compiled_gene_runs_as_webassembly(project: Project, add_gene: AddGene) -> None:
    """With an artefact a gene runs as WebAssembly, script or not; one that calls itself Native needs it."""
    add_gene(project, "gene", {"index.mjs": "export const express = () => 1", "gene.wat": ECHO})
    assert project.run_gene("gene", [5]).output == 1

    project.compile("gene", wasm=project.genes_path / "gene" / "gene.wat")
    assert project.run_gene("gene", [5]).output == [5]

    add_gene(project, "native", "export const express = () => 1", fidelity="Native")
    with pytest.raises(GeneError, match="not compiled"):
        project.run_gene("native", None)


def test_commands(project: Project, add_gene: AddGene) -> None:
    """`list` shows a script as ready, `run` shows its output and its log, and where it threw."""
    add_gene(project, "good", 'export const express = (input) => { console.log("\\x1b[31mred"); return input }')
    add_gene(project, "bad", "export function express(input) {\n  return input.a.b;\n}")

    def rotifer(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "rotifer_host", "-C", str(project.root), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    listed = {gene["name"]: gene for gene in json.loads(rotifer("list", "--json").stdout)["genes"]}
    assert (listed["good"]["state"], listed["good"]["geneId"]) == ("ready", project.gene("good").current_id())
    ran = rotifer("run", "good", "--input", '{"x": 1}')
    assert (ran.returncode, ran.stderr) == (0, "")
    assert '"x": 1' in ran.stdout
    assert "\\u001b[31mred" in ran.stdout
    assert "\x1b" not in ran.stdout
    ran = rotifer("run", "bad", "--input", "{}")
    assert ran.returncode == 1
    assert "error[GENE_ERROR]: TypeError: Cannot read properties of undefined (reading 'b')" in ran.stderr
    assert "express (index.mjs:2:18)" in ran.stderr


def test_the_page(each_node: NodeProgram, tmp_path: Path) -> None:
    """Every command of the page can be typed, and the last run answers what it says."""
    needs_typescript(each_node)
    page = (ROOT / "docs" / "node.md").read_text(encoding="utf-8")
    (commands,) = re.findall(r"^```sh\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)
    (answer,) = re.findall(r"^```json\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    done = subprocess.run(
        ["/bin/sh", "-euc", f"{commands.rstrip()} --json"],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["output"] == json.loads(answer)
