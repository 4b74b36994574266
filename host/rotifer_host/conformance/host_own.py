"""This project's host behind the protocol: real sandbox, real memory, real logs.

`python -m rotifer_host.conformance.host_own` speaks the protocol on standard input and
output, as `rotifer conformance host --cmd` expects.
"""

from __future__ import annotations

import base64
import json
import sys
import tempfile
from binascii import Error as Base64Error
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Final, Literal, NoReturn, Self, cast

import msgspec

from rotifer_host import __version__, contract
from rotifer_host.agent.memory_calls import memory_functions
from rotifer_host.agent.run import LoadedGene, RunSetting, run_genome
from rotifer_host.agent.runner import WasmRunner
from rotifer_host.audit import AuditLog, read_lines
from rotifer_host.conformance.protocol import PROTOCOL_VERSION
from rotifer_host.conformance.replay_own import answer_replay
from rotifer_host.errors import AccessDeniedError, AuditError, HostCallError, RotiferError, StoreError
from rotifer_host.limits import Limits
from rotifer_host.memory import AgentMemory, DataPolicy, refused_outside_agent
from rotifer_host.memory.entry import AccessPolicy, RetentionPolicy, entry_id, make_record
from rotifer_host.memory.timestamp import ceil_ms
from rotifer_host.modules import Granted, find_module
from rotifer_host.modules.functions import module_functions
from rotifer_host.sandbox import Deadline, HostFunctions, Module, Sandbox, core_functions, wasi_functions
from rotifer_host.store import ModelStore, open_store
from rotifer_host.telemetry import TelemetryLog
from rotifer_host.testing.clock import ManualClock

if TYPE_CHECKING:
    from rotifer_host.lock import Patience
    from rotifer_host.store import Store
    from rotifer_host.store.protocol import Change

__all__ = ["STORES", "OwnHost", "StoreKind"]

Json = Mapping[str, Any]
StoreKind = Literal["lmdb", "model"]
STORES: Final[tuple[StoreKind, ...]] = ("lmdb", "model")

_MODULES: Final = ("json", "markdown")
_CAPABILITIES: Final = (
    "audit",
    "audit-chain",
    "deadline",
    "deployer",
    *(f"ext.{name}" for name in _MODULES),
    "fault-audit",
    "fault-store",
    "fuel",
    "host-time",
    "modules",
    "replay",
    "telemetry",
    "wasi",
)


class OwnHost:
    """One call path over one kind of store; `with OwnHost() as host:` cleans up what it wrote."""

    def __init__(self, call_path: str = "auto", store: StoreKind = "lmdb") -> None:
        offered = module_functions(map(find_module, _MODULES))
        functions = HostFunctions(core_functions(), wasi_functions(), memory_functions(), offered)
        self._sandbox = Sandbox(functions, call_path=call_path)
        self._store_kind = store
        self._modules: dict[bytes, Module] = {}
        self._guest = b""
        self._world: _World | None = None
        self._answers: dict[str, Callable[[Json], dict[str, Any]]] = {
            "hello": self._hello,
            "load": self._load,
            "run": self._run,
            "replay": lambda message: answer_replay(message, functions, self._sandbox.call_path),
            "clock": lambda message: self._loaded.set_clock(message["now"]),
            "deployer": lambda message: self._loaded.act_as_deployer(message),  # noqa: PLW0108 - of the world there is then
            "dump": lambda _message: self._loaded.dump(),
        }

    @property
    def name(self) -> str:
        """What the report calls it."""
        return f"rotifer-host {__version__}, {self._sandbox.call_path} calls, {self._store_kind} store"

    def ask(self, message: Json) -> dict[str, Any]:
        """Answer one message of the protocol."""
        try:
            return self._answers[message["do"]](message)
        except HostCallError as error:
            return {"error": error.code, "message": error.message}
        except RotiferError as error:
            return {"error": f"{error.code}: {error.message}"}
        except (KeyError, TypeError, ValueError, Base64Error) as error:
            return {"error": f"a message that does not keep the protocol: {error!r}"}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._world is not None:
            self._world.close()

    @property
    def _loaded(self) -> _World:
        if self._world is None:
            message = "no state was loaded"
            raise ValueError(message)
        return self._world

    def _hello(self, message: Json) -> dict[str, Any]:
        if message["v"] != PROTOCOL_VERSION:
            return {"error": f"this host speaks version {PROTOCOL_VERSION} of the protocol"}
        self._guest = base64.b64decode(message["guest"], validate=True)
        return {"v": PROTOCOL_VERSION, "host": self.name, "capabilities": list(_CAPABILITIES)}

    def _load(self, message: Json) -> dict[str, Any]:
        if self._world is not None:
            self._world.close()
            self._world = None
        self._world = _World(message, self._store_kind)
        return {}

    def _run(self, message: Json) -> dict[str, Any]:
        world = self._loaded
        wasm = base64.b64decode(message["module"], validate=True) if "module" in message else self._guest
        try:
            module = self._modules.get(wasm) or self._sandbox.load(wasm, name="guest")
        except RotiferError as error:
            return {"status": "refused", "code": error.code, "message": error.message}
        self._modules[wasm] = module
        return world.run(self._sandbox, module, message)


class _World:
    """One agent, its memory, its logs and the time of day."""

    def __init__(self, message: Json, kind: StoreKind) -> None:
        agent = message["agent"]
        self.clock = ManualClock(message["now"])
        self._agent_id, self._agent_name, self._quota = agent["id"], agent["name"], agent["quota"]
        self._policy = msgspec.convert(agent["dataPolicy"], DataPolicy)
        self._folder = tempfile.TemporaryDirectory(prefix="rotifer-conformance-")
        folder = Path(self._folder.name)
        self._audit_log = AuditLog(folder / "audit.jsonl")
        self._telemetry = TelemetryLog(folder / "telemetry.jsonl", enabled=True)
        self._store: Store = (
            open_store(folder / "memory.mdb", agent_id=self._agent_id, quota=self._quota)
            if kind == "lmdb"
            else ModelStore()
        )
        self._fill(message["entries"])
        faults = message["faults"]
        self._audit = _NoAudit() if "audit" in faults else self._audit_log
        self._kept = self._store
        if "store" in faults:
            self._store = cast("Store", _NoCommits(self._store))

    def run(self, sandbox: Sandbox, module: Module, message: Json) -> dict[str, Any]:
        """Run a module as one gene of the agent, or outside of it."""
        limits = message["limits"]
        deadline = Deadline(limits["deadlineMs"])
        caller = message["caller"]
        inside = caller["inAgent"]
        setting = RunSetting(
            call_path=sandbox.call_path,
            limits=Limits(fuel=limits["fuel"], deadline_ms=limits["deadlineMs"], host_time_ms=limits["hostTimeMs"]),
            deadline=deadline,
            clock=self.clock,
            memory=self._memory(deadline) if inside else None,
            agent=self._agent_name if inside else None,
            agent_id=self._agent_id if inside else None,
            composition=None,
            refuse=lambda gene, call: self._refusal(gene, call, deadline, inside=inside),
            granted=Granted(
                self._agent_id,
                self._agent_name,
                Path(self._folder.name),
                self.clock,
                deadline,
                dict.fromkeys(_MODULES, {}),  # noqa: RUF024 - nobody changes them
            ),
        )
        gene = LoadedGene("guest", caller["geneId"], caller["domain"], WasmRunner(sandbox, module))
        result = run_genome([gene], message["input"], setting)
        error = {} if result.error is None else {"code": result.error.code, "message": result.error.message}
        return {"status": result.status, "output": result.output, "log": result.genes[0].log, **error}

    def set_clock(self, now: str) -> dict[str, Any]:
        """Move the time of day."""
        self.clock.set(now)
        return {}

    def act_as_deployer(self, message: Json) -> dict[str, Any]:
        """List or delete as the agent's deployer."""
        memory = self._memory(None)
        if "list" in message:
            listing = memory.list(message["list"]["category"])
            entries = [
                {
                    "key": one.key,
                    "category": one.category,
                    "size": one.size,
                    "createdBy": one.created_by,
                    "updatedAt": one.updated_at,
                }
                for one in listing.entries
            ]
            return {"used": listing.used, "entries": entries}
        asked = message["delete"]
        return {"deleted": memory.delete_as_deployer(key=asked.get("key"), category=asked.get("category"))}

    def dump(self) -> dict[str, Any]:
        """Return all that is stored, and what the logs hold."""
        with self._kept.snapshot() as snapshot:
            records = [record for _, record in snapshot.records()]
        log, telemetry = self._audit_log.path, self._telemetry.path
        events = telemetry.read_text(encoding="utf-8").splitlines() if telemetry.exists() else []
        return {
            "entries": [{**json.loads(record.body), "domain": record.domain} for record in records],
            "audit": list(read_lines(self._audit_log.path)),
            "auditLines": log.read_text(encoding="utf-8").split("\n")[:-1] if log.exists() else [],
            "telemetry": [json.loads(event) for event in events],
        }

    def close(self) -> None:
        """Delete everything."""
        self._kept.close()
        self._audit_log.close()
        self._folder.cleanup()

    def _fill(self, entries: Sequence[Json]) -> None:
        change = self._store.begin(Deadline(contract.DEFAULT_DEADLINE_MS))
        try:
            for sequence, one in enumerate(entries, start=1):
                identity = entry_id(self._agent_id, one["key"])
                record = make_record(
                    identity=identity,
                    sequence=sequence,
                    key=one["key"],
                    category=one["category"],
                    value=base64.b64decode(one["value"], validate=True),
                    created_by=one["createdBy"],
                    domain=one["domain"],
                    reader=one["lastAccessedBy"],
                    created_ms=ceil_ms(one["createdAt"]),
                    updated_ms=ceil_ms(one["updatedAt"]),
                    access=msgspec.convert(one["accessPolicy"], AccessPolicy),
                    retention=msgspec.convert(one["retentionPolicy"], RetentionPolicy | None),
                )
                change.put(identity, record)
            change.commit()
        except BaseException:
            change.abort()
            raise

    def _memory(self, patience: Patience | None) -> AgentMemory:
        return AgentMemory(
            agent_id=self._agent_id,
            agent_name=self._agent_name,
            store=self._store,
            audit=self._audit,
            telemetry=self._telemetry,
            clock=self.clock,
            quota=self._quota,
            policy=self._policy,
            patience=patience,
        )

    def _refusal(self, gene: LoadedGene, call: str, patience: Patience, *, inside: bool) -> AccessDeniedError:
        return refused_outside_agent(
            audit=self._audit,
            telemetry=self._telemetry,
            clock=self.clock,
            patience=patience,
            agent_id=self._agent_id if inside else None,
            agent_name=self._agent_name if inside else None,
            gene_id=gene.gene_id,
            domain=gene.domain,
            operation=call,
        )


class _NoAudit:
    """An audit log on a full disk."""

    def append(
        self,
        lines: Sequence[bytes],
        patience: Patience,
        *,
        after: bytes | None = None,
        durable: bool,
        held: bool = False,
    ) -> NoReturn:
        del lines, patience, after, durable, held
        message = "the disk is full"
        raise AuditError(message)

    def witness(self, patience: Patience) -> NoReturn:
        del patience
        self.sync()

    def sync(self) -> NoReturn:
        message = "the disk is full"
        raise AuditError(message)


class _NoCommits:
    """A store on a full disk: reads as ever, and every commit fails."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any other member of a store
        return getattr(self._store, name)

    def begin(self, patience: Patience) -> Change:
        return cast("Change", _NoCommit(self._store.begin(patience)))


class _NoCommit:
    def __init__(self, change: Change) -> None:
        self._change = change

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any member of a change
        return getattr(self._change, name)

    def commit(self) -> None:
        self._change.abort()
        message = "the disk is full"
        raise StoreError(message)


def serve(host: OwnHost, requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer one line for each line, until there are no more."""
    for line in requests:
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        answer = host.ask(message) if isinstance(message, dict) else {"error": "not a JSON object on one line"}
        answers.write(json.dumps(answer, ensure_ascii=False).encode() + b"\n")
        answers.flush()


if __name__ == "__main__":
    with OwnHost() as own:
        serve(own, sys.stdin.buffer, sys.stdout.buffer)
