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
enum { MAX_PARAMS = 16, PLACES = 64, LARGEST_KEPT_REQUEST = 1024, LARGEST_KEPT_RESPONSE = 64 * 1024 };

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
static PyObject *python_exhausted; /* (run, function, error or None) -> what a function without a budget answers, or raises */

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
    PyObject *unchanged_until; /* exchange: (run) -> a second or None; or None */
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
    uint64_t hash, version, until_s;
    char *request, *response; /* one allocation, freed by `request` */
    size_t request_length, response_length;
    int function, asked_before;
} kept_t;

typedef struct {
    PyObject_HEAD
    PyObject *run;
    PyThreadState *thread; /* of the thread that runs the guest */
    context_t *context;
    memory_t memory;
    int has_memory;
    const char *cancelled; /* the run's deadline sets it */
    Py_buffer cancel_cell;
    uint64_t deadline_ns;
    uint64_t host_limit_ns;
    _Atomic uint64_t *host_used_ns; /* shared by the genes of a run */
    Py_buffer host_cell;
    const volatile uint64_t *version; /* another number whenever an answer may have changed; NULL where nobody says */
    Py_buffer version_cell;
    int functions;
    Py_ssize_t admitted; /* length of the response the call under way has admitted, or NOT_ADMITTED */
    stats_t *stats;
    kept_t kept[PLACES];
} Session;

/* ---------------------------------------------------------------- the interpreter lock */

/* The guest was called by the session's thread, which gave the lock up with this state. */
static void enter_python(Session *session) { PyEval_RestoreThread(session->thread); }

static void leave_python(Session *session) { session->thread = PyEval_SaveThread(); }

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
    enter_python(session);
    PyObject *done = PyObject_CallFunction(python_attach, "OKy#", session->run, (unsigned long long)(uintptr_t)session->context,
                                           (const char *)&session->memory, (Py_ssize_t)sizeof(memory_t));
    if (done == NULL) PyErr_WriteUnraisable(session->run);
    Py_XDECREF(done);
    leave_python(session);
    return 1;
}

static int inside(uint64_t size, uint32_t start, uint32_t length) { return (uint64_t)start + length <= size; }

/* ---------------------------------------------------------------- responses kept while nothing changes */

static uint64_t hash_of(int function, const uint8_t *request, size_t length) {
    uint64_t hash = 0x9E3779B97F4A7C15u ^ length ^ ((uint64_t)function << 32);
    for (size_t at = 0; at < length; at += 8) {
        uint64_t word = 0;
        memcpy(&word, request + at, length - at < 8 ? length - at : 8);
        hash = (hash ^ word) * 0xD6E8FEB86659FD93u;
        hash ^= hash >> 32;
    }
    return hash;
}

static void drop_kept(kept_t *kept) {
    PyMem_RawFree(kept->request);
    memset(kept, 0, sizeof *kept);
}

/* The place of a request: holding its response, or the memory of having been asked at this version, or cleared for it. */
static kept_t *place_of(Session *session, const Function *function, const uint8_t *request, uint32_t length) {
    if (session->version == NULL || function->unchanged_until == Py_None || length > LARGEST_KEPT_REQUEST) return NULL;
    const uint64_t version = *session->version;
    const uint64_t hash = hash_of(function->index, request, length);
    kept_t *place = &session->kept[hash % PLACES];
    if (place->hash != hash || place->version != version) {
        drop_kept(place);
        place->hash = hash;
        place->version = version;
        place->function = function->index;
    }
    return place;
}

static int holds(const kept_t *place, const Function *function, const uint8_t *request, uint32_t length) {
    return place->request != NULL && place->function == function->index && place->request_length == length &&
           memcmp(place->request, request, length) == 0 &&
           (place->until_s == UINT64_MAX || now_ns(CLOCK_REALTIME) / 1000000000u < place->until_s);
}

/* Keep a response that was given before at this version, when its function says until when it stays right. */
static void keep(Session *session, const Function *function, kept_t *place, const uint8_t *request, uint32_t length, PyObject *response) {
    const size_t size = (size_t)PyBytes_GET_SIZE(response);
    if (!place->asked_before) {
        place->asked_before = 1;
        return;
    }
    if (size > LARGEST_KEPT_RESPONSE) return;
    PyObject *until = PyObject_CallOneArg(function->unchanged_until, session->run);
    if (until != NULL && until != Py_None) {
        char *room = PyMem_RawMalloc(length + size + 1);
        const uint64_t second = PyLong_AsUnsignedLongLong(until);
        if (room != NULL && !PyErr_Occurred()) {
            PyMem_RawFree(place->request);
            memcpy(room, request, length);
            memcpy(room + length, PyBytes_AS_STRING(response), size);
            place->request = room;
            place->response = room + length;
            place->request_length = length;
            place->response_length = size;
            place->until_s = second;
        } else {
            PyMem_RawFree(room);
        }
    }
    Py_XDECREF(until);
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

static int32_t serve(Session *session, const kept_t *place, uint8_t *out) {
    if (!charge(session, fuel_per_byte * place->response_length)) return BUDGET_EXHAUSTED;
    memcpy(out, place->response, place->response_length);
    return (int32_t)place->response_length;
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
    kept_t *place = NULL;

    if (!has_budget(session, started) || !charge(session, base_fuel)) goto done;
    if (!find_memory(session, caller)) return end_run();
    if (!stats->let_in) {
        enter_python(session);
        PyObject *let_in = PyObject_CallOneArg(function->guard, session->run);
        result = let_in == NULL ? explain(session, out_ptr, out_cap) : 0;
        stats->let_in = let_in != NULL;
        Py_XDECREF(let_in);
        trap = end_of(session);
        leave_python(session);
        if (!stats->let_in) goto done;
    }
    uint8_t *const base = engine.memory_data(context, &session->memory);
    const uint64_t size = engine.memory_data_size(context, &session->memory);
    const int usable = inside(size, req_ptr, req_len) && inside(size, out_ptr, out_cap) && req_len <= largest_request;
    if (usable) {
        result = BUDGET_EXHAUSTED;
        if (!charge(session, fuel_per_byte * req_len)) goto done;
        stats->bytes_in += req_len;
        place = place_of(session, function, base + req_ptr, req_len);
        if (place != NULL && holds(place, function, base + req_ptr, req_len) && place->response_length <= out_cap) {
            result = serve(session, place, base + out_ptr);
            goto done;
        }
    }
    enter_python(session);
    if (usable) {
        PyObject *response = call_handler(session, function, base + req_ptr, req_len, out_cap);
        if (response != NULL && is_admitted(session, response, out_cap)) {
            if (place != NULL) keep(session, function, place, base + req_ptr, req_len, response);
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
    leave_python(session);
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
static void from_python(char kind, PyObject *value, raw_t *into) {
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
}

/* Call a function with its own signature; NULL with an exception set when it does not answer. */
static PyObject *call_plain(Session *session, const Function *function, const raw_t *args) {
    PyObject *stack[MAX_PARAMS + 2] = {NULL, session->run};
    PyObject *answer = NULL;
    int made = 0;
    while (made < function->count && (stack[2 + made] = to_python(function->params[made], &args[made])) != NULL) made++;
    if (made == function->count)
        answer = PyObject_Vectorcall(function->handler, stack + 1, (size_t)(1 + made) | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    for (int at = 0; at < made; at++) Py_DECREF(stack[2 + at]);
    return answer;
}

static trap_t *plain(void *env, caller_t *caller, raw_t *args, size_t count) {
    (void)count;
    Function *function = env;
    Session *session = engine.context_get_data(engine.caller_context(caller));
    const uint64_t started = now_ns(CLOCK_MONOTONIC);
    find_memory(session, caller); /* a guest without memory has nothing to point at */
    const int affordable = has_budget(session, started) && charge(session, base_fuel);
    enter_python(session);
    PyObject *answer = NULL;
    if (affordable) answer = call_plain(session, function, args);
    if (answer == NULL) {
        PyObject *error = affordable ? take_exception() : Py_NewRef(Py_None);
        answer = PyObject_CallFunctionObjArgs(python_exhausted, session->run, function->function, error, NULL);
        Py_DECREF(error);
    }
    if (answer != NULL && function->result != 0) from_python(function->result, answer, &args[0]);
    Py_XDECREF(answer);
    trap_t *trap = end_of(session);
    leave_python(session);
    atomic_fetch_add_explicit(session->host_used_ns, now_ns(CLOCK_MONOTONIC) - started, memory_order_relaxed);
    return trap;
}

/* ---------------------------------------------------------------- Function */

static int function_init(Function *self, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"function", "handler", "guard", "unchanged_until", "index", "params", "result", NULL};
    PyObject *function, *handler, *guard, *until;
    const char *params, *result;
    Py_ssize_t count;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OOOOis#s", names, &function, &handler, &guard, &until, &self->index, &params, &count, &result))
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
    self->unchanged_until = Py_NewRef(until);
    return 0;
}

static void function_free(Function *self) {
    Py_XDECREF(self->function);
    Py_XDECREF(self->handler);
    Py_XDECREF(self->guard);
    Py_XDECREF(self->unchanged_until);
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
    self->thread = PyThreadState_Get();
    return 0;
}

static PyObject *session_forget(Session *self, PyObject *unused) {
    (void)unused;
    for (int at = 0; at < PLACES; at++) drop_kept(&self->kept[at]);
    Py_RETURN_NONE;
}

/* Let go of the run, which holds this session; the guest has ended. */
static PyObject *session_close(Session *self, PyObject *unused) {
    (void)unused;
    Py_DECREF(session_forget(self, NULL));
    self->version = NULL;
    if (self->version_cell.obj != NULL) PyBuffer_Release(&self->version_cell);
    Py_CLEAR(self->run);
    Py_RETURN_NONE;
}

static void session_free(Session *self) {
    for (int at = 0; at < PLACES; at++) PyMem_RawFree(self->kept[at].request);
    if (self->version_cell.obj != NULL) PyBuffer_Release(&self->version_cell);
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

static PyObject *errors_of(const stats_t *stats) {
    PyObject *errors = PyDict_New();
    for (int kind = 1; errors != NULL && kind < ERROR_KINDS; kind++) {
        if (stats->errors[kind] == 0) continue;
        PyObject *result = PyLong_FromLong(-kind), *times = PyLong_FromUnsignedLongLong(stats->errors[kind]);
        if (result == NULL || times == NULL || PyDict_SetItem(errors, result, times) < 0) Py_CLEAR(errors);
        Py_XDECREF(result);
        Py_XDECREF(times);
    }
    return errors;
}

static PyObject *session_stats(Session *self, PyObject *unused) {
    (void)unused;
    PyObject *list = PyList_New(0);
    for (int at = 0; list != NULL && at < self->functions; at++) {
        const stats_t *stats = &self->stats[at];
        if (stats->count == 0) continue;
        PyObject *errors = errors_of(stats);
        PyObject *item = errors == NULL ? NULL : Py_BuildValue("iKNKKK", at, (unsigned long long)stats->count, errors,
            (unsigned long long)stats->bytes_in, (unsigned long long)stats->bytes_out, (unsigned long long)stats->nanos);
        if (item == NULL || PyList_Append(list, item) < 0) Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

static PyObject *session_watch(Session *self, PyObject *cell) {
    if (PyObject_GetBuffer(cell, &self->version_cell, PyBUF_SIMPLE) < 0) return NULL;
    if (self->version_cell.len != sizeof(uint64_t)) {
        PyBuffer_Release(&self->version_cell);
        PyErr_SetString(PyExc_ValueError, "a version is eight bytes");
        return NULL;
    }
    self->version = self->version_cell.buf;
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
    {"stats", (PyCFunction)session_stats, METH_NOARGS, "Return (index, count, errors, bytes in, bytes out, nanoseconds) of each function that was called."},
    {"watch", (PyCFunction)session_watch, METH_O, "Take the version of what is answered from these eight bytes."},
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
    if (!PyArg_ParseTuple(arguments, "O!KKKOOOOOO", &PyDict_Type, &addresses, &base, &per_byte, &largest, &python_attach, &python_answer,
                          &python_explain, &python_keep, &python_unfit, &python_exhausted))
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
    Py_INCREF(python_exhausted);
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
