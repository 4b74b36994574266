"""Draws values of a JSON Schema: a program of its own, which `inputs.py` starts.

Hypothesis mixes constants of the modules that are loaded into what it draws, so the
same seed gives the same values only where the same modules are. Reads `{"schema",
"count", "seed"}` from standard input, writes `{"values"}` or `{"error"}`.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any


def main() -> None:
    """Answer one request."""
    request = json.load(sys.stdin)
    warnings.simplefilter("ignore")  # of regular expressions that are filtered by, not generated from
    import hypothesis  # noqa: PLC0415 - warnings are off by now
    from hypothesis_jsonschema import from_schema  # noqa: PLC0415
    from hypothesis_jsonschema._canonicalise import HypothesisRefResolutionError  # noqa: PLC0415

    values: list[Any] = []
    answer: dict[str, Any] = {"values": values}
    try:

        @hypothesis.seed(request["seed"])
        @hypothesis.settings(
            database=None,
            deadline=None,
            max_examples=request["count"],
            phases=[hypothesis.Phase.generate],
            suppress_health_check=list(hypothesis.HealthCheck),
            verbosity=hypothesis.Verbosity.quiet,
        )
        @hypothesis.given(from_schema(request["schema"]))
        def collect(value: Any) -> None:  # noqa: ANN401 - any JSON value
            values.append(value)

        collect()
    except (hypothesis.errors.HypothesisException, HypothesisRefResolutionError, RecursionError) as error:
        answer = {"error": str(error) or type(error).__name__}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
