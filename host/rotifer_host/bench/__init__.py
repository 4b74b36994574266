"""What the host calls of a gene cost, and where a call's time goes: behind `rotifer bench`.

Nothing that is timed is changed for it. Whole runs and the host's own clock of each
call are read in *bare* runs, which run what every run runs. Where the time goes is
measured beside them: the way into the host and back by a *probe*, a guest whose calls
carry as many bytes and ask for nothing, and what lies behind it in *split* runs, in
which the seams between the parts are timed and the timing's own cost is subtracted.
What the parts do not add up to is reported as the rest.
"""

from __future__ import annotations

from rotifer_host.bench.compare import Difference, compare, read_report
from rotifer_host.bench.measurement import BenchRunError, Options, measure
from rotifer_host.bench.report import CallReport, Machine, PathReport, Percentiles, Report, Split, Spread
from rotifer_host.bench.stages import STAGES

__all__ = [
    "STAGES",
    "BenchRunError",
    "CallReport",
    "Difference",
    "Machine",
    "Options",
    "PathReport",
    "Percentiles",
    "Report",
    "Split",
    "Spread",
    "compare",
    "measure",
    "read_report",
]
