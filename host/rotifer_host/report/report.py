"""What a run is given to have a page made of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rotifer_host.errors import RotiferError, UsageError
from rotifer_host.files import write_atomic
from rotifer_host.memory.entry import DEFAULT_DATA_POLICY, DataPolicy
from rotifer_host.report.page import Facts, page
from rotifer_host.report.picture import Picture
from rotifer_host.report.trace import Trace

if TYPE_CHECKING:
    from rotifer_host.agent.report import RunResult
    from rotifer_host.agent.run import LoadedGene
    from rotifer_host.clock import Clock
    from rotifer_host.limits import Limits
    from rotifer_host.store import Store

__all__ = ["Report"]


class Report:
    """Writes one run as an HTML page into the file `path` (mode 0600), which is replaced when the run has ended.

        agent.run({"code": "…"}, report=Report("run.html"))

    The page needs no network and no other file. It holds the input, and the beginning
    of what the genes read and wrote: look before you share it. A run with a report is
    slower; others do not notice. Raises `UsageError` for a path that cannot be written to.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if self.path.is_dir() or not self.path.parent.is_dir():
            what = "it is a folder" if self.path.is_dir() else f"there is no folder {self.path.parent}"
            message = f"cannot write the report {self.path}: {what}"
            raise UsageError(message)
        self._trace = Trace()

    def traced(self, genes: Sequence[LoadedGene]) -> list[LoadedGene]:
        """Return genes that run as these do, and are noted."""
        self._trace = Trace()
        return [self._trace.traced(gene) for gene in genes]

    def of_run(  # noqa: PLR0913 - keywords, what the page shows beside the run
        self,
        run: Callable[[], RunResult],
        *,
        document: Any,  # noqa: ANN401 - any JSON value
        limits: Limits,
        clock: Clock,
        store: Store | None = None,
        policy: DataPolicy = DEFAULT_DATA_POLICY,
    ) -> RunResult:
        """Do a run of traced genes, and write its page; `store` is the memory it changes, under `policy`.

        Raises what the run raises, without a page; `StoreError`, and `RotiferError` with
        code `REPORT` when the page cannot be written.
        """
        pictures = [] if store is None else [Picture.of(store, clock.now_ms(), policy)]
        self._trace.begin()
        result = run()
        now_ms = clock.now_ms()
        if store is not None:
            pictures.append(Picture.of(store, now_ms, policy))
        text = page(Facts(result, document, limits, now_ms, self._trace, tuple(pictures)))
        try:
            write_atomic(self.path, text.encode(), mode=0o600)
        except OSError as error:
            message = f"cannot write the report {self.path}: {error.strerror}"
            raise RotiferError(message, code="REPORT") from error
        return result
