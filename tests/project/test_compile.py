"""From a gene's source to its artefact."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rotifer_host import contract
from rotifer_host.errors import BadModuleError, GeneError, ModuleError, UnknownImportError, UsageError
from rotifer_host.gene import Gene
from rotifer_host.gene.compile import compile_gene
from rotifer_host.gene.sections import rotifer_section_names
from rotifer_host.project import ProjectFolder
from rotifer_host.sandbox import Sandbox, assemble
from rotifer_host.testing import ManualClock

ECHO = (Path(__file__).parent / "echo.wat").read_text(encoding="utf-8")
MakeGene = Callable[..., Gene]


def made(gene: Gene) -> set[str]:
    """Return what compiling has written."""
    return {path.name for path in gene.path.iterdir()} - {"phenotype.json", "gene.wat", "gene.wasm"}


def test_compiling_writes_the_artefact_and_a_report(make_gene: MakeGene, sandbox: Sandbox) -> None:
    """A text is assembled, checked and stamped; the result says what was made of what."""
    gene = make_gene()
    result = compile_gene(gene, sandbox=sandbox, clock=ManualClock("2026-01-02T12:04:05.678Z"))
    artefact = gene.artefact()
    assert made(gene) == {"gene.ir.wasm", ".compile-result.json"}
    assert artefact.startswith(assemble(ECHO))
    assert list(result.sections) == rotifer_section_names(artefact)
    assert (result.gene, result.domain, result.mode) == ("echo", "text.echo", "direct")
    assert (result.source, result.output) == (gene.path / "gene.wat", gene.path / "gene.ir.wasm")
    assert result.source_sha256 == hashlib.sha256(ECHO.encode()).hexdigest()
    assert result.size_bytes == len(artefact)
    assert result.gene_id == gene.gene_id(artefact) == gene.gene_id(assemble(ECHO))
    assert result.warnings == ()
    assert json.loads((gene.path / ".compile-result.json").read_bytes()) == {
        "v": 1,
        "geneId": result.gene_id,
        "name": "echo",
        "domain": "text.echo",
        "compiledAt": "2026-01-02T12:04:05.678Z",
        "mode": "direct",
        "source": "gene.wat",
        "sourceBase": "gene",
        "sourceSha256": result.source_sha256,
        "bundled": [],
        "sizeBytes": len(artefact),
        "sections": list(result.sections),
    }


def test_compiling_twice_gives_the_same_bytes(make_gene: MakeGene, sandbox: Sandbox) -> None:
    """The artefact depends on source and phenotype alone, and old sections do not pile up."""
    gene = make_gene()
    compile_gene(gene, sandbox=sandbox)
    first = gene.artefact()
    (gene.path / "gene.wasm").write_bytes(first)
    compile_gene(gene, sandbox=sandbox, wasm=gene.path / "gene.wat")
    assert gene.artefact() == first
    result = compile_gene(gene, sandbox=sandbox)
    assert result.source == gene.path / "gene.wasm"
    assert rotifer_section_names(gene.artefact()) == rotifer_section_names(first)


def test_checking_writes_nothing(make_gene: MakeGene, sandbox: Sandbox) -> None:
    """`check_only` tells all that compiling tells but where the artefact is."""
    gene = make_gene()
    checked = compile_gene(gene, sandbox=sandbox, check_only=True)
    assert made(gene) == set()
    assert checked.output is None
    assert checked.gene_id == compile_gene(gene, sandbox=sandbox).gene_id


@pytest.mark.parametrize("name", ["other.wat", "other.wasm"])
def test_a_given_file_may_be_text_or_module(
    make_gene: MakeGene, sandbox: Sandbox, project: ProjectFolder, name: str
) -> None:
    """`--wasm` takes both forms, from anywhere in the project."""
    gene = make_gene(wat=None)
    file = project.root / "build" / name
    file.parent.mkdir()
    file.write_bytes(ECHO.encode() if name.endswith("wat") else assemble(ECHO))
    result = compile_gene(gene, sandbox=sandbox, wasm=file)
    assert result.warnings == ()
    assert gene.compiled_from() == file
    assert gene.artefact().startswith(assemble(ECHO))


def test_a_source_outside_the_project_is_not_recorded(make_gene: MakeGene, sandbox: Sandbox, tmp_path: Path) -> None:
    """An artefact names no file that others do not have, and the user is told what that means."""
    gene = make_gene(wat=None)
    file = tmp_path / "secret" / "echo.wat"
    file.parent.mkdir()
    file.write_text(ECHO)
    result = compile_gene(gene, sandbox=sandbox, wasm=file)
    assert [warning for warning in result.warnings if "outside the project" in warning]
    assert gene.compiled_from() is None
    assert b"secret" not in gene.artefact() + (gene.path / ".compile-result.json").read_bytes()
    file.write_text("changed")
    gene.artefact()


def test_links_are_recorded_by_the_name_in_the_project(
    make_gene: MakeGene, sandbox: Sandbox, project: ProjectFolder, tmp_path: Path
) -> None:
    """A file reached through a link is recorded inside the project, whichever way it was named."""
    gene = make_gene(wat=None)
    target = tmp_path / "target.wat"
    target.write_text(ECHO)
    (gene.path / "gene.wat").symlink_to(target)
    compile_gene(gene, sandbox=sandbox)
    assert gene.compiled_from() == gene.path / "gene.wat"
    (tmp_path / "alias").symlink_to(project.root)
    (project.root / "own.wat").write_text(ECHO)
    compile_gene(gene, sandbox=sandbox, wasm=tmp_path / "alias" / "own.wat")
    assert gene.compiled_from() == project.root / "own.wat"


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("Cargo.toml", "cargo build --release --target wasm32-unknown-unknown"),
        ("asconfig.json", "npx asc "),
        ("assembly/index.ts", "npx asc "),
        ("go.mod", "GOOS=wasip1 GOARCH=wasm go build"),
        ("build.zig", "zig build"),
        ("gene.ts", "npx asc gene.ts"),
        ("my gene.zig", "zig build-exe 'my gene.zig'"),
        ("my gene.c", "-o gene.wasm 'my gene.c'"),
        ("lib.rs", "rustc --target wasm32-unknown-unknown"),
        ("notes.txt", "put gene.wasm, gene.wat or index.ts into"),
    ],
)
def test_without_a_module_the_error_says_how_to_get_one(
    make_gene: MakeGene, sandbox: Sandbox, file: str, expected: str
) -> None:
    """For the source that is there, compiling and running name the command that builds it."""
    gene = make_gene(wat=None)
    (gene.path / file).parent.mkdir(exist_ok=True)
    (gene.path / file).touch()
    with pytest.raises(GeneError) as compiling:
        compile_gene(gene, sandbox=sandbox)
    assert compiling.value.code == "GENE_NO_MODULE"
    with pytest.raises(GeneError) as running:
        gene.artefact()
    assert running.value.code == "GENE_NOT_COMPILED"
    for error in (compiling.value, running.value):
        assert error.help is not None
        assert expected in error.help
        assert "rotifer compile echo" in error.help


@pytest.mark.parametrize(
    ("wat", "error", "expected"),
    [
        ("(module", BadModuleError, "not WebAssembly text"),
        ("(module)", BadModuleError, "memory"),
        ('(module (memory (export "memory") 1))', BadModuleError, "express"),
        (ECHO.replace("(memory", '(import "env" "nothing" (func)) (memory'), UnknownImportError, "nothing"),
    ],
    ids=["text", "no memory", "no express", "import"],
)
def test_a_module_the_host_cannot_run_is_refused(
    make_gene: MakeGene, sandbox: Sandbox, wat: str, error: type[ModuleError], expected: str
) -> None:
    """The sandbox's reason is the command's error, and nothing is written."""
    gene = make_gene(wat=wat)
    with pytest.raises(error, match=expected):
        compile_gene(gene, sandbox=sandbox)
    assert made(gene) == set()


@pytest.mark.parametrize("content", [b"", b"\0asm\1\0\0\0\1", b"\0asm\x0d\0\1\0", os.urandom(64)], ids=range(4))
def test_what_is_no_module_is_refused(make_gene: MakeGene, sandbox: Sandbox, content: bytes) -> None:
    """A file that only looks like a module is a `BadModuleError`."""
    gene = make_gene(wat=None)
    (gene.path / "gene.wasm").write_bytes(content)
    with pytest.raises(BadModuleError, match=r"^genes/echo/gene\.wasm: "):
        compile_gene(gene, sandbox=sandbox)


def test_a_source_is_named_by_its_place(make_gene: MakeGene, sandbox: Sandbox, tmp_path: Path) -> None:
    """In the project from the project's folder, with line and column of a text; outside of it by the whole path."""
    gene = make_gene(wat=ECHO.replace("(module", "(modul", 1))
    with pytest.raises(BadModuleError, match=r"^genes/echo/gene\.wat:\d+:\d+: not WebAssembly text: .*\n.*\(modul"):
        compile_gene(gene, sandbox=sandbox)
    (tmp_path / "away.wasm").write_bytes(b"junk")
    with pytest.raises(BadModuleError, match=f"^{tmp_path}/away.wasm: not WebAssembly"):
        compile_gene(gene, sandbox=sandbox, wasm=tmp_path / "away.wasm")
    invalid = (
        '(module (memory (export "memory") 1) (func (export "express") (param i32 i32) (result i32) (i64.const 0)))'
    )
    (gene.path / "gene.wat").write_text(invalid, encoding="utf-8")
    with pytest.raises(BadModuleError, match=r"^genes/echo/gene\.wat: not a valid WebAssembly module"):
        compile_gene(gene, sandbox=sandbox)


def test_a_file_that_is_too_large_is_not_read(make_gene: MakeGene, sandbox: Sandbox) -> None:
    """A module of more than 64 MiB is refused by its size."""
    gene = make_gene(wat=None)
    with (gene.path / "gene.wasm").open("wb") as file:
        file.truncate(contract.MAX_MODULE_BYTES + 1)
    with pytest.raises(GeneError, match="larger than 67108864 bytes"):
        compile_gene(gene, sandbox=sandbox)


def test_a_wrong_file_argument_is_a_usage_error(make_gene: MakeGene, sandbox: Sandbox) -> None:
    """A file that is not there, and the artefact itself under any name, are refused."""
    gene = make_gene()
    with pytest.raises(UsageError, match="there is no file"):
        compile_gene(gene, sandbox=sandbox, wasm=gene.path / "none.wasm")
    compile_gene(gene, sandbox=sandbox)
    (gene.path / "link.wasm").symlink_to("gene.ir.wasm")
    for name in ("gene.ir.wasm", "link.wasm"):
        with pytest.raises(UsageError, match="is what compiling writes"):
            compile_gene(gene, sandbox=sandbox, wasm=gene.path / name)


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_is_no_file_is_refused_without_waiting(make_gene: MakeGene, sandbox: Sandbox, kind: str) -> None:
    """A folder or a pipe given as the module is an error, not a hang."""
    gene = make_gene()
    path = gene.path / "other.wasm"
    if kind == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    with pytest.raises(UsageError, match=r"other\.wasm"):
        compile_gene(gene, sandbox=sandbox, wasm=path)


@pytest.mark.parametrize(
    "change", [{"domain": "X"}, {"inputSchema": {"type": 1}}, {"outputSchema": None}], ids=["domain", "schema", "null"]
)
def test_a_wrong_phenotype_is_refused(make_gene: MakeGene, sandbox: Sandbox, change: dict[str, Any]) -> None:
    """Compiling checks the phenotype, its schemas included, before anything else."""
    gene = make_gene(changes=change)
    with pytest.raises(GeneError) as caught:
        compile_gene(gene, sandbox=sandbox)
    assert caught.value.code == "PHENOTYPE"
    assert made(gene) == set()


def test_a_module_without_alloc_is_warned_of(make_gene: MakeGene, sandbox: Sandbox) -> None:
    """A gene whose input will lie at address 0 is told so."""
    without = ECHO.replace('(func (export "alloc") (param i32) (result i32) (i32.const 0))', "")
    assert "address 0" in compile_gene(make_gene(wat=without), sandbox=sandbox).warnings[0]


def test_a_folder_that_cannot_be_written_is_a_gene_error(make_gene: MakeGene, sandbox: Sandbox) -> None:
    """What the disk says is in the error."""
    gene = make_gene()
    (gene.path / "gene.ir.wasm").mkdir()
    with pytest.raises(GeneError, match=r"cannot write .*directory"):
        compile_gene(gene, sandbox=sandbox)
