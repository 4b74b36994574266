"""Local telemetry: one event for every refused access, unless the user opted out.

memory-api.en.md, "What gets recorded". Nothing is sent anywhere.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Protocol

import msgspec

from rotifer_host import contract

__all__ = ["TelemetryLog", "TelemetrySink", "is_enabled", "is_switch"]

_TRACKING_ALLOWED: Final = ("", "0", "false")
_SWITCHED_OFF: Final = ("0", "false", "off")
_SWITCHED_ON: Final = ("", "1", "true", "on")


class TelemetrySink(Protocol):
    """Where events go. Never raises: telemetry that fails changes nothing."""

    def access_denied(self, *, ts: str, agent_id: str | None, gene_id: str | None, operation: str) -> None:
        """Record that `operation` (`readMemory`, …) was refused."""
        ...


class TelemetryLog:
    """A file of events, one JSON object per line, each with `v`, `ts`, `event` and `agentId`."""

    def __init__(self, path: Path, *, enabled: bool) -> None:
        self.path = path
        self.enabled = enabled

    def access_denied(self, *, ts: str, agent_id: str | None, gene_id: str | None, operation: str) -> None:
        """Append `memory.access_denied` with `geneId` and `operation`."""
        self._append(ts, "memory.access_denied", agent_id, {"geneId": gene_id, "operation": operation})

    def turn_memory_failed(self, *, ts: str, agent_id: str | None, event: str, source: str, request_id: str) -> None:
        """Append what a turn's memory could not keep: `memory.commit_failed`, … with `source` and `requestId`."""
        self._append(ts, event, agent_id, {"source": source, "requestId": request_id})

    def _append(self, ts: str, event: str, agent_id: str | None, more: Mapping[str, str | None]) -> None:
        """Append one event; does nothing when disabled or when the file cannot be written."""
        if not self.enabled:
            return
        line = {"v": contract.FORMAT_VERSION, "ts": ts, "event": event, "agentId": agent_id, **more}
        try:
            _append(self.path, msgspec.json.encode(line) + b"\n")
        except (OSError, UnicodeEncodeError):
            return


def is_enabled(environ: Mapping[str, str]) -> bool:
    """Tell whether events may be kept.

    Off when `DO_NOT_TRACK` is anything but empty, `0` or `false`, to the letter, or when
    `ROTIFER_TELEMETRY` is `0`, `false` or `off`, in either case, spaces around it ignored.
    """
    switch = environ.get("ROTIFER_TELEMETRY", "").strip().lower()
    return environ.get("DO_NOT_TRACK", "") in _TRACKING_ALLOWED and switch not in _SWITCHED_OFF


def is_switch(text: str) -> bool:
    """Tell whether a value of `ROTIFER_TELEMETRY` is one that was meant: every other one leaves telemetry on."""
    return text.strip().lower() in (*_SWITCHED_OFF, *_SWITCHED_ON)


def _append(path: Path, line: bytes) -> None:
    # O_NONBLOCK: a pipe in the file's place must not make the run wait
    fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "r+b", buffering=0) as file:
        end = os.fstat(fd).st_size
        if end and os.pread(fd, 1, end - 1) != b"\n":  # torn by a crash: do not glue to it
            line = b"\n" + line
        file.write(line)
