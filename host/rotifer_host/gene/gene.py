"""One gene of a project, as it lies on disk."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from rotifer_host.errors import BadModuleError, GeneError
from rotifer_host.files import is_file
from rotifer_host.gene import identity, sections, source
from rotifer_host.gene.phenotype import Phenotype, read_phenotype
from rotifer_host.gene.script import Script, read_script

__all__ = ["Gene"]


@dataclass(frozen=True)
class Gene:
    """The gene in folder `path` of the project in folder `project`.

    An object for one use: `phenotype` is read from the file once, when first asked
    for. Take a new one from the project for the next run.
    """

    path: Path
    project: Path

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.path.name

    @cached_property
    def phenotype(self) -> Phenotype:
        """What `phenotype.json` says. Raises `GeneError` with code `PHENOTYPE`, naming all that is wrong with it."""
        return read_phenotype(self.path)

    def gene_id(self, wasm: bytes) -> str:
        """Return the v2 id of this gene with this module, compiled or not.

        Raises `GeneError` when the phenotype is not valid: such a gene has no v2 id.
        Raises `BadModuleError`.
        """
        return identity.gene_id(self.phenotype, sections.code_digest(wasm))

    def script(self) -> Script | None:
        """Return what Node.js runs, None for a gene that runs as WebAssembly.

        That is a gene with an artefact, one that calls itself `Native`, and one with none
        of `source.SCRIPTS` (memory-api.en.md, "Which genes can use memory"). Raises `GeneError`.
        """
        if self.phenotype.fields.get("fidelity") == "Native" or is_file(self.path / source.ARTEFACT_FILE, GeneError):
            return None
        entry = source.entry_of(self.path)
        return None if entry is None else read_script(self.path, entry)

    def current_id(self) -> str:
        """Return the v2 id under which it would run now. Raises `GeneError` when it could not."""
        script = self.script()
        return self.gene_id(self.artefact()) if script is None else self.script_id(script)

    def script_id(self, script: Script) -> str:
        """Return the v2 id of this gene with this script. Raises `GeneError` when the phenotype is not valid."""
        return identity.gene_id(self.phenotype, script.digest)

    def artefact(self) -> bytes:
        """Return the compiled module, `gene.ir.wasm`, if it is what the gene's source says now.

        The source is hashed each time it still exists: size and time of a file can
        stay while its contents change. Raises `GeneError`, with the command to type as
        its help: `GENE_NOT_COMPILED`, `GENE_STALE`, or `GENE_ARTEFACT` when it was
        not made by this host or is broken.
        """
        path = self.path / source.ARTEFACT_FILE
        try:
            wasm = source.read_module_file(path)
        except FileNotFoundError:
            message = f"gene {self.name} is not compiled"
            default = source.default_source(self.path)
            hint = source.how_to_build(self.path) if default is None else self._type(default)
            raise GeneError(message, code="GENE_NOT_COMPILED", help=hint) from None
        try:
            recorded = sections.read_source(wasm)
            files = {self._recorded_path(one): one.sha256 for one in (recorded, *recorded.bundled)}
        except BadModuleError as error:
            message = f"{path} was not compiled by this host, or is damaged: {error.message}"
            raise GeneError(message, code="GENE_ARTEFACT", help=self._type(None)) from error
        for file, sha256 in files.items():
            if file is not None and _has_changed(file, sha256):
                message = f"gene {self.name} is stale: {file} has changed since it was compiled"
                raise GeneError(message, code="GENE_STALE", help=self._type(self._recorded_path(recorded)))
        return wasm

    def compiled_from(self) -> Path | None:
        """Return the source the artefact names; None when there is no artefact of this host, or it names none.

        This is what recompiling starts from. Raises `GeneError` when the artefact cannot be read.
        """
        try:
            return self._recorded_path(sections.read_source(source.read_module_file(self.path / source.ARTEFACT_FILE)))
        except (FileNotFoundError, BadModuleError):
            return None

    def _recorded_path(self, recorded: sections.SourceFile) -> Path | None:
        if recorded.file is None or recorded.base is None:
            return None
        file = PurePosixPath(recorded.file)
        if file.is_absolute() or ".." in file.parts:
            message = f"rotifer.source names {recorded.file!r}, a file outside the project"
            raise BadModuleError(message)
        return (self.path if recorded.base == "gene" else self.project) / file

    def _type(self, compiled_from: Path | None) -> str:
        return f"type `{source.compile_command(self.path, self.project, compiled_from)}`"


def _has_changed(path: Path, sha256: str) -> bool:
    """Tell whether a file is there and is another one than it was."""
    if not is_file(path, GeneError):
        return False
    try:
        return hashlib.sha256(source.read_module_file(path)).hexdigest() != sha256
    except FileNotFoundError:  # gone since the line above
        return False
