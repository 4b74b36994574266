"""Record a run with all that its genes were answered, and run it again with the same answers.

`recording` is the file, `recorder` writes one beside a run, `replay` runs one again,
`difference` says where the two part. Built on the sandbox alone: no memory rules, no
projects.
"""

from __future__ import annotations

from rotifer_host.record.difference import Difference
from rotifer_host.record.recorder import Recorder
from rotifer_host.record.recording import Recording, read_recording
from rotifer_host.record.replay import PartReplay, Replay, replay

__all__ = ["Difference", "PartReplay", "Recorder", "Recording", "Replay", "read_recording", "replay"]
