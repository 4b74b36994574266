"""What testing a gene says: one verdict for every check."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from rotifer_host import contract

__all__ = ["PROPERTY_ID", "PROPERTY_TITLE", "Check", "Evidence", "GeneTest", "KeptEntry"]

_POSITIVE = "t1-positive-"
_NEGATIVE = "t1-negative-"
PROPERTY_ID = "t1-property-schema-legality"
"""The check of generated inputs."""
PROPERTY_TITLE = "generated inputs are taken, and their outputs are valid by outputSchema"


_Verdict = Literal["pass", "fail", "skipped"]


class KeptEntry(NamedTuple):
    """An entry that lay in the test's memory."""

    key: str
    category: str
    size: int
    """Bytes of its value."""
    value: bytes | None
    """None for one too long to be shown."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a failure can be looked at by."""

    input: Any
    """Any JSON value."""
    expected: dict[str, Any]
    """`{"output": …}`, `{"schema": …}` or `{"status": …}`."""
    got: dict[str, Any]
    """`{"status", "output"}`, or `{"status", "error": {"code", "message"}}`."""
    memory: tuple[KeptEntry, ...] = ()
    """What the case left in memory, the newest first."""
    more_entries: int = 0
    """How many entries there were besides."""

    def to_json(self) -> dict[str, Any]:
        """Return it as a JSON object; values of entries in base64."""
        return {
            "input": self.input,
            "expected": self.expected,
            "got": self.got,
            "memory": [
                {**entry._asdict(), "value": None if entry.value is None else b64encode(entry.value).decode()}
                for entry in self.memory
            ],
            "moreEntries": self.more_entries,
        }


@dataclass(frozen=True, slots=True)
class Check:
    """The answer to one question about a gene."""

    id: str
    """`phenotype`, `ready`, `t1-positive-0`, …: stable from one release to the next."""
    title: str
    verdict: _Verdict = "pass"
    reason: str = ""
    """Why it failed or was skipped, or what is to be said of a pass. May hold the gene's own text."""
    todo: str = ""
    """What to do about it."""
    duration_ms: float = 0.0
    evidence: Evidence | None = None

    def to_json(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return {
            "id": self.id,
            "title": self.title,
            "verdict": self.verdict,
            "reason": self.reason,
            "todo": self.todo,
            "durationMs": round(self.duration_ms, 3),
            "evidence": None if self.evidence is None else self.evidence.to_json(),
        }


@dataclass(frozen=True, slots=True)
class GeneTest:
    """All checks of one gene, in the order they were made."""

    gene: str
    gene_id: str | None
    """Its v2 id; None when it could not be told."""
    checks: tuple[Check, ...]
    conformance: dict[str, Any] | None = None
    """The document of `rotifer conformance gene`; None when it was not asked."""

    @property
    def passed(self) -> bool:
        """Tell whether nothing failed."""
        return all(check.verdict != "fail" for check in self.checks)

    @property
    def requirements(self) -> dict[str, bool]:
        """Which of the three requirements on a test suite are met: `positive`, `negative`, `property`."""
        passed = [check.id for check in self.checks if check.verdict == "pass"]
        return {
            "positive": any(name.startswith(_POSITIVE) for name in passed),
            "negative": any(name.startswith(_NEGATIVE) for name in passed),
            "property": PROPERTY_ID in passed,
        }

    @property
    def gate_passed(self) -> bool:
        """Tell whether the suite would let the gene be published: all requirements are met, and no case fails."""
        return all(self.requirements.values()) and not any(
            check.verdict == "fail" for check in self.checks if check.id.startswith("t1-")
        )

    @property
    def exit_status(self) -> int:
        """0 when `passed`, else 1."""
        return contract.EXIT_OK if self.passed else contract.EXIT_FAILED

    def to_json(self) -> dict[str, Any]:
        """Return the test as a JSON object."""
        verdicts = [check.verdict for check in self.checks]
        return {
            "gene": self.gene,
            "geneId": self.gene_id,
            "passed": self.passed,
            "counts": {kind: verdicts.count(kind) for kind in get_args(_Verdict)},
            "requirements": self.requirements,
            "gatePassed": self.gate_passed,
            "checks": [check.to_json() for check in self.checks],
            "conformance": self.conformance,
        }
