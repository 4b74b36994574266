/* Makes the memory call that its input describes: every field of every request, typed.
 *
 *   in   {"call": "read" | "write" | "query" | "delete", …}; see phenotype.json
 *   out  {"entries": […]} or {"failed": {"result", "code", "message"}}
 *
 * A value is text. ../calls-rust, ../calls-zig and ../calls-assemblyscript do the same.
 */
#include "rotifer.h"

#define MEMBER(object, name) rotifer_member(object, ROTIFER_TEXT(name))
#define STRING(object, name) rotifer_string(MEMBER(object, name))
#define IS_TRUE(object, name) rotifer_same(MEMBER(object, name), ROTIFER_TEXT("true"))

/* ROTIFER_ANY for a text that is not set. */
static rotifer_category category(rotifer_text name) {
    for (int i = ROTIFER_PREFERENCE; i <= ROTIFER_CACHE; i++)
        if (rotifer_same(name, rotifer_category_name((rotifer_category)i))) return (rotifer_category)i;
    return ROTIFER_ANY;
}

static rotifer_scope scope(rotifer_text name) {
    return rotifer_same(name, ROTIFER_TEXT("ALL_GENES"))           ? ROTIFER_ALL_GENES
           : rotifer_same(name, ROTIFER_TEXT("CREATOR_GENE_ONLY")) ? ROTIFER_CREATOR_GENE_ONLY
                                                                   : ROTIFER_SAME_DOMAIN;
}

static rotifer_share share(rotifer_text name) {
    return rotifer_same(name, ROTIFER_TEXT("ANONYMIZED_SHARE")) ? ROTIFER_ANONYMIZED_SHARE
           : rotifer_same(name, ROTIFER_TEXT("KNOWLEDGE_GENE")) ? ROTIFER_KNOWLEDGE_GENE
                                                                : ROTIFER_PRIVATE;
}

static rotifer_write_request write_request(rotifer_text input) {
    rotifer_write_request request = {
        .key = STRING(input, "key"),
        .value = STRING(input, "value"),
        .category = category(STRING(input, "category")),
    };
    rotifer_text access = MEMBER(input, "access"), retention = MEMBER(input, "retention");
    int64_t days = 0;
    if (access.at)
        request.access = (rotifer_access){
            .set = true,
            .read = scope(STRING(access, "readScope")),
            .write = scope(STRING(access, "writeScope")),
            .share = share(STRING(access, "sharePolicy")),
        };
    rotifer_int(MEMBER(retention, "maxRetentionDays"), &days); /* 0 for null: no limit */
    if (rotifer_is_null(retention))
        request.retention.what = ROTIFER_RETENTION_RESET;
    else if (retention.at)
        request.retention = (rotifer_retention){
            .what = ROTIFER_RETENTION_SET,
            .max_days = (int32_t)days,
            .auto_delete = IS_TRUE(retention, "autoDeleteOnTermination"),
            .anonymization = IS_TRUE(retention, "anonymizationSupported"),
        };
    return request;
}

static void put_entry(rotifer_buffer *out, rotifer_text entry) {
    rotifer_text name, value;
    uint32_t start = out->len;
    rotifer_put_byte(out, '{');
    for (uint32_t i = 0; rotifer_next(entry, &i, &name, &value);) {
        if (out->len > start + 1) rotifer_put_byte(out, ',');
        rotifer_put(out, name);
        rotifer_put_byte(out, ':');
        if (rotifer_same(name, ROTIFER_TEXT("\"value\"")))
            rotifer_put_string(out, rotifer_value(entry));
        else
            rotifer_put(out, value);
    }
    rotifer_put_byte(out, '}');
}

static rotifer_output say(rotifer_answer answer) {
    rotifer_buffer out = ROTIFER_EMPTY;
    rotifer_text name, entry;
    if (answer.result < 0) {
        rotifer_text code = rotifer_error(answer, ROTIFER_TEXT("code")), message = rotifer_error(answer, ROTIFER_TEXT("message"));
        rotifer_put(&out, ROTIFER_TEXT("{\"failed\":{\"result\":"));
        rotifer_put_int(&out, answer.result);
        rotifer_put_member(&out, ROTIFER_TEXT("code"), code.at ? code : ROTIFER_TEXT(""));
        rotifer_put_member(&out, ROTIFER_TEXT("message"), message.at ? message : ROTIFER_TEXT(""));
        rotifer_put(&out, ROTIFER_TEXT("}}"));
        return rotifer_done(&out);
    }
    rotifer_put(&out, ROTIFER_TEXT("{\"entries\":["));
    if (answer.json.len && answer.json.at[0] == '{') put_entry(&out, answer.json);
    if (answer.json.len && answer.json.at[0] == '[')
        for (uint32_t i = 0; rotifer_next(answer.json, &i, &name, &entry);) {
            if (out.at[out.len - 1] == '}') rotifer_put_byte(&out, ',');
            put_entry(&out, entry);
        }
    rotifer_put(&out, ROTIFER_TEXT("]}"));
    return rotifer_done(&out);
}

static rotifer_output express(rotifer_text input) {
    rotifer_text call = STRING(input, "call"), key = STRING(input, "key");
    rotifer_category kind = category(STRING(input, "category"));
    int64_t limit = 0;
    rotifer_int(MEMBER(input, "limit"), &limit);
    if (rotifer_same(call, ROTIFER_TEXT("query")))
        return say(rotifer_query((rotifer_filter){
            .category = kind,
            .key_prefix = STRING(input, "keyPrefix"),
            .since = STRING(input, "since"),
            .until = STRING(input, "until"),
            .limit = (uint32_t)limit,
        }));
    if (key.at && rotifer_same(call, ROTIFER_TEXT("read")))
        return say(rotifer_read((rotifer_read_request){.key = key, .category = kind}));
    if (key.at && rotifer_same(call, ROTIFER_TEXT("delete"))) return say(rotifer_delete(key));
    if (key.at && rotifer_same(call, ROTIFER_TEXT("write")) && STRING(input, "value").at && kind != ROTIFER_ANY)
        return say(rotifer_write(write_request(input)));
    return rotifer_reject(ROTIFER_TEXT("the input is not as phenotype.json says"));
}

ROTIFER_GENE(express)
