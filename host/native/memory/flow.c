/* Helpers of reading and writing; see flow.h. */
#include "flow.h"

#include "../sha256.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

enum { SECOND_MS = 1000 };

/* ---------------------------------------------------------------- Python objects */

bool text_of(PyObject *object, text_t *into) {
    if (!PyUnicode_CheckExact(object) || !PyUnicode_IS_ASCII(object)) return false;
    *into = (text_t){PyUnicode_DATA(object), PyUnicode_GET_LENGTH(object)};
    return true;
}

bool int_of(PyObject *object, int64_t *into) {
    int overflow = 0;
    if (object == NULL || !PyLong_CheckExact(object)) return false;
    *into = PyLong_AsLongLongAndOverflow(object, &overflow);
    return !overflow;
}

bool int_item(PyObject *tuple, Py_ssize_t at, int64_t *into) {
    return PyTuple_Check(tuple) && at < PyTuple_GET_SIZE(tuple) && int_of(PyTuple_GET_ITEM(tuple, at), into);
}

bool int_attribute(PyObject *object, PyObject *name, int64_t *into) {
    PyObject *value = PyObject_GetAttr(object, name);
    const bool found = value != NULL && int_of(value, into);
    Py_XDECREF(value);
    return found;
}

/* ---------------------------------------------------------------- who asks, and when */

static bool take_attribute(PyObject *object, PyObject *name, PyObject **into) {
    return (*into = PyObject_GetAttr(object, name)) != NULL;
}

/* Take what ordinary requests need of a memory. */
static bool take_parts(Ordinary *self, PyObject *memory) {
    PyObject *trail = NULL, *agent_id = NULL, *limit = NULL, *quota = NULL;
    Py_ssize_t length;
    const char *text = NULL;
    const bool taken = take_attribute(memory, names._readers, &self->readers) && take_attribute(memory, names._clock, &self->clock) &&
                       take_attribute(memory, names._trail, &trail) && take_attribute(trail, names.members, &self->members) &&
                       take_attribute(memory, names._quota, &quota) && int_of(quota, &self->quota) &&
                       (limit = PyObject_CallOneArg(python_entry_limit, quota)) != NULL && int_of(limit, &self->entry_limit) &&
                       take_attribute(memory, names._agent_id, &agent_id) && (text = PyUnicode_AsUTF8AndSize(agent_id, &length)) != NULL &&
                       (self->prefix = PyBytes_FromStringAndSize(text, length + 1)) != NULL; /* the NUL after it too */
    if (taken && (PyObject *)Py_TYPE(self->clock) == system_clock_type) Py_SETREF(self->clock, Py_NewRef(Py_None));
    Py_XDECREF(trail);
    Py_XDECREF(agent_id);
    Py_XDECREF(limit);
    Py_XDECREF(quota);
    return taken;
}

/* Make what answers ordinary requests for a memory; False when none of them can be ordinary. */
static PyObject *make_ordinary(PyObject *memory) {
    PyObject *policy = NULL, *days = NULL, *made = NULL;
    Ordinary *self = PyObject_New(Ordinary, &OrdinaryType);
    if (self == NULL) return NULL;
    memset((char *)self + sizeof(PyObject), 0, sizeof *self - sizeof(PyObject));
    if (take_attribute(memory, names._changes, &self->changes) && take_attribute(self->changes, names._store, &self->store) &&
        take_attribute(memory, names._policy, &policy) && take_attribute(policy, names.maxRetentionDays, &days)) {
        if (days != Py_None || (PyObject *)Py_TYPE(self->store) != lmdb_store_type) made = Py_NewRef(Py_False);
        else if (take_parts(self, memory)) made = Py_NewRef(self);
    }
    Py_XDECREF(policy);
    Py_XDECREF(days);
    Py_DECREF(self);
    return made;
}

static PyObject *ordinary_of_memory(PyObject *memory) {
    if ((PyObject *)Py_TYPE(memory) != agent_memory_type) return NULL;
    PyObject *ordinary = PyObject_GetAttr(memory, names.ordinary);
    if (ordinary == Py_None) {
        Py_DECREF(ordinary);
        ordinary = make_ordinary(memory);
        if (ordinary != NULL && PyObject_SetAttr(memory, names.ordinary, ordinary) < 0) Py_CLEAR(ordinary);
    }
    if (ordinary != NULL && !Py_IS_TYPE(ordinary, &OrdinaryType)) Py_CLEAR(ordinary);
    return ordinary;
}

Ordinary *ordinary_of(PyObject *services, caller_t *caller) {
    if (!PyTuple_Check(services) || PyTuple_GET_SIZE(services) < 2) return NULL;
    PyObject *who = PyTuple_GET_ITEM(services, 1);
    if (!PyTuple_Check(who) || PyTuple_GET_SIZE(who) != 2 || !text_of(PyTuple_GET_ITEM(who, 0), &caller->gene_id) ||
        !text_of(PyTuple_GET_ITEM(who, 1), &caller->domain) || caller->gene_id.length != GENE_ID_BYTES)
        return NULL;
    caller->object = who;
    return (Ordinary *)ordinary_of_memory(PyTuple_GET_ITEM(services, 0));
}

bool now_of(const Ordinary *self, int64_t *now_ms) {
    if (self->clock == Py_None) {
        struct timespec time;
        clock_gettime(CLOCK_REALTIME, &time);
        *now_ms = (int64_t)time.tv_sec * SECOND_MS + time.tv_nsec / 1000000;
        return true;
    }
    PyObject *now = PyObject_CallMethodNoArgs(self->clock, names.now_ms);
    const bool told = now != NULL && int_of(now, now_ms);
    Py_XDECREF(now);
    return told;
}

int64_t second_of(int64_t ms) { return ms / SECOND_MS - (ms % SECOND_MS < 0); }

bool processor_hashes;

static bool hash_in_python(PyObject *text, uint8_t *digest) {
    PyObject *hash = PyObject_CallOneArg(sha256, text);
    PyObject *bytes = hash == NULL ? NULL : PyObject_CallMethodNoArgs(hash, names.digest);
    const bool made = bytes != NULL && PyBytes_CheckExact(bytes) && PyBytes_GET_SIZE(bytes) == ID_BYTES;
    if (made) memcpy(digest, PyBytes_AS_STRING(bytes), ID_BYTES);
    Py_XDECREF(hash);
    Py_XDECREF(bytes);
    return made;
}

bool choose_hash(void) {
    static const char text[] = "more than one block of sixty-four bytes, so that all of what is done for a hash is done at least once";
    uint8_t here[ID_BYTES], there[ID_BYTES];
    PyObject *bytes = PyBytes_FromStringAndSize(text, sizeof text - 1);
    const bool hashed = bytes != NULL && hash_in_python(bytes, there);
    if (hashed && sha256_is_here()) {
        sha256_of((const uint8_t *)text, sizeof text - 1, here);
        processor_hashes = memcmp(here, there, ID_BYTES) == 0;
    }
    Py_XDECREF(bytes);
    return hashed;
}

bool identity_of(const Ordinary *self, text_t key, uint8_t *identity) {
    const Py_ssize_t prefix = PyBytes_GET_SIZE(self->prefix);
    uint8_t room[SHORT_TEXT];
    if (processor_hashes && prefix + key.length <= SHORT_TEXT) {
        memcpy(room, PyBytes_AS_STRING(self->prefix), (size_t)prefix);
        memcpy(room + prefix, key.at, (size_t)key.length);
        sha256_of(room, (size_t)(prefix + key.length), identity);
        return true;
    }
    PyObject *text = PyBytes_FromStringAndSize(NULL, prefix + key.length);
    if (text == NULL) return false;
    memcpy(PyBytes_AS_STRING(text), PyBytes_AS_STRING(self->prefix), (size_t)prefix);
    memcpy(PyBytes_AS_STRING(text) + prefix, key.at, (size_t)key.length);
    const bool made = hash_in_python(text, identity);
    Py_DECREF(text);
    return made;
}

PyObject *members_of(Ordinary *self, const caller_t *caller, bool creates) {
    if (self->caller != caller->object) {
        Py_CLEAR(self->known_members[0]);
        Py_CLEAR(self->known_members[1]);
        Py_XSETREF(self->caller, Py_NewRef(caller->object));
    }
    if (self->known_members[creates] == NULL) {
        PyObject *made = PyObject_CallFunction(self->members, "sO", creates ? "memory.create" : "memory.update", caller->object);
        if (made == NULL || self->caller != caller->object) return made; /* that of another caller, if what was called went on with one */
        Py_XSETREF(self->known_members[creates], made);
    }
    return Py_NewRef(self->known_members[creates]);
}

/* ---------------------------------------------------------------- rules */

bool may(text_t scope, const record_t *record, const caller_t *caller) {
    if (same(scope, (text_t){"SAME_DOMAIN", 11})) return same(caller->domain, record->domain);
    if (same(scope, (text_t){"CREATOR_GENE_ONLY", 17})) return same(caller->gene_id, record->created_by);
    return same(scope, (text_t){"ALL_GENES", 9});
}

static pid_t this_process; /* the system would have to be asked at each call */

static void note_process(void) { this_process = getpid(); }

bool follow_forks(void) {
    note_process();
    if (pthread_atfork(NULL, NULL, note_process) == 0) return true;
    PyErr_NoMemory();
    return false;
}

PyObject *change_of(PyObject *operation) {
    if (!Py_IS_TYPE(operation, (PyTypeObject *)operation_type)) return NULL;
    PyObject *change = SLOT(operation, operation_change);
    return change != NULL && Py_IS_TYPE(change, (PyTypeObject *)change_type) ? change : NULL;
}

PyObject *current_change(PyObject *operation, int64_t now_ms) {
    int64_t process, first;
    PyObject *change = change_of(operation);
    if (change == NULL || !int_of(SLOT(operation, operation_process), &process) || process != this_process) return NULL;
    PyObject *firsts = SLOT(change, change__firsts);
    const bool current = firsts != NULL && PyList_CheckExact(firsts) && PyList_GET_SIZE(firsts) == 2 &&
                         int_of(PyList_GET_ITEM(firsts, 0), &first) && first > second_of(now_ms);
    return current ? change : NULL;
}

/* ---------------------------------------------------------------- rows */

PyObject *entry_key(const uint8_t *identity) {
    char key[1 + ID_BYTES] = {'e'};
    memcpy(key + 1, identity, ID_BYTES);
    return PyBytes_FromStringAndSize(key, sizeof key);
}

int get_row(PyObject *txn, PyObject *key, PyObject **row) {
    PyObject *found = key == NULL ? NULL : PyObject_CallMethodOneArg(txn, names.get, key);
    if (found == NULL) return -1;
    if (PyBytes_CheckExact(found)) {
        *row = found;
        return 1;
    }
    const bool none = found == Py_None;
    if (!none) PyErr_Format(PyExc_TypeError, "LMDB returned %s, not bytes", Py_TYPE(found)->tp_name);
    Py_DECREF(found);
    return none ? 0 : -1;
}

void end_view(PyObject *txn) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *ended = PyObject_CallMethodNoArgs(txn, names.abort);
    if (ended == NULL) PyErr_Clear();
    Py_XDECREF(ended);
    Py_DECREF(txn);
    PyErr_Restore(type, value, trace);
}

void map_error(PyObject *change) {
    if (change == NULL || !PyErr_ExceptionMatches(lmdb_error)) return;
    PyObject *error = take_exception();
    PyObject *failure = PyObject_CallMethodOneArg(change, names._failure, error);
    if (failure != NULL && PyExceptionInstance_Check(failure)) {
        PyException_SetCause(failure, Py_NewRef(error));
        PyErr_SetObject((PyObject *)Py_TYPE(failure), failure);
    }
    Py_XDECREF(failure);
    Py_DECREF(error);
}
