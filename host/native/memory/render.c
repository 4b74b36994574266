/* An entry as a guest sees it (memory/entry.py), and the audit line of its change (memory/trail.py). */
#include "ordinary.h"

#include "../sha256.h"

enum { SECOND_MS = 1000, DAY_S = 86400, ERA_DAYS = 146097, ERA_YEARS = 400 };

static void put_digits(char *into, int digits, int64_t value) {
    for (int at = digits - 1; at >= 0; at--, value /= 10) into[at] = (char)('0' + value % 10);
}

/* RFC 3339 in UTC with milliseconds: `clock.rfc3339`. */
static void render_time(int64_t ms, char *into) {
    ms = ms < 0 ? 0 : ms > last_ms ? last_ms : ms;
    const int64_t seconds = ms / SECOND_MS, days = seconds / DAY_S, second = seconds % DAY_S;
    /* Years from March on, so that the day that some of them lack is their last; eras of 400 years, from the year 0. */
    const int64_t since = days + 719468, era = since / ERA_DAYS, day_of_era = since % ERA_DAYS;
    const int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / (ERA_DAYS - 1)) / 365;
    const int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const int64_t shifted = (5 * day_of_year + 2) / 153, month = shifted < 10 ? shifted + 3 : shifted - 9;
    memcpy(into, "0000-00-00T00:00:00.000Z", TIME_BYTES);
    put_digits(into, 4, year_of_era + era * ERA_YEARS + (month <= 2));
    put_digits(into + 5, 2, month);
    put_digits(into + 8, 2, day_of_year - (153 * shifted + 2) / 5 + 1);
    put_digits(into + 11, 2, second / 3600);
    put_digits(into + 14, 2, second / 60 % 60);
    put_digits(into + 17, 2, second % 60);
    put_digits(into + 20, 3, ms % SECOND_MS);
}

void spell(const record_t *record, const uint8_t *identity, spelled_t *into) {
    sha256_hex(identity, into->identity);
    render_time(record->updated_ms, into->updated);
    if (record->created_ms == record->updated_ms) memcpy(into->created, into->updated, TIME_BYTES);
    else render_time(record->created_ms, into->created);
}

#define put_spelled(out, characters) put(out, characters, sizeof(characters))

static void put_entry(out_t *out, const record_t *record, const spelled_t *spelled, text_t value, text_t reader, int64_t *reader_at) {
    put_words(out, "{\"entryId\":\"");
    put_spelled(out, spelled->identity);
    put_words(out, "\",\"category\":\"");
    put_text(out, category_names[record->category]);
    put_words(out, "\",\"key\":\"");
    put_text(out, record->key);
    put_words(out, "\",\"value\":\"");
    put_text(out, value);
    put_words(out, "\",\"createdBy\":\"");
    put_text(out, record->created_by);
    put_words(out, "\",\"lastAccessedBy\":\"");
    *reader_at = out->length;
    put_text(out, reader);
    put_words(out, "\",\"createdAt\":\"");
    put_spelled(out, spelled->created);
    put_words(out, "\",\"updatedAt\":\"");
    put_spelled(out, spelled->updated);
    put_words(out, "\",\"accessPolicy\":{\"readScope\":\"");
    put_text(out, record->read_scope);
    put_words(out, "\",\"writeScope\":\"");
    put_text(out, record->write_scope);
    put_words(out, "\",\"sharePolicy\":\"");
    put_text(out, record->share_policy);
    put_words(out, "\"},\"retentionPolicy\":null}");
}

/* The entry as JSON: key, value and names are texts that JSON need not escape. */
PyObject *render_entry(const record_t *record, const spelled_t *spelled, text_t value, text_t reader, int64_t *reader_at) {
    out_t out;
    start_text(&out);
    do put_entry(&out, record, spelled, value, reader, reader_at);
    while (!is_whole(&out));
    return out.bytes;
}

/* A number in decimal, at the end of `room`. */
static text_t decimal(int64_t number, char room[20]) {
    int at = 20;
    do room[--at] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    return (text_t){room + at, 20 - at};
}

static void put_line(out_t *out, text_t members, const record_t *record, const spelled_t *spelled, text_t size, text_t number) {
    put_words(out, "{\"v\":");
    const char version = (char)('0' + format_version);
    put(out, &version, 1);
    put_words(out, ",\"ts\":\"");
    put_spelled(out, spelled->updated);
    put_words(out, "\",");
    put_text(out, members);
    put_words(out, "\"");
    put_text(out, record->key);
    put_words(out, "\",\"entryId\":\"");
    put_spelled(out, spelled->identity);
    put_words(out, "\",\"category\":\"");
    put_text(out, category_names[record->category]);
    put_words(out, "\",\"bytes\":");
    put_text(out, size);
    put_words(out, ",\"seq\":");
    put_text(out, number);
    put_words(out, "}");
}

/* The audit line of a write, without what `link` adds; `members` are those from `agentId` to the name of `key`. */
PyObject *render_line(text_t members, const record_t *record, const spelled_t *spelled, int64_t number) {
    char size[20], count[20];
    const text_t digits[] = {decimal(record->size, size), decimal(number, count)};
    out_t out;
    start_text(&out);
    do put_line(&out, members, record, spelled, digits[0], digits[1]);
    while (!is_whole(&out));
    return out.bytes;
}
