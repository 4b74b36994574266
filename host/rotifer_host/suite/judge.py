"""Whether a run is what a case of the suite asks for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from msgspec import UNSET

from rotifer_host.errors import DocumentError
from rotifer_host.gene.schema import SchemaValidator

if TYPE_CHECKING:
    from rotifer_host.agent.report import RunResult
    from rotifer_host.suite.cases import Case

__all__ = ["expectation", "judge_negative", "judge_positive", "same_json", "what_came"]

_REJECTED: Final = {"status": "rejected"}


def judge_positive(case: Case, result: RunResult, output_schema: Any) -> str:  # noqa: ANN401 - a mapping, True or False
    """Return why a run on an input that `inputSchema` allows is not as asked for; empty when it is.

    It must succeed, and its output be the expected one, else valid by the expected
    schema, else by `outputSchema`.
    """
    if result.status != "ok":
        return f"inputSchema allows this input, and the run ended {_ending(result)}"
    if case.expected_output is UNSET and case.expected_schema is UNSET:
        if output_schema in ({}, True):
            return "it asserts nothing: outputSchema allows any output, and the case has no expectation of its own"
        return "; ".join(SchemaValidator(output_schema).problems(result.output, "output"))
    return _compared(case, result)


def judge_negative(case: Case, result: RunResult) -> str:
    """Return why a run on an input that `inputSchema` forbids is not as asked for; empty when it is.

    The gene must reject it in words, or return what the case expects; it may not fail.
    """
    if result.status == "rejected":
        return ""
    if result.status != "ok":
        return f"the gene must reject this input, and the run ended {_ending(result)}"
    if case.expected_output is UNSET and case.expected_schema is UNSET:
        return "inputSchema forbids this input, and the gene returned an output that the case does not expect"
    return _compared(case, result)


def expectation(case: Case, output_schema: Any, *, positive: bool) -> dict[str, Any]:  # noqa: ANN401 - as above
    """Return what a case asks for, as `Evidence.expected`."""
    if case.expected_output is not UNSET:
        return {"output": case.expected_output}
    if case.expected_schema is not UNSET:
        return {"schema": case.expected_schema}
    return {"schema": output_schema} if positive else _REJECTED


def what_came(result: RunResult) -> dict[str, Any]:
    """Return how a run ended, as `Evidence.got`."""
    if result.error is None:
        return {"status": result.status, "output": result.output}
    return {"status": result.status, "error": {"code": result.error.code, "message": result.error.message}}


def same_json(one: Any, other: Any) -> bool:  # noqa: ANN401 - any JSON values
    """Tell whether two JSON values are the same with their types: 1 is neither 1.0 nor true. Member order is nothing.

    Raises `DocumentError` for values nested too deep to be compared.
    """
    try:
        return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    except RecursionError:
        raise DocumentError("nested too deep to be compared") from None


def _compared(case: Case, result: RunResult) -> str:
    if case.expected_output is not UNSET:
        return "" if same_json(case.expected_output, result.output) else "the output is not the expected one"
    return "; ".join(SchemaValidator(case.expected_schema).problems(result.output, "output"))


def _ending(result: RunResult) -> str:
    error = result.error
    return result.status if error is None else f"{result.status}, {error.code}: {error.message}"
