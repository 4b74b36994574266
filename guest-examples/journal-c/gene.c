/* A journal in the project's Markdown files, which people read and write, too.
 *
 *   in   {"key": string, "content": string, "tags"?: [string]}  keeps a note, or changes it
 *        {"key": string}                                        reads it
 *        {"find": string, "tags"?: [string], "limit"?: 1..100}  searches
 *   out  {"new": boolean}, {"content": string or null} or {"keys": [string]}
 *
 * The agent must be granted the host module `markdown`. ../journal-rust, ../journal-zig and
 * ../journal-assemblyscript do the same.
 */
#include "rotifer.h"

#define MEMBER(object, name) rotifer_member(object, ROTIFER_TEXT(name))

static rotifer_output keep(rotifer_markdown note) {
    rotifer_buffer out = ROTIFER_EMPTY;
    rotifer_answer answer = rotifer_markdown_write(note);
    bool is_new = answer.result != ROTIFER_CONFLICT; /* else there is a note with this key, perhaps by hand */
    if (!is_new) answer = rotifer_markdown_update(note);
    if (answer.result < 0) return rotifer_fail(answer);
    rotifer_put(&out, ROTIFER_TEXT("{\"new\":"));
    rotifer_put(&out, rotifer_bool_name(is_new));
    rotifer_put_byte(&out, '}');
    return rotifer_done(&out);
}

static rotifer_output recall(rotifer_text key) {
    rotifer_buffer out = ROTIFER_EMPTY;
    rotifer_answer answer = rotifer_markdown_read(key);
    if (answer.result < 0 && answer.result != ROTIFER_NOT_FOUND) return rotifer_fail(answer);
    rotifer_put(&out, ROTIFER_TEXT("{\"content\":"));
    rotifer_put(&out, answer.result < 0 ? ROTIFER_TEXT("null") : MEMBER(answer.json, "content"));
    rotifer_put_byte(&out, '}');
    return rotifer_done(&out);
}

static rotifer_output find(rotifer_markdown_filter filter) {
    rotifer_buffer out = ROTIFER_EMPTY;
    rotifer_answer answer = rotifer_markdown_search(filter);
    rotifer_text name, note;
    if (answer.result < 0) return rotifer_fail(answer);
    rotifer_put(&out, ROTIFER_TEXT("{\"keys\":["));
    for (uint32_t i = 0; rotifer_next(MEMBER(answer.json, "results"), &i, &name, &note);) {
        if (out.at[out.len - 1] != '[') rotifer_put_byte(&out, ',');
        rotifer_put(&out, MEMBER(note, "key"));
    }
    rotifer_put(&out, ROTIFER_TEXT("]}"));
    return rotifer_done(&out);
}

static rotifer_output express(rotifer_text input) {
    rotifer_text key = rotifer_string(MEMBER(input, "key")), content = rotifer_string(MEMBER(input, "content"));
    rotifer_text query = rotifer_string(MEMBER(input, "find")), tags = MEMBER(input, "tags");
    int64_t limit = 0;
    rotifer_int(MEMBER(input, "limit"), &limit);
    if (key.at && content.at) return keep((rotifer_markdown){.key = key, .content = content, .tags = tags});
    if (key.at) return recall(key);
    if (query.at) return find((rotifer_markdown_filter){.query = query, .tags = tags, .limit = (uint32_t)limit});
    return rotifer_reject(ROTIFER_TEXT("key or find must be a string"));
}

ROTIFER_GENE(express)
