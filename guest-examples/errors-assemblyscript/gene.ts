// Notes, kept as long as they can be: what a gene may do about each way a memory call fails.
//
//   in   {"do": "save" | "show" | "list" | "forget", "name"?: string, "text"?: string}
//   out  {"status": string, …}
//
// A note is the PREFERENCE entry `notes/<name>`, which is never removed to make room.
//
//   -1   not seen here: `rotifer.ts` repeats the call with the room it needs
//   -2   status "denied": somebody else's note is not this gene's to see or to change
//   -4   status "unfinished": no more calls, but what is known can still be said
//   -8   the oldest note this gene may forget makes room; if that is not enough, status "full"
//   -10  the input asked for something that cannot be: it is rejected, with the host's message
//   -12  forgetting what is not there is done already
//   -13  status "unavailable": nothing was changed, another run may do better
import {
  Answer, Category, Entry, Filter, Json, JsonObject, MemoryError, Result,
  fail, finish, inputOf, query, quoted, read, reject, remove, writeText,
} from "./rotifer";
export { alloc } from "./rotifer";

const ROOT = "notes/";

export function express(at: usize, length: i32): usize {
  const input = inputOf(at, length);
  const action = text(input, "do");
  if (action === null) return reject("do must be a string");
  if (action == "list") return list();

  const name = text(input, "name");
  if (name === null) return reject("name must be a string");
  if (action == "show") return show(name);
  if (action == "forget") return forget(name);
  if (action != "save") return reject("do must be save, show, list or forget");

  const body = text(input, "text");
  if (body === null) return reject("text must be a string");
  return save(name, body);
}

function save(name: string, body: string): usize {
  const output = status("saved");
  let answer = writeText(ROOT + name, body, Category.PREFERENCE);
  if (failedWith(answer, Result.QUOTA_EXCEEDED)) {
    const dropped = makeRoom(name);
    if (dropped !== null) {
      output.string("dropped", dropped);
      answer = writeText(ROOT + name, body, Category.PREFERENCE);
    }
  }
  const error = answer.error;
  return error ? explain(error) : finish(output.end());
}

/** Forget the oldest note but this one; null when there is none, or none that may be forgotten. */
function makeRoom(name: string): string | null {
  const notes = query(all()).entries; // none when the query fails: then nothing makes room
  for (let i = notes.length - 1; i >= 0; i--) {
    const key = notes[i].key;
    if (key != ROOT + name && !remove(key).error) return key.substring(ROOT.length);
  }
  return null;
}

function show(name: string): usize {
  const answer = read(ROOT + name);
  const error = answer.error;
  if (error) return explain(error);
  const entry = answer.entry;
  if (!entry) return finish(status("missing").end());
  const output = status("found");
  output.string("text", entry.valueText);
  return finish(output.end());
}

function list(): usize {
  const answer = query(all());
  const error = answer.error;
  if (error) return explain(error);
  const output = status("listed");
  output.raw("names", "[" + answer.entries.map<string>((note: Entry) => quoted(note.key.substring(ROOT.length))).join(",") + "]");
  return finish(output.end());
}

function forget(name: string): usize {
  const answer = remove(ROOT + name);
  const error = answer.error;
  if (error && error.result != Result.NOT_FOUND) return explain(error);
  return finish(status("forgotten").end());
}

/** The output for a failure that nothing can be done about. */
function explain(error: MemoryError): usize {
  switch (error.result) {
    case Result.ACCESS_DENIED: return failed("denied", error);
    case Result.BUDGET_EXHAUSTED: return failed("unfinished", error);
    case Result.QUOTA_EXCEEDED: return failed("full", error);
    case Result.STORAGE_ERROR: return failed("unavailable", error);
    default: return fail(error); // -10, and what a later host may add
  }
}

function failed(word: string, error: MemoryError): usize {
  const output = status(word);
  if (error.message.length) output.string("message", error.message);
  return finish(output.end());
}

function failedWith(answer: Answer, result: i32): bool {
  const error = answer.error;
  return error !== null && error.result == result;
}

function all(): Filter {
  const filter = new Filter();
  filter.category = Category.PREFERENCE;
  filter.keyPrefix = ROOT;
  filter.limit = 1000;
  return filter;
}

function status(word: string): JsonObject {
  const output = new JsonObject();
  output.string("status", word);
  return output;
}

function text(input: Json, name: string): string | null {
  const value = input.member(name);
  return value && value.isString ? value.string : null;
}
