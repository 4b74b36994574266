"""What becomes of a script: its output, and each way to have none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from rotifer_host import contract
from rotifer_host.node.runner import NodeRunner
from rotifer_host.sandbox import GuestResult

Source = str | Mapping[str, str]
Express = Callable[..., GuestResult]
MakeRunner = Callable[[Source], NodeRunner]
RunOnce = Callable[..., GuestResult]

IDLE = "new Promise(() => setInterval(() => {}, 1000))"
OUTPUTS: dict[str, tuple[Source, Any]] = {
    "what express returns": ("export function express(input) { return [input] }", [{"a": 1}]),
    "what its promise comes to": (
        "export async function express(input) { await new Promise((r) => setTimeout(r, 1)); return input }",
        {"a": 1},
    ),
    "null is an output": ("export const express = () => null", None),
    "members that are undefined are left out": ("export const express = () => ({ a: undefined, b: 1 })", {"b": 1}),
    "the default export": ("export default (input) => [input]", [{"a": 1}]),
    "main": ("export function main(input) { return [input] }", [{"a": 1}]),
    "express before the others": ("export default () => 1; export const express = () => 2", 2),
    "ES module in .js": ({"index.js": "export const express = (input) => input"}, {"a": 1}),
    "CommonJS": ({"index.js": "exports.express = (input) => [typeof require, input]"}, ["function", {"a": 1}]),
    "CommonJS with one function": ({"index.js": "module.exports = (input) => [input]"}, [{"a": 1}]),
    "other files of the gene": (
        {
            "index.mjs": 'import { two } from "./lib/two.mjs"; import d from "./d.json" with { type: "json" };'
            "export const express = () => [two, d]",
            "lib/two.mjs": "export const two = 2",
            "d.json": '{"x": 3}',
        },
        [2, {"x": 3}],
    ),
    "packages of the gene": (
        {
            "index.mjs": 'import { one } from "one"; export const express = () => one',
            "node_modules/one/package.json": '{"name": "one", "exports": "./main.js"}',
            "node_modules/one/main.js": "exports.one = 1",
        },
        1,
    ),
    "all of Unicode": ('export const express = (input) => [input, "\\u{1f9ec}\\0é"]', [{"a": 1}, "🧬\0é"]),
    "context beside memory": (
        "export const express = (input, { context, memory }) => [context.timestamp, typeof memory.readMemory]",
        [7, "function"],
    ),
    "__rotifer_error beside another member": (
        "export const express = () => ({ __rotifer_error: 1, x: 2 })",
        {"__rotifer_error": 1, "x": 2},
    ),
}

ENDINGS: dict[str, tuple[Source, str, str, str]] = {
    "undefined": ("export function express() {}", "failed", "BAD_OUTPUT", "express returned undefined"),
    "a function": ("export const express = () => () => 1", "failed", "BAD_OUTPUT", "express returned function"),
    "NaN": ("export const express = () => ({ a: [NaN] })", "failed", "BAD_OUTPUT", "JSON has no word for NaN"),
    "Infinity": ("export const express = () => Infinity", "failed", "BAD_OUTPUT", "JSON has no word for Infinity"),
    "a bigint": ("export const express = () => 1n", "failed", "BAD_OUTPUT", "BigInt"),
    "a cycle": (
        "export const express = () => { const a = []; a[0] = a; return a }",
        "failed",
        "BAD_OUTPUT",
        "circular",
    ),
    "half a character": ('export const express = () => "\\ud800"', "failed", "BAD_OUTPUT", "not one JSON document"),
    "a rejection": (
        'export const express = () => ({ __rotifer_error: { code: "X", message: "no" } })',
        "rejected",
        "INVALID_INPUT",
        "no",
    ),
    "an exception": (
        'export const express = () => { throw new TypeError("bad thing") }',
        "failed",
        "GENE_ERROR",
        "TypeError: bad thing",
    ),
    "a text thrown": ('export const express = () => { throw "x" }', "failed", "GENE_ERROR", "threw x"),
    "null thrown": ("export const express = () => { throw null }", "failed", "GENE_ERROR", "threw null"),
    "an error that lies": (
        'export const express = () => { throw Object.defineProperty(new Error(), "stack", { get() { throw 1 } }) }',
        "failed",
        "GENE_ERROR",
        "cannot be described",
    ),
    "a memory call that is not caught": (
        'export const express = (input, { memory }) => memory.readMemory("k")',
        "failed",
        "GENE_ERROR",
        "MemoryError: MEMORY_ACCESS_DENIED: readMemory outside an agent",
    ),
    "a rejected promise": (
        'export const express = async () => { throw new Error("no") }',
        "failed",
        "GENE_ERROR",
        "Error: no",
    ),
    "a promise nobody awaits": (
        f'export const express = () => {{ Promise.reject(new Error("lost")); return {IDLE} }}',
        "failed",
        "GENE_ERROR",
        "Error: lost",
    ),
    "an exception in a timer": (
        f'export const express = () => {{ setTimeout(() => {{ throw new Error("late") }}, 1); return {IDLE} }}',
        "failed",
        "GENE_ERROR",
        "Error: late",
    ),
    "a promise that cannot be settled": (
        "export const express = () => new Promise(() => {})",
        "failed",
        "BAD_OUTPUT",
        "can never be settled",
    ),
    "exit 0": ("export const express = () => process.exit(0)", "failed", "BAD_OUTPUT", "exited with status 0"),
    "exit 3": ("export const express = () => process.exit(3)", "failed", "EXIT_STATUS", "exited with status 3"),
    "abort": ("export const express = () => process.abort()", "failed", "CRASHED", "SIGABRT"),
    "recursion": ("export const express = () => express() + 1", "failed", "STACK_OVERFLOW", "call stack"),
    "no express": ("export const x = 1", "failed", "BAD_MODULE", "index.mjs exports no function express"),
    "bad syntax": ("export function express({", "failed", "BAD_MODULE", "SyntaxError"),
    "a missing file": ('import "./x.mjs"; export const express = 1', "failed", "BAD_MODULE", "'x.mjs'"),
    "an exception while loading": ('throw new Error("early")', "failed", "BAD_MODULE", "Error: early"),
    "too much": ('export const express = () => "x".repeat(17 << 20)', "failed", "OUTPUT_TOO_LARGE", "16 MB"),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_outputs(name: str, express: Express) -> None:
    """A script's output is what JSON.stringify makes of what `express` returns, or what its promise comes to."""
    source, output = OUTPUTS[name]

    result = express(source, {"a": 1})

    assert (result.status, result.output, result.error) == ("ok", output, None)
    assert result.peak_memory_bytes > contract.MIB


@pytest.mark.parametrize("name", ENDINGS)
def test_endings(name: str, express: Express) -> None:
    """Every way to have no output ends the run with a code and words that say which it was."""
    source, status, code, words = ENDINGS[name]

    result = express(source, {"a": 1})

    assert result.error is not None
    assert (result.status, result.error.code, result.output) == (status, code, None)
    assert words in result.error.message
    assert "rotifer-node-" not in result.error.message


def test_where_it_was_thrown(express: Express) -> None:
    """An exception tells the gene's own frames, innermost first, by the gene's file names."""
    result = express('function inner() {\n  throw new Error("x")\n}\nexport function express() {\n  inner()\n}')

    assert result.error is not None
    assert result.error.backtrace == ["inner (index.mjs:2:9)", "express (index.mjs:5:3)"]


def test_largest_output_and_input(express: Express) -> None:
    """16 MiB pass both ways, a byte more of input is refused before anything starts."""
    text = "x" * (contract.MAX_INPUT_BYTES - 2)

    assert express("export const express = (input) => input", text).output == text

    result = express("export const express = (input) => input", text + "x")
    assert result.error is not None
    assert (result.status, result.error.code) == ("failed", "INPUT_TOO_LARGE")


def test_what_is_printed_is_kept(express: Express) -> None:
    """Standard output goes to the log and standard error to its place, 64 KiB of each; the rest is counted."""
    result = express(
        'export function express() { console.log("out", { a: 1 }); console.error("err"); process.stdout.write("é") }'
    )
    assert (result.log, result.stderr) == ("out { a: 1 }\né", "err\n")

    result = express(
        'export function express() { for (let i = 0; i < 5000; i++) console.log("x".repeat(99)); return 1 }'
    )
    assert (result.status, len(result.log), result.log_dropped) == ("ok", 65_536, 500_000 - 65_536)


def test_a_process_is_kept_for_the_run(make_runner: MakeRunner, run_once: RunOnce) -> None:
    """Runs of one runner share a process, and each has its own log; after a crash there is a new one."""
    runner = make_runner(
        "let count = 0; export function express(input) {"
        ' console.log(input); if (input === "exit") process.exit(1); if (input === "throw") throw 1; return ++count }'
    )

    results = [run_once(runner, text) for text in ("a", "throw", "b", "exit", "c")]

    assert [(one.output, one.status) for one in results] == [
        (1, "ok"),
        (None, "failed"),
        (2, "ok"),
        (None, "failed"),
        (1, "ok"),
    ]
    assert [one.log for one in results] == ["a\n", "throw\n", "b\n", "exit\n", "c\n"]
