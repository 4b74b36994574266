"""A run as one self-contained HTML page: when its genes ran, what they asked, and what became of memory.

`trace` notes what happens beside a run, `picture` what memory held before and after,
`page` writes both down. Nothing of it costs a run that is not asked for a page.
"""

from __future__ import annotations

from rotifer_host.report.report import Report

__all__ = ["Report"]
