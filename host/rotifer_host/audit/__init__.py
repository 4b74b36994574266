"""The audit log: one JSON line for every change to memory and every refusal.

memory-api.en.md, "What gets recorded". A line is in the file before its change is
saved; when it cannot be written, the change is not made. Each line names the hash of the
one above it, so that none can be taken out or changed without a trace.
"""

from __future__ import annotations

from rotifer_host.audit.line import Action, Actor, AuditLine, Written, decode_line, encode_line, line_hash, link
from rotifer_host.audit.log import AuditLog, AuditSink
from rotifer_host.audit.noted import append_if_possible, noted, take_back
from rotifer_host.audit.nowhere import Nowhere
from rotifer_host.audit.reading import FoundLine, is_begin, is_line, last_hash, read_lines, scan

__all__ = [
    "Action",
    "Actor",
    "AuditLine",
    "AuditLog",
    "AuditSink",
    "FoundLine",
    "Nowhere",
    "Written",
    "append_if_possible",
    "decode_line",
    "encode_line",
    "is_begin",
    "is_line",
    "last_hash",
    "line_hash",
    "link",
    "noted",
    "read_lines",
    "scan",
    "take_back",
]
