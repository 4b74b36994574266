/* An ordinary `readMemory`: the same response, and the same note of who read, as `AgentMemory.read` makes. */
#include "flow.h"

/* A read transaction of the committed state, when what is known of it says that nothing has expired until a second
 * to come, `until_s`; NULL otherwise. */
static PyObject *view_committed(const Ordinary *self, int64_t now_ms, uint64_t *until_s) {
    int64_t number, first, id = -1;
    PyObject *txn = NULL;
    PyObject *environment = PyObject_GetAttr(self->store, names._environment); /* None once it is closed */
    PyObject *env = environment == NULL || environment == Py_None ? NULL : PyObject_GetAttr(environment, names.env);
    PyObject *committed = env == NULL || env == Py_None ? NULL : PyObject_GetAttr(environment, names.committed);
    if (committed != NULL && int_attribute(committed, names.number, &number) && int_attribute(committed, names.first_own, &first) &&
        first > second_of(now_ms)) {
        txn = PyObject_CallMethodNoArgs(env, names.begin);
        PyObject *found = txn == NULL ? NULL : PyObject_CallMethodNoArgs(txn, names.id);
        if (found != NULL) id = PyLong_AsLongLong(found);
        Py_XDECREF(found);
        if (txn != NULL && id != number) {
            end_view(txn);
            txn = NULL;
        }
    }
    Py_XDECREF(environment);
    Py_XDECREF(env);
    Py_XDECREF(committed);
    if (txn != NULL && self->clock == Py_None) *until_s = first < never_s ? (uint64_t)first : UINT64_MAX; /* the clock that whoever keeps a response looks at */
    return txn;
}

/* The transaction of the held change of a run. */
static PyObject *view_held(PyObject *held, int64_t now_ms) {
    PyObject *change = current_change(held, now_ms);
    return change == NULL ? NULL : Py_XNewRef(SLOT(change, change__txn));
}

/* Remember who read: in the response at once, in the memory later. */
static bool note_reader(const Ordinary *self, const caller_t *caller, const uint8_t *identity, const record_t *record, bool differs) {
    PyObject *readings = differs ? NULL : PyObject_GetAttr(self->readers, names.readings);
    if (!differs && readings == NULL) return false;
    const bool nothing_noted = readings != NULL && PyDict_CheckExact(readings) && PyDict_GET_SIZE(readings) == 0;
    Py_XDECREF(readings);
    if (nothing_noted) return true;
    PyObject *noted = differs ? PyObject_CallMethod(self->readers, "note", "y#LO", (const char *)identity, (Py_ssize_t)ID_BYTES,
                                                    (long long)record->sequence, PyTuple_GET_ITEM(caller->object, 0))
                              : PyObject_CallMethod(self->readers, "forget", "y#", (const char *)identity, (Py_ssize_t)ID_BYTES);
    Py_XDECREF(noted);
    return noted != NULL;
}

static PyObject *read_entry(const Ordinary *self, const asked_t *asked, const request_t *request, const caller_t *caller,
                            const uint8_t *identity, PyObject *row) {
    record_t record;
    if (!read_record(row, &record) || !same(record.key, request->key) || !may(record.read_scope, &record, caller)) return NULL;
    if (request->category != NO_CATEGORY && request->category != record.category) {
        return asked->admit(asked->store, sizeof "null" - 1, asked->out_cap) ? PyBytes_FromString("null") : NULL;
    }
    const bool differs = memcmp(record.body.at + record.reader_at, caller->gene_id.at, GENE_ID_BYTES) != 0;
    PyObject *response = PyBytes_FromStringAndSize(record.body.at, record.body.length);
    if (response == NULL) return NULL;
    if (differs) memcpy(PyBytes_AS_STRING(response) + record.reader_at, caller->gene_id.at, GENE_ID_BYTES);
    if (!asked->admit(asked->store, record.body.length, asked->out_cap) || !note_reader(self, caller, identity, &record, differs))
        Py_CLEAR(response);
    return response;
}

PyObject *read_shortcut(const asked_t *asked) {
    request_t request;
    caller_t caller;
    int64_t now_ms;
    uint8_t identity[ID_BYTES];
    PyObject *response = NULL, *txn = NULL;
    if (!parse_request(asked->request, asked->length, false, &request)) return NULL;
    Ordinary *self = ordinary_of(asked->services, &caller);
    PyObject *held = self == NULL ? NULL : PyObject_GetAttr(self->changes, names._held);
    if (held != NULL && now_of(self, &now_ms) && identity_of(self, request.key, identity))
        txn = held == Py_None ? view_committed(self, now_ms, asked->until_s) : view_held(held, now_ms);
    if (txn != NULL) {
        PyObject *row = NULL;
        PyObject *key = entry_key(identity);
        if (get_row(txn, key, &row) > 0) response = read_entry(self, asked, &request, &caller, identity, row);
        Py_XDECREF(row);
        Py_XDECREF(key);
        if (held == Py_None) end_view(txn);
        else Py_DECREF(txn);
    }
    if (response == NULL && PyErr_Occurred() && PyErr_ExceptionMatches(lmdb_error)) PyErr_Clear(); /* what it is, the handler tells */
    Py_XDECREF(held);
    Py_XDECREF(self);
    return response;
}
