"""`--composition`, `--merge` and `--predicate` of `rotifer agent create`."""

from __future__ import annotations

from collections.abc import Mapping

from rotifer_host import contract
from rotifer_host.cli.common import Session
from rotifer_host.errors import DocumentError, UsageError
from rotifer_host.files import read_json

__all__ = ["read_composition_options"]


def read_composition_options(
    session: Session, composition: str | None, *, merge: str | None, predicate: str | None
) -> str | Mapping[str, object] | None:
    """Return the composition asked for, as `Project.create_agent` takes it. Raises `UsageError`."""
    for option, value, kind in (("--merge", merge, "Par"), ("--predicate", predicate, "Cond")):
        if value is not None and composition != kind:
            raise UsageError(f"{option} goes with --composition {kind}; a JSON file has its own")
    if merge is not None:
        return {"type": composition, "merge": merge}
    if predicate is not None:
        return {"type": composition, "predicate": _json(session, predicate)}
    if composition is None or composition in contract.COMPOSITIONS:
        return composition
    if composition.startswith("@"):
        path = session.directory / composition[1:]
        document = read_json(path, UsageError)
        if not isinstance(document, dict):
            raise UsageError(f"{path} must hold a composition: a JSON object with a type")
        return document
    kinds = ", ".join(contract.COMPOSITIONS)
    raise UsageError(f"--composition must be one of {kinds}, or @FILE, not {composition!r}")


def _json(session: Session, source: str) -> object:
    if source.startswith("@"):
        return read_json(session.directory / source[1:], UsageError)
    from rotifer_host.sandbox import decode_document  # noqa: PLC0415 - loads the engine

    try:
        return decode_document(source.encode("utf-8", "surrogateescape"))
    except DocumentError as error:
        raise UsageError(f"--predicate is not JSON: {error.message}") from error
