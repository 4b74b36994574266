"""Compile and run the modules in a folder, on one call path: an outcome for each, printed before the next begins.

    python run_modules.py FOLDER CALL_PATH

A program of its own, so that an abort or a segmentation fault shows, after the name of the module that made it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from rotifer_host import Limits
from rotifer_host.agent.memory_calls import NoMemory, memory_functions
from rotifer_host.errors import AccessDeniedError, RotiferError
from rotifer_host.sandbox import Deadline, HostFunctions, HostTime, Sandbox, core_functions, wasi_functions


def say(text: str) -> None:
    """Print at once."""
    sys.stdout.write(text)
    sys.stdout.flush()


def main(folder: Path, call_path: str) -> None:
    """Run every module once."""
    sandbox = Sandbox(HostFunctions(core_functions(), wasi_functions(), memory_functions()), call_path=call_path)
    for path in sorted(folder.glob("*.wasm")):
        say(f"{path.name} ")
        try:
            module = sandbox.load(path.read_bytes(), name=path.stem)
        except RotiferError as error:
            say(f"{type(error).__name__}\n")
            continue
        result = sandbox.run(
            module,
            b'{"a":[1,2,3]}',
            limits=Limits(fuel=20_000_000, memory_bytes=16 << 20),
            deadline=Deadline(2_000),
            host_time=HostTime(1_000),
            services=NoMemory(lambda call: AccessDeniedError(f"{call}: no memory here")),
            context={"agent_id": None},
            logical_ms=0,
        )
        say(f"{result.status if result.error is None else result.error.code}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
