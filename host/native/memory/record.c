/* A row of `entries` (store/codec.py): the msgpack array of a Record. */
#include "ordinary.h"

enum { MEMBERS = 13, ACCESS_MEMBERS = 3 };
enum { FIXED_MAP = 0x80, FIXED_ARRAY = 0x90, FIXED_TEXT = 0xA0, NIL = 0xC0, BYTES_8 = 0xC4, UINT_8 = 0xCC, INT_8 = 0xD0, TEXT_8 = 0xD9 };

/* ---------------------------------------------------------------- reading */

typedef struct {
    const uint8_t *at, *end;
} cursor_t;

static bool take_byte(cursor_t *cursor, uint8_t *into) {
    if (cursor->at == cursor->end) return false;
    *into = *cursor->at++;
    return true;
}

static bool take_big_endian(cursor_t *cursor, int bytes, uint64_t *into) {
    if (cursor->end - cursor->at < bytes) return false;
    *into = 0;
    for (int at = 0; at < bytes; at++) *into = *into << 8 | *cursor->at++;
    return true;
}

static bool take_int(cursor_t *cursor, int64_t *into) {
    uint8_t kind;
    uint64_t value;
    if (!take_byte(cursor, &kind)) return false;
    if (kind < 0x80 || kind >= 0xE0) {
        *into = (int8_t)kind;
        return true;
    }
    if (kind >= UINT_8 && kind < UINT_8 + 4) {
        if (!take_big_endian(cursor, 1 << (kind - UINT_8), &value) || value > INT64_MAX) return false;
        *into = (int64_t)value;
        return true;
    }
    if (kind < INT_8 || kind >= INT_8 + 4 || !take_big_endian(cursor, 1 << (kind - INT_8), &value)) return false;
    const int unused = 64 - (8 << (kind - INT_8));
    *into = (int64_t)(value << unused) >> unused;
    return true;
}

/* Text, or bytes: told apart by the kind for one byte of length, `short_kind`, which the kinds for two and four follow. */
static bool take_sized(cursor_t *cursor, uint8_t short_kind, text_t *into) {
    uint8_t kind;
    uint64_t length;
    if (!take_byte(cursor, &kind)) return false;
    if (short_kind == TEXT_8 && kind >= FIXED_TEXT && kind < NIL) length = kind - FIXED_TEXT;
    else if (kind < short_kind || kind > short_kind + 2 || !take_big_endian(cursor, 1 << (kind - short_kind), &length)) return false;
    if (length > (uint64_t)(cursor->end - cursor->at)) return false;
    *into = (text_t){(const char *)cursor->at, (Py_ssize_t)length};
    cursor->at += length;
    return true;
}

/* Only ASCII: whether anything else is UTF-8, Python's decoder checks. */
static bool take_text(cursor_t *cursor, text_t *into) {
    if (!take_sized(cursor, TEXT_8, into)) return false;
    unsigned char any = 0;
    for (Py_ssize_t at = 0; at < into->length; at++) any |= (unsigned char)into->at[at];
    return any < 0x80;
}

/* A member of a map: its name, and one of the words it may be. */
static bool take_choice(cursor_t *cursor, const char *name, const text_t *words, int count, text_t *into) {
    text_t found;
    if (!take_text(cursor, &found) || !same(found, (text_t){name, (Py_ssize_t)strlen(name)}) || !take_text(cursor, into)) return false;
    while (count > 0 && !same(*into, words[count - 1])) count--;
    return count > 0;
}

static bool take_access(cursor_t *cursor, record_t *into) {
    const char *start = (const char *)cursor->at;
    uint8_t kind;
    if (!take_byte(cursor, &kind) || kind != FIXED_MAP + ACCESS_MEMBERS ||
        !take_choice(cursor, "readScope", scope_names, SCOPES, &into->read_scope) ||
        !take_choice(cursor, "writeScope", scope_names, SCOPES, &into->write_scope) ||
        !take_choice(cursor, "sharePolicy", share_policy_names, SHARE_POLICIES, &into->share_policy))
        return false;
    into->access = (text_t){start, (const char *)cursor->at - start};
    return true;
}

static bool is_ascii(const char *at, Py_ssize_t length) {
    char all = 0;
    for (Py_ssize_t byte = 0; byte < length; byte++) all |= at[byte];
    return (all & 0x80) == 0;
}

/* Read a record; false when it is damaged, of another format, or has a retention policy of its own. */
bool read_record(PyObject *row, record_t *into) {
    const uint8_t *data = (const uint8_t *)PyBytes_AS_STRING(row);
    cursor_t cursor = {data, data + PyBytes_GET_SIZE(row)};
    uint8_t members, version, retention;
    text_t category;
    if (!take_byte(&cursor, &members) || members != FIXED_ARRAY + MEMBERS || !take_byte(&cursor, &version) || version != format_version ||
        !take_int(&cursor, &into->sequence) || !take_text(&cursor, &into->key) || !take_text(&cursor, &category) ||
        !take_int(&cursor, &into->size) || !take_text(&cursor, &into->created_by) || !take_text(&cursor, &into->domain) ||
        !take_int(&cursor, &into->created_ms) || !take_int(&cursor, &into->updated_ms) || !take_access(&cursor, into) ||
        !take_byte(&cursor, &retention) || retention != NIL || !take_int(&cursor, &into->reader_at) ||
        !take_sized(&cursor, BYTES_8, &into->body) || cursor.at != cursor.end)
        return false;
    into->category = 0;
    while (into->category < CATEGORIES && !same(category, category_names[into->category])) into->category++;
    if (into->category == CATEGORIES || into->sequence < 0 || into->size < 0 || into->size > largest_value) return false;
    return into->reader_at >= 0 && into->reader_at <= into->body.length - GENE_ID_BYTES &&
           is_ascii(into->body.at + into->reader_at, GENE_ID_BYTES);
}

/* ---------------------------------------------------------------- writing */

static void put_byte(out_t *out, uint8_t byte) { put(out, &byte, 1); }

static void put_big_endian(out_t *out, uint64_t value, int bytes) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) put_byte(out, (uint8_t)(value >> shift));
}

/* The power of two of bytes that hold a number. */
static int size_of_unsigned(uint64_t value) { return value > UINT8_MAX ? value > UINT16_MAX ? value > UINT32_MAX ? 3 : 2 : 1 : 0; }

static int size_of_negative(int64_t value) { return value < INT8_MIN ? value < INT16_MIN ? value < INT32_MIN ? 3 : 2 : 1 : 0; }

static void put_int(out_t *out, int64_t value) {
    if (value >= -32 && value < 0x80) {
        put_byte(out, (uint8_t)value);
        return;
    }
    const int size = value < 0 ? size_of_negative(value) : size_of_unsigned((uint64_t)value);
    put_byte(out, (uint8_t)((value < 0 ? INT_8 : UINT_8) + size));
    put_big_endian(out, (uint64_t)value, 1 << size);
}

static void put_sized(out_t *out, uint8_t short_kind, text_t text) {
    const int size = size_of_unsigned((uint64_t)text.length);
    if (short_kind == TEXT_8 && text.length < 32) {
        put_byte(out, (uint8_t)(FIXED_TEXT + text.length));
    } else {
        put_byte(out, (uint8_t)(short_kind + size));
        put_big_endian(out, (uint64_t)text.length, 1 << size);
    }
    put_text(out, text);
}

static void put_record(out_t *out, const record_t *record) {
    put_byte(out, FIXED_ARRAY + MEMBERS);
    put_byte(out, format_version);
    put_int(out, record->sequence);
    put_sized(out, TEXT_8, record->key);
    put_sized(out, TEXT_8, category_names[record->category]);
    put_int(out, record->size);
    put_sized(out, TEXT_8, record->created_by);
    put_sized(out, TEXT_8, record->domain);
    put_int(out, record->created_ms);
    put_int(out, record->updated_ms);
    put_text(out, record->access);
    put_byte(out, NIL);
    put_int(out, record->reader_at);
    put_sized(out, BYTES_8, record->body);
}

/* The row of a record without a retention policy of its own. */
PyObject *write_record(const record_t *record) {
    out_t out;
    start_text(&out);
    do put_record(&out, record);
    while (!is_whole(&out));
    return out.bytes;
}
