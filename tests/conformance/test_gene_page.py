"""docs/testing-a-gene.md lists every point, as the report words it."""

from __future__ import annotations

from pathlib import Path

from rotifer_host.conformance.gene_points import CALL_POINTS, POINTS

PAGE = (Path(__file__).parents[2] / "docs" / "testing-a-gene.md").read_text(encoding="utf-8")


def test_every_point_is_listed() -> None:
    """In the order of the report, with what to do, and no others."""
    points = POINTS | {f"CALL.{name}": point for name, point in CALL_POINTS.items()}
    expected = [f"| `{name}` | {point.title} | {point.todo or '-'} |" for name, point in points.items()]
    assert [line for line in PAGE.splitlines() if line.startswith("| `")] == expected


def test_every_section_is_a_heading_of_the_abi() -> None:
    """Verdicts point at where their rule stands."""
    abi = (Path(__file__).parents[2] / "abi" / "README.md").read_text(encoding="utf-8").splitlines()
    for point in (*POINTS.values(), *CALL_POINTS.values()):
        assert any(line.lstrip("#").strip() == point.section for line in abi if line.startswith("##")), point.section
