"""Host modules: more host functions for genes, `rotifer.ext.<name>`, granted agent by agent.

Some come with the host; others are registered by a distribution under the entry point
group `rotifer_host.modules` (docs/host-modules.md).
"""

from __future__ import annotations

from rotifer_host.memory.request import members_of
from rotifer_host.modules.module import Granted, Handler, HostModule, ModuleCall
from rotifer_host.modules.registry import ENTRY_POINTS, find_module, module_names

__all__ = [
    "ENTRY_POINTS",
    "Granted",
    "Handler",
    "HostModule",
    "ModuleCall",
    "find_module",
    "members_of",
    "module_names",
]
