// The guest ABI for genes in AssemblyScript: the four memory calls, and just enough JSON and
// base64 to use them. No dependency; copy it beside your gene.
//
//   import { Json, finish, inputOf } from "./rotifer";
//   export { alloc } from "./rotifer";
//
//   export function express(at: usize, length: i32): usize {
//     const input = inputOf(at, length);
//     …
//     return finish(output);
//   }
//
// Build with: npx asc gene.ts -o gene.wasm -O2 --use abort=
//
// Strings are UTF-16 here and UTF-8 at the host: whatever crosses is converted. What the host
// writes into or reads from is pinned, so that the garbage collector leaves it alone.
//
// ../README.md, "The guest ABI", is the reference for every name here.

// @ts-ignore: decorator
@external("rotifer", "readMemory")
declare function importRead(request: usize, length: i32, out: usize, cap: i32): i32;
// @ts-ignore: decorator
@external("rotifer", "writeMemory")
declare function importWrite(request: usize, length: i32, out: usize, cap: i32): i32;
// @ts-ignore: decorator
@external("rotifer", "queryMemory")
declare function importQuery(request: usize, length: i32, out: usize, cap: i32): i32;
// @ts-ignore: decorator
@external("rotifer", "deleteMemory")
declare function importDelete(request: usize, length: i32, out: usize, cap: i32): i32;
// @ts-ignore: decorator
@external("rotifer.ext.json", "getMemory")
declare function importJsonGet(request: usize, length: i32, out: usize, cap: i32): i32;
// @ts-ignore: decorator
@external("rotifer.ext.json", "updateMemory")
declare function importJsonUpdate(request: usize, length: i32, out: usize, cap: i32): i32;
// @ts-ignore: decorator
@external("rotifer.ext.markdown", "memory_write")
declare function importMarkdownWrite(request: usize, length: i32, out: usize, cap: i32): i32;
// @ts-ignore: decorator
@external("rotifer.ext.markdown", "memory_update")
declare function importMarkdownUpdate(request: usize, length: i32, out: usize, cap: i32): i32;
// @ts-ignore: decorator
@external("rotifer.ext.markdown", "memory_read")
declare function importMarkdownRead(request: usize, length: i32, out: usize, cap: i32): i32;
// @ts-ignore: decorator
@external("rotifer.ext.markdown", "memory_search")
declare function importMarkdownSearch(request: usize, length: i32, out: usize, cap: i32): i32;

// ---- input and output -------------------------------------------------------------

let pinnedInput: usize = 0;
let pinnedOutput: usize = 0;

/** Where the host writes the input: pinned until `inputOf` has read it. */
export function alloc(length: i32): usize {
  pinnedInput = __pin(changetype<usize>(new ArrayBuffer(length)));
  return pinnedInput;
}

/** The input, converted from UTF-8. */
export function inputOf(at: usize, length: i32): Json {
  const text = String.UTF8.decodeUnsafe(at, length);
  if (pinnedInput) __unpin(pinnedInput);
  pinnedInput = 0;
  return new Json(text);
}

/**
 * What `express` returns for an output: the address of its UTF-8, with a NUL at its end. Half a
 * surrogate pair, as text from bytes that are no UTF-8 has them, becomes U+FFFD.
 */
export function finish(json: string): usize {
  return terminated(String.UTF8.encode(json, true, String.UTF8.ErrorMode.REPLACE));
}

/** What `express` returns to refuse its input. */
export function reject(message: string): usize {
  const error = new JsonObject();
  error.string("code", "INVALID_INPUT");
  error.string("message", message);
  return finish(`{"__rotifer_error":${error.end()}}`);
}

/** What `express` returns to give up over a failed call: the host's own error, or -4, which has none. */
export function fail(error: MemoryError): usize {
  return error.payload.length ? finish(error.payload) : <usize>error.result;
}

function terminated(output: ArrayBuffer): usize {
  if (pinnedOutput) __unpin(pinnedOutput); // the last run's, when an instance has several
  pinnedOutput = __pin(changetype<usize>(output));
  return pinnedOutput;
}

// ---- the memory calls ---------------------------------------------------------------

export namespace Category {
  export const PREFERENCE: string = "PREFERENCE";
  export const PATTERN: string = "PATTERN";
  export const CONTEXT: string = "CONTEXT";
  export const CACHE: string = "CACHE";
}

export namespace Scope {
  export const CREATOR_GENE_ONLY: string = "CREATOR_GENE_ONLY";
  export const SAME_DOMAIN: string = "SAME_DOMAIN";
  export const ALL_GENES: string = "ALL_GENES";
}

export namespace Share {
  export const PRIVATE: string = "PRIVATE";
  export const ANONYMIZED_SHARE: string = "ANONYMIZED_SHARE";
  export const KNOWLEDGE_GENE: string = "KNOWLEDGE_GENE";
}

export namespace Result {
  export const ACCESS_DENIED: i32 = -2;
  export const BUDGET_EXHAUSTED: i32 = -4;
  export const QUOTA_EXCEEDED: i32 = -8;
  export const INVALID_INPUT: i32 = -10;
  export const NOT_FOUND: i32 = -12;
  export const STORAGE_ERROR: i32 = -13;
  /** Of host modules only. */
  export const CONFLICT: i32 = -14;
}

export class AccessPolicy {
  constructor(
    public readScope: string = Scope.SAME_DOMAIN,
    public writeScope: string = Scope.SAME_DOMAIN,
    public sharePolicy: string = Share.PRIVATE,
  ) {}
}

export class RetentionPolicy {
  constructor(
    /** Whole days from 1; 0 for no limit, which is `null` in JSON. */
    public maxRetentionDays: i32 = 0,
    public autoDeleteOnTermination: bool = false,
    public anonymizationSupported: bool = false,
  ) {}
}

/** A `writeMemory` request. Set what else you need before `write`; what is not set is left out. */
export class Write {
  accessPolicy: AccessPolicy | null = null;
  retentionPolicy: RetentionPolicy | null = null;
  /** Send `null` for the retention policy: follow the agent's data policy again. */
  resetRetention: bool = false;
  constructor(public key: string, public value: ArrayBuffer, public category: string) {}
}

/** A `queryMemory` request; a new one matches everything. `since` and `until` are RFC 3339. */
export class Filter {
  category: string | null = null;
  keyPrefix: string | null = null;
  since: string | null = null;
  until: string | null = null;
  limit: i32 = 0;
}

export class Entry {
  constructor(private json: Json) {}
  get key(): string { return this.text("key"); }
  get value(): ArrayBuffer { return fromBase64(this.text("value")); }
  /** The value as text, converted from UTF-8. */
  get valueText(): string { return String.UTF8.decode(this.value); }
  get category(): string { return this.text("category"); }
  get entryId(): string { return this.text("entryId"); }
  get createdBy(): string { return this.text("createdBy"); }
  get lastAccessedBy(): string { return this.text("lastAccessedBy"); }
  get createdAt(): string { return this.text("createdAt"); }
  get updatedAt(): string { return this.text("updatedAt"); }
  get accessPolicy(): AccessPolicy {
    const policy = this.json.member("accessPolicy");
    if (!policy) return new AccessPolicy();
    return new AccessPolicy(textOf(policy, "readScope"), textOf(policy, "writeScope"), textOf(policy, "sharePolicy"));
  }
  /** Null: the agent's data policy decides. */
  get retentionPolicy(): RetentionPolicy | null {
    const policy = this.json.member("retentionPolicy");
    if (!policy || policy.isNull) return null;
    const days = policy.member("maxRetentionDays");
    return new RetentionPolicy(
      days && days.isInteger ? <i32>days.integer : 0,
      rawOf(policy, "autoDeleteOnTermination") == "true",
      rawOf(policy, "anonymizationSupported") == "true",
    );
  }
  private text(name: string): string { return textOf(this.json, name); }
}

export class MemoryError {
  constructor(
    /** The negative result of the call; see `Result`. */
    public result: i32,
    /** `MEMORY_…`; empty when the host left no payload. */
    public code: string,
    public message: string,
    /** The host's error object as it came. */
    public payload: string,
  ) {}
}

/** What a call gave: `error` when it failed, else what it returned. */
export class Answer {
  constructor(public error: MemoryError | null, public json: Json) {}
  /** Of `read` (null: there is none) and `write`. */
  get entry(): Entry | null { return this.json.isObject ? new Entry(this.json) : null; }
  /** Of `query`, the most recently updated first. */
  get entries(): Entry[] {
    const elements = this.json.elements();
    const entries = new Array<Entry>();
    for (let i = 0; i < elements.length; i++) entries.push(new Entry(elements[i]));
    return entries;
  }
}

export function read(key: string, category: string | null = null): Answer {
  const request = new JsonObject();
  request.string("key", key);
  request.optional("category", category);
  return call(importRead, request.end());
}

export function write(request: Write): Answer {
  const json = new JsonObject();
  json.string("key", request.key);
  json.string("value", toBase64(request.value));
  json.string("category", request.category);
  const access = request.accessPolicy;
  if (access) {
    const policy = new JsonObject();
    policy.string("readScope", access.readScope);
    policy.string("writeScope", access.writeScope);
    policy.string("sharePolicy", access.sharePolicy);
    json.raw("accessPolicy", policy.end());
  }
  const retention = request.retentionPolicy;
  if (retention) {
    const policy = new JsonObject();
    const days = retention.maxRetentionDays;
    policy.raw("maxRetentionDays", days ? days.toString() : "null");
    policy.raw("autoDeleteOnTermination", retention.autoDeleteOnTermination ? "true" : "false");
    policy.raw("anonymizationSupported", retention.anonymizationSupported ? "true" : "false");
    json.raw("retentionPolicy", policy.end());
  } else if (request.resetRetention) {
    json.raw("retentionPolicy", "null");
  }
  return call(importWrite, json.end());
}

/** Write text, converted to UTF-8, with the default policies. */
export function writeText(key: string, value: string, category: string): Answer {
  return write(new Write(key, String.UTF8.encode(value), category));
}

export function query(filter: Filter): Answer {
  const json = new JsonObject();
  json.optional("category", filter.category);
  json.optional("keyPrefix", filter.keyPrefix);
  json.optional("since", filter.since);
  json.optional("until", filter.until);
  if (filter.limit) json.raw("limit", filter.limit.toString());
  return call(importQuery, json.end());
}

export function remove(key: string): Answer {
  const request = new JsonObject();
  request.string("key", key);
  return call(importDelete, request.end());
}

/** The agent's JSON memory, for agents that are granted the host module `json`. */
export namespace JsonMemory {
  /** `revision`, and `memory`, which is null for revision 0. */
  export function get(): Answer {
    return call(importJsonGet, "{}");
  }

  /** Replace the whole memory by another object: `revision`. `Result.CONFLICT` when it has another one than expected. */
  export function update(expectedRevision: i64, memory: string): Answer {
    const json = new JsonObject();
    json.raw("expectedRevision", expectedRevision.toString());
    json.raw("memory", memory);
    return call(importJsonUpdate, json.end());
  }
}

/** Memories in the project's Markdown files, for agents that are granted the host module `markdown`. */
export namespace Markdown {
  /** A new memory, with `summary` in MEMORY.md: `key`, `target`, `path`. `Result.CONFLICT` when its key is there. */
  export function write(key: string, content: string, tags: string[] | null = null, summary: bool = false): Answer {
    const json = markdownMembers(key, content, tags);
    if (summary) json.string("target", "summary");
    return call(importMarkdownWrite, json.end());
  }

  /** Another content for the memory that `read` gives: `key`, `path`, `kind`. Null tags: those it has. */
  export function update(key: string, content: string, tags: string[] | null = null): Answer {
    return call(importMarkdownUpdate, markdownMembers(key, content, tags).end());
  }

  /** `key`, `content`, `tags`, `file`, `kind`, `created_at`, `updated_at`. */
  export function read(key: string): Answer {
    const json = new JsonObject();
    json.string("key", key);
    return call(importMarkdownRead, json.end());
  }

  /** `results`: an array of what `read` gives. A limit of 0 is left out. */
  export function search(query: string, tags: string[] | null = null, limit: i32 = 0): Answer {
    const json = new JsonObject();
    json.string("query", query);
    if (tags) json.raw("tags", quotedArray(tags));
    if (limit) json.raw("limit", limit.toString());
    return call(importMarkdownSearch, json.end());
  }
}

function markdownMembers(key: string, content: string, tags: string[] | null): JsonObject {
  const json = new JsonObject();
  json.string("key", key);
  json.string("content", content);
  if (tags) json.raw("tags", quotedArray(tags));
  return json;
}

function quotedArray(texts: string[]): string {
  const parts = new Array<string>();
  for (let i = 0; i < texts.length; i++) parts.push(quoted(texts[i]));
  return "[" + parts.join(",") + "]";
}

type Import = (request: usize, length: i32, out: usize, cap: i32) => i32;

/** Make a call. -1 changed nothing: it is repeated in a buffer of the size the host names. */
function call(target: Import, text: string): Answer {
  const request = String.UTF8.encode(text, false, String.UTF8.ErrorMode.REPLACE); // referenced from here until the call is over
  let cap = 4096;
  while (true) {
    const out = new ArrayBuffer(cap); // zeros: a failed call whose payload does not fit leaves none
    const at = changetype<usize>(out);
    const result = target(changetype<usize>(request), request.byteLength, at, cap);
    if (result >= 0) return new Answer(null, new Json(String.UTF8.decodeUnsafe(at, result)));
    let length = 0;
    while (length < cap && load<u8>(at + length)) length++;
    const payload = String.UTF8.decodeUnsafe(at, length);
    const detail = new Json(payload).member("__rotifer_error");
    const message = detail ? textOf(detail, "message") : "";
    if (result != -1) {
      const error = new MemoryError(result, detail ? textOf(detail, "code") : "", message, payload);
      return new Answer(error, new Json("null"));
    }
    const needed = firstNumber(message); // another run may have made the entry larger still
    cap = needed > cap ? needed : cap * 2;
  }
}

function firstNumber(text: string): i32 {
  let number = 0;
  for (let i = 0; i < text.length; i++) {
    const digit = text.charCodeAt(i) - 0x30;
    if (digit >= 0 && digit <= 9) number = number * 10 + digit;
    else if (number) break;
  }
  return number;
}

// ---- JSON -----------------------------------------------------------------------------

/** A JSON value: the text it is written as, which is well-formed and compact, as the host writes it. */
export class Json {
  private members: Map<string, Json> | null = null;
  constructor(public raw: string) {}

  get isNull(): bool { return this.raw == "null"; }
  get isObject(): bool { return this.first == 0x7b; }
  get isArray(): bool { return this.first == 0x5b; }
  get isString(): bool { return this.first == 0x22; }
  /** A whole number of up to 18 digits, without point and exponent. */
  get isInteger(): bool {
    const start = this.first == 0x2d ? 1 : 0;
    const digits = this.raw.length - start;
    if (digits < 1 || digits > 18) return false;
    for (let i = start; i < this.raw.length; i++) {
      const digit = this.raw.charCodeAt(i) - 0x30;
      if (digit < 0 || digit > 9) return false;
    }
    return true;
  }

  /** Its value, when `isInteger`. */
  get integer(): i64 { return I64.parseInt(this.raw); }

  /** What it says, its escapes resolved, when `isString`. */
  get string(): string {
    const raw = this.raw;
    const parts = new Array<string>();
    let done = 1;
    let at = raw.indexOf("\\");
    while (at >= 0) {
      parts.push(raw.substring(done, at));
      const letter = raw.charCodeAt(at + 1);
      done = at + 2;
      if (letter == 0x75) { // u: half of a pair is a unit of UTF-16 like any other
        parts.push(String.fromCharCode(<i32>parseInt(raw.substr(done, 4), 16)));
        done += 4;
      } else {
        parts.push(unescaped(letter));
      }
      at = raw.indexOf("\\", done);
    }
    parts.push(raw.substring(done, raw.length - 1));
    return parts.join("");
  }

  /** The value of an object's member, or null. */
  member(name: string): Json | null {
    if (!this.isObject) return null;
    let members = this.members;
    if (!members) { // looked for once: a value may be a megabyte long
      members = new Map<string, Json>();
      let at = 1;
      while (at < this.raw.length - 1) {
        const colon = afterString(this.raw, at);
        const end = afterValue(this.raw, colon + 1);
        members.set(this.raw.substring(at + 1, colon - 1), new Json(this.raw.substring(colon + 1, end)));
        at = end + 1;
      }
      this.members = members;
    }
    return members.has(name) ? members.get(name) : null;
  }

  /** The elements of an array; none of anything else. */
  elements(): Json[] {
    const found = new Array<Json>();
    if (!this.isArray) return found;
    let at = 1;
    while (at < this.raw.length - 1) {
      const end = afterValue(this.raw, at);
      found.push(new Json(this.raw.substring(at, end)));
      at = end + 1;
    }
    return found;
  }

  private get first(): i32 { return this.raw.length ? this.raw.charCodeAt(0) : 0; }
}

/** Writes a JSON object. A member that is not set is not written: `null` means something else. */
export class JsonObject {
  private parts: string[] = [];

  string(name: string, value: string): void { this.raw(name, quoted(value)); }
  optional(name: string, value: string | null): void { if (value !== null) this.string(name, value); }
  /** A member whose value is JSON already. */
  raw(name: string, json: string): void { this.parts.push(quoted(name) + ":" + json); }
  end(): string { return "{" + this.parts.join(",") + "}"; }
}

/** A JSON string with its quotes. */
export function quoted(text: string): string {
  const parts = new Array<string>();
  let done = 0;
  for (let i = 0; i < text.length; i++) {
    const code = unit(text, i);
    if (code >= 0x20 && code != 0x22 && code != 0x5c) continue;
    parts.push(text.substring(done, i));
    done = i + 1;
    if (code >= 0x20) parts.push("\\" + String.fromCharCode(code));
    else if (code == 0x0a) parts.push("\\n");
    else if (code == 0x0d) parts.push("\\r");
    else if (code == 0x09) parts.push("\\t");
    else parts.push("\\u00" + (code < 16 ? "0" : "1") + (code & 15).toString(16));
  }
  parts.push(text.substring(done));
  return '"' + parts.join("") + '"';
}

function unescaped(letter: i32): string {
  switch (letter) {
    case 0x62: return "\b";
    case 0x66: return "\f";
    case 0x6e: return "\n";
    case 0x72: return "\r";
    case 0x74: return "\t";
    default: return String.fromCharCode(letter);
  }
}

function textOf(object: Json, name: string): string {
  const value = object.member(name);
  return value && value.isString ? value.string : "";
}

function rawOf(object: Json, name: string): string {
  const value = object.member(name);
  return value ? value.raw : "";
}

function afterString(text: string, at: i32): i32 {
  for (at++; at < text.length && unit(text, at) != 0x22; at++) {
    if (unit(text, at) == 0x5c) at++;
  }
  return at + 1;
}

/** What `charCodeAt` gives, for an index known to lie inside: long texts are walked with it. */
// @ts-ignore: decorator
@inline
function unit(text: string, at: i32): i32 {
  return load<u16>(changetype<usize>(text) + (<usize>at << 1));
}

function afterValue(text: string, at: i32): i32 {
  let depth = 0;
  while (at < text.length) {
    const here = unit(text, at);
    if (here == 0x22) {
      at = afterString(text, at);
      continue;
    }
    const closes = here == 0x7d || here == 0x5d;
    if (!depth && (closes || here == 0x2c)) break;
    if (closes) depth--;
    else if (here == 0x7b || here == 0x5b) depth++;
    at++;
  }
  return at;
}

// ---- base64 -----------------------------------------------------------------------------

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

export function toBase64(bytes: ArrayBuffer): string {
  const source = Uint8Array.wrap(bytes);
  const length = source.length;
  const units = new Uint16Array((length + 2) / 3 * 4);
  let to = 0;
  for (let i = 0; i < length; i += 3) {
    const left = length - i;
    let word = <i32>source[i] << 16;
    if (left > 1) word |= <i32>source[i + 1] << 8;
    if (left > 2) word |= <i32>source[i + 2];
    units[to++] = <u16>ALPHABET.charCodeAt(word >> 18);
    units[to++] = <u16>ALPHABET.charCodeAt((word >> 12) & 63);
    units[to++] = left > 1 ? <u16>ALPHABET.charCodeAt((word >> 6) & 63) : 0x3d;
    units[to++] = left > 2 ? <u16>ALPHABET.charCodeAt(word & 63) : 0x3d;
  }
  return String.UTF16.decode(units.buffer);
}

/** The bytes of base64 as the host writes it: canonical, with padding. */
export function fromBase64(text: string): ArrayBuffer {
  let letters = text.length;
  while (letters > 0 && text.charCodeAt(letters - 1) == 0x3d) letters--;
  const bytes = new Uint8Array(letters * 6 / 8);
  let bits = 0;
  let have = 0;
  let to = 0;
  for (let i = 0; i < letters; i++) {
    bits = (bits << 6) | sextet(unit(text, i));
    have += 6;
    if (have >= 8) {
      have -= 8;
      unchecked((bytes[to++] = <u8>(bits >> have)));
    }
  }
  return bytes.buffer;
}

function sextet(letter: i32): i32 {
  if (letter >= 0x61) return letter - 0x61 + 26;
  if (letter >= 0x41) return letter - 0x41;
  if (letter >= 0x30) return letter - 0x30 + 52;
  return letter == 0x2b ? 62 : 63;
}
