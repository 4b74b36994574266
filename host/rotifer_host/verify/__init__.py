"""Whether an agent's memory is sound, and whether the audit log proves it."""

from __future__ import annotations

from rotifer_host.verify.agent import AgentCheck, MemoryFile, check_agent, check_without_memory, verify_log
from rotifer_host.verify.chain import Proof
from rotifer_host.verify.log import OwnLine, ReadLog, read_log

__all__ = [
    "AgentCheck",
    "MemoryFile",
    "OwnLine",
    "Proof",
    "ReadLog",
    "check_agent",
    "check_without_memory",
    "read_log",
    "verify_log",
]
