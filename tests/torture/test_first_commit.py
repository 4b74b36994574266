"""Processes open a memory that another one is just making, and write to it."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from tests.torture import test_system_calls
from tests.torture.invariants import read_state, unsound
from tests.torture.place import Place

pytestmark = test_system_calls.pytestmark

_ROOT: Final = Path(__file__).parents[2]
_OPEN: Final = """
import sys
from pathlib import Path
from tests.torture.guest import Guest, read, write
from tests.torture.place import Place, gene

with Place(Path(sys.argv[1])).open() as (_, memory):
    guest = Guest()
    answers = [guest.get(memory, write(gene("a"), key, b"1")) for key in sys.argv[2:]]
    answers += [guest.get(memory, read(gene("a"), key)) for key in sys.argv[2:]]
    assert all(answer.by_shortcut == guest.takes_shortcuts for answer in answers)
"""
_THIRD: Final = "inject=pwrite64:delay_exit=1500000:when=3"
"""Microseconds for which the new meta page lies in the file while its writer does not go on: a slow disk's sync."""
_META_PAGES_AND_A_LEAF: Final = 3 * 4096


def test_a_memory_is_opened_while_its_first_transaction_is_saved(tmp_path: Path) -> None:
    """Who comes while the file's first commit is in it, and not yet told to readers, waits for it and goes on."""
    place = Place(tmp_path)
    path = place.memory_path
    command = [sys.executable, "-c", _OPEN, str(tmp_path)]
    strace = ["strace", "-f", "-qq", "-o", str(tmp_path / "log"), "-P", str(path), "-e", "trace=pwrite64", "-e", _THIRD]
    with subprocess.Popen([*strace, *command], cwd=_ROOT, stderr=subprocess.PIPE, text=True) as maker:
        while not path.exists() or path.stat().st_size < _META_PAGES_AND_A_LEAF:
            time.sleep(0.01)
        others = [
            subprocess.run([*command, key], cwd=_ROOT, capture_output=True, text=True, check=False) for key in "kl"
        ]
        assert maker.communicate()[1] == ""
    assert (maker.returncode, [(other.returncode, other.stderr) for other in others]) == (0, [(0, "")] * 2)
    assert "DELAYED" in (tmp_path / "log").read_text()
    assert {*read_state(place)} == {"k", "l"}
    assert unsound(place) == []
