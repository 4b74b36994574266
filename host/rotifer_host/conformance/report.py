"""What a conformance test says: one verdict for every point."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, get_args

from rotifer_host import contract

__all__ = ["VERDICTS", "Report", "Verdict", "VerdictKind"]

VerdictKind = Literal["pass", "fail", "skipped", "not-applicable"]
VERDICTS: Final[tuple[VerdictKind, ...]] = get_args(VerdictKind)


class Verdict(NamedTuple):
    """The answer to one point."""

    point: str
    """Id of the point, stable from one release to the next: `w-017`, `exports.memory`."""
    title: str
    """The rule the point tests, in one line."""
    verdict: VerdictKind
    seen: str = ""
    """What the tested did; for `skipped` and `not-applicable` why it was not asked. May hold foreign text."""
    todo: str = ""
    """What to do about a failure."""
    section: str = ""
    """Where the rule stands: `memory-api.en.md, "Size limits"`."""


@dataclass(frozen=True, slots=True)
class Report:
    """All verdicts on one guest or host, in the order they were reached."""

    subject: str
    """What was tested, as a person calls it."""
    verdicts: tuple[Verdict, ...]

    @classmethod
    def of(cls, subject: str, verdicts: Iterable[Verdict]) -> Report:
        """Collect verdicts."""
        return cls(subject, tuple(verdicts))

    @property
    def counts(self) -> dict[VerdictKind, int]:
        """How many points got each verdict."""
        found = Counter(verdict.verdict for verdict in self.verdicts)
        return {kind: found[kind] for kind in VERDICTS}

    @property
    def passed(self) -> bool:
        """Tell whether something was tested and nothing failed."""
        counts = self.counts
        return counts["pass"] > 0 and counts["fail"] == 0

    @property
    def exit_status(self) -> int:
        """0 when `passed`, else 1."""
        return contract.EXIT_OK if self.passed else contract.EXIT_FAILED

    def to_json(self) -> dict[str, object]:
        """Return the report as a JSON object."""
        return {
            "v": contract.FORMAT_VERSION,
            "subject": self.subject,
            "passed": self.passed,
            "counts": dict(self.counts),
            "verdicts": [verdict._asdict() for verdict in self.verdicts],
        }
