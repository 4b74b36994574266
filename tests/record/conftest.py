"""A project whose genes use everything a recording has to remember."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from rotifer_host import Project, Recorder
from rotifer_host.record import Recording, read_recording
from rotifer_host.sandbox import available_call_paths

GUESTS = Path(__file__).parents[2] / "guest-examples"
PHENOTYPE = {"domain": "test", "version": "0.1.0", "inputSchema": {}, "outputSchema": {}}

# Answers with all that is the machine's: randomness, both clocks, a sleep, the fuel left, the time, the trace id.
MACHINE = r"""(module
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "clock_time_get" (func $clock (param i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
  (import "rotifer" "remainingBudget" (func $budget (result i64)))
  (import "rotifer" "logicalTimestamp" (func $time (result i64)))
  (import "rotifer" "readContext" (func $context (param i32 i32 i32 i32) (result i32)))
  (import "rotifer" "log" (func $log (param i32 i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "trace_id0123456789abcdef")
  (func (export "alloc") (param i32) (result i32) (i32.const 4096))
  (func (export "express") (param $in i32) (param $len i32) (result i32) (local $at i32)
    (drop (call $random (i32.const 100) (i32.const 16)))
    (drop (call $clock (i32.const 0) (i64.const 1) (i32.const 116)))
    (drop (call $clock (i32.const 1) (i64.const 1) (i32.const 124)))
    (i32.store offset=16 (i32.const 200) (i32.const 1)) ;; the monotonic clock
    (i64.store offset=24 (i32.const 200) (i64.const 2000000)) ;; 2 ms
    (drop (call $poll (i32.const 200) (i32.const 300) (i32.const 1) (i32.const 400)))
    (i64.store (i32.const 132) (call $budget))
    (i64.store (i32.const 140) (call $time))
    (drop (call $context (i32.const 0) (i32.const 8) (i32.const 148) (i32.const 38)))
    (call $log (i32.const 1) (i32.const 149) (i32.const 36))
    (i32.store8 (i32.const 1024) (i32.const 0x22))
    (loop $hex
      (i32.store8 offset=1025 (i32.shl (local.get $at) (i32.const 1))
        (i32.load8_u offset=8 (i32.shr_u (i32.load8_u offset=100 (local.get $at)) (i32.const 4))))
      (i32.store8 offset=1026 (i32.shl (local.get $at) (i32.const 1))
        (i32.load8_u offset=8 (i32.and (i32.load8_u offset=100 (local.get $at)) (i32.const 15))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $hex (i32.lt_u (local.get $at) (i32.const 86))))
    (i32.store16 (i32.const 1197) (i32.const 0x0022))
    (i32.const 1024)))"""

# Sends its input as a read and answers with what it got, once more with room when the first time was too small.
READER = r"""(module
  (import "rotifer" "readMemory" (func $read (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "express") (param $in i32) (param $len i32) (result i32)
    (if (i32.eq (call $read (local.get $in) (local.get $len) (i32.const 8192) (i32.const 3)) (i32.const -1))
      (then (drop (call $read (local.get $in) (local.get $len) (i32.const 8192) (i32.const 4000)))))
    (drop (call $read (local.get $in) (i32.const -1) (i32.const 32768) (i32.const 4000))) ;; bad pointers
    (i32.const 8192)))"""

TRAPS = '(module (memory (export "memory") 1) (func (export "express") (param i32 i32) (result i32) unreachable))'
SPINS = (
    '(module (memory (export "memory") 1) (func (export "express") (param i32 i32) (result i32) (loop (br 0)) '
    "unreachable))"
)
GENES = {"machine": MACHINE, "reader": READER, "traps": TRAPS, "spins": SPINS}


@pytest.fixture(params=available_call_paths())
def call_path(request: pytest.FixtureRequest) -> str:
    """Name each call path that works here."""
    return str(request.param)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Return a project with the genes above and the example genes, compiled."""
    project = Project.init(tmp_path / "project")
    for name, wat in GENES.items():
        folder = project.root / "genes" / name
        folder.mkdir()
        (folder / "gene.wat").write_text(wat, encoding="utf-8")
        (folder / "phenotype.json").write_text(json.dumps(PHENOTYPE), encoding="utf-8")
    for name in ("counter", "formatter"):
        shutil.copytree(GUESTS / name, project.root / "genes" / name)
    for name in (*GENES, "counter", "formatter", "hello"):
        project.compile(name)
    return project


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Name the recording."""
    return tmp_path / "run.rec"


@pytest.fixture
def formatter(project: Project, file: Path) -> Recording:
    """Return the recording of a run with one memory call."""
    agent = project.create_agent("tidy", ["formatter"])
    agent.run({"code": "a\n b", "indent": 4}, record=Recorder(file))
    return read_recording(file)
