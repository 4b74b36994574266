// Makes the memory call that its input describes: every field of every request, typed.
//
//   in   {"call": "read" | "write" | "query" | "delete", …}; see phenotype.json
//   out  {"entries": […]} or {"failed": {"result", "code", "message"}}
//
// A value is text. ../calls-c, ../calls-rust and ../calls-zig do the same.
import {
  AccessPolicy, Answer, Entry, Filter, Json, JsonObject, RetentionPolicy, Write,
  finish, inputOf, query, read, reject, remove, write,
} from "./rotifer";
export { alloc } from "./rotifer";

export function express(at: usize, length: i32): usize {
  const input = inputOf(at, length);
  const call = text(input, "call");
  const key = text(input, "key");
  const category = text(input, "category");
  if (call == "query") return say(query(filterOf(input)));
  if (key !== null) {
    if (call == "read") return say(read(key, category));
    if (call == "delete") return say(remove(key));
    const value = text(input, "value");
    if (call == "write" && value !== null && category !== null) return say(write(writeOf(input, key, value, category)));
  }
  return reject("the input is not as phenotype.json says");
}

function filterOf(input: Json): Filter {
  const filter = new Filter();
  filter.category = text(input, "category");
  filter.keyPrefix = text(input, "keyPrefix");
  filter.since = text(input, "since");
  filter.until = text(input, "until");
  const limit = input.member("limit");
  if (limit && limit.isInteger) filter.limit = <i32>limit.integer;
  return filter;
}

function writeOf(input: Json, key: string, value: string, category: string): Write {
  const request = new Write(key, String.UTF8.encode(value), category);
  const access = input.member("access");
  if (access) {
    request.accessPolicy = new AccessPolicy(
      text(access, "readScope")!, text(access, "writeScope")!, text(access, "sharePolicy")!,
    );
  }
  const retention = input.member("retention");
  if (retention) {
    request.resetRetention = retention.isNull;
    const days = retention.member("maxRetentionDays");
    if (days) {
      request.retentionPolicy = new RetentionPolicy(
        days.isNull ? 0 : <i32>days.integer,
        isTrue(retention, "autoDeleteOnTermination"),
        isTrue(retention, "anonymizationSupported"),
      );
    }
  }
  return request;
}

function say(answer: Answer): usize {
  const error = answer.error;
  const output = new JsonObject();
  if (error) {
    const failed = new JsonObject();
    failed.raw("result", error.result.toString());
    failed.string("code", error.code);
    failed.string("message", error.message);
    output.raw("failed", failed.end());
  } else {
    const entry = answer.entry;
    const entries: Entry[] = entry ? [entry as Entry] : answer.entries;
    output.raw("entries", "[" + entries.map<string>((found: Entry) => described(found)).join(",") + "]");
  }
  return finish(output.end());
}

function described(entry: Entry): string {
  const json = new JsonObject();
  json.string("entryId", entry.entryId);
  json.string("category", entry.category);
  json.string("key", entry.key);
  json.string("value", entry.valueText);
  json.string("createdBy", entry.createdBy);
  json.string("lastAccessedBy", entry.lastAccessedBy);
  json.string("createdAt", entry.createdAt);
  json.string("updatedAt", entry.updatedAt);
  const access = new JsonObject();
  access.string("readScope", entry.accessPolicy.readScope);
  access.string("writeScope", entry.accessPolicy.writeScope);
  access.string("sharePolicy", entry.accessPolicy.sharePolicy);
  json.raw("accessPolicy", access.end());
  const policy = entry.retentionPolicy;
  if (policy) {
    const retention = new JsonObject();
    retention.raw("maxRetentionDays", policy.maxRetentionDays ? policy.maxRetentionDays.toString() : "null");
    retention.raw("autoDeleteOnTermination", policy.autoDeleteOnTermination ? "true" : "false");
    retention.raw("anonymizationSupported", policy.anonymizationSupported ? "true" : "false");
    json.raw("retentionPolicy", retention.end());
  } else {
    json.raw("retentionPolicy", "null");
  }
  return json.end();
}

function text(object: Json, name: string): string | null {
  const value = object.member(name);
  return value && value.isString ? value.string : null;
}

function isTrue(object: Json, name: string): bool {
  const value = object.member(name);
  return value !== null && value.raw == "true";
}
