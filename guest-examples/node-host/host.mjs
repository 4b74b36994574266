// Runs genes in WebAssembly, direct mode, and answers their calls.
// Rules: abi/README.md, from "Modules" to "The memory calls".

import { randomUUID } from "node:crypto";
import { performance } from "node:perf_hooks";
import { exportedFunctions, hasType, I32 } from "./module.mjs";
import { MAX_REQUEST_BYTES, parsers, Refusal, refusals } from "./request.mjs";

const MAX_DOCUMENT_BYTES = 16 * 1024 * 1024;
const CALLS = ["readMemory", "writeMemory", "queryMemory", "deleteMemory"];
const MAX_LOG_BYTES = 64 * 1024;
const LEVELS = ["debug", "info", "warn", "error"];

/** How a run ends when it does not end `ok`. */
export class Ending extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

const fail = (code, message) => {
  throw new Ending("failed", code, message);
};

/** Run a gene once on an input, JSON in bytes; gives back {status, output, code, message}, the output in bytes, too. */
export function runGene(wasm, input, run) {
  try {
    const module = checked(wasm);
    const instance = instantiate(module, run);
    return { status: "ok", output: express(instance, input) };
  } catch (error) {
    if (error instanceof Ending) return { status: error.status, code: error.code, message: error.message };
    if (error instanceof WebAssembly.RuntimeError) return { status: "failed", code: "TRAP", message: error.message };
    if (error instanceof RangeError) return { status: "failed", code: "STACK_OVERFLOW", message: error.message };
    throw error;
  }
}

function checked(wasm) {
  const refuse = (code, message) => {
    throw new Ending("refused", code, message);
  };
  let module;
  try {
    module = new WebAssembly.Module(wasm);
  } catch (error) {
    refuse("BAD_MODULE", error.message);
  }
  const offered = new Run({}).imports();
  for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
    if (kind !== "function" || !Object.hasOwn(offered[from] ?? {}, name)) {
      refuse("UNKNOWN_IMPORT", `this host does not offer ${from}.${name}`);
    }
  }
  const exports = WebAssembly.Module.exports(module);
  const functions = exportedFunctions(wasm);
  if (!exports.some(({ name, kind }) => name === "memory" && kind === "memory")) {
    refuse("BAD_MODULE", "the module exports no memory");
  }
  if (!hasType(functions.get("express"), [I32, I32], [I32]) || functions.get("express").imported) {
    refuse("BAD_MODULE", "the module has no express(ptr: i32, len: i32) -> i32 of its own");
  }
  return module;
}

function instantiate(module, run) {
  const instance = new WebAssembly.Instance(module, run.imports()); // the start function runs here
  run.attach(instance.exports.memory);
  instance.exports._initialize?.();
  return instance;
}

function express(instance, document) {
  const { memory, alloc, express } = instance.exports;
  if (document.length > MAX_DOCUMENT_BYTES) fail("INPUT_TOO_LARGE", "the input is larger than 16 MiB");
  const at = alloc === undefined ? 0 : alloc(document.length) >>> 0;
  if (at + document.length > memory.buffer.byteLength) {
    fail(alloc === undefined ? "INPUT_TOO_LARGE" : "BAD_ALLOC", "the input does not fit into memory");
  }
  document.copy(Buffer.from(memory.buffer), at);
  const result = express(at, document.length);
  if (result < 0) fail("GENE_ERROR", `express returned ${result}`);
  return output(Buffer.from(memory.buffer), result);
}

function output(memory, at) {
  if (at >= memory.length) fail("BAD_OUTPUT", "the output is outside memory");
  const nul = memory.indexOf(0, at);
  const bytes = memory.subarray(at, nul < 0 ? memory.length : nul);
  if (bytes.length > MAX_DOCUMENT_BYTES) fail("OUTPUT_TOO_LARGE", "the output is larger than 16 MiB");
  let value;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch (error) {
    fail("BAD_OUTPUT", `the output is not one JSON document: ${error.message}`);
  }
  if (value !== null && typeof value === "object" && String(Object.keys(value)) === "__rotifer_error") {
    const message = value.__rotifer_error?.message;
    throw new Ending("rejected", "INVALID_INPUT", typeof message === "string" ? message : "gene refused the input");
  }
  return Buffer.from(bytes);
}

/** One gene on its way from input to output, as host functions see it. */
export class Run {
  /** How often each call succeeded, and gave each negative result. */
  answers = {};
  #memory = null;
  #hostTime;
  #log = [];

  /** `caller` is {geneId, domain, inAgent}; `started` the run's time in milliseconds since 1970. */
  constructor({ memory = null, caller = null, hostTimeMs = 0, started = 0 }) {
    this.agentMemory = memory;
    this.caller = caller;
    this.#hostTime = hostTimeMs;
    this.started = started;
  }

  /** Until then, in the start function, no address lies inside memory. */
  attach(memory) {
    this.#memory = memory;
  }

  imports() {
    const rotifer = Object.fromEntries(CALLS.map((call) => [call, (...where) => this.#exchange(call, ...where)]));
    return {
      rotifer: {
        ...rotifer,
        log: (level, ptr, length) => this.#note(level >>> 0, ptr >>> 0, length >>> 0),
        readContext: (...where) => this.#readContext(...where.map((number) => number >>> 0)),
        remainingBudget: () => this.remainingBudget(),
        logicalTimestamp: () => BigInt(this.started),
      },
      env: {
        log: (ptr, length) => this.#note(1, ptr >>> 0, length >>> 0),
        abort: (message) => fail("ABORTED", this.#assemblyScriptText(message >>> 0)),
      },
    };
  }

  /** Node makes a new buffer when memory grows, so it is asked for each time. */
  get #bytes() {
    return Buffer.from(this.#memory?.buffer ?? new ArrayBuffer(0));
  }

  #fits(ptr, length) {
    return ptr + length <= this.#bytes.length;
  }

  /** A call of the one request-and-response shape; the numbers come signed. */
  #exchange(call, ...signed) {
    const result = this.#result(call, ...signed.map((number) => number >>> 0));
    const answers = (this.answers[call] ??= { ok: 0 });
    const name = result < 0 ? String(result) : "ok";
    answers[name] = (answers[name] ?? 0) + 1;
    return result;
  }

  #result(call, requestPtr, requestLength, out, room) {
    const began = performance.now();
    try {
      const response = Buffer.from(this.#answer(call, requestPtr, requestLength, out, room));
      response.copy(this.#bytes, out);
      return response.length;
    } catch (refusal) {
      if (!(refusal instanceof Refusal)) throw refusal;
      if (refusal.code !== null) this.#tell(refusal, out, room);
      return refusal.result;
    } finally {
      this.#hostTime -= performance.now() - began;
    }
  }

  /** The order of checks is that of abi/README.md. */
  #answer(call, requestPtr, requestLength, out, room) {
    if (this.#hostTime <= 0) throw refusals.exhausted();
    this.guard(call);
    if (!this.#fits(requestPtr, requestLength)) throw refusals.invalid("the request is not inside memory");
    if (!this.#fits(out, room)) throw refusals.invalid("out is not inside memory");
    if (requestLength > MAX_REQUEST_BYTES) throw refusals.invalid("the request is larger than 2 MiB");
    return this.respond(call, this.#bytes.subarray(requestPtr, requestPtr + requestLength), room);
  }

  /** Refuse a caller that may use no memory at all. */
  guard(call) {
    const { caller, agentMemory } = this;
    if (!caller.inAgent || caller.geneId === null) throw agentMemory.refuseCaller(call, caller);
  }

  /** The response to a request, which fits into `room` bytes. */
  respond(call, request, room) {
    return this.agentMemory[call](this.caller, parsers[call](request), (response) => {
      const needed = Buffer.byteLength(response);
      if (needed <= room) return response;
      if (call === "deleteMemory") return ""; // a deletion never fails for want of room
      throw refusals.tooSmall(needed, room);
    });
  }

  /** What `readContext` answers from. */
  context() {
    return {
      agent_id: this.caller.inAgent ? this.agentMemory.agent.id : null,
      timestamp: this.started,
      permissions: { memory: this.caller.inAgent, network: false, filesystem: false },
      trace_id: randomUUID(),
      abi_version: 1,
    };
  }

  /** Node does not meter fuel. */
  remainingBudget() {
    return (1n << 63n) - 1n;
  }

  /** What the gene logged, at most 64 KiB of it. */
  get log() {
    return Buffer.concat(this.#log).subarray(0, MAX_LOG_BYTES).toString();
  }

  /** Bytes of linear memory. */
  get memoryBytes() {
    return this.#memory?.buffer.byteLength ?? 0;
  }

  /** Write the error payload: whole, else with an empty message, else not; with a NUL if there is room. */
  #tell(refusal, out, room) {
    if (!this.#fits(out, room)) return;
    for (const message of [refusal.message, ""]) {
      const payload = Buffer.from(JSON.stringify({ __rotifer_error: { code: refusal.code, message } }));
      if (payload.length <= room) {
        payload.copy(this.#bytes, out);
        if (payload.length < room) this.#bytes[out + payload.length] = 0;
        return;
      }
    }
  }

  #readContext(keyPtr, keyLength, out, room) {
    if (!this.#fits(keyPtr, keyLength) || !this.#fits(out, room)) return -10;
    const context = this.context();
    const key = this.#text(keyPtr, keyLength);
    if (!Object.hasOwn(context, key)) return 0;
    const value = Buffer.from(JSON.stringify(context[key]));
    if (value.length > room) return -1;
    return value.copy(this.#bytes, out);
  }

  #note(level, ptr, length) {
    const line = this.#fits(ptr, length)
      ? [LEVELS[Math.min(level, 3)], ": ", this.#bytes.subarray(ptr, ptr + Math.min(length, MAX_LOG_BYTES))]
      : ["error: log called with ", `${length} bytes at ${ptr}, which is not inside memory`];
    if (this.#logged < MAX_LOG_BYTES) this.#log.push(Buffer.concat([...line, "\n"].map((part) => Buffer.from(part))));
  }

  get #logged() {
    return this.#log.reduce((sum, line) => sum + line.length, 0);
  }

  #text(ptr, length) {
    return this.#bytes.toString("utf-8", ptr >>> 0, (ptr >>> 0) + (length >>> 0));
  }

  /** UTF-16, its length in bytes in the four bytes before it. */
  #assemblyScriptText(ptr) {
    if (ptr < 4 || !this.#fits(ptr, 0)) return "aborted";
    return this.#bytes.toString("utf16le", ptr, ptr + this.#bytes.readUInt32LE(ptr - 4));
  }
}
