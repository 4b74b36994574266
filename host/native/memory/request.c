/* Requests that are plain: one object of known members, each once, strings of ASCII without escapes. */
#include "ordinary.h"

typedef struct {
    const char *at, *end;
} cursor_t;

static void skip_space(cursor_t *cursor) {
    while (cursor->at < cursor->end && (*cursor->at == ' ' || *cursor->at == '\n' || *cursor->at == '\r' || *cursor->at == '\t'))
        cursor->at++;
}

static bool take(cursor_t *cursor, char wanted) {
    skip_space(cursor);
    if (cursor->at == cursor->end || *cursor->at != wanted) return false;
    cursor->at++;
    return true;
}

static bool take_string(cursor_t *cursor, text_t *into) {
    if (!take(cursor, '"')) return false;
    const char *start = cursor->at;
    for (; cursor->at < cursor->end && *cursor->at != '"'; cursor->at++)
        if (*cursor->at == '\\' || (unsigned char)*cursor->at < 0x20 || (unsigned char)*cursor->at > 0x7F) return false;
    if (cursor->at == cursor->end) return false;
    *into = (text_t){start, cursor->at - start};
    cursor->at++;
    return true;
}

static int category_of(text_t name) {
    for (int category = 0; category < CATEGORIES; category++)
        if (same(name, category_names[category])) return category;
    return NO_CATEGORY;
}

/* The six bits that a character of base64 stands for, or NO_BITS. */
enum { NO_BITS = 64 };

static unsigned bits_of(char character) {
    if (character >= 'A' && character <= 'Z') return (unsigned)(character - 'A');
    if (character >= 'a' && character <= 'z') return (unsigned)(character - 'a' + 26);
    if (character >= '0' && character <= '9') return (unsigned)(character - '0' + 52);
    return character == '+' ? 62 : character == '/' ? 63 : NO_BITS;
}

/* Is this what encoding its own bytes gives: padded, and no bits left over? */
static bool is_canonical(text_t value, Py_ssize_t *size) {
    if (value.length % 4 != 0) return false;
    Py_ssize_t padding = 0;
    while (padding < 2 && padding < value.length && value.at[value.length - 1 - padding] == '=') padding++;
    const Py_ssize_t digits = value.length - padding;
    unsigned any = 0, last = 0;
    for (Py_ssize_t at = 0; at < digits; at++) any |= last = bits_of(value.at[at]);
    if (any & NO_BITS || (padding == 1 && last & 0x3) || (padding == 2 && last & 0xF)) return false;
    *size = value.length / 4 * 3 - padding;
    return true;
}

static bool is(text_t name, const char *words, Py_ssize_t length) { return same(name, (text_t){words, length}); }
#define IS(name, words) is(name, words, sizeof(words) - 1)

/* Take a request apart; false when it is not plain, whether it is valid or not. */
bool parse_request(const uint8_t *request, uint32_t length, bool writes, request_t *into) {
    cursor_t cursor = {(const char *)request, (const char *)request + length};
    text_t key = {NULL, 0}, category = {NULL, 0}, value = {NULL, 0};
    if (!take(&cursor, '{')) return false;
    do {
        text_t name;
        if (!take_string(&cursor, &name) || !take(&cursor, ':')) return false;
        text_t *member = IS(name, "key") ? &key : IS(name, "category") ? &category : writes && IS(name, "value") ? &value : NULL;
        if (member == NULL || member->at != NULL || !take_string(&cursor, member)) return false;
    } while (take(&cursor, ','));
    if (!take(&cursor, '}')) return false;
    skip_space(&cursor);
    if (cursor.at != cursor.end || key.length == 0 || key.length > longest_key) return false;
    *into = (request_t){.key = key, .value = value, .category = category_of(category)};
    if (category.at != NULL && into->category == NO_CATEGORY) return false;
    if (!writes) return true;
    return value.at != NULL && category.at != NULL && is_canonical(value, &into->size) && into->size <= largest_value;
}
