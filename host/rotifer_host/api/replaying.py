"""Running a recorded run again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rotifer_host.api.sandboxes import host_functions, wanted_path
from rotifer_host.gene.source import read_given_file
from rotifer_host.project import module_cache_dir

if TYPE_CHECKING:
    from rotifer_host.record import Replay

__all__ = ["replay"]


def replay(
    path: str | Path, *, call_path: str | None = None, host: str | None = None, modules: Sequence[str | Path] = ()
) -> Replay:
    """Run a recorded run again with the recorded answers, and say where it first differs.

    Needs no project and changes nothing. `host` is the command of another host to run it
    on, one that speaks the protocol of `abi/vectors/README.md` and can `replay`.
    `modules` are files of modules that the recording left out. Raises `RecordingError`,
    `ModuleError`, `UsageError` for a module's file that cannot be read, an unknown call path
    or a command that cannot be started, `HostError` for a host that cannot do it.
    """
    from rotifer_host.record import read_recording  # noqa: PLC0415 - a run needs none of it
    from rotifer_host.record import replay as replay_recording  # noqa: PLC0415

    recording = read_recording(Path(path))
    if host is not None:
        from rotifer_host.conformance.protocol import Program  # noqa: PLC0415
        from rotifer_host.conformance.replay_host import replay_on  # noqa: PLC0415

        with Program(host) as program:
            return replay_on(program, recording, [read_given_file(Path(file)) for file in modules])
    return replay_recording(
        recording,
        host_functions(()),
        call_path=wanted_path(call_path),
        cache_dir=module_cache_dir(),
        modules=[read_given_file(Path(file)) for file in modules],
    )
