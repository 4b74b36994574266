"""The functions of host modules as host functions: sandbox on one side, the module's handler on the other."""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Final

from rotifer_host.agent.memory_calls import MemoryAccess, memory_guard
from rotifer_host.errors import BudgetExhaustedError, HostCallError, LockTimeoutError
from rotifer_host.modules.module import Handler, HostModule, ModuleCall
from rotifer_host.sandbox import Ending, ExchangeFunction
from rotifer_host.text import shortened

if TYPE_CHECKING:
    from typing import NoReturn

    from rotifer_host.sandbox import Run

__all__ = ["SHARED_ERRORS", "module_functions"]

SHARED_ERRORS: Final = tuple(  # what any function may be refused with
    kind for kind in HostCallError.__subclasses__() if kind.__module__ == HostCallError.__module__
)
_SHOWN: Final = 1000


def module_functions(modules: Iterable[HostModule]) -> tuple[ExchangeFunction, ...]:
    """Return every function of these modules, to be imported from `rotifer.ext.<name>`."""
    return tuple(
        ExchangeFunction(
            module.imported_from,
            name,
            memory_guard(f"{module.imported_from}.{name}"),
            partial(_call, module, name, handler),
        )
        for module in modules
        for name, handler in module.functions.items()
    )


def _call(module: HostModule, name: str, handler: Handler, run: Run, request: bytes, out_cap: int) -> bytes:  # noqa: PLR0913, PLR0917 - three are bound
    """Call a handler; whatever it raises that is no refusal is its bug, and ends the gene's run as failed."""
    access: MemoryAccess = run.services
    if access.granted is None:
        message = f"a run that offers {module.imported_from} does not say what is granted"
        raise RuntimeError(message)
    run.forget()
    call = ModuleCall(
        module.name, access.granted, access.memory, access.caller, lambda length: run.admit(length, out_cap)
    )
    try:
        response = handler(call, request)
        if not isinstance(response, bytes) or call.admitted not in (None, len(response)):
            message = f"returned {_described(response)} after {call.admitted} bytes were admitted"
            raise TypeError(message)  # noqa: TRY301 - its bug, like the others
    except (*SHARED_ERRORS, *module.errors):
        raise
    except LockTimeoutError as error:
        raise BudgetExhaustedError(error.message) from error
    except (Exception, SystemExit) as error:  # noqa: BLE001 - nothing of it may reach the guest
        _end(run, f"{module.imported_from}.{name}", error)
    return response


def _end(run: Run, function: str, error: BaseException) -> NoReturn:
    message = shortened(f"{function}: {type(error).__name__}: {error}", _SHOWN)
    frames = [f"{frame.name} ({frame.filename}:{frame.lineno})" for frame in traceback.extract_tb(error.__traceback__)]
    run.stop(Ending("failed", "HOST_MODULE_FAILED", message, tuple(reversed(frames))))


def _described(response: object) -> str:
    return f"{len(response)} bytes" if isinstance(response, bytes) else f"a {type(response).__name__}"
