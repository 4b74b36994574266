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

/* A string that stands for itself: what JSON would escape, or is not ASCII, is not plain. */
static bool take_string(cursor_t *cursor, text_t *into) {
    if (!take(cursor, '"')) return false;
    const char *end = memchr(cursor->at, '"', (size_t)(cursor->end - cursor->at));
    if (end == NULL) return false;
    bool plain = true;
    for (const char *at = cursor->at; at < end; at++) plain &= *at != '\\' && (unsigned char)(*at - 0x20) < 0x60;
    *into = (text_t){cursor->at, end - cursor->at};
    cursor->at = end + 1;
    return plain;
}

static int category_of(text_t name) {
    for (int category = 0; category < CATEGORIES; category++)
        if (same(name, category_names[category])) return category;
    return NO_CATEGORY;
}

enum { NO_BITS = 64 };

/* The six bits that each character of base64 stands for, or NO_BITS. */
static uint8_t bits_of[256];

void prepare_requests(void) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    memset(bits_of, NO_BITS, sizeof bits_of);
    for (int bits = 0; bits < 64; bits++) bits_of[(unsigned char)digits[bits]] = (uint8_t)bits;
}

/* Is this what encoding its own bytes gives: padded, and no bits left over? */
static bool is_canonical(text_t value, Py_ssize_t *size) {
    if (value.length % 4 != 0) return false;
    Py_ssize_t padding = 0;
    while (padding < 2 && padding < value.length && value.at[value.length - 1 - padding] == '=') padding++;
    const Py_ssize_t digits = value.length - padding;
    unsigned any = 0, last = 0;
    for (Py_ssize_t at = 0; at < digits; at++) any |= last = bits_of[(unsigned char)value.at[at]];
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
