/* The guest ABI for genes in C and C++: the four memory calls, and just enough JSON,
 * base64 and memory to use them. One file, no library; copy it beside your gene.
 *
 *   direct mode  clang-14 --target=wasm32 -Os -ffreestanding -mbulk-memory -nostdlib -Wl,--no-entry -Wl,--strip-all
 *   WASI mode    clang-14 --target=wasm32-wasi -Os -Wl,--strip-all
 *
 * In direct mode a gene is ROTIFER_GENE(express), where express gets the input and
 * returns the output; this file exports `alloc` and `express` for it. Memory taken here
 * is never given back by itself: all of it is free again when the host calls `alloc` for
 * the next input. In WASI mode it comes from malloc, and the process ends with its run.
 *
 * ../README.md, "The guest ABI", is the reference for every name here.
 */
#ifndef ROTIFER_H
#define ROTIFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __wasi__
#include <stdlib.h>
#include <unistd.h>
#elif !defined(__wasm_bulk_memory__)
#error "compile with -mbulk-memory: without it, copying needs a C library"
#endif

#ifdef __cplusplus
#define ROTIFER_EXTERN extern "C"
#else
#define ROTIFER_EXTERN extern
#endif

#define ROTIFER_FUNCTION static __attribute__((unused))
#define ROTIFER_IMPORT(name) ROTIFER_EXTERN __attribute__((import_module("rotifer"), import_name(name)))
#define ROTIFER_EXPORT(name) ROTIFER_EXTERN __attribute__((export_name(name)))

ROTIFER_IMPORT("readMemory") int32_t rotifer_import_read(const char *, uint32_t, char *, uint32_t);
ROTIFER_IMPORT("writeMemory") int32_t rotifer_import_write(const char *, uint32_t, char *, uint32_t);
ROTIFER_IMPORT("queryMemory") int32_t rotifer_import_query(const char *, uint32_t, char *, uint32_t);
ROTIFER_IMPORT("deleteMemory") int32_t rotifer_import_delete(const char *, uint32_t, char *, uint32_t);

/* ---- memory ---------------------------------------------------------------- */

/* `size` bytes, aligned to 8. A trap after a refused growth tells the host that the
 * run's memory limit was hit. */
ROTIFER_FUNCTION char *rotifer_take(uint32_t size);

#ifdef __wasi__
ROTIFER_FUNCTION char *rotifer_take(uint32_t size) {
    char *at = (char *)malloc(size ? size : 1);
    if (!at) __builtin_trap();
    return at;
}
#else
extern unsigned char __heap_base; /* the linker's: first byte behind stack and data */
static uint32_t rotifer_top;

ROTIFER_FUNCTION char *rotifer_take(uint32_t size) {
    if (rotifer_top == 0) rotifer_top = (uint32_t)(uintptr_t)&__heap_base;
    uint64_t at = ((uint64_t)rotifer_top + 7) & ~(uint64_t)7;
    uint64_t end = at + size, have = (uint64_t)__builtin_wasm_memory_size(0) << 16;
    if (end > 0xffffffff) __builtin_trap();
    if (end > have && __builtin_wasm_memory_grow(0, (end - have + 0xffff) >> 16) == (size_t)-1) __builtin_trap();
    rotifer_top = (uint32_t)end;
    return (char *)(uintptr_t)at;
}
#endif

/* ---- text and buffers ------------------------------------------------------- */

/* UTF-8 that somebody else owns, without a NUL at its end. `at` NULL: not set. */
typedef struct {
    const char *at;
    uint32_t len;
} rotifer_text;

/* The text of a literal. */
#define ROTIFER_TEXT(literal) (rotifer_make_text("" literal, sizeof(literal) - 1))

ROTIFER_FUNCTION rotifer_text rotifer_make_text(const char *at, uint32_t len) {
    rotifer_text text = {at, len};
    return text;
}

ROTIFER_FUNCTION bool rotifer_same(rotifer_text a, rotifer_text b) {
    if (a.len != b.len) return false;
    for (uint32_t i = 0; i < a.len; i++)
        if (a.at[i] != b.at[i]) return false;
    return true;
}

/* Bytes that grow as they are written; begin with ROTIFER_EMPTY. */
typedef struct {
    char *at;
    uint32_t len, cap;
} rotifer_buffer;

#define ROTIFER_EMPTY {NULL, 0, 0}

ROTIFER_FUNCTION void rotifer_reserve(rotifer_buffer *out, uint32_t more) {
    if (out->cap - out->len >= more) return;
    uint32_t cap = out->cap ? out->cap : 256;
    while (cap - out->len < more) {
        if (cap > 0x40000000) __builtin_trap();
        cap *= 2;
    }
#ifndef __wasi__
    if (out->at && out->at + out->cap == (char *)(uintptr_t)rotifer_top) { /* the last one taken: widen it */
        rotifer_take(cap - out->cap);
        out->cap = (uint32_t)(rotifer_top - (uint32_t)(uintptr_t)out->at);
        return;
    }
#endif
    char *at = rotifer_take(cap);
    if (out->len) __builtin_memcpy(at, out->at, out->len);
    out->at = at;
    out->cap = cap;
}

ROTIFER_FUNCTION void rotifer_put(rotifer_buffer *out, rotifer_text text) {
    rotifer_reserve(out, text.len);
    if (text.len) __builtin_memcpy(out->at + out->len, text.at, text.len);
    out->len += text.len;
}

ROTIFER_FUNCTION void rotifer_put_byte(rotifer_buffer *out, char byte) {
    rotifer_reserve(out, 1);
    out->at[out->len++] = byte;
}

ROTIFER_FUNCTION void rotifer_put_fill(rotifer_buffer *out, char byte, uint32_t count) {
    rotifer_reserve(out, count);
    if (count) __builtin_memset(out->at + out->len, byte, count);
    out->len += count;
}

ROTIFER_FUNCTION void rotifer_put_int(rotifer_buffer *out, int64_t value) {
    char digits[20];
    uint32_t at = sizeof digits;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do digits[--at] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0) rotifer_put_byte(out, '-');
    rotifer_put(out, rotifer_make_text(digits + at, sizeof digits - at));
}

ROTIFER_FUNCTION rotifer_text rotifer_text_of(const rotifer_buffer *buffer) {
    return rotifer_make_text(buffer->at ? buffer->at : "", buffer->len);
}

/* ---- JSON: writing ---------------------------------------------------------- */

/* How many bytes the character at `i` takes in UTF-8; 0 where there is none. */
ROTIFER_FUNCTION uint32_t rotifer_character(rotifer_text text, uint32_t i) {
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    unsigned char byte = (unsigned char)text.at[i];
    uint32_t more = byte < 0x80 ? 0 : byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3, code = byte & (0x3f >> more);
    if (byte < 0x80) return 1;
    if (byte < 0xc0 || byte >= 0xf8 || text.len - i <= more) return 0;
    for (uint32_t k = 1; k <= more; k++) {
        unsigned char next = (unsigned char)text.at[i + k];
        if ((next & 0xc0) != 0x80) return 0;
        code = code << 6 | (next & 0x3f);
    }
    return code < least[more] || code > 0x10ffff || (code & 0xfffff800) == 0xd800 ? 0 : more + 1;
}

/* A string with its quotes. A value may hold any bytes: what is no UTF-8 becomes U+FFFD. */
ROTIFER_FUNCTION void rotifer_put_string(rotifer_buffer *out, rotifer_text text) {
    static const char hex[] = "0123456789abcdef";
    uint32_t done = 0, length;
    rotifer_put_byte(out, '"');
    for (uint32_t i = 0; i < text.len; i += length ? length : 1) {
        unsigned char byte = (unsigned char)text.at[i];
        length = rotifer_character(text, i);
        if (length && byte >= 0x20 && byte != '"' && byte != '\\') continue;
        rotifer_put(out, rotifer_make_text(text.at + done, i - done));
        done = i + 1;
        if (!length) {
            rotifer_put(out, ROTIFER_TEXT("\xef\xbf\xbd"));
            continue;
        }
        rotifer_put_byte(out, '\\');
        if (byte >= 0x20) {
            rotifer_put_byte(out, (char)byte);
        } else if (byte == '\n' || byte == '\r' || byte == '\t') {
            rotifer_put_byte(out, byte == '\n' ? 'n' : byte == '\r' ? 'r' : 't');
        } else {
            rotifer_put(out, ROTIFER_TEXT("u00"));
            rotifer_put_byte(out, hex[byte >> 4]);
            rotifer_put_byte(out, hex[byte & 15]);
        }
    }
    rotifer_put(out, rotifer_make_text(text.at + done, text.len - done));
    rotifer_put_byte(out, '"');
}

/* `"name":`, with a comma before it unless it is an object's first. */
ROTIFER_FUNCTION void rotifer_put_name(rotifer_buffer *out, rotifer_text name) {
    if (out->len && out->at[out->len - 1] != '{') rotifer_put_byte(out, ',');
    rotifer_put_string(out, name);
    rotifer_put_byte(out, ':');
}

/* A string member; nothing when the text is not set. Left out and `null` are not the same. */
ROTIFER_FUNCTION void rotifer_put_member(rotifer_buffer *out, rotifer_text name, rotifer_text text) {
    if (!text.at) return;
    rotifer_put_name(out, name);
    rotifer_put_string(out, text);
}

/* ---- JSON: reading ---------------------------------------------------------- */
/* A value is the text it is written as. What the host writes is well-formed and compact:
 * that is not checked again, and nothing here reads past the end of the text. */

ROTIFER_FUNCTION uint32_t rotifer_after_string(rotifer_text json, uint32_t i) {
    for (i++; i < json.len && json.at[i] != '"'; i++)
        if (json.at[i] == '\\') i++;
    return i < json.len ? i + 1 : json.len;
}

ROTIFER_FUNCTION uint32_t rotifer_after_value(rotifer_text json, uint32_t i) {
    uint32_t depth = 0;
    while (i < json.len) {
        char c = json.at[i];
        if (c == '"') {
            i = rotifer_after_string(json, i);
            continue;
        }
        if (depth == 0 && (c == ',' || c == '}' || c == ']')) break;
        depth += (c == '{' || c == '[');
        depth -= (c == '}' || c == ']');
        i++;
    }
    return i;
}

ROTIFER_FUNCTION rotifer_text rotifer_part(rotifer_text json, uint32_t from, uint32_t to) {
    return rotifer_make_text(json.at + from, to - from);
}

/* Step through an object's members or an array's elements; `*i` starts at 0 and is the
 * iteration's own. False at the end, and for a value that is neither. `name` keeps its
 * quotes and escapes; for an array it is not set. */
ROTIFER_FUNCTION bool rotifer_next(rotifer_text json, uint32_t *i, rotifer_text *name, rotifer_text *value) {
    if (json.len < 2 || (json.at[0] != '{' && json.at[0] != '[') || *i + 2 >= json.len) return false;
    uint32_t from = *i + 1, to = from; /* behind the bracket or the comma */
    *name = rotifer_make_text(NULL, 0);
    if (json.at[0] == '{') {
        to = rotifer_after_string(json, from);
        *name = rotifer_part(json, from, to);
        from = to + 1; /* the colon */
        if (from > json.len) return false;
    }
    *i = rotifer_after_value(json, from);
    *value = rotifer_part(json, from, *i);
    return true;
}

/* The value of an object's member; not set when there is none, or when it is no object. */
ROTIFER_FUNCTION rotifer_text rotifer_member(rotifer_text json, rotifer_text name) {
    rotifer_text found, value;
    uint32_t i = 0;
    if (json.len && json.at[0] == '{')
        while (rotifer_next(json, &i, &found, &value))
            if (found.len >= 2 && rotifer_same(rotifer_part(found, 1, found.len - 1), name)) return value;
    return rotifer_make_text(NULL, 0);
}

ROTIFER_FUNCTION bool rotifer_is_string(rotifer_text json) { return json.len >= 2 && json.at[0] == '"'; }
ROTIFER_FUNCTION bool rotifer_is_null(rotifer_text json) { return rotifer_same(json, ROTIFER_TEXT("null")); }

ROTIFER_FUNCTION uint32_t rotifer_hex4(const char *at) {
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) value = value << 4 | (uint32_t)(at[i] <= '9' ? at[i] - '0' : (at[i] & 0xdf) - 'A' + 10);
    return value;
}

/* What a string says, its escapes resolved, in UTF-8; not set when it is no string. */
ROTIFER_FUNCTION rotifer_text rotifer_string(rotifer_text json) {
    if (!rotifer_is_string(json)) return rotifer_make_text(NULL, 0);
    static const char escapes[] = "b\bf\fn\nr\rt\t";
    char *to = rotifer_take(json.len); /* an escape is never shorter than what it stands for */
    const char *at = json.at + 1, *end = json.at + json.len - 1;
    uint32_t len = 0;
    while (at < end) {
        char c = *at++;
        if (c == '\\' && at < end) {
            c = *at++;
            if (c == 'u' && end - at >= 4) {
                uint32_t code = rotifer_hex4(at);
                at += 4;
                if ((code & 0xfc00) == 0xd800 && end - at >= 6) { /* the first of a pair */
                    code = 0x10000 + ((code & 0x3ff) << 10) + (rotifer_hex4(at + 2) & 0x3ff);
                    at += 6;
                }
                uint32_t more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
                static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
                to[len++] = (char)(lead[more] | code >> 6 * more);
                while (more--) to[len++] = (char)(0x80 | (code >> 6 * more & 0x3f));
                continue;
            }
            for (const char *e = escapes; *e; e += 2)
                if (*e == c) {
                    c = e[1];
                    break;
                }
        }
        to[len++] = c;
    }
    return rotifer_make_text(to, len);
}

/* A whole number of up to 18 digits; false for anything else. */
ROTIFER_FUNCTION bool rotifer_int(rotifer_text json, int64_t *value) {
    uint32_t i = json.len && json.at[0] == '-', start = i;
    int64_t number = 0;
    for (; i < json.len && json.at[i] >= '0' && json.at[i] <= '9'; i++) {
        if (i - start == 18) return false;
        number = number * 10 + (json.at[i] - '0');
    }
    if (i == start || i != json.len) return false;
    *value = start ? -number : number;
    return true;
}

/* ---- base64 ----------------------------------------------------------------- */

static const char rotifer_alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

ROTIFER_FUNCTION void rotifer_put_base64(rotifer_buffer *out, rotifer_text bytes) {
    for (uint32_t i = 0; i < bytes.len; i += 3) {
        uint32_t left = bytes.len - i, word = (uint32_t)(unsigned char)bytes.at[i] << 16;
        if (left > 1) word |= (uint32_t)(unsigned char)bytes.at[i + 1] << 8;
        if (left > 2) word |= (uint32_t)(unsigned char)bytes.at[i + 2];
        rotifer_reserve(out, 4);
        out->at[out->len++] = rotifer_alphabet[word >> 18];
        out->at[out->len++] = rotifer_alphabet[word >> 12 & 63];
        out->at[out->len++] = left > 1 ? rotifer_alphabet[word >> 6 & 63] : '=';
        out->at[out->len++] = left > 2 ? rotifer_alphabet[word & 63] : '=';
    }
}

ROTIFER_FUNCTION uint32_t rotifer_sextet(char letter) {
    if (letter >= 'A' && letter <= 'Z') return (uint32_t)(letter - 'A');
    if (letter >= 'a' && letter <= 'z') return (uint32_t)(letter - 'a' + 26);
    if (letter >= '0' && letter <= '9') return (uint32_t)(letter - '0' + 52);
    return letter == '+' ? 62 : 63;
}

/* The bytes of base64 as the host writes it: canonical, with padding. */
ROTIFER_FUNCTION rotifer_text rotifer_from_base64(rotifer_text text) {
    char *to = rotifer_take(text.len / 4 * 3 + 3);
    uint32_t len = 0, bits = 0, have = 0;
    for (uint32_t i = 0; i < text.len && text.at[i] != '='; i++) {
        bits = bits << 6 | rotifer_sextet(text.at[i]);
        have += 6;
        if (have >= 8) to[len++] = (char)(bits >> (have -= 8));
    }
    return rotifer_make_text(to, len);
}

/* ---- the memory calls ------------------------------------------------------- */

enum {
    ROTIFER_BUFFER_TOO_SMALL = -1, /* never seen by a gene: the call is repeated with room enough */
    ROTIFER_ACCESS_DENIED = -2,
    ROTIFER_BUDGET_EXHAUSTED = -4,
    ROTIFER_QUOTA_EXCEEDED = -8,
    ROTIFER_INVALID_INPUT = -10,
    ROTIFER_NOT_FOUND = -12,
    ROTIFER_STORAGE_ERROR = -13,
    ROTIFER_CONFLICT = -14, /* of host modules only */
};

typedef enum {
    ROTIFER_ANY, /* in readMemory and queryMemory: whatever category */
    ROTIFER_PREFERENCE,
    ROTIFER_PATTERN,
    ROTIFER_CONTEXT,
    ROTIFER_CACHE,
} rotifer_category;

typedef enum {
    ROTIFER_CREATOR_GENE_ONLY = 1,
    ROTIFER_SAME_DOMAIN,
    ROTIFER_ALL_GENES,
} rotifer_scope;

typedef enum {
    ROTIFER_PRIVATE = 1,
    ROTIFER_ANONYMIZED_SHARE,
    ROTIFER_KNOWLEDGE_GENE,
} rotifer_share;

typedef struct {
    bool set; /* false: left out */
    rotifer_scope read, write;
    rotifer_share share;
} rotifer_access;

typedef enum {
    ROTIFER_RETENTION_KEEP,  /* left out: a new entry follows the agent's data policy, an old one stays as it is */
    ROTIFER_RETENTION_RESET, /* null: follow the agent's data policy again */
    ROTIFER_RETENTION_SET,
} rotifer_retention_change;

typedef struct {
    rotifer_retention_change what;
    int32_t max_days; /* 0: no limit */
    bool auto_delete, anonymization;
} rotifer_retention;

typedef struct {
    rotifer_text key;
    rotifer_category category;
} rotifer_read_request;

typedef struct {
    rotifer_text key, value; /* any bytes */
    rotifer_category category;
    rotifer_access access;
    rotifer_retention retention;
} rotifer_write_request;

typedef struct {
    rotifer_category category;
    rotifer_text key_prefix, since, until; /* RFC 3339 */
    uint32_t limit;                        /* 0: left out */
} rotifer_filter;

/* What a call gave. `result` negative: a failure, and `json` its payload, empty with -4. */
typedef struct {
    int32_t result;
    rotifer_text json;
} rotifer_answer;

/* N of "response needs N bytes, out_cap is M", or 0. */
ROTIFER_FUNCTION uint32_t rotifer_needed(rotifer_text payload) {
    rotifer_text error = rotifer_member(payload, ROTIFER_TEXT("__rotifer_error"));
    rotifer_text message = rotifer_member(error, ROTIFER_TEXT("message"));
    uint64_t needed = 0;
    for (uint32_t i = 0; i < message.len && needed < 0xffffffff; i++) {
        if (message.at[i] >= '0' && message.at[i] <= '9')
            needed = needed * 10 + (uint64_t)(message.at[i] - '0');
        else if (needed)
            break;
    }
    return needed < 0xffffffff ? (uint32_t)needed : 0;
}

typedef int32_t (*rotifer_import)(const char *, uint32_t, char *, uint32_t);

/* Make a call with a request of your own. -1 changed nothing: it is repeated in a buffer
 * of the size the host names, or of twice the size when it names none. */
ROTIFER_FUNCTION rotifer_answer rotifer_call(rotifer_import call, rotifer_text request) {
    uint32_t cap = 4096;
    for (;;) {
        char *out = rotifer_take(cap);
        out[0] = 0; /* no payload yet */
        int32_t result = call(request.at, request.len, out, cap - 1);
        uint32_t len = result > 0 ? (uint32_t)result : 0;
        if (result < 0)
            while (len < cap - 1 && out[len]) len++;
        out[len] = 0;
        rotifer_answer answer = {result, {out, len}};
        if (result != ROTIFER_BUFFER_TOO_SMALL) return answer;
        uint32_t needed = rotifer_needed(answer.json); /* another run may have made the entry larger still */
        if (cap > 0x20000000 || needed > 0x20000000) __builtin_trap();
        cap = needed >= cap ? needed + 1 : cap * 2;
    }
}

ROTIFER_FUNCTION rotifer_text rotifer_category_name(rotifer_category category) {
    switch (category) {
    case ROTIFER_PREFERENCE: return ROTIFER_TEXT("PREFERENCE");
    case ROTIFER_PATTERN: return ROTIFER_TEXT("PATTERN");
    case ROTIFER_CONTEXT: return ROTIFER_TEXT("CONTEXT");
    case ROTIFER_CACHE: return ROTIFER_TEXT("CACHE");
    default: return rotifer_make_text(NULL, 0);
    }
}

ROTIFER_FUNCTION rotifer_text rotifer_scope_name(rotifer_scope scope) {
    return scope == ROTIFER_CREATOR_GENE_ONLY ? ROTIFER_TEXT("CREATOR_GENE_ONLY")
           : scope == ROTIFER_ALL_GENES       ? ROTIFER_TEXT("ALL_GENES")
                                              : ROTIFER_TEXT("SAME_DOMAIN");
}

ROTIFER_FUNCTION rotifer_text rotifer_share_name(rotifer_share share) {
    return share == ROTIFER_ANONYMIZED_SHARE ? ROTIFER_TEXT("ANONYMIZED_SHARE")
           : share == ROTIFER_KNOWLEDGE_GENE ? ROTIFER_TEXT("KNOWLEDGE_GENE")
                                             : ROTIFER_TEXT("PRIVATE");
}

ROTIFER_FUNCTION rotifer_text rotifer_bool_name(bool value) {
    return value ? ROTIFER_TEXT("true") : ROTIFER_TEXT("false");
}

/* The entry, or `null`. */
ROTIFER_FUNCTION rotifer_answer rotifer_read(rotifer_read_request request) {
    rotifer_buffer json = ROTIFER_EMPTY;
    rotifer_put_byte(&json, '{');
    rotifer_put_member(&json, ROTIFER_TEXT("key"), request.key);
    rotifer_put_member(&json, ROTIFER_TEXT("category"), rotifer_category_name(request.category));
    rotifer_put_byte(&json, '}');
    return rotifer_call(rotifer_import_read, rotifer_text_of(&json));
}

/* The stored entry. */
ROTIFER_FUNCTION rotifer_answer rotifer_write(rotifer_write_request request) {
    rotifer_buffer json = ROTIFER_EMPTY;
    rotifer_put_byte(&json, '{');
    rotifer_put_member(&json, ROTIFER_TEXT("key"), request.key);
    rotifer_put_name(&json, ROTIFER_TEXT("value"));
    rotifer_put_byte(&json, '"');
    rotifer_put_base64(&json, request.value);
    rotifer_put_byte(&json, '"');
    rotifer_put_member(&json, ROTIFER_TEXT("category"), rotifer_category_name(request.category));
    if (request.access.set) {
        rotifer_put_name(&json, ROTIFER_TEXT("accessPolicy"));
        rotifer_put_byte(&json, '{');
        rotifer_put_member(&json, ROTIFER_TEXT("readScope"), rotifer_scope_name(request.access.read));
        rotifer_put_member(&json, ROTIFER_TEXT("writeScope"), rotifer_scope_name(request.access.write));
        rotifer_put_member(&json, ROTIFER_TEXT("sharePolicy"), rotifer_share_name(request.access.share));
        rotifer_put_byte(&json, '}');
    }
    if (request.retention.what != ROTIFER_RETENTION_KEEP) rotifer_put_name(&json, ROTIFER_TEXT("retentionPolicy"));
    if (request.retention.what == ROTIFER_RETENTION_RESET) rotifer_put(&json, ROTIFER_TEXT("null"));
    if (request.retention.what == ROTIFER_RETENTION_SET) {
        rotifer_put(&json, ROTIFER_TEXT("{\"maxRetentionDays\":"));
        if (request.retention.max_days)
            rotifer_put_int(&json, request.retention.max_days);
        else
            rotifer_put(&json, ROTIFER_TEXT("null"));
        rotifer_put_name(&json, ROTIFER_TEXT("autoDeleteOnTermination"));
        rotifer_put(&json, rotifer_bool_name(request.retention.auto_delete));
        rotifer_put_name(&json, ROTIFER_TEXT("anonymizationSupported"));
        rotifer_put(&json, rotifer_bool_name(request.retention.anonymization));
        rotifer_put_byte(&json, '}');
    }
    rotifer_put_byte(&json, '}');
    return rotifer_call(rotifer_import_write, rotifer_text_of(&json));
}

/* An array of entries, the newest first; step through it with rotifer_next. */
ROTIFER_FUNCTION rotifer_answer rotifer_query(rotifer_filter filter) {
    rotifer_buffer json = ROTIFER_EMPTY;
    rotifer_put_byte(&json, '{');
    rotifer_put_member(&json, ROTIFER_TEXT("category"), rotifer_category_name(filter.category));
    rotifer_put_member(&json, ROTIFER_TEXT("keyPrefix"), filter.key_prefix);
    rotifer_put_member(&json, ROTIFER_TEXT("since"), filter.since);
    rotifer_put_member(&json, ROTIFER_TEXT("until"), filter.until);
    if (filter.limit) {
        rotifer_put_name(&json, ROTIFER_TEXT("limit"));
        rotifer_put_int(&json, filter.limit);
    }
    rotifer_put_byte(&json, '}');
    return rotifer_call(rotifer_import_query, rotifer_text_of(&json));
}

/* `null`. */
ROTIFER_FUNCTION rotifer_answer rotifer_delete(rotifer_text key) {
    rotifer_buffer json = ROTIFER_EMPTY;
    rotifer_put_byte(&json, '{');
    rotifer_put_member(&json, ROTIFER_TEXT("key"), key);
    rotifer_put_byte(&json, '}');
    return rotifer_call(rotifer_import_delete, rotifer_text_of(&json));
}

/* ---- host modules: the agent must be granted them ------------------------------ */

#define ROTIFER_EXTENSION(module, name) \
    ROTIFER_EXTERN __attribute__((import_module("rotifer.ext." module), import_name(name)))

ROTIFER_EXTENSION("json", "getMemory") int32_t rotifer_import_json_get(const char *, uint32_t, char *, uint32_t);
ROTIFER_EXTENSION("json", "updateMemory") int32_t rotifer_import_json_update(const char *, uint32_t, char *, uint32_t);
ROTIFER_EXTENSION("markdown", "memory_write") int32_t rotifer_import_markdown_write(const char *, uint32_t, char *, uint32_t);
ROTIFER_EXTENSION("markdown", "memory_update") int32_t rotifer_import_markdown_update(const char *, uint32_t, char *, uint32_t);
ROTIFER_EXTENSION("markdown", "memory_read") int32_t rotifer_import_markdown_read(const char *, uint32_t, char *, uint32_t);
ROTIFER_EXTENSION("markdown", "memory_search") int32_t rotifer_import_markdown_search(const char *, uint32_t, char *, uint32_t);

/* The agent's JSON memory: `revision`, and `memory`, which is `null` for revision 0. */
ROTIFER_FUNCTION rotifer_answer rotifer_json_get(void) {
    return rotifer_call(rotifer_import_json_get, ROTIFER_TEXT("{}"));
}

/* Replace the whole memory by another object: `revision`. ROTIFER_CONFLICT when it has another revision than expected. */
ROTIFER_FUNCTION rotifer_answer rotifer_json_update(int64_t expected_revision, rotifer_text memory) {
    rotifer_buffer json = ROTIFER_EMPTY;
    rotifer_put(&json, ROTIFER_TEXT("{\"expectedRevision\":"));
    rotifer_put_int(&json, expected_revision);
    rotifer_put_name(&json, ROTIFER_TEXT("memory"));
    rotifer_put(&json, memory);
    rotifer_put_byte(&json, '}');
    return rotifer_call(rotifer_import_json_update, rotifer_text_of(&json));
}

/* A memory in the project's Markdown files. */
typedef struct {
    rotifer_text key, content;
    rotifer_text tags; /* a JSON array of strings; not set: none, or those it has */
    bool summary;      /* a new one: into MEMORY.md */
} rotifer_markdown;

typedef struct {
    rotifer_text query; /* may be empty */
    rotifer_text tags;  /* a JSON array of strings, or not set */
    uint32_t limit;     /* 0: left out */
} rotifer_markdown_filter;

ROTIFER_FUNCTION void rotifer_put_raw(rotifer_buffer *out, rotifer_text name, rotifer_text json) {
    if (!json.at) return;
    rotifer_put_name(out, name);
    rotifer_put(out, json);
}

ROTIFER_FUNCTION rotifer_answer rotifer_markdown_put(rotifer_import call, rotifer_markdown what, rotifer_text target) {
    rotifer_buffer json = ROTIFER_EMPTY;
    rotifer_put_byte(&json, '{');
    rotifer_put_member(&json, ROTIFER_TEXT("key"), what.key);
    rotifer_put_member(&json, ROTIFER_TEXT("content"), what.content);
    rotifer_put_member(&json, ROTIFER_TEXT("target"), target);
    rotifer_put_raw(&json, ROTIFER_TEXT("tags"), what.tags);
    rotifer_put_byte(&json, '}');
    return rotifer_call(call, rotifer_text_of(&json));
}

/* A new memory: `key`, `target`, `path`. ROTIFER_CONFLICT when its key is there. */
ROTIFER_FUNCTION rotifer_answer rotifer_markdown_write(rotifer_markdown what) {
    rotifer_text target = what.summary ? ROTIFER_TEXT("summary") : ROTIFER_TEXT("daily");
    return rotifer_markdown_put(rotifer_import_markdown_write, what, target);
}

/* Another content for the memory that rotifer_markdown_read gives: `key`, `path`, `kind`. */
ROTIFER_FUNCTION rotifer_answer rotifer_markdown_update(rotifer_markdown what) {
    return rotifer_markdown_put(rotifer_import_markdown_update, what, rotifer_make_text(NULL, 0));
}

/* `key`, `content`, `tags`, `file`, `kind`, `created_at`, `updated_at`. */
ROTIFER_FUNCTION rotifer_answer rotifer_markdown_read(rotifer_text key) {
    rotifer_buffer json = ROTIFER_EMPTY;
    rotifer_put_byte(&json, '{');
    rotifer_put_member(&json, ROTIFER_TEXT("key"), key);
    rotifer_put_byte(&json, '}');
    return rotifer_call(rotifer_import_markdown_read, rotifer_text_of(&json));
}

/* `results`: an array of what rotifer_markdown_read gives. */
ROTIFER_FUNCTION rotifer_answer rotifer_markdown_search(rotifer_markdown_filter filter) {
    rotifer_buffer json = ROTIFER_EMPTY;
    rotifer_put_byte(&json, '{');
    rotifer_put_member(&json, ROTIFER_TEXT("query"), filter.query);
    rotifer_put_raw(&json, ROTIFER_TEXT("tags"), filter.tags);
    if (filter.limit) {
        rotifer_put_name(&json, ROTIFER_TEXT("limit"));
        rotifer_put_int(&json, filter.limit);
    }
    rotifer_put_byte(&json, '}');
    return rotifer_call(rotifer_import_markdown_search, rotifer_text_of(&json));
}

/* ---- entries and errors -------------------------------------------------------- */

/* The bytes an entry holds; not set for `null` and for what is no entry. */
ROTIFER_FUNCTION rotifer_text rotifer_value(rotifer_text entry) {
    rotifer_text value = rotifer_member(entry, ROTIFER_TEXT("value"));
    return rotifer_is_string(value) ? rotifer_from_base64(rotifer_part(value, 1, value.len - 1)) : value;
}

/* `code` or `message` of a failed call's payload; not set when there was no payload. */
ROTIFER_FUNCTION rotifer_text rotifer_error(rotifer_answer answer, rotifer_text member) {
    return rotifer_string(rotifer_member(rotifer_member(answer.json, ROTIFER_TEXT("__rotifer_error")), member));
}

/* ---- input and output --------------------------------------------------------- */

/* What express returns: an output, or `code` below 0 for an error of the gene's own. */
typedef struct {
    int32_t code;
    rotifer_text json;
} rotifer_output;

ROTIFER_FUNCTION rotifer_output rotifer_done(const rotifer_buffer *json) {
    rotifer_output output = {0, rotifer_text_of(json)};
    return output;
}

/* Refuse the input: the run ends as rejected, with this message. */
ROTIFER_FUNCTION rotifer_output rotifer_reject(rotifer_text message) {
    rotifer_buffer json = ROTIFER_EMPTY;
    rotifer_put(&json, ROTIFER_TEXT("{\"__rotifer_error\":{\"code\":\"INVALID_INPUT\""));
    rotifer_put_member(&json, ROTIFER_TEXT("message"), message);
    rotifer_put(&json, ROTIFER_TEXT("}}"));
    return rotifer_done(&json);
}

/* Give up over a failed call: its payload as the output, or its result where there is none. */
ROTIFER_FUNCTION rotifer_output rotifer_fail(rotifer_answer answer) {
    rotifer_output output = {answer.json.len ? 0 : answer.result, answer.json};
    return output;
}

#ifdef __wasi__

/* All of a stream, or of standard input: rotifer_slurp(0). */
ROTIFER_FUNCTION rotifer_text rotifer_slurp(int stream) {
    rotifer_buffer all = ROTIFER_EMPTY;
    ssize_t got;
    do {
        rotifer_reserve(&all, 65536);
        got = read(stream, all.at + all.len, 65536);
        if (got > 0) all.len += (uint32_t)got;
    } while (got > 0);
    if (got < 0) abort();
    return rotifer_text_of(&all);
}

/* Run express as a WASI program; returns the exit status. */
ROTIFER_FUNCTION int rotifer_main(rotifer_output (*express)(rotifer_text)) {
    rotifer_output output = express(rotifer_slurp(0));
    if (output.code < 0) return 1;
    for (uint32_t done = 0; done < output.json.len;) {
        ssize_t put = write(1, output.json.at + done, output.json.len - done);
        if (put <= 0) return 1;
        done += (uint32_t)put;
    }
    return 0;
}

#define ROTIFER_GENE(function) \
    int main(void) { return rotifer_main(function); }

#else

#define ROTIFER_GENE(function)                                                          \
    ROTIFER_EXPORT("alloc") char *rotifer_export_alloc(uint32_t len) {                  \
        rotifer_top = 0; /* a new input: all that was taken for the last one is free */ \
        return rotifer_take(len);                                                       \
    }                                                                                   \
    ROTIFER_EXPORT("express") const char *rotifer_export_express(const char *at, uint32_t len) { \
        rotifer_output output = function(rotifer_make_text(at, len));                   \
        return output.code < 0 ? (const char *)(intptr_t)output.code : rotifer_terminated(output.json); \
    }

/* The host reads the output up to a NUL. */
ROTIFER_FUNCTION const char *rotifer_terminated(rotifer_text text) {
    rotifer_buffer out = ROTIFER_EMPTY;
    rotifer_reserve(&out, text.len + 1);
    rotifer_put(&out, text);
    rotifer_put_byte(&out, 0);
    return out.at;
}

#endif
#endif
