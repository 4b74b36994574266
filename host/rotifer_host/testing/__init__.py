"""Help for testing genes, and code that uses this package.

    from rotifer_host.testing import ManualClock, temporary_agent

    def test_forgets_after_a_month():
        clock = ManualClock()
        with temporary_agent({"greet": "genes/greet"}, clock=clock) as agent:
            agent.run({"name": "Ada"})
            clock.advance(days=30)
            assert agent.run({}).output == {"greeting": "Hello, stranger!"}

| name                | stands for                                         |
|---------------------|----------------------------------------------------|
| `ManualClock`       | the host's time of day                             |
| `ScriptedHost`      | the host functions a guest imports                 |
| `FakeGuestMemory`   | a guest's linear memory                            |
| `temporary_project` | a project folder with genes, gone afterwards       |
| `temporary_agent`   | one agent of such a project, with an empty memory  |

None of it is for anything but tests: each says what it is not safe for.
"""

from __future__ import annotations

from rotifer_host.testing.clock import ManualClock
from rotifer_host.testing.memory import FakeGuestMemory
from rotifer_host.testing.project import GeneSource, temporary_agent, temporary_project
from rotifer_host.testing.scripted_host import Request, ScriptedHost

__all__ = [
    "FakeGuestMemory",
    "GeneSource",
    "ManualClock",
    "Request",
    "ScriptedHost",
    "temporary_agent",
    "temporary_project",
]
