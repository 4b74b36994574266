/* The scene of a story in the agent's JSON memory, which is replaced as a whole.
 *
 *   in   {"scene": string}  changes the scene
 *        {}                 tells it
 *   out  {"scene": string or null, "changes": number}
 *
 * The agent must be granted the host module `json`. ../scene-rust, ../scene-zig and
 * ../scene-assemblyscript do the same.
 */
#include "rotifer.h"

#define MEMBER(object, name) rotifer_member(object, ROTIFER_TEXT(name))

static rotifer_buffer memory_of(rotifer_text scene, int64_t changes) {
    rotifer_buffer json = ROTIFER_EMPTY;
    rotifer_put(&json, ROTIFER_TEXT("{\"scene\":"));
    rotifer_put(&json, scene.at ? scene : ROTIFER_TEXT("null"));
    rotifer_put_name(&json, ROTIFER_TEXT("changes"));
    rotifer_put_int(&json, changes);
    rotifer_put_byte(&json, '}');
    return json;
}

static rotifer_output express(rotifer_text input) {
    rotifer_text wanted = MEMBER(input, "scene");
    if (wanted.at && !rotifer_is_string(wanted)) return rotifer_reject(ROTIFER_TEXT("scene must be a string"));
    for (;;) {
        rotifer_answer answer = rotifer_json_get();
        if (answer.result < 0) return rotifer_fail(answer);
        int64_t revision = 0, changes = 0;
        rotifer_text memory = MEMBER(answer.json, "memory");
        rotifer_int(MEMBER(answer.json, "revision"), &revision);
        rotifer_int(MEMBER(memory, "changes"), &changes);
        rotifer_buffer next = memory_of(wanted.at ? wanted : MEMBER(memory, "scene"), changes + (wanted.at != NULL));
        if (!wanted.at) return rotifer_done(&next);
        answer = rotifer_json_update(revision, rotifer_text_of(&next));
        if (answer.result >= 0) return rotifer_done(&next);
        if (answer.result != ROTIFER_CONFLICT) return rotifer_fail(answer);
    }
}

ROTIFER_GENE(express)
