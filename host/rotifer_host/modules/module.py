"""A host module, and what its functions see of the host: the call, and nothing else.

A function has the one shape of the memory calls, `(req_ptr, req_len, out_ptr, out_cap:
i32) -> i32`. Its handler gets the request's bytes and returns the response's; pointers,
budgets and the order of checks are the host's, on every call path.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rotifer_host import contract
from rotifer_host.errors import HostCallError
from rotifer_host.store.protocol import DocumentName

if TYPE_CHECKING:
    from rotifer_host.clock import Clock
    from rotifer_host.lock import Patience
    from rotifer_host.memory import AgentMemory, Caller

__all__ = ["Granted", "Handler", "HostModule", "ModuleCall"]

Handler = Callable[["ModuleCall", bytes], bytes]
"""Takes the call and the request, returns the response; refuses by raising a `HostCallError`."""

_TAKEN: Final = ("audit", "memory", contract.TURN_DOCUMENTS)
"""They begin the host's own actions in the audit log."""
_NAME: Final = re.compile(contract.MODULE_NAME_PATTERN)
_FUNCTION: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CODE: Final = re.compile(r"[A-Z][A-Z0-9_]*")
_VERB: Final = re.compile(r"[a-z][a-z0-9_-]*")


@dataclass(frozen=True, slots=True, eq=False)
class HostModule:
    """A named set of host functions; raises `ValueError` for one that cannot be registered."""

    name: str
    """Lower-case letters, digits and hyphens: guests import `rotifer.ext.<name>`."""
    functions: Mapping[str, Handler]
    """By the names guests import them under."""
    errors: tuple[type[HostCallError], ...] = ()
    """Refusals of its own, each with a `result` of -100 or less; those in `rotifer_host.errors` are everybody's."""
    check_settings: Callable[[Mapping[str, Any]], None] | None = None
    """Raises `ValueError` for settings that an agent's record must not hold; None for a module without settings."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name) or self.name in _TAKEN:
            message = f"a host module's name must match {contract.MODULE_NAME_PATTERN}, not be {self.name!r}"
            raise ValueError(message)
        if not self.functions or not all(map(_FUNCTION.fullmatch, self.functions)):
            message = f"host module {self.name} needs functions named like identifiers, not {list(self.functions)}"
            raise ValueError(message)
        for function, handler in self.functions.items():
            if not callable(handler):
                message = f"the handler of {function} in host module {self.name} must be a function, not {handler!r}"
                raise ValueError(message)  # noqa: TRY004 - one kind for all that a module is refused for
        if len(self.errors) > contract.MAX_OWN_ERRORS:
            message = f"host module {self.name} has more than {contract.MAX_OWN_ERRORS} errors of its own"
            raise ValueError(message)
        for error in self.errors:
            self._check_error(error)

    def _check_error(self, error: object) -> None:
        if not isinstance(error, type) or not issubclass(error, HostCallError):
            message = f"errors of host module {self.name} must be subclasses of HostCallError, not {error!r}"
            raise ValueError(message)  # noqa: TRY004 - the same
        result = getattr(error, "result", None)
        if type(result) is not int or not contract.LEAST_RESULT <= result <= contract.FIRST_OWN_RESULT:
            message = (
                f"result of {error.__name__} must be from {contract.LEAST_RESULT} to {contract.FIRST_OWN_RESULT}, "
                f"not {result}"
            )
            raise ValueError(message)
        if not _CODE.fullmatch(error.code):
            message = f"code of {error.__name__} must match {_CODE.pattern}, not be {error.code!r}"
            raise ValueError(message)

    @property
    def imported_from(self) -> str:
        """The module a guest names in its imports."""
        return f"{contract.EXTENSION_PREFIX}{self.name}"


class Granted(NamedTuple):
    """An agent in a run, as the modules granted to it may know it."""

    agent_id: str
    agent: str
    """Its name."""
    project: Path | None
    """The project's folder, None where there is no project."""
    clock: Clock
    patience: Patience
    """How long the run may still wait for locks."""
    settings: Mapping[str, Mapping[str, Any]]
    """What the agent's record says for each of them, by name."""


class ModuleCall:
    """One call of a function by a gene.

    A handler that changes something first has its response admitted by `admit`, once and
    with the length it will have: then a guest that gets no response knows that nothing
    was changed.
    """

    __slots__ = ("_admit", "_admitted", "_memory", "_module", "caller", "granted")

    def __init__(
        self, module: str, granted: Granted, memory: AgentMemory, caller: Caller, admit: Callable[[int], None]
    ) -> None:
        self._module = module
        self._memory = memory
        self._admit = admit
        self._admitted: int | None = None
        self.granted = granted
        """The agent, and how long the call may wait."""
        self.caller = caller
        """The gene: `gene_id` and `domain`."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """What the agent's record says for this module."""
        return self.granted.settings[self._module]

    @property
    def admitted(self) -> int | None:
        """The length of the response that was admitted, in bytes; None before."""
        return self._admitted

    def now_ms(self) -> int:
        """Return the host's time of day in milliseconds since 1970."""
        return self.granted.clock.now_ms()

    def admit(self, length: int) -> None:
        """Make sure that the gene can have a response of this many bytes.

        Raises `BufferTooSmallError` or `BudgetExhaustedError` where it cannot, which a
        handler lets pass.
        """
        if self._admitted is not None:
            message = "a response is admitted once"
            raise RuntimeError(message)
        self._admit(length)
        self._admitted = length

    def document(self, name: str) -> bytes | None:
        """Return what this module keeps for the agent under `name`, what this run changed included.

        None where it keeps nothing. Raises `StorageError`.
        """
        return self._memory.documents.read(self.caller, DocumentName(self._module, name))

    def change_document(self, verb: str, name: str, change: Callable[[bytes | None], bytes | None]) -> None:
        """Put what `change` makes of a document in its place; None for no document.

        `change` gets the latest committed state, and nobody else can change the memory
        until this returns; it stops everything by raising, and admits the response if that
        was not done before. It is saved as entries are: on the disk when this returns,
        or with the run. The audit log says `<module>.<verb>` with the name as key, before.

        A name has 1 to 256 bytes in UTF-8, a document at most 1 MiB; an agent has at most
        16 MiB and 1,024 of them, which its quota does not count. Raises `InvalidInputError`,
        `QuotaExceededError`, `BudgetExhaustedError`, `StorageError`.
        """

        def admitted(old: bytes | None) -> bytes | None:
            new = change(old)
            self._require_admitted()
            return new

        self._memory.documents.change(self.caller, self._action(verb), DocumentName(self._module, name), admitted)

    def noted(self, verb: str, key: str, size: int | None) -> AbstractContextManager[None]:
        """Return a block to do in what changes things outside the agent's memory: `with call.noted(…):`.

        The audit line `<module>.<verb>` is on the disk before the block begins; when it
        raises, `memory.abort` takes the line back. `size` is the bytes it is about, if any.
        Entering raises `StorageError` or `BudgetExhaustedError` when there can be no line.
        """
        self._require_admitted()
        return self._memory.documents.noted(self.caller, self._action(verb), key, size)

    def _action(self, verb: str) -> str:
        if not _VERB.fullmatch(verb):
            message = f"the verb of an action must be lower-case letters, digits, - and _, not {verb!r}"
            raise ValueError(message)
        return f"{self._module}.{verb}"

    def _require_admitted(self) -> None:
        if self._admitted is None:
            message = "a change needs its response admitted first: call.admit(length)"
            raise RuntimeError(message)
