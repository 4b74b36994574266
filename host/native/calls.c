/* The callbacks the engine calls: from a guest's import to a Python handler and back.
 *
 * The rules of a call are those of `exchange.py`, step for step; the suite of the call
 * paths holds the two together. What a call touches before it needs Python belongs to
 * its run's own Store, and a run belongs to one thread.
 */
#include "native.h"

static const uint64_t DEADLINE_IS_NEAR_NS = 100000000u, HOST_LIMIT_IS_NEAR_NS = 1000000000u;

static trap_t *end_run(void) {
    static const char text[] = "the host ended the run";
    return engine.trap_new(text, sizeof text - 1);
}

/* Keep the exception that is set on the run it belongs to: nothing is lost, nothing reaches another run. */
void keep_failure(Store *store) {
    PyObject *error = take_exception();
    PyObject *kept = PyObject_CallFunctionObjArgs(python_keep, store->run, error, NULL);
    if (kept == NULL) PyErr_WriteUnraisable(error);
    Py_XDECREF(kept);
    Py_DECREF(error);
}

/* What a handler or guard raised that is no refusal ends the run. */
static trap_t *end_of(Store *store) {
    if (!PyErr_Occurred()) return NULL;
    keep_failure(store);
    return end_run();
}

/* Look the memory up at the first call: a start function calls before there is an instance to ask for it. */
static int find_memory(Store *store, caller_t *caller) {
    if (store->has_memory) return 1;
    extern_t item;
    if (!engine.caller_export_get(caller, "memory", 6, &item) || item.kind != EXTERN_MEMORY) return 0;
    store->memory = item.of.memory;
    store->has_memory = 1;
    return 1;
}

/* ---------------------------------------------------------------- requests and responses */

static void count_error(stats_t *stats, int32_t result) {
    for (int at = 0; at < ERROR_KINDS; at++) {
        if (stats->errors[at].result != result && stats->errors[at].result != 0) continue;
        stats->errors[at].result = result;
        stats->errors[at].count++;
        return;
    }
}

static int32_t count_result(Store *store, stats_t *stats, uint64_t started, int32_t result) {
    const uint64_t spent = now_ns(CLOCK_MONOTONIC) - started;
    stats->count++;
    stats->nanos += spent;
    add_host_time(store, spent);
    if (result < 0) count_error(stats, result);
    return result;
}

/* Call the handler on a copy of the request; NULL with an exception set when it refuses. */
static PyObject *call_handler(Store *store, const Function *function, const uint8_t *request, uint32_t length, uint32_t out_cap) {
    PyObject *response = NULL;
    PyObject *copy = PyBytes_FromStringAndSize((const char *)request, length);
    PyObject *cap = PyLong_FromUnsignedLong(out_cap);
    store->admitted = NOT_ADMITTED;
    if (copy != NULL && cap != NULL) {
        PyObject *stack[] = {NULL, store->run, copy, cap};
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

static int admit_for(void *store, Py_ssize_t length, uint32_t out_cap) { return admit(store, length, out_cap); }

static void forget_for(void *store) { forget_kept(store); }

/* Let the function's shortcut answer; NULL without an exception where there is none, or where it leaves the answer to the handler. */
static PyObject *take_shortcut(Store *store, const Function *function, const uint8_t *request, uint32_t length, uint32_t out_cap,
                               uint64_t *until_s) {
    if (function->shortcut == NULL) return NULL;
    store->admitted = NOT_ADMITTED;
    const asked_t asked = {function->capsule, store->run, store->services, request, length, out_cap, store, admit_for, forget_for, until_s};
    PyObject *response = function->shortcut(&asked);
    if (response == NULL || PyBytes_CheckExact(response)) return response;
    PyErr_Format(PyExc_TypeError, "a shortcut returned %s, not bytes", Py_TYPE(response)->tp_name);
    Py_DECREF(response);
    return NULL;
}

/* Measure and charge a response once, before anything changes; 0 with the refusal set when it cannot be had. */
int admit(Store *store, Py_ssize_t length, uint32_t out_cap) {
    if (length <= (Py_ssize_t)out_cap && charge(store, fuel_per_byte * (uint64_t)length)) {
        store->admitted = length;
        return 1;
    }
    PyObject *raised = PyObject_CallFunction(python_unfit, "nI", length, out_cap);
    Py_XDECREF(raised);
    return 0;
}

static int is_admitted(Store *store, PyObject *response, uint32_t out_cap) {
    const Py_ssize_t length = PyBytes_GET_SIZE(response);
    if (store->admitted == NOT_ADMITTED) return admit(store, length, out_cap);
    if (store->admitted == length && length <= (Py_ssize_t)out_cap) return 1; /* admitted by a handler: out_cap may have been another */
    PyErr_Format(PyExc_RuntimeError, "a handler returned %zd bytes after %zd were admitted", length, store->admitted);
    return 0;
}

/* Let Python turn the exception that is set into a result; one that is no refusal stays set. */
static int32_t explain(Store *store, uint32_t out_ptr, uint32_t out_cap) {
    PyObject *error = take_exception();
    PyObject *answer = PyObject_CallFunction(python_explain, "OOII", store->run, error, out_ptr, out_cap);
    Py_DECREF(error);
    if (answer == NULL) return 0;
    const long result = PyLong_AsLong(answer);
    Py_DECREF(answer);
    return (int32_t)result;
}

trap_t *exchange(void *env, caller_t *caller, raw_t *args, size_t count) {
    (void)count;
    const Function *function = env;
    context_t *context = engine.caller_context(caller);
    Store *store = engine.context_get_data(context);
    stats_t *stats = &store->stats[function->index];
    const uint32_t req_ptr = (uint32_t)args[0].i32, req_len = (uint32_t)args[1].i32;
    const uint32_t out_ptr = (uint32_t)args[2].i32, out_cap = (uint32_t)args[3].i32;
    const uint64_t started = now_ns(CLOCK_MONOTONIC);
    int32_t result = BUDGET_EXHAUSTED;
    trap_t *trap = NULL;
    place_t *place = NULL;
    int by_shortcut = 0;
    uint64_t until_s = 0;

    if (!has_time(store, started) || host_used(store) >= store->host_limit_ns || !charge(store, base_fuel)) goto done;
    if (!find_memory(store, caller)) return end_run();
    if (!stats->let_in) {
        enter_python(store);
        PyObject *let_in = PyObject_CallOneArg(function->guard, store->run);
        result = let_in == NULL ? explain(store, out_ptr, out_cap) : 0;
        stats->let_in = let_in != NULL;
        Py_XDECREF(let_in);
        trap = end_of(store);
        leave_python(store);
        if (!stats->let_in) goto done;
    }
    uint8_t *const base = engine.memory_data(context, &store->memory);
    const uint64_t size = engine.memory_data_size(context, &store->memory);
    const int usable = inside(size, req_ptr, req_len) && inside(size, out_ptr, out_cap) && req_len <= largest_request;
    if (usable) {
        result = BUDGET_EXHAUSTED;
        if (!charge(store, fuel_per_byte * req_len)) goto done;
        stats->bytes_in += req_len;
        place = place_of(store, function, base + req_ptr, req_len);
        if (place != NULL) {
            result = serve_kept(store, place, function, base + req_ptr, req_len, base + out_ptr, out_cap);
            if (result != NOT_KEPT) goto done;
        }
    }
    enter_python(store);
    if (usable) {
        PyObject *response = take_shortcut(store, function, base + req_ptr, req_len, out_cap, &until_s);
        by_shortcut = response != NULL || PyErr_Occurred();
        stats->shortcuts += (uint64_t)by_shortcut;
        if (!by_shortcut) response = call_handler(store, function, base + req_ptr, req_len, out_cap);
        if (response != NULL && is_admitted(store, response, out_cap)) {
            if (place != NULL) keep_response(store, function, place, base + req_ptr, req_len, response, by_shortcut ? &until_s : NULL);
            result = (int32_t)PyBytes_GET_SIZE(response);
            memcpy(base + out_ptr, PyBytes_AS_STRING(response), (size_t)result);
        } else {
            result = explain(store, out_ptr, out_cap);
        }
        Py_XDECREF(response);
    } else { /* ranges outside memory, a request that is too large: told by the same code as on the other paths */
        PyObject *answer = PyObject_CallFunction(python_answer, "OOIIII", store->run, function->function, req_ptr, req_len, out_ptr, out_cap);
        result = answer == NULL ? 0 : (int32_t)PyLong_AsLong(answer);
        Py_XDECREF(answer);
    }
    trap = end_of(store);
    leave_python(store);
done:
    if (result > 0) stats->bytes_out += (uint64_t)result;
    args[0].i64 = 0;
    args[0].i32 = count_result(store, stats, started, result);
    return trap;
}

/* ---------------------------------------------------------------- functions with their own signature */

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

/* Call the handler; NULL with an exception set when it does not answer. */
static PyObject *call_plain(Store *store, const Function *function, const raw_t *args) {
    PyObject *stack[MAX_PARAMS + 2] = {NULL, store->run};
    PyObject *answer = NULL;
    int made = 0;
    while (made < function->count && (stack[2 + made] = to_python(function->params[made], &args[made])) != NULL) made++;
    if (made == function->count)
        answer = PyObject_Vectorcall(function->handler, stack + 1, (size_t)(1 + made) | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    for (int at = 0; at < made; at++) Py_DECREF(stack[2 + at]);
    return answer;
}

/* Which clock a call is timed by: the coarse one, which costs a quarter and is right on average, unless a limit is near. */
static clockid_t clock_for(const Store *store) {
    const uint64_t now = now_ns(CLOCK_MONOTONIC_COARSE);
    const int far = now + DEADLINE_IS_NEAR_NS < store->deadline_ns && host_used(store) + HOST_LIMIT_IS_NEAR_NS < store->host_limit_ns;
    return far ? CLOCK_MONOTONIC_COARSE : CLOCK_MONOTONIC;
}

trap_t *plain(void *env, caller_t *caller, raw_t *args, size_t count) {
    (void)count;
    const Function *function = env;
    Store *store = engine.context_get_data(engine.caller_context(caller));
    const clockid_t clock = clock_for(store);
    const uint64_t started = now_ns(clock);
    find_memory(store, caller); /* a guest without memory has nothing to point at */
    const int affordable = has_time(store, started) && host_used(store) < store->host_limit_ns && charge(store, base_fuel);
    enter_python(store);
    PyObject *answer = NULL;
    if (affordable) answer = call_plain(store, function, args);
    if (answer == NULL) {
        PyObject *error = affordable ? take_exception() : Py_NewRef(Py_None);
        answer = PyObject_CallFunctionObjArgs(python_exhausted, store->run, function->function, error, NULL);
        Py_DECREF(error);
    }
    if (answer != NULL && function->result != 0) from_python(function->result, answer, &args[0]);
    Py_XDECREF(answer);
    trap_t *trap = end_of(store);
    leave_python(store);
    add_host_time(store, now_ns(clock) - started);
    return trap;
}

/* ---------------------------------------------------------------- ticks */

/* Called on the guest's thread when the epoch has advanced: is it to go on? Python's signal handlers run here too. */
failure_t *on_epoch(context_t *context, void *data, uint64_t *delta, uint8_t *kind) {
    (void)data;
    Store *store = engine.context_get_data(context);
    enter_python(store);
    PyObject *go_on = PyErr_CheckSignals() < 0 ? NULL : PyObject_CallOneArg(python_go_on, store->run);
    const int goes_on = go_on == Py_True;
    if (go_on == NULL) keep_failure(store);
    Py_XDECREF(go_on);
    leave_python(store);
    *delta = 1;
    *kind = EPOCH_CONTINUE;
    return goes_on ? NULL : engine.error_new("ended by the host");
}
