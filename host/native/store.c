/* One guest's store: `store.py` in C, and what the callbacks know of the run in it. */
#include "native.h"

static int store_init(Store *self, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"engine", "memory_bytes", "table_elements", NULL};
    unsigned long long address;
    long long memory_bytes, table_elements;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "KLL", names, &address, &memory_bytes, &table_elements)) return -1;
    if ((self->guest_memory = PyObject_New(GuestMemory, &GuestMemoryType)) == NULL) return -1;
    self->guest_memory->store = self;
    self->store = engine.store_new((engine_t *)(uintptr_t)address, NULL, NULL);
    self->context = engine.store_context(self->store);
    engine.store_limiter(self->store, memory_bytes, table_elements, 1, (int64_t)most_tables, 1);
    engine.store_epoch_deadline_callback(self->store, on_epoch, NULL, NULL);
    engine.context_set_epoch_deadline(self->context, 1);
    return 0;
}

static int is_open(const Store *self) {
    if (self->store == NULL) PyErr_SetString(PyExc_RuntimeError, "the run has ended"); /* kept for longer than the run */
    return self->store != NULL;
}

static PyObject *store_close(Store *self, PyObject *unused) {
    (void)unused;
    if (self->guest_memory != NULL) self->guest_memory->store = NULL;
    self->has_memory = 0;
    store_t *store = self->store;
    self->store = NULL;
    if (store != NULL) {
        Py_BEGIN_ALLOW_THREADS /* gives memory back */
        engine.store_delete(store);
        Py_END_ALLOW_THREADS
    }
    Py_RETURN_NONE;
}

/* ---------------------------------------------------------------- fuel */

static int raise_unexpected(failure_t *error) {
    if (error == NULL) return 0;
    engine.error_delete(error); /* only for an engine without fuel, which the one configuration rules out */
    PyErr_SetString(PyExc_RuntimeError, "the engine meters no fuel");
    return -1;
}

static PyObject *store_fuel(Store *self, void *unused) {
    (void)unused;
    uint64_t left = 0;
    if (!is_open(self) || raise_unexpected(engine.context_get_fuel(self->context, &left)) < 0) return NULL;
    return PyLong_FromUnsignedLongLong(left);
}

static int store_set_fuel(Store *self, PyObject *value, void *unused) {
    (void)unused;
    const uint64_t fuel = value == NULL ? 0 : PyLong_AsUnsignedLongLong(value);
    if (PyErr_Occurred() || !is_open(self)) return -1;
    return raise_unexpected(engine.context_set_fuel(self->context, fuel));
}

/* ---------------------------------------------------------------- guest code */

/* What a call into the guest came to: None, or why it did not return. */
static PyObject *outcome(failure_t *error, trap_t *trap) {
    if (error == NULL && trap == NULL) Py_RETURN_NONE;
    return PyObject_CallFunction(python_failure, "KK", (unsigned long long)(uintptr_t)error, (unsigned long long)(uintptr_t)trap);
}

static int can_run(const Store *self) {
    if (!is_open(self)) return 0;
    if (self->run == NULL) PyErr_SetString(PyExc_RuntimeError, "no run has been entered");
    return self->run != NULL;
}

static int find_export(Store *self, const char *name, size_t length, uint8_t kind, extern_t *item) {
    if (engine.instance_export_get(self->context, &self->instance, name, length, item) && item->kind == kind) return 1;
    PyErr_Format(PyExc_LookupError, "no export %s of the expected kind", name);
    return 0;
}

static PyObject *store_instantiate(Store *self, PyObject *linked) {
    const instance_pre_t *pre = PyLong_AsVoidPtr(linked);
    trap_t *trap = NULL;
    extern_t item;
    if (PyErr_Occurred() || !can_run(self)) return NULL;
    leave_python(self);
    failure_t *error = engine.instance_pre_instantiate(pre, self->context, &self->instance, &trap);
    enter_python(self);
    if (error == NULL && trap == NULL && !self->has_memory) {
        if (!find_export(self, "memory", 6, EXTERN_MEMORY, &item)) return NULL;
        self->memory = item.of.memory;
        self->has_memory = 1;
    }
    return outcome(error, trap);
}

/* Call an export with i32s, which it is known to take, in the slots that its result, if any, comes back in. */
static PyObject *call(Store *self, PyObject *const *arguments, Py_ssize_t count, int has_result) {
    raw_t slots[MAX_PARAMS] = {{0}};
    Py_ssize_t length;
    extern_t item;
    trap_t *trap = NULL;
    if (count < 1 || count - 1 > MAX_PARAMS) {
        PyErr_SetString(PyExc_TypeError, "a name and at most 16 numbers are needed");
        return NULL;
    }
    const char *name = PyUnicode_AsUTF8AndSize(arguments[0], &length);
    if (name == NULL || !can_run(self) || !find_export(self, name, (size_t)length, EXTERN_FUNC, &item)) return NULL;
    for (Py_ssize_t at = 0; at < count - 1; at++) slots[at].i32 = (int32_t)(uint32_t)PyLong_AsUnsignedLong(arguments[at + 1]);
    if (PyErr_Occurred()) return NULL;
    const size_t used = count > 1 ? (size_t)count - 1 : (size_t)has_result;
    leave_python(self);
    failure_t *error = engine.func_call_unchecked(self->context, &item.of.func, slots, used, &trap);
    enter_python(self);
    if (error != NULL || trap != NULL || !has_result) return outcome(error, trap);
    return PyLong_FromLong(slots[0].i32);
}

static PyObject *store_call(Store *self, PyObject *const *arguments, Py_ssize_t count) { return call(self, arguments, count, 1); }

static PyObject *store_start(Store *self, PyObject *const *arguments, Py_ssize_t count) { return call(self, arguments, count, 0); }

/* ---------------------------------------------------------------- the run */

static int take_cell(PyObject *object, Py_buffer *cell, int flags, Py_ssize_t length) {
    if (PyObject_GetBuffer(object, cell, flags) < 0) return 0;
    if (cell->len == length) return 1;
    PyErr_Format(PyExc_ValueError, "a cell of %zd bytes is needed", length);
    return 0;
}

static PyObject *store_enter(Store *self, PyObject *const *arguments, Py_ssize_t count) {
    if (count != 8) {
        PyErr_SetString(PyExc_TypeError, "enter takes run, services, functions, deadline_ns, cancelled, host_limit_ns, host_used_ns and version");
        return NULL;
    }
    PyObject *cancelled = arguments[4], *used = arguments[6], *version = arguments[7];
    const long functions = PyLong_AsLong(arguments[2]);
    const long long deadline = PyLong_AsLongLong(arguments[3]), limit = PyLong_AsLongLong(arguments[5]);
    if (PyErr_Occurred() || !is_open(self)) return NULL;
    if (self->run != NULL) {
        PyErr_SetString(PyExc_RuntimeError, "a store is for one run");
        return NULL;
    }
    if (!take_cell(cancelled, &self->cancel_cell, PyBUF_WRITABLE, 1) ||
        !take_cell(used, &self->host_cell, PyBUF_WRITABLE, sizeof(uint64_t)) ||
        (version != Py_None && !take_cell(version, &self->version_cell, PyBUF_SIMPLE, sizeof(uint64_t))))
        return NULL;
    if ((self->stats = PyMem_Calloc((size_t)functions + 1, sizeof(stats_t))) == NULL) return PyErr_NoMemory();
    self->functions = (int)functions;
    self->cancelled = self->cancel_cell.buf;
    self->host_used_ns = self->host_cell.buf;
    self->version = self->version_cell.buf; /* NULL without one */
    self->deadline_ns = deadline < 0 ? 0 : (uint64_t)deadline;
    self->host_limit_ns = limit < 0 ? 0 : (uint64_t)limit;
    self->own = PyThreadState_Get();
    self->services = Py_NewRef(arguments[1]);
    self->run = Py_NewRef(arguments[0]);
    engine.context_set_data(self->context, self);
    Py_RETURN_NONE;
}

static PyObject *errors_of(const stats_t *stats) {
    PyObject *errors = PyDict_New();
    for (int at = 0; errors != NULL && at < ERROR_KINDS && stats->errors[at].result != 0; at++) {
        PyObject *result = PyLong_FromLong(stats->errors[at].result);
        PyObject *times = PyLong_FromUnsignedLongLong(stats->errors[at].count);
        if (result == NULL || times == NULL || PyDict_SetItem(errors, result, times) < 0) Py_CLEAR(errors);
        Py_XDECREF(result);
        Py_XDECREF(times);
    }
    return errors;
}

static PyObject *store_stats(Store *self, PyObject *unused) {
    (void)unused;
    PyObject *list = PyList_New(0);
    for (int at = 0; list != NULL && self->stats != NULL && at < self->functions; at++) {
        const stats_t *stats = &self->stats[at];
        if (stats->count == 0) continue;
        PyObject *errors = errors_of(stats);
        PyObject *item = errors == NULL ? NULL : Py_BuildValue("iKNKKKK", at, (unsigned long long)stats->count, errors,
            (unsigned long long)stats->bytes_in, (unsigned long long)stats->bytes_out, (unsigned long long)stats->nanos,
            (unsigned long long)stats->shortcuts);
        if (item == NULL || PyList_Append(list, item) < 0) Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

/* Let go of the run, which holds this store; the guest has ended. */
static PyObject *store_leave(Store *self, PyObject *unused) {
    (void)unused;
    free_kept(self);
    self->version = NULL;
    PyBuffer_Release(&self->version_cell);
    PyBuffer_Release(&self->host_cell);
    PyBuffer_Release(&self->cancel_cell);
    PyMem_Free(self->stats);
    self->stats = NULL;
    Py_CLEAR(self->run);
    Py_CLEAR(self->services);
    Py_RETURN_NONE;
}

static PyObject *store_forget(Store *self, PyObject *unused) {
    (void)unused;
    forget_kept(self);
    Py_RETURN_NONE;
}

static PyObject *store_admit(Store *self, PyObject *const *arguments, Py_ssize_t count) {
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "admit takes response_length and out_cap");
        return NULL;
    }
    const Py_ssize_t length = PyLong_AsSsize_t(arguments[0]);
    const unsigned long out_cap = PyLong_AsUnsignedLong(arguments[1]);
    if (PyErr_Occurred() || !is_open(self) || !admit(self, length, (uint32_t)out_cap)) return NULL;
    Py_RETURN_NONE;
}

static void store_free(Store *self) {
    Py_DECREF(store_close(self, NULL));
    Py_DECREF(store_leave(self, NULL));
    Py_XDECREF(self->guest_memory);
    Py_TYPE(self)->tp_free(self);
}

static PyObject *store_memory(Store *self, void *unused) {
    (void)unused;
    return Py_NewRef(self->guest_memory);
}

static PyMethodDef methods[] = {
    {"admit", (PyCFunction)(void (*)(void))store_admit, METH_FASTCALL, "Measure and charge the response of the call under way."},
    {"call", (PyCFunction)(void (*)(void))store_call, METH_FASTCALL, "Call an exported function of i32s that returns one; returns it, signed, or the failure."},
    {"close", (PyCFunction)store_close, METH_NOARGS, "Free the store with everything in it."},
    {"enter", (PyCFunction)(void (*)(void))store_enter, METH_FASTCALL, "Let host calls find this run; on the thread that will run the guest."},
    {"forget", (PyCFunction)store_forget, METH_NOARGS, "Drop every kept response."},
    {"instantiate", (PyCFunction)store_instantiate, METH_O, "Make the instance of a linked module, running its start function; returns the failure, if any."},
    {"leave", (PyCFunction)store_leave, METH_NOARGS, "Let go of the run, of its counts and of what was kept."},
    {"start", (PyCFunction)(void (*)(void))store_start, METH_FASTCALL, "Call an exported function without parameters or result; returns the failure, if any."},
    {"stats", (PyCFunction)store_stats, METH_NOARGS, "Return (index, count, errors, bytes in, bytes out, nanoseconds, shortcuts) of each function that was called."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef values[] = {
    {"fuel", (getter)store_fuel, (setter)store_set_fuel, "Fuel left; may be set, from inside a host call too.", NULL},
    {"memory", (getter)store_memory, NULL, "The guest's linear memory.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject StoreType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "rotifer_host.sandbox._native.Store",
    .tp_basicsize = sizeof(Store),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)store_init,
    .tp_dealloc = (destructor)store_free,
    .tp_methods = methods,
    .tp_getset = values,
    .tp_doc = "One guest's store, and its run as the callbacks see it.",
};
