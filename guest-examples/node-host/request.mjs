// What the four memory calls are asked: bytes in, a checked request out.
// Rules: abi/README.md, "Requests".

export const CATEGORIES = ["PREFERENCE", "PATTERN", "CONTEXT", "CACHE"];
const SCOPES = ["CREATOR_GENE_ONLY", "SAME_DOMAIN", "ALL_GENES", "DEPLOYER_CONFIGURED"];
const SHARE_POLICIES = ["PRIVATE", "ANONYMIZED_SHARE", "KNOWLEDGE_GENE"];
const FILTER_FIELDS = ["category", "keyPrefix", "since", "until", "limit"];

export const MAX_REQUEST_BYTES = 2 * 1024 * 1024;
export const MAX_KEY_BYTES = 1024;
const MAX_VALUE_BYTES = 1024 * 1024;
const MAX_RETENTION_DAYS = 2_147_483_647;

/** What a call answers instead of a response. */
export class Refusal extends Error {
  constructor(result, code, message) {
    super(message);
    this.result = result;
    this.code = code;
  }
}

export const refusals = {
  tooSmall: (needed, room) =>
    new Refusal(-1, "MEMORY_BUFFER_TOO_SMALL", `response needs ${needed} bytes, out_cap is ${room}`),
  denied: (message) => new Refusal(-2, "MEMORY_ACCESS_DENIED", message),
  exhausted: () => new Refusal(-4, null, ""),
  full: (message) => new Refusal(-8, "MEMORY_QUOTA_EXCEEDED", message),
  invalid: (message) => new Refusal(-10, "MEMORY_INVALID_INPUT", message),
  missing: () => new Refusal(-12, "MEMORY_NOT_FOUND", "there is no entry with this key"),
  storage: (message) => new Refusal(-13, "MEMORY_STORAGE_ERROR", message),
};

const refuse = (message) => {
  throw refusals.invalid(message);
};

export const parsers = {
  readMemory(bytes) {
    const request = members(bytes, ["key", "category"]);
    return { key: key(request.key), category: optional(request.category, category) };
  },
  writeMemory(bytes) {
    const request = members(bytes, ["key", "value", "category", "accessPolicy", "retentionPolicy"]);
    return {
      key: key(request.key),
      value: value(request.value),
      category: category(request.category),
      accessPolicy: optional(request.accessPolicy, accessPolicy),
      // The one field where null says something: follow the agent. Left out, it is undefined.
      retentionPolicy: request.retentionPolicy == null ? request.retentionPolicy : retentionPolicy(request.retentionPolicy),
    };
  },
  queryMemory(bytes) {
    if (bytes.length === 0) return filter({});
    const request = members(bytes, [...FILTER_FIELDS, "filter"], { nullable: true });
    const { filter: nested, ...own } = request;
    if (nested == null) return filter(own);
    if (Object.values(own).some((field) => field !== null)) refuse("filter excludes the filter's own fields");
    return filter(fields(nested, FILTER_FIELDS, "filter"));
  },
  deleteMemory(bytes) {
    return { key: key(members(bytes, ["key"]).key) };
  },
};

/** Parse strict JSON; JSON.parse takes what the ABI refuses: lone surrogates and numbers like 1.0. */
function members(bytes, allowed, { nullable = false } = {}) {
  if (bytes.length > MAX_REQUEST_BYTES) refuse(`the request has more than ${MAX_REQUEST_BYTES} bytes`);
  let request;
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    const outsideStrings = text.replace(/"(?:[^"\\]|\\.)*"/gs, '""');
    request = JSON.parse(text);
    // No field of any request takes a fraction or an exponent, and 1.0 is not 1.
    if (/[0-9][.eE]/.test(outsideStrings)) refuse(`${fractional(request)} must be a whole number, written as one`);
  } catch (error) {
    throw error instanceof Refusal ? error : refusals.invalid("the request must be one JSON document in UTF-8");
  }
  if (request === null && nullable) return {};
  return fields(request, allowed, "the request");
}

/** Name the fields a malformed number may stand in, for the message. */
function fractional(request) {
  return `a number in ${JSON.stringify(Object.keys(Object(request)))}`;
}

function fields(candidate, allowed, owner) {
  if (candidate === null || typeof candidate !== "object" || Array.isArray(candidate)) {
    refuse(`${owner} must be an object`);
  }
  for (const name of Object.keys(candidate)) {
    if (!allowed.includes(name)) refuse(`undefined field ${JSON.stringify(name)}: ${owner} takes ${allowed.join(", ")}`);
  }
  return candidate;
}

const optional = (candidate, check) => (candidate == null ? null : check(candidate));

function text(candidate, name) {
  if (typeof candidate !== "string") refuse(`${name} must be a string`);
  if (/\p{Surrogate}/u.test(candidate)) refuse(`${name} must not contain lone surrogates`);
  return candidate;
}

function oneOf(candidate, allowed, name) {
  if (!allowed.includes(candidate)) refuse(`${name} must be one of ${allowed.join(", ")}`);
  return candidate;
}

function whole(candidate, most, name) {
  if (!Number.isInteger(candidate) || candidate < 1 || candidate > most) {
    refuse(`${name} must be a whole number from 1 to ${most}`);
  }
  return candidate;
}

export function key(candidate) {
  text(candidate, "key");
  if (candidate === "") refuse("key must not be empty");
  if (candidate.includes("\0")) refuse("key must not contain a NUL character");
  if (Buffer.byteLength(candidate) > MAX_KEY_BYTES) refuse(`key must be at most ${MAX_KEY_BYTES} bytes`);
  return candidate;
}

export const category = (candidate) => oneOf(candidate, CATEGORIES, "category");

/** Canonical base64: what encoding gives back when the decoded bytes go in. */
function value(candidate) {
  text(candidate, "value");
  const bytes = Buffer.from(candidate, "base64");
  if (bytes.toString("base64") !== candidate) refuse("value must be canonical base64 with padding");
  if (bytes.length > MAX_VALUE_BYTES) refuse(`value must be at most ${MAX_VALUE_BYTES} bytes`);
  return bytes;
}

function exactly(candidate, names, owner) {
  const found = fields(candidate, names, owner);
  if (names.some((name) => !Object.hasOwn(found, name))) refuse(`${owner} must have exactly ${names.join(", ")}`);
  return found;
}

function accessPolicy(candidate) {
  const policy = exactly(candidate, ["readScope", "writeScope", "sharePolicy"], "accessPolicy");
  return {
    readScope: oneOf(policy.readScope, SCOPES, "accessPolicy.readScope"),
    writeScope: oneOf(policy.writeScope, SCOPES, "accessPolicy.writeScope"),
    sharePolicy: oneOf(policy.sharePolicy, SHARE_POLICIES, "accessPolicy.sharePolicy"),
  };
}

function retentionPolicy(candidate) {
  const names = ["maxRetentionDays", "autoDeleteOnTermination", "anonymizationSupported"];
  const policy = exactly(candidate, names, "retentionPolicy");
  const days = policy.maxRetentionDays;
  if (days !== null) whole(days, MAX_RETENTION_DAYS, "retentionPolicy.maxRetentionDays");
  for (const flag of names.slice(1)) {
    if (typeof policy[flag] !== "boolean") refuse(`retentionPolicy.${flag} must be true or false`);
  }
  return {
    maxRetentionDays: days,
    autoDeleteOnTermination: policy.autoDeleteOnTermination,
    anonymizationSupported: policy.anonymizationSupported,
  };
}

function filter(candidate) {
  return {
    category: optional(candidate.category, category),
    keyPrefix: optional(candidate.keyPrefix, (prefix) => text(prefix, "keyPrefix")) ?? "",
    since: optional(candidate.since, (instant) => firstMillisecond(text(instant, "since"), "since")),
    until: optional(candidate.until, (instant) => firstMillisecond(text(instant, "until"), "until")),
    limit: optional(candidate.limit, (limit) => whole(limit, 1000, "limit")) ?? 100,
  };
}

const RFC3339 =
  /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

/** The first whole millisecond that is not before the instant: so finer fractions compare exactly. */
export function firstMillisecond(instant, name) {
  const match = RFC3339.exec(instant);
  if (match === null || instant.endsWith("\n")) refuse(`${name} must be RFC 3339 with a zone`);
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number);
  const [fraction, sign, zoneHour, zoneMinute] = [match[7] ?? "", match[8], Number(match[9] ?? 0), Number(match[10] ?? 0)];
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day); // Date.UTC takes the years 0 to 99 for 1900 to 1999
  const real = date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  if (!real || hour > 23 || minute > 59 || second > 60 || zoneHour > 23 || zoneMinute > 59) {
    refuse(`${name} must be a real date and time`);
  }
  const offset = (zoneHour * 60 + zoneMinute) * (sign === "-" ? -1 : 1);
  const seconds = date.getTime() / 1000 + ((hour * 60 + minute - offset) * 60 + second);
  const finer = /[1-9]/.test(fraction.slice(3)) ? 1 : 0;
  return seconds * 1000 + Number(fraction.slice(0, 3).padEnd(3, "0")) + finer;
}
