// Runs one gene for the host, as often as it asks, until the pipe from it ends.
// Started with: the number of the pipe to the host, that of the pipe from it, the gene's
// file, and the most bytes a request may have. Every message is one MessagePack array behind
// its length in four bytes; rotifer_host/node/messages.py lists them.

import "./closed.mjs";

import { readSync, writeSync } from "node:fs";
import { types } from "node:util";

import { MemoryError } from "@rotifer/playground/memory";

import { decode, encode } from "./msgpack.mjs";

const [toHost, fromHost, entry, maxRequest] = process.argv.splice(2).map((word) => (/^\d+$/.test(word) ? +word : word));
const gene = new URL(`./gene/`, import.meta.url);
const { parse, stringify } = JSON;
const longest = 4096; // characters of a reason, or of a frame
let express;
let running = false;

async function answered(input, context) {
  try {
    express ??= expressOf(await import(new URL(entry, gene)));
  } catch (error) {
    return ["unusable", ...described(error)];
  }
  if (express === undefined) return ["unusable", `${entry} exports no function express`, []];
  let output;
  try {
    output = await express(input, { memory, context });
  } catch (error) {
    return ["threw", ...described(error)];
  }
  try {
    const text = json(output);
    return text === undefined ? ["mute", `express returned ${typeof output}`] : ["output", Buffer.from(text)];
  } catch (error) {
    return ["mute", plainly(error)];
  }
}

function expressOf(module) {
  // a CommonJS module is the default export of itself
  const { default: other } = module;
  return [module.express, other?.express, other, module.main].find((found) => typeof found === "function");
}

const memory = Object.freeze({
  readMemory(key, category) {
    return entryOf(call("readMemory", () => ({ key, category })));
  },
  writeMemory(key, value, category, accessPolicy, retentionPolicy) {
    return entryOf(
      call("writeMemory", () => ({ key, value: base64(value), category, accessPolicy, retentionPolicy })),
    );
  },
  queryMemory(filter) {
    return call("queryMemory", () => ({ filter })).map(entryOf);
  },
  deleteMemory(key) {
    call("deleteMemory", () => ({ key }));
  },
});

/** Asks the host; whatever is wrong with the request, it is the host that refuses it, in its order of checks. */
function call(name, request) {
  let bytes = null;
  let problem = null;
  try {
    bytes = Buffer.from(json(request(), nothingLost));
    if (bytes.length > maxRequest) {
      problem = `a request has at most ${maxRequest} bytes, not ${bytes.length}`;
      bytes = null;
    }
  } catch (error) {
    problem = plainly(error);
  }
  send(["call", name, bytes, problem]);
  const [kind, ...answer] = receive() ?? process.exit();
  if (kind === "refused") throw new MemoryError(...answer);
  return parse(String(answer[0]));
}

function base64(value) {
  // `value` is required: undefined is left out, and the host says so
  if (value === undefined) return value;
  if (!types.isUint8Array(value)) throw new TypeError(`value must be a Uint8Array, not ${kindOf(value)}`);
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64");
}

function entryOf(found) {
  // copied: a small Buffer shares its memory with others
  return found && { ...found, value: new Uint8Array(Buffer.from(found.value, "base64")) };
}

function kindOf(value) {
  return value === null ? "null" : (value?.constructor?.name ?? typeof value);
}

/** JSON.stringify, but for numbers that it would turn into null without a word. */
function json(value, also = () => null) {
  return stringify(value, (name, member) => {
    const plain = types.isNumberObject(member) ? Number(member) : member;
    const unsaid = typeof plain === "number" && !Number.isFinite(plain) ? plain : also(plain);
    if (unsaid !== null) throw new TypeError(`JSON has no word for ${unsaid}${name && ` (${name})`}`);
    return plain;
  });
}

/** In a request nothing may be left out but what is undefined: a policy that was not called must not become the default. */
function nothingLost(member) {
  return ["function", "symbol"].includes(typeof member) ? `a ${typeof member}` : null;
}

/** What is wrong with a value, which is not the fault of some line. */
function plainly(error) {
  return described(error)[0].replace(/^TypeError: /, "");
}

/** What was thrown, in words, and where: the gene's own frames. */
function described(error) {
  try {
    if (!types.isNativeError(error)) return [`threw ${typeof error === "string" ? error.slice(0, longest) : kindOf(error)}`, []];
    const { name, code, message } = error;
    const frames = String(error.stack)
      .split("\n")
      .filter((line) => line.includes(gene.href) && /^\s+at /.test(line))
      .map((line) => line.trim().slice("at ".length).replaceAll(gene.href, "").slice(0, longest));
    const known = error instanceof MemoryError ? `${code}: ${message}` : message;
    const reason = `${name}: ${known}`.slice(0, longest);
    return [reason.replaceAll(gene.href, "").replaceAll(gene.pathname, ""), frames];
  } catch {
    return ["threw something that cannot be described", []];
  }
}

function leave(message) {
  send(message);
  process.exit(1);
}

function send(message) {
  const bytes = encode(message);
  const frame = Buffer.alloc(4 + bytes.length);
  frame.writeUInt32BE(bytes.length);
  bytes.copy(frame, 4);
  for (let at = 0; at < frame.length; ) at += writeSync(toHost, frame, at);
}

/** Waits for the next message; null when the host has closed its end. */
function receive() {
  const head = read(4);
  return head && decode(read(head.readUInt32BE()));
}

function read(length) {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length; ) {
    const count = readSync(fromHost, bytes, at, length - at, null);
    if (count === 0) return null;
    at += count;
  }
  return bytes;
}

// what is printed must not wait for an event loop that may not turn again
for (const stream of [process.stdout, process.stderr]) stream._handle?.setBlocking?.(true);
process.on("uncaughtException", (error) => leave(["crashed", ...described(error)]));
// nothing is left that could settle the promise
process.on("beforeExit", () => running && leave(["stuck"]));

send(["ready"]);
for (let message = receive(); message !== null; message = receive()) {
  const [, input, context] = message;
  running = true;
  const answer = await answered(parse(String(input)), parse(String(context)));
  running = false;
  send(answer);
}
