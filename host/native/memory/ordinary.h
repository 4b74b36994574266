/* What the files of the extension share: a request, an entry as it is stored, and how both are told apart from what
 * is not ordinary.
 *
 * Ordinary is what needs no rule but those written here: anything else is left to Python, which knows all of them.
 * So nothing here refuses, and nothing here removes an entry.
 */
#ifndef ROTIFER_ORDINARY_H
#define ROTIFER_ORDINARY_H

#include "../shortcut.h"

#include <stdbool.h>
#include <string.h>

enum { CATEGORIES = 4, SCOPES = 4, SHARE_POLICIES = 3, NO_CATEGORY = -1 };
enum { ID_BYTES = 32, GENE_ID_BYTES = 67, TIME_BYTES = 24 };

typedef struct {
    const char *at;
    Py_ssize_t length;
} text_t;

static inline bool same(text_t one, text_t other) {
    return one.length == other.length && memcmp(one.at, other.at, (size_t)one.length) == 0;
}

/* Said once, in Python. */
extern text_t category_names[CATEGORIES], scope_names[SCOPES], share_policy_names[SHARE_POLICIES];
extern Py_ssize_t longest_key, largest_value, cut_key;
extern uint8_t format_version;
extern int64_t last_ms, never_s;

/* ---------------------------------------------------------------- request.c */

typedef struct {
    text_t key, value; /* the value in base64 */
    Py_ssize_t size;   /* of the value, raw */
    int category;      /* or NO_CATEGORY */
} request_t;

void prepare_requests(void);
bool parse_request(const uint8_t *request, uint32_t length, bool writes, request_t *into);

/* ---------------------------------------------------------------- record.c */

typedef struct {
    int64_t sequence, size, created_ms, updated_ms, reader_at;
    text_t key, created_by, domain, body;
    text_t access; /* as it is stored, the three words in it apart */
    text_t read_scope, write_scope, share_policy;
    int category;
} record_t;

bool read_record(PyObject *row, record_t *into);
PyObject *write_record(const record_t *record);

/* ---------------------------------------------------------------- render.c */

/* What an entry and its audit line both say in other digits than the record. */
typedef struct {
    char identity[2 * ID_BYTES], created[TIME_BYTES], updated[TIME_BYTES];
} spelled_t;

void spell(const record_t *record, const uint8_t *identity, spelled_t *into);
PyObject *render_entry(const record_t *record, const spelled_t *spelled, text_t value, text_t reader, int64_t *reader_at);
PyObject *render_line(text_t members, const record_t *record, const spelled_t *spelled, int64_t number);

/* ---------------------------------------------------------------- texts that are written, and once more where they are long */

enum { SHORT_TEXT = 2048 };

typedef struct {
    char *at;
    Py_ssize_t room, length;
    PyObject *bytes;
    char short_text[SHORT_TEXT];
} out_t;

static inline void start_text(out_t *out) {
    out->at = out->short_text;
    out->room = SHORT_TEXT;
    out->length = 0;
    out->bytes = NULL;
}

static inline void put(out_t *out, const void *data, Py_ssize_t length) {
    if (length <= out->room - out->length) memcpy(out->at + out->length, data, (size_t)length);
    out->length += length;
}

/* Make `bytes` of all that was put, NULL with an error set; false where there was no room, and all must be put again. */
static inline bool is_whole(out_t *out) {
    if (out->bytes != NULL) return true;
    const bool had_room = out->length <= out->room;
    out->bytes = PyBytes_FromStringAndSize(had_room ? out->short_text : NULL, out->length);
    if (had_room || out->bytes == NULL) return true;
    out->at = PyBytes_AS_STRING(out->bytes);
    out->room = out->length;
    out->length = 0;
    return false;
}

static inline void put_text(out_t *out, text_t text) { put(out, text.at, text.length); }

#define put_words(out, words) put(out, words, sizeof(words) - 1)

/* ---------------------------------------------------------------- read.c, write.c */

extern PyTypeObject OrdinaryType;
PyObject *read_shortcut(const asked_t *asked);
PyObject *write_shortcut(const asked_t *asked);

#endif
