// One agent's memory: who may do what, what fits, what expires.
// Rules: memory-api.en.md and abi/README.md, "Memory rules".

import { createHash } from "node:crypto";
import { AuditLog } from "./audit.mjs";
import { MAX_KEY_BYTES, refusals } from "./request.mjs";

const MAX_QUERY_BYTES = 4 * 1024 * 1024;
const EVICTION_ORDER = ["CACHE", "PATTERN", "CONTEXT"];
const DEFAULT_ACCESS = { readScope: "SAME_DOMAIN", writeScope: "SAME_DOMAIN", sharePolicy: "PRIVATE" };

const sameJson = (one, other) => JSON.stringify(one) === JSON.stringify(other);
const weight = (entry) => Buffer.byteLength(entry.key) + entry.value.length;
const sum = (entries) => entries.reduce((total, entry) => total + weight(entry), 0);

export class AgentMemory {
  audit = new AuditLog();
  telemetry = [];
  /** Tests set it: then nothing can be saved. */
  failing = false;
  /** By key, in the order of their last change: a Map keeps the order in which keys were set. */
  #entries = new Map();

  /** `clock()` gives milliseconds since 1970; `agent` is {id, name, quota, dataPolicy}. */
  constructor(agent, clock) {
    this.agent = agent;
    this.clock = clock;
  }

  /** `admit(response)` throws when the response does not fit; only then may anything change. */
  readMemory(caller, { key, category }, admit) {
    const entry = this.#present(caller).get(key);
    if (entry === undefined) return admit("null");
    this.#check("readMemory", caller, key, () => checkScope(caller, entry, "readScope"));
    if (category !== null && category !== entry.category) return admit("null");
    const seen = { ...entry, lastAccessedBy: caller.geneId };
    const response = admit(JSON.stringify(this.shown(seen)));
    this.#entries.set(key, seen); // a key that is there keeps its place
    return response;
  }

  writeMemory(caller, request, admit) {
    const entries = this.#removeExpired(caller);
    const old = entries.get(request.key);
    const now = this.clock();
    let evicted;
    let entry;
    this.#check("writeMemory", caller, request.key, () => {
      if (old !== undefined) checkScope(caller, old, "writeScope");
      entry = {
        key: request.key,
        category: request.category,
        value: request.value,
        createdBy: old?.createdBy ?? caller.geneId,
        domain: old === undefined ? caller.domain : old.domain,
        lastAccessedBy: caller.geneId,
        createdAt: old?.createdAt ?? now,
        updatedAt: now,
        accessPolicy: this.#accessPolicy(request.accessPolicy, old, caller),
        retentionPolicy: this.#retentionPolicy(request.retentionPolicy, old, caller),
      };
      evicted = this.#makeRoom(entries, entry, old);
    });
    const response = admit(JSON.stringify(this.shown(entry)));
    const lines = evicted.map((victim) => this.#line("memory.evict", victim, caller, { actor: "host" }));
    lines.push(this.#line(old === undefined ? "memory.create" : "memory.update", entry, caller));
    this.#save(lines, () => {
      for (const victim of evicted) entries.delete(victim.key);
      entries.delete(entry.key); // and so it goes to the end
      entries.set(entry.key, entry);
    });
    return response;
  }

  queryMemory(caller, filter, admit) {
    const found = [];
    let size = 0;
    const prefix = filter.keyPrefix;
    const possible = !prefix.includes("\0") && Buffer.byteLength(prefix) <= MAX_KEY_BYTES;
    for (const entry of possible ? [...this.#present(caller).values()].reverse() : []) {
      const matches =
        (filter.category === null || entry.category === filter.category) &&
        entry.key.startsWith(prefix) &&
        (filter.since === null || entry.updatedAt >= filter.since) &&
        (filter.until === null || entry.updatedAt < filter.until) &&
        mayUse(caller, entry, "readScope");
      if (!matches) continue;
      size += weight(entry);
      if (size > MAX_QUERY_BYTES) {
        throw refusals.invalid(`the result is larger than ${MAX_QUERY_BYTES} bytes: lower limit or narrow the filter`);
      }
      if (found.push(this.shown(entry)) === filter.limit) break;
    }
    return admit(JSON.stringify(found));
  }

  deleteMemory(caller, { key }, admit) {
    const entries = this.#removeExpired(caller);
    const entry = entries.get(key);
    if (entry === undefined) throw refusals.missing();
    this.#check("deleteMemory", caller, key, () => checkScope(caller, entry, "writeScope"));
    const response = admit("null");
    this.#save([this.#line("memory.delete", entry, caller)], () => entries.delete(key));
    return response;
  }

  /** What the deployer sees: everything but the values. */
  list(category) {
    const entries = [...this.#present(null).values()];
    return { used: sum(entries), entries: entries.filter((entry) => category === null || entry.category === category) };
  }

  /** Remove an entry, or all of a category, for the deployer; give back how many. */
  deleteForDeployer({ key, category }) {
    const entries = this.#removeExpired(null);
    const going = [...entries.values()].filter((entry) => entry.key === key || entry.category === category);
    if (key !== undefined && going.length === 0) throw refusals.missing();
    const lines = going.map((entry) => this.#line("memory.delete", entry, null));
    if (going.length > 0) this.#save(lines, () => going.forEach((entry) => entries.delete(entry.key)));
    return going.length;
  }

  /** Record and give back the refusal of a gene that has no memory at all. */
  refuseCaller(operation, caller) {
    const reason = caller.inAgent ? "a gene needs a v2 id to use memory" : "memory belongs to an agent";
    const line = { ...this.#line("memory.deny", null, caller), code: "MEMORY_ACCESS_DENIED", reason };
    if (!caller.inAgent) Object.assign(line, { agentId: null, agent: null });
    this.audit.refuse(line, { chained: false });
    this.telemetry.push({ event: "memory.access_denied", operation });
    return refusals.denied(reason);
  }

  /** An entry as guests see it, members in the order of the ABI. */
  shown(entry) {
    return {
      entryId: this.#entryId(entry.key),
      category: entry.category,
      key: entry.key,
      value: entry.value.toString("base64"),
      createdBy: entry.createdBy,
      lastAccessedBy: entry.lastAccessedBy,
      createdAt: new Date(entry.createdAt).toISOString(),
      updatedAt: new Date(entry.updatedAt).toISOString(),
      accessPolicy: entry.accessPolicy,
      retentionPolicy: entry.retentionPolicy,
    };
  }

  /** All entries, expired ones that could not be removed included. */
  stored() {
    return [...this.#entries.values()];
  }

  load(entries) {
    this.#entries = new Map(entries.map((entry) => [entry.key, entry]));
  }

  // Access (memory-api.en.md, "Access scopes").

  #accessPolicy(given, old, caller) {
    if (given === null) return old?.accessPolicy ?? DEFAULT_ACCESS;
    if (old !== undefined && sameJson(given, old.accessPolicy)) return given;
    if (old !== undefined && caller.geneId !== old.createdBy) {
      throw refusals.denied("only the gene that created an entry may change its accessPolicy");
    }
    if ([given.readScope, given.writeScope].includes("DEPLOYER_CONFIGURED")) {
      throw refusals.denied("the data policy has no setting for DEPLOYER_CONFIGURED");
    }
    if (given.sharePolicy !== "PRIVATE" && !this.agent.dataPolicy.anonymizationSupported) {
      throw refusals.denied(`the data policy does not support anonymization, which ${given.sharePolicy} needs`);
    }
    return given;
  }

  #retentionPolicy(given, old, caller) {
    if (given === undefined) return old?.retentionPolicy ?? null;
    if (old !== undefined && sameJson(given, old.retentionPolicy)) return given;
    if (old !== undefined && caller.geneId !== old.createdBy) {
      throw refusals.denied("only the gene that created an entry may change its retentionPolicy");
    }
    const longest = this.agent.dataPolicy.maxRetentionDays;
    if (given !== null && longest !== null && (given.maxRetentionDays ?? Infinity) > longest) {
      throw refusals.denied(`the data policy keeps entries at most ${longest} days`);
    }
    return given;
  }

  /** Run checks; a refusal for access or space is recorded on its way out. */
  #check(operation, caller, key, checks) {
    try {
      checks();
    } catch (refusal) {
      const denied = refusal.result === -2;
      const line = this.#line(denied ? "memory.deny" : "memory.reject", { key }, caller);
      this.audit.refuse({ ...line, code: refusal.code, reason: refusal.message }, { chained: true });
      if (denied) this.telemetry.push({ event: "memory.access_denied", operation });
      throw refusal;
    }
  }

  // Quota (memory-api.en.md, "Quota and cleanup").

  #makeRoom(entries, entry, old) {
    const { quota } = this.agent;
    const others = [...entries.values()].filter((other) => other !== old);
    const mostEntries = Math.max(1024, Math.floor(quota / 16));
    let bytesShort = sum(others) + weight(entry) - quota;
    let entriesShort = others.length + 1 - mostEntries;
    const victims = EVICTION_ORDER.flatMap((category) => others.filter((other) => other.category === category));
    if (bytesShort > sum(victims) || entriesShort > victims.length) {
      const used = sum([...entries.values()]);
      throw refusals.full(
        `memory is full: ${used} of ${quota} bytes are used, ${weight(entry)} are needed, ` +
          `${sum(victims)} could be evicted`,
      );
    }
    const evicted = [];
    for (const victim of victims) {
      if (bytesShort <= 0 && entriesShort <= 0) break;
      bytesShort -= weight(victim);
      entriesShort -= 1;
      evicted.push(victim);
    }
    return evicted;
  }

  // Expiry (memory-api.en.md, "How long entries are kept").

  #isExpired(entry) {
    const { maxRetentionDays: days } = entry.retentionPolicy ?? this.agent.dataPolicy;
    return days !== null && Math.floor(this.clock() / 1000) >= Math.floor(entry.updatedAt / 1000) + days * 86_400;
  }

  /** For reads: the entries that are there, whether the others can be removed or not. */
  #present(caller) {
    try {
      return this.#removeExpired(caller);
    } catch {
      return new Map([...this.#entries].filter(([, entry]) => !this.#isExpired(entry)));
    }
  }

  #removeExpired(caller) {
    const expired = this.stored().filter((entry) => this.#isExpired(entry));
    if (expired.length > 0) {
      const lines = expired.map((entry) => this.#line("memory.expire", entry, caller, { actor: "host" }));
      this.#save(lines, () => expired.forEach((entry) => this.#entries.delete(entry.key)));
    }
    return this.#entries;
  }

  // Recording and saving (memory-api.en.md, "What gets recorded").

  /** Announce, then apply. */
  #save(lines, apply) {
    let announced;
    try {
      announced = this.audit.announce(lines);
    } catch (error) {
      throw refusals.storage(error.message);
    }
    if (this.failing) {
      announced.lost("MEMORY_STORAGE_ERROR", "the change could not be saved");
      throw refusals.storage("the change could not be saved");
    }
    apply();
    announced.saved();
  }

  #line(action, entry, caller, { actor = caller === null ? "deployer" : "gene" } = {}) {
    return {
      v: 1,
      ts: new Date(this.clock()).toISOString(),
      agentId: this.agent.id,
      agent: this.agent.name,
      actor,
      geneId: caller?.geneId ?? null,
      domain: caller?.domain ?? null,
      action,
      key: entry?.key ?? null,
      entryId: entry === null ? null : this.#entryId(entry.key),
      category: entry?.category ?? null,
      bytes: entry?.value?.length ?? null,
    };
  }

  #entryId(key) {
    return createHash("sha256").update(`${this.agent.id}\0${key}`).digest("hex");
  }
}

function mayUse(caller, entry, scopeName) {
  switch (entry.accessPolicy[scopeName]) {
    case "CREATOR_GENE_ONLY":
      return caller.geneId === entry.createdBy;
    case "SAME_DOMAIN":
      return caller.domain === entry.domain;
    case "ALL_GENES":
      return true;
    default:
      return false; // DEPLOYER_CONFIGURED: there is no setting for it yet
  }
}

function checkScope(caller, entry, scopeName) {
  if (!mayUse(caller, entry, scopeName)) throw refusals.denied(`the entry's ${scopeName} does not let this gene in`);
}
