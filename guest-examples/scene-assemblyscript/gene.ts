// The scene of a story in the agent's JSON memory, which is replaced as a whole.
//
//   in   {"scene": string}  changes the scene
//        {}                 tells it
//   out  {"scene": string or null, "changes": number}
//
// The agent must be granted the host module `json`. ../scene-rust, ../scene-c and
// ../scene-zig do the same.
import { Json, JsonMemory, JsonObject, Result, fail, finish, inputOf, reject } from "./rotifer";
export { alloc } from "./rotifer";

function memoryOf(scene: string, changes: i64): string {
  const json = new JsonObject();
  json.raw("scene", scene);
  json.raw("changes", changes.toString());
  return json.end();
}

function integer(object: Json | null, name: string): i64 {
  const value = object ? object.member(name) : null;
  return value && value.isInteger ? value.integer : 0;
}

export function express(at: usize, length: i32): usize {
  const wanted = inputOf(at, length).member("scene");
  if (wanted && !wanted.isString) return reject("scene must be a string");
  while (true) {
    const answer = JsonMemory.get();
    const error = answer.error;
    if (error) return fail(error);
    const memory = answer.json.member("memory");
    const changes = integer(memory, "changes");
    if (!wanted) {
      const scene = memory ? memory.member("scene") : null;
      return finish(memoryOf(scene ? scene.raw : "null", changes));
    }
    const next = memoryOf(wanted.raw, changes + 1);
    const refusal = JsonMemory.update(integer(answer.json, "revision"), next).error;
    if (!refusal) return finish(next);
    if (refusal.result != Result.CONFLICT) return fail(refusal); // else decide again on what there is now
  }
}
