"""What a script cannot reach: files, processes, threads, native code, other processes, the environment."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rotifer_host.node.program import NodeProgram
from rotifer_host.node.runner import NodeRunner
from rotifer_host.sandbox import GuestResult

TRIES = """
import cp from "node:child_process";
import crypto from "node:crypto";
import fs from "node:fs";
import inspector from "node:inspector";
import module from "node:module";
import os from "node:os";
import * as named from "node:process";
import v8 from "node:v8";
import { Worker } from "node:worker_threads";

const require = module.createRequire(import.meta.url);
const tries = (file) => ({
  "read a file": () => fs.readFileSync(file),
  "read a file as a module": () => import(file),
  "require a file": () => require(file),
  "read a file as environment": () => process.loadEnvFile(file),
  "open a file": () => fs.openSync(file, "r+"),
  "open its own memory": () => fs.openSync("/proc/self/mem"),
  "list a folder": () => fs.readdirSync("/"),
  "write a file": () => fs.writeFileSync(file, "x"),
  "write a file of its own": () => fs.writeFileSync("new", "x"),
  "truncate a file": () => fs.truncateSync(file),
  "delete a file": () => fs.rmSync(file),
  "link to a file": () => fs.symlinkSync(file, "link"),
  "write a report": () => process.report.writeReport(file),
  "write a heap snapshot": () => v8.writeHeapSnapshot(file),
  "open a database": () => new (require("node:sqlite").DatabaseSync)(file),
  "start a program": () => cp.execFileSync("/bin/true"),
  "become a program": () => process.execve("/bin/true"),
  "start a thread": () => new Worker("1", { eval: true }),
  "load native code": () => process.dlopen({ exports: {} }, "/lib/x86_64-linux-gnu/libm.so.6"),
  "load an engine": () => crypto.setEngine("/tmp/engine.so"),
  "use internals": () => process.binding("spawn_sync"),
  "open the inspector": () => inspector.open(0),
  "change loading": () => module.register("data:text/javascript,"),
  "signal the host": () => process.kill(process.ppid, 0),
  "signal the host, underneath": () => process._kill(process.ppid, 0),
  "signal the host, by name": () => named.kill(process.ppid, 0),
  "wake a debugger in the host": () => process._debugProcess(process.ppid),
  "slow down the host": () => os.setPriority(process.ppid, 5),
  "lift its own limits": () => v8.setFlagsFromString("--max-old-space-size=9999"),
});

export async function express(file) {
  const done = [];
  for (const [name, attempt] of Object.entries(tries(file))) {
    try {
      await attempt();
      done.push(name);
    } catch {}
  }
  return { done, environment: process.env, folder: fs.readdirSync("."), data: fs.readFileSync("data.txt", "utf8") };
}
"""


def test_what_is_closed(
    each_node: NodeProgram, tmp_path: Path, run_once: Callable[..., GuestResult], make_runner: Callable[..., NodeRunner]
) -> None:
    """A script reads the files of its gene and nothing else, writes nothing, and starts and reaches no process."""
    file = tmp_path / "precious.json"
    file.write_text('{"secret": 1}')
    runner = make_runner({"index.mjs": TRIES, "data.txt": "its own"}, each_node)

    result = run_once(runner, str(file))

    assert result.error is None
    assert result.output == {
        "done": [],
        "environment": {},
        "folder": ["data.txt", "index.mjs"],
        "data": "its own",
    }
    assert file.read_text() == '{"secret": 1}'
    assert sorted(path.name for path in tmp_path.iterdir()) == ["precious.json"]
