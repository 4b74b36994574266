// A journal in the project's Markdown files, which people read and write, too.
//
//   in   {"key": string, "content": string, "tags"?: [string]}  keeps a note, or changes it
//        {"key": string}                                        reads it
//        {"find": string, "tags"?: [string], "limit"?: 1..100}  searches
//   out  {"new": boolean}, {"content": string or null} or {"keys": [string]}
//
// The agent must be granted the host module `markdown`. ../journal-rust, ../journal-c and
// ../journal-zig do the same.
import { Json, JsonObject, Markdown, Result, fail, finish, inputOf, reject } from "./rotifer";
export { alloc } from "./rotifer";

function keep(key: string, content: string, tags: string[] | null): usize {
  let answer = Markdown.write(key, content, tags);
  let error = answer.error;
  const isNew = !error || error.result != Result.CONFLICT; // else there is a note with this key, perhaps by hand
  if (!isNew) {
    answer = Markdown.update(key, content, tags);
    error = answer.error;
  }
  if (error) return fail(error);
  const output = new JsonObject();
  output.raw("new", isNew ? "true" : "false");
  return finish(output.end());
}

function recall(key: string): usize {
  const answer = Markdown.read(key);
  const error = answer.error;
  if (error && error.result != Result.NOT_FOUND) return fail(error);
  const content = answer.json.member("content");
  const output = new JsonObject();
  output.raw("content", content ? content.raw : "null");
  return finish(output.end());
}

function find(query: string, tags: string[] | null, limit: i32): usize {
  const answer = Markdown.search(query, tags, limit);
  const error = answer.error;
  if (error) return fail(error);
  const results = answer.json.member("results");
  const notes = results ? results.elements() : [];
  const keys = new Array<string>();
  for (let i = 0; i < notes.length; i++) {
    const key = notes[i].member("key");
    if (key) keys.push(key.raw);
  }
  const output = new JsonObject();
  output.raw("keys", `[${keys.join(",")}]`);
  return finish(output.end());
}

function strings(array: Json): string[] {
  return array.elements().map<string>((element) => element.string);
}

export function express(at: usize, length: i32): usize {
  const input = inputOf(at, length);
  const key = input.member("key");
  const content = input.member("content");
  const query = input.member("find");
  const given = input.member("tags");
  const limit = input.member("limit");
  const tags = given ? strings(given) : null;
  if (key && key.isString && content && content.isString) return keep(key.string, content.string, tags);
  if (key && key.isString) return recall(key.string);
  if (query && query.isString) return find(query.string, tags, limit && limit.isInteger ? <i32>limit.integer : 0);
  return reject("key or find must be a string");
}
