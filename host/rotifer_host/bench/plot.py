"""A picture of a measurement: where a call's time goes, and the call paths side by side."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rotifer_host.bench.report import PathReport, Report, Spread
from rotifer_host.bench.stages import STAGES
from rotifer_host.errors import UsageError
from rotifer_host.extras import how_to_install
from rotifer_host.files import check_writable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["FORMATS", "check_plot", "plot"]

FORMATS: Final = (".svg", ".png")

_COLOURS: Final = dict(
    zip(
        (*STAGES, "rest"),
        # distinguishable for colour-blind readers too: Okabe and Ito's palette, brown and wine, then greys
        (
            *("#0072b2", "#56b4e9", "#cc79a7", "#009e73", "#f0e442", "#e69f00", "#d55e00"),
            *("#8c564b", "#882255", "#999999", "#dddddd"),
        ),
        strict=True,
    )
)
_WIDTH: Final = 10.0
_BAR: Final = 0.42
_FRAME: Final = 1.0
_HEAD: Final = 1.1
_ROOM: Final = 1.28
"""Of the longest bar, for the number behind it."""


def check_plot(path: Path) -> None:
    """Raise `UsageError` when no picture can be written there: its format, its folder, or a missing library."""
    if path.suffix.lower() not in FORMATS:
        raise UsageError(f"--plot takes a file that ends in {' or '.join(FORMATS)}, not {path.name}")
    check_writable(path, UsageError)
    if find_spec("matplotlib") is None:
        raise UsageError("--plot needs matplotlib", help=how_to_install("plot"))


def plot(report: Report, path: Path) -> None:
    """Draw the report into an SVG or PNG file. Raises `UsageError` as `check_plot`, and when it cannot be written."""
    check_plot(path)
    import matplotlib as mpl  # noqa: PLC0415 - optional, and slow to load
    from matplotlib.figure import Figure  # noqa: PLC0415

    labels = list(dict.fromkeys(label for each in report.paths for label in each.calls))
    panel = _FRAME + _BAR * len(report.paths)
    # `none`: text stays text; a fixed salt: the same figures give the same file
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "rotifer", "font.size": 9}):
        figure = Figure(figsize=(_WIDTH, _HEAD + panel * (len(labels) + 1)), layout="constrained")
        figure.suptitle(
            f"{report.kind} {report.target}: {report.runs} runs on each call path, durability {report.durability}\n"
            f"{report.machine.processor}, {report.machine.python}",
            fontsize=10,
        )
        panels = figure.subplots(len(labels) + 1, 1, squeeze=False)[:, 0]
        for axes, label in zip(panels, labels, strict=False):
            _draw_calls(axes, report, label)
        _draw_runs(panels[-1], report, labels)
        handles = [mpl.patches.Patch(color=colour, label=stage) for stage, colour in _COLOURS.items()]
        if labels:
            figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False, fontsize=8)
        metadata = {"Date": None} if path.suffix.lower() == ".svg" else {}
        try:
            figure.savefig(path, dpi=150, metadata=metadata)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from error


def _draw_calls(axes: Axes, report: Report, label: str) -> None:
    """One bar for each call path, from the stages of the average call."""
    paths = [path for path in report.paths if label in path.calls]
    for row, path in enumerate(paths):
        call = path.calls[label]
        parts = {stage: split.mean for stage, split in call.stages.items()} | {"rest": max(0.0, call.rest)}
        left = 0.0
        for stage, micros in parts.items():
            axes.barh(row, micros, left=left, color=_COLOURS[stage])
            left += micros
        _mark(axes, row, call.micros, left)
    _finish(axes, f"{label}: one call", paths)


def _draw_runs(axes: Axes, report: Report, labels: list[str]) -> None:
    """One bar for each call path: the calls of a run, and the rest of it."""
    shades = {label: str(0.25 + 0.4 * at / max(1, len(labels) - 1)) for at, label in enumerate(labels)}
    for row, path in enumerate(report.paths):
        left = 0.0
        for label in labels:
            call = path.calls.get(label)
            micros = 0.0 if call is None else call.count * call.micros.median
            axes.barh(row, micros, left=left, color=shades[label], label=label if row == 0 else None)
            left += micros
        others = max(0.0, path.run.median - left)
        axes.barh(row, others, left=left, color="#c6dbef", label="start, guest, saving" if row == 0 else None)
        _mark(axes, row, path.run, left + others)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8)
    _finish(axes, "a whole run", report.paths)


def _mark(axes: Axes, row: int, spread: Spread, end: float) -> None:
    """Show the measured whole beside the sum of the parts: median, quartiles, and the number."""
    scatter = [[spread.median - spread.low], [spread.high - spread.median]]
    axes.errorbar(spread.median, row, xerr=scatter, color="black", capsize=3, marker="|", markersize=10)
    axes.annotate(
        f"{spread.median:,.2f} µs",
        (max(spread.high, end), row),
        xytext=(6, 0),
        textcoords="offset points",
        verticalalignment="center",
        fontsize=8,
    )


def _finish(axes: Axes, title: str, paths: list[PathReport]) -> None:
    axes.set_title(title, loc="left", fontsize=9, fontweight="bold")
    axes.set_yticks(range(len(paths)), [path.call_path for path in paths])
    axes.set_ylim(len(paths) - 0.5, -0.5)
    axes.set_xlim(0, axes.dataLim.xmax * _ROOM)
    axes.set_xlabel("µs", loc="right")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
