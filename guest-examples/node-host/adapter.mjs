// The host behind the protocol of abi/vectors/README.md:
//
//   rotifer conformance host --cmd "node guest-examples/node-host/adapter.mjs"

import { createInterface } from "node:readline";
import { Run, runGene } from "./host.mjs";
import { AgentMemory } from "./memory.mjs";
import { replay } from "./replay.mjs";
import { firstMillisecond, Refusal } from "./request.mjs";

const CAPABILITIES = [
  "audit",
  "audit-chain",
  "deployer",
  "fault-audit",
  "fault-store",
  "host-time",
  "modules",
  "replay",
  "telemetry",
];

let guest = null;
let memory = null;
let now = 0;

const answers = {
  hello(message) {
    guest = Buffer.from(message.guest, "base64");
    return { v: 1, host: `node-host on Node.js ${process.version}`, capabilities: CAPABILITIES };
  },
  load(message) {
    now = firstMillisecond(message.now, "now");
    memory = new AgentMemory(message.agent, () => now);
    memory.load(message.entries.map(loaded));
    memory.audit.failing = message.faults.includes("audit");
    memory.failing = message.faults.includes("store");
    return {};
  },
  clock(message) {
    now = firstMillisecond(message.now, "now");
    return {};
  },
  run({ caller, input, module, limits }) {
    const wasm = module === undefined ? guest : Buffer.from(module, "base64");
    const run = new Run({ memory, caller, hostTimeMs: limits.hostTimeMs, started: now });
    const { output, ...ending } = runGene(wasm, Buffer.from(JSON.stringify(input)), run);
    return output === undefined ? ending : { ...ending, output: JSON.parse(output) };
  },
  replay,
  deployer(message) {
    if (message.delete !== undefined) return { deleted: memory.deleteForDeployer(message.delete) };
    const { used, entries } = memory.list(message.list.category);
    return {
      used,
      entries: entries.map((entry) => {
        const { key, category, createdBy, updatedAt } = memory.shown(entry);
        return { key, category, size: entry.value.length, createdBy, updatedAt };
      }),
    };
  },
  dump() {
    return {
      entries: memory.stored().map((entry) => ({ ...memory.shown(entry), domain: entry.domain })),
      audit: memory.audit.lines.map((line) => JSON.parse(line)),
      auditLines: memory.audit.lines,
      telemetry: memory.telemetry,
    };
  },
};

function loaded(entry) {
  return {
    ...entry,
    value: Buffer.from(entry.value, "base64"),
    createdAt: firstMillisecond(entry.createdAt, "createdAt"),
    updatedAt: firstMillisecond(entry.updatedAt, "updatedAt"),
  };
}

for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    const message = JSON.parse(line);
    answer = answers[message.do]?.(message) ?? { error: `unknown message ${message.do}` };
  } catch (error) {
    answer = error instanceof Refusal ? { error: error.code, message: error.message } : { error: String(error.stack) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
