"""Processes open a memory that another one is just making."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from tests.torture import test_system_calls

pytestmark = test_system_calls.pytestmark

_AGENT: Final = "9922ebda-42fd-4213-8c90-073e5ccb7008"
_OPEN: Final = """
import sys
from pathlib import Path
from rotifer_host.store import open_store
open_store(Path(sys.argv[1]), agent_id=sys.argv[2], quota=1 << 20).close()
"""
_THIRD: Final = "inject=pwrite64:delay_exit=1500000:when=3"
"""Microseconds for which the new meta page lies in the file while its writer does not go on: a slow disk's sync."""
_META_PAGES_AND_A_LEAF: Final = 3 * 4096


def test_a_memory_is_opened_while_its_first_transaction_is_saved(tmp_path: Path) -> None:
    """Who comes while the file's first commit is in it, and not yet told to readers, waits for it and goes on."""
    path = tmp_path / "memory"
    command = [sys.executable, "-c", _OPEN, str(path), _AGENT]
    strace = ["strace", "-f", "-qq", "-o", str(tmp_path / "log"), "-P", str(path), "-e", "trace=pwrite64", "-e", _THIRD]
    with subprocess.Popen([*strace, *command], stderr=subprocess.PIPE, text=True) as maker:
        while not path.exists() or path.stat().st_size < _META_PAGES_AND_A_LEAF:
            time.sleep(0.01)
        others = [subprocess.run(command, capture_output=True, text=True, check=False) for _ in range(2)]
        assert maker.communicate()[1] == ""
    assert (maker.returncode, [(other.returncode, other.stderr) for other in others]) == (0, [(0, "")] * 2)
    assert "DELAYED" in (tmp_path / "log").read_text()
