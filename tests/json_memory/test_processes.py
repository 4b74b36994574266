"""One JSON memory and several processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.modules.conftest import audited, relay

from rotifer_host import create_memory_tools
from rotifer_host.testing import temporary_agent

HAMMER = """
import sys
from rotifer_host import Project
sys.path.insert(0, sys.argv[2])
from tests.json_memory.test_tools import hammer
hammer(Project.open(sys.argv[1]).agent("test-agent").json_memory(), 15)
"""


def test_no_increment_is_lost_between_processes() -> None:
    """Comparing and writing are one step for all of them, and the log proves what came of it."""
    root = Path(__file__).parents[2]
    with temporary_agent({"get": relay("json.getMemory")}, grants=["json"]) as agent:
        folder = str(agent._project.root)
        players = [subprocess.Popen([sys.executable, "-c", HAMMER, folder, str(root)]) for _ in range(3)]
        assert [player.wait() for player in players] == [0, 0, 0]
        get_memory, _ = create_memory_tools(agent.json_memory())
        assert get_memory.execute().details == {"revision": 45, "memory": {"count": 45}}
        assert [line["action"] for line in audited(agent)] == ["json.update"] * 45
        assert agent.memory().check().problems == []
