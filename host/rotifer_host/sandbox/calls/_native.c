/* The native call path: from the engine's callback to a Python handler and back.
 *
 * Nothing here links against the engine: the addresses of the few functions of its C
 * API that are needed are handed over by `bind`. The rules of a call are those of
 * `exchange.py`, step for step; the suite of the call paths holds the two together.
 *
 * The engine calls without the GIL. All that a call touches before it needs Python
 * belongs to the run's own Session, and a run belongs to one thread.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

enum { BUDGET_EXHAUSTED = -4, NOT_ADMITTED = -1 };
enum { ERROR_KINDS = 14 }; /* results -1 … -13, by their absolute value */
enum { MAX_PARAMS = 16, SLOTS = 64, LARGEST_KEPT_REQUEST = 1024, LARGEST_KEPT_RESPONSE = 64 * 1024 };

typedef struct wasmtime_context context_t;
typedef struct wasmtime_caller caller_t;
typedef struct wasm_trap trap_t;
typedef struct wasmtime_error failure_t;
typedef union { int32_t i32; int64_t i64; float f32; double f64; uint8_t v128[16]; } raw_t;
typedef struct { uint64_t words[3]; } memory_t;
typedef struct { uint8_t kind; union { memory_t memory; uint64_t room[6]; } of; } extern_t;
enum { EXTERN_MEMORY = 3 };

static struct {
    context_t *(*caller_context)(caller_t *);
    bool (*caller_export_get)(caller_t *, const char *, size_t, extern_t *);
    void *(*context_get_data)(const context_t *);
    failure_t *(*context_get_fuel)(const context_t *, uint64_t *);
    failure_t *(*context_set_fuel)(context_t *, uint64_t);
    uint8_t *(*memory_data)(const context_t *, const memory_t *);
    size_t (*memory_data_size)(const context_t *, const memory_t *);
    trap_t *(*trap_new)(const char *, size_t);
    void (*error_delete)(failure_t *);
} engine;

/* What every host call costs, and the largest request: handed over by `bind` from contract.py. */
static uint64_t base_fuel, fuel_per_byte, largest_request;

/* What is said in Python, once for all paths: `native.py`. */
static PyObject *python_attach; /* (run, context, memory): make linear memory known to the run */
static PyObject *python_answer; /* (run, function, req_ptr, req_len, out_ptr, out_cap) -> result */
static PyObject *python_explain; /* (run, error, out_ptr, out_cap) -> result, or raises what is no refusal */
static PyObject *python_keep; /* (run, error) */
static PyObject *python_unfit; /* (length, out_cap): raise why a response is not admitted */

static uint64_t now_ns(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* ---------------------------------------------------------------- host functions */

typedef struct {
    PyObject_HEAD
    PyObject *function; /* the ExchangeFunction or PlainFunction */
    PyObject *guard;    /* exchange: (run) -> None, or raises */
    PyObject *handler;  /* exchange: (run, request, out_cap) -> bytes; plain: (run, *arguments) -> int | None */
    int index;
    int count;
    char params[MAX_PARAMS + 1]; /* 'i' i32, 'I' i64, 'f' f32, 'F' f64 */
    char result;                 /* the same letters, or 0 */
} Function;

typedef struct {
    uint64_t count, bytes_in, bytes_out, nanos, errors[ERROR_KINDS];
    int let_in; /* the guard has let the caller in: it is not asked again */
} stats_t;

typedef struct {
    char *request, *response; /* one allocation, freed by `request` */
    size_t request_length, response_length;
    uint64_t version, fresh_until_s;
    int function;
} kept_t;

typedef struct {
    PyObject_HEAD
    PyObject *run;
    context_t *context;
    memory_t memory;
    int has_memory;
    const char *cancelled; /* the run's deadline sets it */
    Py_buffer cancel_cell;
    uint64_t deadline_ns;
    uint64_t host_limit_ns;
    _Atomic uint64_t *host_used_ns; /* shared by the genes of a run */
    Py_buffer host_cell;
    Py_buffer versions; /* the two meta pages of the store, mapped read-only */
    int functions;
    Py_ssize_t admitted; /* length of the response the call under way has admitted, or NOT_ADMITTED */
    stats_t *stats;
    kept_t kept[SLOTS];
} Session;

/* ---------------------------------------------------------------- fuel */

static int charge(Session *session, uint64_t fuel) {
    uint64_t left = 0;
    failure_t *error = engine.context_get_fuel(session->context, &left);
    if (error != NULL) {
        engine.error_delete(error);
        return 0;
    }
    if (left < fuel) return 0;
    error = engine.context_set_fuel(session->context, left - fuel);
    if (error != NULL) engine.error_delete(error);
    return 1;
}

/* ---------------------------------------------------------------- linear memory */

/* Look the memory up at the first call: a start function calls before there is an instance to ask for it. */
static int find_memory(Session *session, caller_t *caller) {
    if (session->has_memory) return 1;
    extern_t item;
    if (!engine.caller_export_get(caller, "memory", 6, &item) || item.kind != EXTERN_MEMORY) return 0;
    session->memory = item.of.memory;
    session->has_memory = 1;
    const PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *done = PyObject_CallFunction(python_attach, "OKy#", session->run, (unsigned long long)(uintptr_t)session->context,
                                           (const char *)&session->memory, (Py_ssize_t)sizeof(memory_t));
    if (done == NULL) PyErr_WriteUnraisable(session->run);
    Py_XDECREF(done);
    PyGILState_Release(gil);
    return 1;
}

static int inside(uint64_t size, uint32_t start, uint32_t length) { return (uint64_t)start + length <= size; }

/* ---------------------------------------------------------------- responses kept while memory is unchanged */

static size_t slot_of(int function, const uint8_t *request, size_t length) {
    uint64_t hash = 0x9E3779B97F4A7C15u ^ length ^ ((uint64_t)function << 32);
    for (size_t at = 0; at < length; at += 8) {
        uint64_t word = 0;
        memcpy(&word, request + at, length - at < 8 ? length - at : 8);
        hash = (hash ^ word) * 0xD6E8FEB86659FD93u;
        hash ^= hash >> 32;
    }
    return hash % SLOTS;
}

enum { PAGE = 4096, VERSION_AT = 144 }; /* LMDB 0.9: page header 16 bytes, mm_txnid at 128 of MDB_meta */

static uint64_t version_now(const Session *session) {
    const char *pages = session->versions.buf;
    uint64_t first = *(volatile const uint64_t *)(pages + VERSION_AT);
    uint64_t second = *(volatile const uint64_t *)(pages + PAGE + VERSION_AT);
    return first > second ? first : second;
}

static const kept_t *find_kept(const Session *session, int function, const uint8_t *request, size_t length) {
    if (session->versions.buf == NULL || length > LARGEST_KEPT_REQUEST) return NULL;
    const kept_t *kept = &session->kept[slot_of(function, request, length)];
    if (kept->request == NULL || kept->function != function || kept->request_length != length) return NULL;
    if (memcmp(kept->request, request, length) != 0) return NULL;
    if (kept->version != version_now(session)) return NULL;
    if (kept->fresh_until_s != UINT64_MAX && now_ns(CLOCK_REALTIME) / 1000000000u >= kept->fresh_until_s) return NULL;
    return kept;
}

static void drop_kept(kept_t *kept) {
    PyMem_RawFree(kept->request);
    memset(kept, 0, sizeof *kept);
}

/* ---------------------------------------------------------------- the callbacks */

static trap_t *end_run(void) {
    static const char text[] = "the host ended the run";
    return engine.trap_new(text, sizeof text - 1);
}

static PyObject *take_exception(void) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace != NULL) PyException_SetTraceback(value, trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    return value;
}

/* Keep the exception that is set on the run it belongs to: nothing is lost, nothing reaches another run. */
static void keep_failure(Session *session) {
    PyObject *error = take_exception();
    PyObject *kept = PyObject_CallFunctionObjArgs(python_keep, session->run, error, NULL);
    if (kept == NULL) PyErr_WriteUnraisable(error);
    Py_XDECREF(kept);
    Py_DECREF(error);
}

static int32_t count_result(Session *session, stats_t *stats, uint64_t started, int32_t result) {
    const uint64_t spent = now_ns(CLOCK_MONOTONIC) - started;
    stats->count++;
    stats->nanos += spent;
    atomic_fetch_add_explicit(session->host_used_ns, spent, memory_order_relaxed);
    if (result < 0 && -result < ERROR_KINDS) stats->errors[-result]++;
    return result;
}

static int has_budget(const Session *session, uint64_t now) {
    return !*(volatile const char *)session->cancelled && now < session->deadline_ns &&
           atomic_load_explicit(session->host_used_ns, memory_order_relaxed) < session->host_limit_ns;
}

/* Serve a kept response; 0 when there is none that holds, the request being charged already. */
static int32_t serve_kept(Session *session, const Function *function, const uint8_t *request, uint32_t length,
                          uint8_t *out, uint32_t out_cap) {
    const kept_t *kept = find_kept(session, function->index, request, length);
    if (kept == NULL || kept->response_length > out_cap) return 0;
    if (!charge(session, fuel_per_byte * kept->response_length)) return BUDGET_EXHAUSTED;
    memcpy(out, kept->response, kept->response_length);
    return (int32_t)kept->response_length;
}

/* Call the handler on a copy of the request; NULL with an exception set when it refuses. */
static PyObject *call_handler(Session *session, const Function *function, const uint8_t *request, uint32_t length, uint32_t out_cap) {
    PyObject *response = NULL;
    PyObject *copy = PyBytes_FromStringAndSize((const char *)request, length);
    PyObject *cap = PyLong_FromUnsignedLong(out_cap);
    session->admitted = NOT_ADMITTED;
    if (copy != NULL && cap != NULL) {
        PyObject *stack[] = {NULL, session->run, copy, cap};
        response = PyObject_Vectorcall(function->handler, stack + 1, 3 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    }
    Py_XDECREF(copy);
    Py_XDECREF(cap);
    if (response != NULL && !PyBytes_CheckExact(response)) {
        Py_CLEAR(response);
        PyErr_SetString(PyExc_TypeError, "a handler must return bytes");
    }
    return response;
}

/* Measure and charge a response once, before anything changes; 0 with the refusal set when it cannot be had. */
static int admit(Session *session, Py_ssize_t length, uint32_t out_cap) {
    if (length <= (Py_ssize_t)out_cap && charge(session, fuel_per_byte * (uint64_t)length)) {
        session->admitted = length;
        return 1;
    }
    PyObject *raised = PyObject_CallFunction(python_unfit, "nI", length, out_cap);
    Py_XDECREF(raised);
    return 0;
}

static int is_admitted(Session *session, PyObject *response, uint32_t out_cap) {
    const Py_ssize_t length = PyBytes_GET_SIZE(response);
    if (session->admitted == NOT_ADMITTED) return admit(session, length, out_cap);
    if (session->admitted == length) return 1;
    PyErr_Format(PyExc_RuntimeError, "a handler returned %zd bytes after %zd were admitted", length, session->admitted);
    return 0;
}

/* Let Python turn the exception that is set into a result; one that is no refusal stays set. */
static int32_t explain(Session *session, uint32_t out_ptr, uint32_t out_cap) {
    PyObject *error = take_exception();
    PyObject *answer = PyObject_CallFunction(python_explain, "OOII", session->run, error, out_ptr, out_cap);
    Py_DECREF(error);
    if (answer == NULL) return 0;
    const long result = PyLong_AsLong(answer);
    Py_DECREF(answer);
    return (int32_t)result;
}

/* What a handler or guard raised that is no refusal ends the run. */
static trap_t *end_of(Session *session) {
    if (!PyErr_Occurred()) return NULL;
    keep_failure(session);
    return end_run();
}

static trap_t *exchange(void *env, caller_t *caller, raw_t *args, size_t count) {
    (void)count;
    Function *function = env;
    context_t *context = engine.caller_context(caller);
    Session *session = engine.context_get_data(context);
    stats_t *stats = &session->stats[function->index];
    const uint32_t req_ptr = (uint32_t)args[0].i32, req_len = (uint32_t)args[1].i32;
    const uint32_t out_ptr = (uint32_t)args[2].i32, out_cap = (uint32_t)args[3].i32;
    const uint64_t started = now_ns(CLOCK_MONOTONIC);
    int32_t result = BUDGET_EXHAUSTED;
    trap_t *trap = NULL;

    if (!has_budget(session, started) || !charge(session, base_fuel)) goto done;
    if (!find_memory(session, caller)) return end_run();
    if (!stats->let_in) {
        const PyGILState_STATE gil = PyGILState_Ensure();
        PyObject *let_in = PyObject_CallOneArg(function->guard, session->run);
        result = let_in == NULL ? explain(session, out_ptr, out_cap) : 0;
        stats->let_in = let_in != NULL;
        Py_XDECREF(let_in);
        trap = end_of(session);
        PyGILState_Release(gil);
        if (!stats->let_in) goto done;
    }
    uint8_t *const base = engine.memory_data(context, &session->memory);
    const uint64_t size = engine.memory_data_size(context, &session->memory);
    const int usable = inside(size, req_ptr, req_len) && inside(size, out_ptr, out_cap) && req_len <= largest_request;
    if (usable) {
        result = BUDGET_EXHAUSTED;
        if (!charge(session, fuel_per_byte * req_len)) goto done;
        stats->bytes_in += req_len;
        result = serve_kept(session, function, base + req_ptr, req_len, base + out_ptr, out_cap);
        if (result != 0) goto done;
    }
    const PyGILState_STATE gil = PyGILState_Ensure();
    if (usable) {
        PyObject *response = call_handler(session, function, base + req_ptr, req_len, out_cap);
        if (response != NULL && is_admitted(session, response, out_cap)) {
            result = (int32_t)PyBytes_GET_SIZE(response);
            memcpy(base + out_ptr, PyBytes_AS_STRING(response), (size_t)result);
        } else {
            result = explain(session, out_ptr, out_cap);
        }
        Py_XDECREF(response);
    } else { /* ranges outside memory, a request that is too large: told by the same code as on the other paths */
        PyObject *answer = PyObject_CallFunction(python_answer, "OOIIII", session->run, function->function, req_ptr, req_len, out_ptr, out_cap);
        result = answer == NULL ? 0 : (int32_t)PyLong_AsLong(answer);
        Py_XDECREF(answer);
    }
    trap = end_of(session);
    PyGILState_Release(gil);
done:
    if (result > 0) stats->bytes_out += (uint64_t)result;
    args[0].i64 = 0;
    args[0].i32 = count_result(session, stats, started, result);
    return trap;
}

static PyObject *to_python(char kind, const raw_t *value) {
    switch (kind) {
        case 'i': return PyLong_FromUnsignedLong((uint32_t)value->i32);
        case 'I': return PyLong_FromLongLong(value->i64);
        case 'f': return PyFloat_FromDouble(value->f32);
        default: return PyFloat_FromDouble(value->f64);
    }
}

/* Set the result; an integer beyond the result type is a mistake of the host and raises. */
static int from_python(char kind, PyObject *value, raw_t *into) {
    memset(into, 0, sizeof *into);
    if (kind == 'i') {
        const long long number = PyLong_AsLongLong(value);
        if (number < INT32_MIN || number > UINT32_MAX) PyErr_SetString(PyExc_OverflowError, "host function result is no i32");
        into->i32 = (int32_t)(uint32_t)number;
    } else if (kind == 'I') {
        into->i64 = PyLong_AsLongLong(value);
    } else if (kind == 'f') {
        into->f32 = (float)PyFloat_AsDouble(value);
    } else {
        into->f64 = PyFloat_AsDouble(value);
    }
    return PyErr_Occurred() == NULL;
}

static trap_t *plain(void *env, caller_t *caller, raw_t *args, size_t count) {
    (void)count;
    Function *function = env;
    Session *session = engine.context_get_data(engine.caller_context(caller));
    find_memory(session, caller); /* a guest without memory has nothing to point at */
    const PyGILState_STATE gil = PyGILState_Ensure();
    trap_t *trap = NULL;
    PyObject *stack[MAX_PARAMS + 2] = {NULL, session->run};
    int made = 0;
    while (made < function->count && (stack[2 + made] = to_python(function->params[made], &args[made])) != NULL) made++;
    PyObject *answer = NULL;
    if (made == function->count)
        answer = PyObject_Vectorcall(function->handler, stack + 1, (size_t)(1 + made) | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    for (int at = 0; at < made; at++) Py_DECREF(stack[2 + at]);
    if (answer == NULL || (function->result != 0 && !from_python(function->result, answer, &args[0]))) {
        keep_failure(session);
        trap = end_run();
    }
    Py_XDECREF(answer);
    PyGILState_Release(gil);
    return trap;
}

/* ---------------------------------------------------------------- Function */

static int function_init(Function *self, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"function", "handler", "guard", "index", "params", "result", NULL};
    PyObject *function, *handler, *guard;
    const char *params, *result;
    Py_ssize_t count;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OOOis#s", names, &function, &handler, &guard, &self->index, &params, &count, &result))
        return -1;
    if (count > MAX_PARAMS) {
        PyErr_SetString(PyExc_ValueError, "a host function has at most 16 parameters");
        return -1;
    }
    memcpy(self->params, params, (size_t)count);
    self->count = (int)count;
    self->result = result[0];
    self->function = Py_NewRef(function);
    self->handler = Py_NewRef(handler);
    self->guard = Py_NewRef(guard);
    return 0;
}

static void function_free(Function *self) {
    Py_XDECREF(self->function);
    Py_XDECREF(self->handler);
    Py_XDECREF(self->guard);
    Py_TYPE(self)->tp_free(self);
}

static PyObject *function_address(Function *self, void *unused) {
    (void)unused;
    return PyLong_FromVoidPtr(self);
}

static PyGetSetDef function_values[] = {
    {"address", (getter)function_address, NULL, "what the engine hands to the callback", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject FunctionType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "rotifer_host.sandbox.calls._native.Function",
    .tp_basicsize = sizeof(Function),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)function_init,
    .tp_dealloc = (destructor)function_free,
    .tp_getset = function_values,
    .tp_doc = "One host function as the engine's callback needs it.",
};

/* ---------------------------------------------------------------- Session */

static int take_cell(PyObject *object, Py_buffer *cell, Py_ssize_t length) {
    if (PyObject_GetBuffer(object, cell, PyBUF_WRITABLE) < 0) return 0;
    if (cell->len == length) return 1;
    PyErr_Format(PyExc_ValueError, "a cell of %zd bytes is needed", length);
    return 0;
}

static int session_init(Session *self, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"run", "context", "functions", "deadline_ns", "cancelled", "host_limit_ns", "host_used_ns", NULL};
    PyObject *run, *cancelled, *used;
    unsigned long long context, deadline, limit;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OKiKOKO", names, &run, &context, &self->functions,
                                     &deadline, &cancelled, &limit, &used))
        return -1;
    if (!take_cell(cancelled, &self->cancel_cell, 1) || !take_cell(used, &self->host_cell, sizeof(uint64_t))) return -1;
    self->context = (context_t *)(uintptr_t)context;
    self->cancelled = self->cancel_cell.buf;
    self->host_used_ns = self->host_cell.buf;
    self->deadline_ns = deadline;
    self->host_limit_ns = limit;
    self->stats = PyMem_Calloc((size_t)self->functions, sizeof(stats_t));
    if (self->stats == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    self->run = Py_NewRef(run);
    return 0;
}

static PyObject *session_forget(Session *self, PyObject *unused) {
    (void)unused;
    for (int at = 0; at < SLOTS; at++)
        if (self->kept[at].request != NULL) drop_kept(&self->kept[at]);
    Py_RETURN_NONE;
}

/* Let go of the run, which holds this session; the guest has ended. */
static PyObject *session_close(Session *self, PyObject *unused) {
    (void)unused;
    Py_DECREF(session_forget(self, NULL));
    if (self->versions.obj != NULL) PyBuffer_Release(&self->versions);
    Py_CLEAR(self->run);
    Py_RETURN_NONE;
}

static void session_free(Session *self) {
    for (int at = 0; at < SLOTS; at++) PyMem_RawFree(self->kept[at].request);
    if (self->versions.obj != NULL) PyBuffer_Release(&self->versions);
    if (self->host_cell.obj != NULL) PyBuffer_Release(&self->host_cell);
    if (self->cancel_cell.obj != NULL) PyBuffer_Release(&self->cancel_cell);
    PyMem_Free(self->stats);
    Py_XDECREF(self->run);
    Py_TYPE(self)->tp_free(self);
}

static PyObject *session_admit(Session *self, PyObject *const *arguments, Py_ssize_t count) {
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "admit takes response_length and out_cap");
        return NULL;
    }
    const Py_ssize_t length = PyLong_AsSsize_t(arguments[0]);
    const unsigned long out_cap = PyLong_AsUnsignedLong(arguments[1]);
    if (PyErr_Occurred() || !admit(self, length, (uint32_t)out_cap)) return NULL;
    Py_RETURN_NONE;
}

static PyObject *session_stats(Session *self, PyObject *unused) {
    (void)unused;
    PyObject *list = PyList_New(self->functions);
    if (list == NULL) return NULL;
    for (int at = 0; at < self->functions; at++) {
        const stats_t *stats = &self->stats[at];
        PyObject *errors = PyDict_New();
        for (int kind = 1; errors != NULL && kind < ERROR_KINDS; kind++) {
            if (stats->errors[kind] == 0) continue;
            PyObject *result = PyLong_FromLong(-kind), *times = PyLong_FromUnsignedLongLong(stats->errors[kind]);
            if (result == NULL || times == NULL || PyDict_SetItem(errors, result, times) < 0) Py_CLEAR(errors);
            Py_XDECREF(result);
            Py_XDECREF(times);
        }
        PyObject *item = errors == NULL ? NULL : Py_BuildValue("KNKKK", (unsigned long long)stats->count, errors,
            (unsigned long long)stats->bytes_in, (unsigned long long)stats->bytes_out, (unsigned long long)stats->nanos);
        if (item == NULL) {
            Py_DECREF(list);
            return NULL;
        }
        PyList_SET_ITEM(list, at, item);
    }
    return list;
}

static PyObject *session_watch(Session *self, PyObject *pages) {
    if (self->versions.obj != NULL) PyBuffer_Release(&self->versions);
    if (PyObject_GetBuffer(pages, &self->versions, PyBUF_SIMPLE) < 0) return NULL;
    if (self->versions.len < 2 * PAGE) {
        PyBuffer_Release(&self->versions);
        PyErr_SetString(PyExc_ValueError, "two pages of the store are needed");
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *session_keep(Session *self, PyObject *arguments) {
    int function;
    const char *request, *response;
    Py_ssize_t request_length, response_length;
    unsigned long long version, fresh_until;
    if (!PyArg_ParseTuple(arguments, "iy#y#KK", &function, &request, &request_length, &response, &response_length, &version, &fresh_until))
        return NULL;
    if (request_length > LARGEST_KEPT_REQUEST || response_length > LARGEST_KEPT_RESPONSE) Py_RETURN_NONE;
    kept_t *kept = &self->kept[slot_of(function, (const uint8_t *)request, (size_t)request_length)];
    drop_kept(kept);
    char *room = PyMem_RawMalloc((size_t)(request_length + response_length) + 1);
    if (room == NULL) Py_RETURN_NONE;
    memcpy(room, request, (size_t)request_length);
    memcpy(room + request_length, response, (size_t)response_length);
    *kept = (kept_t){room, room + request_length, (size_t)request_length, (size_t)response_length, version, fresh_until, function};
    Py_RETURN_NONE;
}

static PyObject *session_address(Session *self, void *unused) {
    (void)unused;
    return PyLong_FromVoidPtr(self);
}

static PyMethodDef session_methods[] = {
    {"admit", (PyCFunction)(void (*)(void))session_admit, METH_FASTCALL, "Measure and charge the response of the call under way."},
    {"close", (PyCFunction)session_close, METH_NOARGS, "Let go of the run and of what was kept."},
    {"forget", (PyCFunction)session_forget, METH_NOARGS, "Drop every kept response."},
    {"keep", (PyCFunction)session_keep, METH_VARARGS, "Keep a response for a version of the store, until a second since 1970."},
    {"stats", (PyCFunction)session_stats, METH_NOARGS, "Return (count, errors, bytes in, bytes out, nanoseconds) by function."},
    {"watch", (PyCFunction)session_watch, METH_O, "Take the store's version from these pages; nothing is served again without."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef session_values[] = {
    {"address", (getter)session_address, NULL, "what the store carries as its data", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject SessionType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "rotifer_host.sandbox.calls._native.Session",
    .tp_basicsize = sizeof(Session),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)session_init,
    .tp_dealloc = (destructor)session_free,
    .tp_methods = session_methods,
    .tp_getset = session_values,
    .tp_doc = "One gene's run as the callbacks see it.",
};

/* ---------------------------------------------------------------- the module */

static int take_address(PyObject *addresses, const char *name, void **into) {
    PyObject *address = PyDict_GetItemString(addresses, name);
    if (address == NULL) {
        PyErr_Format(PyExc_KeyError, "%s", name);
        return 0;
    }
    *into = PyLong_AsVoidPtr(address);
    return *into != NULL;
}

static PyObject *bind(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *addresses;
    unsigned long long base, per_byte, largest;
    if (!PyArg_ParseTuple(arguments, "O!KKKOOOOO", &PyDict_Type, &addresses, &base, &per_byte, &largest, &python_attach, &python_answer,
                          &python_explain, &python_keep, &python_unfit))
        return NULL;
    base_fuel = base;
    fuel_per_byte = per_byte;
    largest_request = largest;
    const int found = take_address(addresses, "wasmtime_caller_context", (void **)&engine.caller_context) &&
                      take_address(addresses, "wasmtime_caller_export_get", (void **)&engine.caller_export_get) &&
                      take_address(addresses, "wasmtime_context_get_data", (void **)&engine.context_get_data) &&
                      take_address(addresses, "wasmtime_context_get_fuel", (void **)&engine.context_get_fuel) &&
                      take_address(addresses, "wasmtime_context_set_fuel", (void **)&engine.context_set_fuel) &&
                      take_address(addresses, "wasmtime_memory_data", (void **)&engine.memory_data) &&
                      take_address(addresses, "wasmtime_memory_data_size", (void **)&engine.memory_data_size) &&
                      take_address(addresses, "wasmtime_trap_new", (void **)&engine.trap_new) &&
                      take_address(addresses, "wasmtime_error_delete", (void **)&engine.error_delete);
    if (!found) return NULL;
    Py_INCREF(python_attach);
    Py_INCREF(python_answer);
    Py_INCREF(python_explain);
    Py_INCREF(python_keep);
    Py_INCREF(python_unfit);
    return Py_BuildValue("KK", (unsigned long long)(uintptr_t)exchange, (unsigned long long)(uintptr_t)plain);
}

static PyMethodDef functions[] = {
    {"bind", bind, METH_VARARGS, "Take the engine's functions by address; return the addresses of the two callbacks."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "rotifer_host.sandbox.calls._native",
    .m_doc = "The native call path.",
    .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC PyInit__native(void) {
    if (PyType_Ready(&FunctionType) < 0 || PyType_Ready(&SessionType) < 0) return NULL;
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL) return NULL;
    if (PyModule_AddObjectRef(module, "Function", (PyObject *)&FunctionType) < 0 ||
        PyModule_AddObjectRef(module, "Session", (PyObject *)&SessionType) < 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
