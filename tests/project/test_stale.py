"""An artefact runs only while it is what the source says."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from rotifer_host.errors import GeneError
from rotifer_host.gene import Gene
from rotifer_host.gene.compile import compile_gene
from rotifer_host.gene.phenotype import read_phenotype
from rotifer_host.gene.sections import Source, stamp, without_rotifer_sections
from rotifer_host.sandbox import Sandbox, assemble

ECHO = (Path(__file__).parent / "echo.wat").read_text(encoding="utf-8")
MakeGene = Callable[..., Gene]

CHANGED = ECHO + ";; changed\n"


def refused(gene: Gene, code: str) -> str:
    """Return the command that a refused artefact's error names."""
    with pytest.raises(GeneError) as caught:
        gene.artefact()
    assert caught.value.code == code
    assert caught.value.help is not None
    return caught.value.help.split("`")[1]


def test_a_gene_never_compiled_names_the_command(make_gene: MakeGene) -> None:
    """Without an artefact the error says what to type, from here."""
    gene = make_gene()
    assert refused(gene, "GENE_NOT_COMPILED") == f"rotifer compile echo -C {gene.project}"


def _edit(path: Path) -> None:
    path.write_text(CHANGED)


def _edit_keeping_size_and_time(path: Path) -> None:
    before = path.stat()
    path.write_text(ECHO.replace("1)", "2)", 1))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns, after.st_ino) == (before.st_size, before.st_mtime_ns, before.st_ino)


def _replace_by_link(path: Path) -> None:
    other = path.with_name("other.wat")
    other.write_text(CHANGED)
    path.unlink()
    path.symlink_to(other)


def _empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("change", [_edit, _edit_keeping_size_and_time, _replace_by_link, _empty])
def test_a_changed_source_is_never_run_from_the_old_artefact(
    make_gene: MakeGene, sandbox: Sandbox, change: Callable[[Path], None]
) -> None:
    """However the source changed, the run is refused, and compiling again makes it run."""
    gene = make_gene()
    compile_gene(gene, sandbox=sandbox)
    gene.artefact()
    change(gene.path / "gene.wat")
    assert refused(gene, "GENE_STALE") == f"rotifer compile echo -C {gene.project}"
    (gene.path / "gene.wat").unlink()
    (gene.path / "gene.wat").write_text(CHANGED)
    compile_gene(gene, sandbox=sandbox)
    gene.artefact()


def _touch(gene: Gene) -> None:
    (gene.path / "gene.wat").write_text(ECHO)


def _delete(gene: Gene) -> None:
    (gene.path / "gene.wat").unlink()


def _delete_and_make_a_folder(gene: Gene) -> None:
    (gene.path / "gene.wat").unlink()
    (gene.path / "gene.wat").mkdir()


def _describe_anew(gene: Gene) -> None:
    text = (gene.path / "phenotype.json").read_text()
    (gene.path / "phenotype.json").write_text(text.replace("1.0.0", "1.0.1"))


def _lose_the_report(gene: Gene) -> None:
    (gene.path / ".compile-result.json").unlink()


@pytest.mark.parametrize(
    "change", [_touch, _delete, _delete_and_make_a_folder, _describe_anew, _lose_the_report], ids=lambda f: f.__name__
)
def test_what_is_no_change_of_code_is_not_stale(
    make_gene: MakeGene, sandbox: Sandbox, change: Callable[[Gene], None]
) -> None:
    """Saving the same text again, a source that is gone, and another phenotype leave the artefact good."""
    gene = make_gene()
    compile_gene(gene, sandbox=sandbox)
    before = gene.artefact()
    change(gene)
    assert gene.artefact() == before


def test_the_command_names_the_file_when_the_default_is_another(make_gene: MakeGene, sandbox: Sandbox) -> None:
    """A gene compiled with `--wasm FILE` is recompiled with it, quoted for the shell and typed from anywhere."""
    gene = make_gene()
    given = gene.project / "my build" / "echo.wat"
    given.parent.mkdir()
    given.write_text(ECHO)
    compile_gene(gene, sandbox=sandbox, wasm=given)
    given.write_text(CHANGED)
    command = refused(gene, "GENE_STALE")
    assert shlex.split(command) == [
        *("rotifer", "compile", "echo", "--wasm", str(given)),
        *("-C", str(gene.project)),
    ]


def test_the_gene_s_own_module_given_by_name_needs_no_option(make_gene: MakeGene, sandbox: Sandbox) -> None:
    """`--wasm` with the file that is the default anyway is not repeated; beside a default of more weight it is."""
    gene = make_gene()
    compile_gene(gene, sandbox=sandbox, wasm=gene.path / "gene.wat")
    (gene.path / "gene.wat").write_text(CHANGED)
    assert "--wasm" not in refused(gene, "GENE_STALE")
    (gene.path / "gene.wasm").write_bytes(assemble(ECHO))
    assert f"--wasm {gene.path / 'gene.wat'}" in refused(gene, "GENE_STALE")


def test_inside_the_project_the_command_is_short(make_gene: MakeGene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who stands in the project need not say where it is; who stands in a deleted folder must."""
    gene = make_gene()
    monkeypatch.setattr(Path, "cwd", lambda: gene.path)
    assert refused(gene, "GENE_NOT_COMPILED") == "rotifer compile echo"

    def gone() -> Path:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "cwd", gone)
    assert refused(gene, "GENE_NOT_COMPILED") == f"rotifer compile echo -C {gene.project}"


def _raw(wasm: bytes) -> bytes:
    return without_rotifer_sections(wasm)


def _cut(wasm: bytes) -> bytes:
    return wasm[:-3]


def _empty_file(wasm: bytes) -> bytes:
    return wasm[:0]


@pytest.mark.parametrize("damage", [_raw, _cut, _empty_file])
def test_a_foreign_or_damaged_artefact_is_refused(
    make_gene: MakeGene, sandbox: Sandbox, damage: Callable[[bytes], bytes]
) -> None:
    """A module that compiling did not write, or not whole, does not run, and the error says what to type."""
    gene = make_gene()
    compile_gene(gene, sandbox=sandbox)
    path = gene.path / "gene.ir.wasm"
    path.write_bytes(damage(path.read_bytes()))
    assert refused(gene, "GENE_ARTEFACT").startswith("rotifer compile echo")
    assert gene.compiled_from() is None


@pytest.mark.parametrize("file", ["/etc/passwd", "../../../secret", "a/../../b"])
def test_an_artefact_cannot_send_the_host_to_other_files(make_gene: MakeGene, sandbox: Sandbox, file: str) -> None:
    """A recorded source outside the project is damage, not something to read."""
    gene = make_gene()
    compile_gene(gene, sandbox=sandbox)
    path = gene.path / "gene.ir.wasm"
    path.write_bytes(stamp(path.read_bytes(), read_phenotype(gene.path), Source("gene", file, "00", v=1)))
    with pytest.raises(GeneError, match="outside the project"):
        gene.artefact()


def test_a_source_that_cannot_be_read_is_an_error(make_gene: MakeGene, sandbox: Sandbox) -> None:
    """What cannot be compared is not run."""
    gene = make_gene()
    compile_gene(gene, sandbox=sandbox)
    with (gene.path / "gene.wat").open("wb") as file:
        file.truncate(1 << 30)
    with pytest.raises(GeneError, match="larger than"):
        gene.artefact()


def test_the_report_is_not_asked(make_gene: MakeGene, sandbox: Sandbox) -> None:
    """What decides is in the artefact itself: a report that says otherwise changes nothing."""
    gene = make_gene()
    compile_gene(gene, sandbox=sandbox)
    report = gene.path / ".compile-result.json"
    content = msgspec.json.decode(report.read_bytes())
    report.write_bytes(msgspec.json.encode({**content, "sourceSha256": "00" * 32}))
    gene.artefact()
