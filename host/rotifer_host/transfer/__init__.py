"""Moving an agent to another project: one file with its record and what it remembers.

memory-api.en.md, "Moving an agent". `lines` is the file, `sending` writes one,
`receiving` takes one in, whole or not at all, by way of a `draft`.
"""

from __future__ import annotations

from rotifer_host.transfer.files import source_stream, target_stream
from rotifer_host.transfer.receiving import Imported, receive
from rotifer_host.transfer.sending import Exported, send

__all__ = ["Exported", "Imported", "receive", "send", "source_stream", "target_stream"]
