"""This host, on each of its call paths: what `Agent.run` does once genes are loaded and the memory is open."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, NoReturn, Self

from msgspec import UNSET

from bench import work
from bench.guest import direct_guest
from bench.peers import Runner
from bench.work import Case
from rotifer_host import Limits
from rotifer_host.agent.memory_calls import memory_functions
from rotifer_host.agent.run import LoadedGene, RunSetting, run_genome
from rotifer_host.agent.runner import WasmRunner
from rotifer_host.audit import AuditLog
from rotifer_host.clock import SystemClock
from rotifer_host.contract import DEFAULT_QUOTA_BYTES
from rotifer_host.lock import Wait
from rotifer_host.memory import AgentMemory, Caller, DataPolicy, write_request
from rotifer_host.sandbox import (
    Deadline,
    ExchangeFunction,
    HostFunctions,
    PlainFunction,
    Run,
    Sandbox,
    assemble,
    available_call_paths,
    core_functions,
    wasi_functions,
)
from rotifer_host.sandbox.library import LIBRARY
from rotifer_host.store import open_store
from rotifer_host.telemetry import TelemetryLog

__all__ = ["Durability", "Host", "HostMemory", "available_call_paths", "held"]

Durability = Literal["call", "run"]

_CALLER: Final = Caller(work.GENE_ID, work.DOMAIN)
_LIMITS: Final = Limits(fuel=1 << 62)  # for a million calls in one run; the other limits are the usual ones
_AGENT_NAME: Final = "bench"


def held(call_path: str) -> str:
    """Return the name of this host on a call path with durability `run`."""
    return f"{call_path}, durability run"


class HostMemory:
    """One agent's memory in `folder`, filled on opening."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, mode=0o700)
        self.module_cache = folder / "modules"
        self._store = open_store(folder / "memory.lmdb", agent_id=work.AGENT_ID, quota=DEFAULT_QUOTA_BYTES)
        self._audit_path = folder / "audit.jsonl"
        self._audit = AuditLog(self._audit_path)
        self._telemetry = TelemetryLog(folder / "telemetry.jsonl", enabled=True)
        memory = self.begin(Wait(60.0), "run")
        for key in work.filled_keys():
            memory.write(_CALLER, write_request(key, work.VALUE, work.CATEGORY, None, UNSET))
        memory.finish()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._store.close()

    def audit_lines(self) -> int:
        """Return how many changes are on record."""
        return self._audit_path.read_bytes().count(b"\n")

    def begin(self, patience: Deadline | Wait, durability: Durability) -> AgentMemory:
        """Return the memory for one run."""
        return AgentMemory(
            agent_id=work.AGENT_ID,
            agent_name=_AGENT_NAME,
            store=self._store,
            audit=self._audit,
            telemetry=self._telemetry,
            clock=SystemClock(),
            quota=DEFAULT_QUOTA_BYTES,
            policy=DataPolicy(),
            durability=durability,
            patience=patience,
        )


class Host:
    """This host with one call path and one durability."""

    def __init__(self, memory: HostMemory, call_path: str, durability: Durability = "call") -> None:
        self.name = call_path if durability == "call" else held(call_path)
        self._memory = memory
        self._durability: Durability = durability
        functions = HostFunctions(core_functions(), wasi_functions(), memory_functions(), _bench_functions())
        self._sandbox = Sandbox(functions, call_path=call_path, cache_dir=memory.module_cache)

    @contextmanager
    def runner(self, case: Case) -> Iterator[Runner]:
        """Load the guest as a gene."""
        wasm = assemble(direct_guest(case.steps))
        gene = self._load(case, wasm)
        yield lambda units: self._run(gene, units)

    @contextmanager
    def loading_runner(self, case: Case) -> Iterator[Runner]:
        """As `runner`, but each run first loads its gene from the module cache, as a new process does."""
        wasm = assemble(direct_guest(case.steps))
        self._load(case, wasm)

        def run(units: int) -> object:
            LIBRARY.forget()
            return self._run(self._load(case, wasm), units)

        yield run

    def _load(self, case: Case, wasm: bytes) -> LoadedGene:
        module = self._sandbox.load(wasm, name=case.name)
        return LoadedGene(case.name, work.GENE_ID, work.DOMAIN, WasmRunner(self._sandbox, module))

    def _run(self, gene: LoadedGene, units: int) -> object:
        deadline = Deadline(_LIMITS.deadline_ms)
        setting = RunSetting(
            call_path=self._sandbox.call_path,
            limits=_LIMITS,
            deadline=deadline,
            clock=SystemClock(),
            memory=self._memory.begin(deadline, self._durability),
            agent=_AGENT_NAME,
            agent_id=work.AGENT_ID,
            composition="Single",
            refuse=_refused,
        )
        result = run_genome([gene], units, setting)
        if result.status != "ok":
            message = f"the run ended {result.status}: {result.error}"
            raise RuntimeError(message)
        return result.output


def _refused(gene: LoadedGene, call: str) -> NoReturn:
    message = f"{call} of {gene.name} was refused"
    raise RuntimeError(message)


def _bench_functions() -> tuple[PlainFunction | ExchangeFunction, ...]:
    def add(_run: Run, a: int, b: int, c: int, d: int) -> int:
        return a + b + c + d

    def allow(_run: Run) -> None:
        """Let every caller through."""

    def echo(_run: Run, request: bytes, _out_cap: int) -> bytes:
        return request

    return (
        PlainFunction("rotifer.ext.bench", "noop", ("i32",) * 4, ("i32",), add),
        ExchangeFunction("rotifer.ext.bench", "echo", allow, echo),
    )
