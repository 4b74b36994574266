/* An ordinary `writeMemory`: the same rows, audit line and response as `AgentMemory.write` makes. */
#include "flow.h"

/* The change that a write becomes a part of, as `LmdbChange` and `Operation` hold it. */
typedef struct {
    PyObject *operation, *change, *txn, *waiting, *categories;
    int64_t sequence, used[CATEGORIES], entries[CATEGORIES];
    int64_t lines; /* audit lines of the agent before the next one */
    bool durable;
} change_t;

static void free_change(change_t *change) {
    Py_XDECREF(change->change);
    Py_XDECREF(change->txn);
    Py_XDECREF(change->waiting);
    Py_XDECREF(change->categories);
}

static bool take_counters(change_t *change, PyObject *totals) {
    if (totals == NULL || !Py_IS_TYPE(totals, (PyTypeObject *)totals_type) || !int_of(SLOT(totals, totals_sequence), &change->sequence)) return false;
    change->categories = Py_XNewRef(SLOT(totals, totals_categories));
    if (change->categories == NULL || !PyTuple_CheckExact(change->categories) || PyTuple_GET_SIZE(change->categories) != CATEGORIES) return false;
    for (int at = 0; at < CATEGORIES; at++) {
        PyObject *tally = PyTuple_GET_ITEM(change->categories, at);
        if (!int_item(tally, 0, &change->used[at]) || !int_item(tally, 1, &change->entries[at]) || !is_counter(change->used[at]) ||
            !is_counter(change->entries[at]))
            return false;
    }
    return is_counter(change->sequence);
}

/* Take what is needed of an operation; false when that is not ordinary. */
static bool take_change(PyObject *operation, change_t *into) {
    PyObject *change = change_of(operation);
    if (change == NULL) return false;
    PyObject *chain = SLOT(change, change__chain);
    into->operation = operation;
    into->change = Py_NewRef(change);
    into->txn = Py_XNewRef(SLOT(change, change__txn));
    into->waiting = Py_XNewRef(SLOT(operation, operation__waiting));
    into->durable = SLOT(operation, operation__durable) == Py_True;
    if (into->txn == NULL || into->waiting == NULL || !PyList_CheckExact(into->waiting) || PyList_GET_SIZE(into->waiting) >= most_waiting_lines ||
        SLOT(change, change__has_followers) != Py_False || chain == NULL || !int_item(chain, 0, &into->lines) || !is_counter(into->lines) ||
        !take_counters(into, SLOT(change, change__totals)))
        return false;
    into->lines += PyList_GET_SIZE(into->waiting);
    return true;
}

/* ---------------------------------------------------------------- rows */

/* What is made of a write before anything changes. */
typedef struct {
    PyObject *key, *row;                               /* of `entries` */
    PyObject *key_row;                                 /* of `keys`, for a new entry */
    PyObject *old_recency, *recency, *recency_value;   /* of `recency` */
    PyObject *body, *line;
} rows_t;

static void free_rows(rows_t *rows) {
    PyObject **each = (PyObject **)rows;
    for (size_t at = 0; at < sizeof *rows / sizeof *each; at++) Py_XDECREF(each[at]);
}

static void put_big_endian(uint8_t *into, uint64_t value) {
    for (int at = 0; at < 8; at++) into[at] = (uint8_t)(value >> (56 - 8 * at));
}

static PyObject *recency_key(int category, int64_t sequence) {
    uint8_t key[2 + 8] = {'r', (uint8_t)category};
    put_big_endian(key + 2, (uint64_t)sequence);
    return PyBytes_FromStringAndSize((const char *)key, sizeof key);
}

static PyObject *recency_value(const uint8_t *identity, int64_t updated_ms) {
    uint8_t value[ID_BYTES + 8];
    memcpy(value, identity, ID_BYTES);
    put_big_endian(value + ID_BYTES, (uint64_t)updated_ms);
    return PyBytes_FromStringAndSize((const char *)value, sizeof value);
}

static PyObject *key_row(text_t key, const uint8_t *identity) {
    const Py_ssize_t length = key.length < cut_key ? key.length : cut_key;
    PyObject *row = PyBytes_FromStringAndSize(NULL, 1 + length + 1 + ID_BYTES);
    if (row == NULL) return NULL;
    char *into = PyBytes_AS_STRING(row);
    into[0] = 'k';
    memcpy(into + 1, key.at, (size_t)length);
    into[1 + length] = 0;
    memcpy(into + 2 + length, identity, ID_BYTES);
    return row;
}

static bool make_rows(const change_t *change, const request_t *request, const caller_t *caller, PyObject *members,
                      const uint8_t *identity, const record_t *old, record_t *new, rows_t *rows) {
    text_t text;
    spelled_t spelled;
    spell(new, identity, &spelled);
    bool made = text_of(members, &text) &&
                (rows->body = render_entry(new, &spelled, request->value, caller->gene_id, &new->reader_at)) != NULL;
    if (made) {
        new->body = (text_t){PyBytes_AS_STRING(rows->body), PyBytes_GET_SIZE(rows->body)};
        made = (rows->line = render_line(text, new, &spelled, change->lines + 1)) != NULL && (rows->row = write_record(new)) != NULL &&
               (rows->recency = recency_key(new->category, new->sequence)) != NULL &&
               (rows->recency_value = recency_value(identity, new->updated_ms)) != NULL;
        if (made && old != NULL) made = (rows->old_recency = recency_key(old->category, old->sequence)) != NULL;
        if (made && old == NULL) made = (rows->key_row = key_row(new->key, identity)) != NULL;
    }
    return made;
}

/* ---------------------------------------------------------------- changing */

static bool put_row(PyObject *txn, PyObject *key, PyObject *value) {
    PyObject *stack[] = {txn, key, value};
    PyObject *answer = PyObject_VectorcallMethod(names.put, stack, 3 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    Py_XDECREF(answer);
    return answer != NULL;
}

static bool delete_row(PyObject *txn, PyObject *key) {
    PyObject *answer = PyObject_CallMethodOneArg(txn, names.delete, key);
    Py_XDECREF(answer);
    return answer != NULL;
}

/* The counters of all categories, those of two of them anew. */
static PyObject *moved_categories(const change_t *change, int one, int other) {
    PyObject *categories = PyTuple_New(CATEGORIES);
    for (int at = 0; categories != NULL && at < CATEGORIES; at++) {
        PyObject *tally = at != one && at != other ? Py_NewRef(PyTuple_GET_ITEM(change->categories, at))
            : PyObject_CallFunction(tally_type, "LL", (long long)change->used[at], (long long)change->entries[at]);
        if (tally == NULL) Py_CLEAR(categories);
        else PyTuple_SET_ITEM(categories, at, tally);
    }
    return categories;
}

static bool set_counters(change_t *change, const record_t *old, const record_t *new) {
    const int64_t weight = new->key.length + new->size;
    const bool moves = old == NULL || old->category != new->category || old->size != new->size;
    if (old != NULL) {
        change->used[old->category] -= old->key.length + old->size;
        change->entries[old->category]--;
    }
    change->used[new->category] += weight;
    change->entries[new->category]++;
    PyObject *categories = moves ? moved_categories(change, old == NULL ? new->category : old->category, new->category) : Py_NewRef(change->categories);
    PyObject *sequence = PyLong_FromLongLong(new->sequence);
    PyObject *stack[] = {NULL, sequence, categories};
    PyObject *totals = sequence == NULL || categories == NULL ? NULL
        : PyObject_Vectorcall(totals_type, stack + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    if (totals != NULL) Py_XSETREF(SLOT(change->change, change__totals), Py_NewRef(totals));
    Py_XDECREF(sequence);
    Py_XDECREF(categories);
    Py_XDECREF(totals);
    return totals != NULL;
}

/* Bring the audit line into the log where the operation is durable; else let it wait with the others. */
static bool announce(const change_t *change, PyObject *line) {
    if (!change->durable) return PyList_Append(change->waiting, line) == 0;
    PyObject *lines = PyList_New(1);
    if (lines == NULL) return false;
    PyList_SET_ITEM(lines, 0, Py_NewRef(line));
    PyObject *answer = PyObject_CallMethodOneArg(change->operation, names.announce_lines, lines);
    Py_DECREF(lines);
    Py_XDECREF(answer);
    return answer != NULL;
}

/* Put what was announced; false with an error set when that fails halfway. */
static bool apply(change_t *change, const rows_t *rows, const record_t *old, const record_t *new) {
    Py_XSETREF(SLOT(change->change, change__changed), Py_NewRef(Py_True));
    Py_XSETREF(SLOT(change->change, change__last), Py_NewRef(nothing));
    const bool applied = put_row(change->txn, rows->key, rows->row) &&
        (old == NULL ? put_row(change->txn, rows->key_row, empty) : delete_row(change->txn, rows->old_recency)) &&
        put_row(change->txn, rows->recency, rows->recency_value) && set_counters(change, old, new);
    if (!applied) Py_XSETREF(SLOT(change->operation, operation_halfway), Py_NewRef(Py_True));
    return applied;
}

static bool fits(const Ordinary *self, const change_t *change, const record_t *old, const record_t *new) {
    int64_t used = new->key.length + new->size - (old == NULL ? 0 : old->key.length + old->size), entries = old == NULL;
    for (int at = 0; at < CATEGORIES; at++) {
        used += change->used[at];
        entries += change->entries[at];
    }
    return used <= self->quota && entries <= self->entry_limit;
}

/* Write within an operation: the response; NULL with an error, or without one and with nothing done when it is not ordinary. */
static PyObject *write_within(Ordinary *self, const asked_t *asked, const request_t *request, const caller_t *caller, PyObject *operation,
                              int64_t now_ms) {
    change_t change = {NULL};
    rows_t rows = {NULL};
    PyObject *row = NULL;
    uint8_t identity[ID_BYTES];
    record_t stored, new = default_record;
    PyObject *response = NULL, *members = NULL;
    if (!take_change(operation, &change) || !identity_of(self, request->key, identity)) goto done;
    rows.key = entry_key(identity);
    const int found = get_row(change.txn, rows.key, &row);
    const record_t *old = found > 0 ? &stored : NULL;
    if (found < 0 || (old != NULL && (!read_record(row, &stored) || !same(stored.key, request->key) ||
                                      !may(stored.write_scope, &stored, caller))))
        goto done;
    if (old != NULL) new = stored;
    else new.created_by = caller->gene_id, new.domain = caller->domain, new.created_ms = now_ms;
    new.key = request->key;
    new.size = request->size;
    new.category = request->category;
    new.updated_ms = now_ms;
    new.sequence = change.sequence + 1;
    if (!fits(self, &change, old, &new) || (members = members_of(self, caller, old == NULL)) == NULL ||
        !make_rows(&change, request, caller, members, identity, old, &new, &rows))
        goto done;
    if (asked->admit(asked->store, PyBytes_GET_SIZE(rows.body), asked->out_cap) && announce(&change, rows.line) &&
        apply(&change, &rows, old, &new))
        response = Py_NewRef(rows.body);
done:
    Py_XDECREF(row);
    free_rows(&rows);
    Py_XDECREF(members);
    if (response == NULL && PyErr_Occurred()) map_error(change.change);
    free_change(&change);
    return response;
}

/* ---------------------------------------------------------------- operations */

/* Leave the `with` block of an operation with the error that is set, which stays set unless another takes its place. */
static void leave_failed(PyObject *operation) {
    PyObject *error = take_exception();
    PyObject *stack[] = {operation, (PyObject *)Py_TYPE(error), error, Py_None};
    PyObject *answer = PyObject_VectorcallMethod(names.__exit__, stack, 4 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    if (answer != NULL) PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_XDECREF(answer);
    Py_DECREF(error);
}

static PyObject *begin(Ordinary *self, const caller_t *caller, int64_t now_ms) {
    PyObject *now = PyLong_FromLongLong(now_ms);
    PyObject *stack[] = {self->changes, caller->object, now};
    PyObject *operation = now == NULL ? NULL : PyObject_VectorcallMethod(names.operation, stack, 3 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    Py_XDECREF(now);
    return operation;
}

static bool is_open(PyObject *operation) {
    PyObject *change = change_of(operation);
    return change != NULL && SLOT(change, change__open) == Py_True;
}

/* Let the handler's own code write within an operation that is begun, and end it. */
static PyObject *go_on(const asked_t *asked, PyObject *operation, int64_t now_ms) {
    PyObject *response = PyObject_CallFunction(python_go_on, "Oy#IOL", asked->run, (const char *)asked->request, (Py_ssize_t)asked->length,
                                               (unsigned int)asked->out_cap, operation, (long long)now_ms);
    /* A signal's handler may have raised before that code took the operation over. */
    if (response == NULL && is_open(operation)) leave_failed(operation);
    return response;
}

static PyObject *write_alone(Ordinary *self, const asked_t *asked, const request_t *request, const caller_t *caller, int64_t now_ms) {
    PyObject *operation = begin(self, caller, now_ms);
    if (operation == NULL) return NULL;
    PyObject *response = write_within(self, asked, request, caller, operation, now_ms);
    if (response == NULL && !PyErr_Occurred()) {
        response = go_on(asked, operation, now_ms);
    } else if (response == NULL) {
        leave_failed(operation);
    } else {
        PyObject *stack[] = {self->changes, operation, Py_None};
        PyObject *ended = PyObject_VectorcallMethod(names.end, stack, 3 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
        if (ended == NULL) {
            Py_CLEAR(response);
            if (is_open(operation)) leave_failed(operation); /* a signal's handler raised before `end` did anything */
        }
        Py_XDECREF(ended);
    }
    Py_DECREF(operation);
    return response;
}

PyObject *write_shortcut(const asked_t *asked) {
    request_t request;
    caller_t caller;
    int64_t now_ms;
    PyObject *response = NULL;
    if (!parse_request(asked->request, asked->length, true, &request)) return NULL;
    Ordinary *self = ordinary_of(asked->services, &caller);
    PyObject *held = self == NULL ? NULL : PyObject_GetAttr(self->changes, names._held);
    asked->forget(asked->store);
    if (held != NULL && now_of(self, &now_ms)) {
        if (held == Py_None) {
            response = write_alone(self, asked, &request, &caller, now_ms);
        } else if (current_change(held, now_ms) != NULL) {
            response = write_within(self, asked, &request, &caller, held, now_ms);
            if (response == NULL && PyErr_Occurred()) leave_failed(held);
        }
    }
    Py_XDECREF(held);
    Py_XDECREF(self);
    return response;
}
