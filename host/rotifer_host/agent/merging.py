"""What a `Par` makes of how its branches ended: always by their order, never by time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rotifer_host import contract
from rotifer_host.agent.condition import shown
from rotifer_host.errors import DocumentError
from rotifer_host.limits import format_size
from rotifer_host.sandbox import GuestError, encode_document

if TYPE_CHECKING:
    from rotifer_host.agent.report import Status
    from rotifer_host.agent.run import Ended

__all__ = ["merged"]


class _Merged(NamedTuple):
    """The `Ended` of a `Par` that is not that of one of its branches."""

    status: Status
    output: object
    output_json: bytes
    error: GuestError | None


def merged(merge: str, branches: Sequence[Ended]) -> Ended:
    """Return how a `Par` ends.

    | merge    | output                                           |
    |----------|--------------------------------------------------|
    | `first`  | that of the first branch that ended `ok`         |
    | `concat` | an array of all outputs                          |
    | `merge`  | one object of all outputs, which must be objects |

    `first` ends as the first branch when none ended `ok`, the others as the first branch
    that did not. In `merge`, objects under the same name are merged in turn; of anything
    else the later branch's counts. An interrupted branch ends the `Par` as interrupted.
    Besides, it can fail with `MERGE_FAILED` and `OUTPUT_TOO_LARGE`.
    """
    ended_early = [each for each in branches if each.status != "ok"]
    for each in ended_early:
        if each.error is not None and each.error.code == "INTERRUPTED":
            return each
    if merge == "first":
        return next((each for each in branches if each.status == "ok"), branches[0])
    return ended_early[0] if ended_early else _MERGES[merge](branches)


def _concat(branches: Sequence[Ended]) -> Ended:
    encoded = b"[%b]" % b",".join([each.output_json for each in branches])
    return _checked([each.output for each in branches], encoded)


def _merge(branches: Sequence[Ended]) -> Ended:
    result: dict[str, Any] = {}
    for number, each in enumerate(branches, 1):
        if not isinstance(each.output, dict):
            return _failed("MERGE_FAILED", f"merge takes objects, and branch {number} gave {shown(each.output)}")
        pending: list[tuple[dict[str, Any], dict[str, Any]]] = [(result, each.output)]
        while pending:
            into, other = pending.pop()
            for name, value in other.items():
                here = into.get(name)
                if isinstance(here, dict) and isinstance(value, dict):
                    pending.append((here, value))
                else:
                    into[name] = value
    try:
        return _checked(result, encode_document(result))
    except DocumentError as error:
        return _failed("MERGE_FAILED", f"what the branches gave cannot be merged: {error.message}")


_MERGES: Final[dict[str, Callable[[Sequence[Ended]], Ended]]] = {"concat": _concat, "merge": _merge}


def _checked(output: object, encoded: bytes) -> Ended:
    if len(encoded) > contract.MAX_OUTPUT_BYTES:
        limit = format_size(contract.MAX_OUTPUT_BYTES)
        return _failed("OUTPUT_TOO_LARGE", f"the branches' outputs together have more than {limit}")
    return _Merged("ok", output, encoded, None)


def _failed(code: str, message: str) -> Ended:
    return _Merged("failed", None, b"null", GuestError(code, message, []))
