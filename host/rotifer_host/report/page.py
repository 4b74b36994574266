"""The page of a run: one HTML document without scripts, links, or anything to load."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import rotifer_host
from rotifer_host.clock import rfc3339
from rotifer_host.limits import Limits
from rotifer_host.report.calls import call_tables, denials, timeline
from rotifer_host.report.cells import json_text, milliseconds
from rotifer_host.report.genes import gene_table, texts
from rotifer_host.report.markup import Markup, element, joined
from rotifer_host.report.memory import memory_section
from rotifer_host.report.picture import Picture
from rotifer_host.report.trace import Trace
from rotifer_host.report.turn import turn_table

if TYPE_CHECKING:
    from rotifer_host.agent.report import RunResult

__all__ = ["Facts", "page"]

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
"""Should a text ever get past the escaping, the browser still runs and loads nothing."""


class Facts(NamedTuple):
    """All that a page is made of."""

    result: RunResult
    document: Any
    """The input."""
    limits: Limits
    ended_ms: int
    """Time of day, in milliseconds since 1970."""
    trace: Trace
    pictures: tuple[Picture, ...]
    """Memory before and after; none outside an agent."""


def page(facts: Facts) -> str:
    """Return the whole document."""
    title = _title(facts.result)
    style = resources.files("rotifer_host.report").joinpath("page.css").read_text(encoding="utf-8")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        element("style", Markup(style)),
    )
    body = element("body", element("main", _summary(title, facts), *_sections(facts), _foot()))
    return joined(Markup("<!doctype html>\n"), element("html", head, body, lang="en"), Markup("\n"))


def _sections(facts: Facts) -> Iterator[Markup]:
    parts, result = facts.trace.parts, facts.result
    for title, content in (
        ("Timeline", timeline(facts.trace, result.duration_ms)),
        ("Refused", denials(parts)),
        ("Memory", memory_section(facts.pictures, parts)),
        ("Turn memory", turn_table(result.turn)),
        ("Genes", gene_table(parts, facts.limits)),
        ("Calls", call_tables(facts.trace)),
        ("Logs", texts(parts)),
    ):
        if content is not None:
            yield element("section", element("h2", title), content)


def _title(result: RunResult) -> str:
    if result.agent is not None:
        return f"Run of the agent {result.agent}"
    return f"Run of the gene {result.genes[0].name}" if result.genes else "Run of a gene"


def _summary(title: str, facts: Facts) -> Markup:
    result = facts.result
    children = [
        element("h1", title, " ", element("span", result.status, class_=f"badge {result.status}")),
        element(
            "p",
            f"ended {rfc3339(facts.ended_ms)} after {milliseconds(result.duration_ms)}; "
            + (f"composition {result.composition}; " if result.composition is not None else "")
            + f"host calls {result.call_path}",
            class_="quiet",
        ),
    ]
    children += [element("p", warning, class_="warning") for warning in result.warnings]
    if result.error is not None:
        frames = "".join(f"\n    at {frame}" for frame in result.error.backtrace)
        children.append(
            element("p", element("strong", result.error.code), f": {result.error.message}{frames}", class_="error")
        )
    children.append(_document("Input", facts.document))
    if result.status == "ok":
        children.append(_document("Output", result.output))
    return element("header", *children)


def _document(name: str, value: object) -> Markup:
    return element("details", element("summary", name), element("pre", json_text(value)), open="")


def _foot() -> Markup:
    return element(
        "footer",
        element(
            "p",
            f"Made by rotifer-host {rotifer_host.__version__}. This page holds the input, and the beginning of what "
            "the genes read and wrote. Text of guests is shown with its control characters as escapes.",
            class_="quiet",
        ),
    )
