/* The module `_native`: what Python hands over, the description of a host function, and the list of types. */
#include "native.h"

engine_functions_t engine;
uint64_t base_fuel, fuel_per_byte, largest_request, most_tables;
PyObject *python_answer, *python_explain, *python_keep, *python_unfit, *python_exhausted, *python_go_on, *python_failure;

/* ---------------------------------------------------------------- Function */

static int function_init(Function *self, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"function", "handler", "guard", "unchanged_until", "shortcut", "index", "params", "result", NULL};
    PyObject *function, *handler, *guard, *until, *shortcut;
    const char *params, *result;
    Py_ssize_t count;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OOOOOis#s", names, &function, &handler, &guard, &until, &shortcut, &self->index, &params, &count, &result))
        return -1;
    if (count > MAX_PARAMS) {
        PyErr_SetString(PyExc_ValueError, "a host function has at most 16 parameters");
        return -1;
    }
    if (shortcut != Py_None && (self->shortcut = (shortcut_t *)PyCapsule_GetPointer(shortcut, SHORTCUT_CAPSULE)) == NULL) return -1;
    memcpy(self->params, params, (size_t)count);
    self->count = (int)count;
    self->result = result[0];
    self->function = Py_NewRef(function);
    self->handler = Py_NewRef(handler);
    self->guard = Py_NewRef(guard);
    self->unchanged_until = Py_NewRef(until);
    self->capsule = Py_NewRef(shortcut);
    return 0;
}

static void function_free(Function *self) {
    Py_XDECREF(self->function);
    Py_XDECREF(self->handler);
    Py_XDECREF(self->guard);
    Py_XDECREF(self->unchanged_until);
    Py_XDECREF(self->capsule);
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

PyTypeObject FunctionType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "rotifer_host.sandbox._native.Function",
    .tp_basicsize = sizeof(Function),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)function_init,
    .tp_dealloc = (destructor)function_free,
    .tp_getset = function_values,
    .tp_doc = "One host function as the engine's callback needs it.",
};

/* ---------------------------------------------------------------- bind */

static int take_address(PyObject *addresses, const char *name, void **into) {
    PyObject *address = PyDict_GetItemString(addresses, name);
    if (address == NULL) {
        PyErr_Format(PyExc_KeyError, "%s", name);
        return 0;
    }
    *into = PyLong_AsVoidPtr(address);
    return *into != NULL;
}

static PyObject *bind(PyObject *module, PyObject *arguments, PyObject *keywords) {
    (void)module;
    static char *names[] = {"addresses", "base_fuel", "fuel_per_byte", "largest_request", "most_tables", "answer",
                            "explain", "keep", "unfit", "exhausted", "go_on", "failure", NULL};
    PyObject *addresses;
    unsigned long long base, per_byte, largest, tables;
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) { /* there is one of all this in a process */
        PyErr_SetString(PyExc_ImportError, "the native call path is there for the main interpreter alone");
        return NULL;
    }
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O!KKKKOOOOOOO", names, &PyDict_Type, &addresses, &base, &per_byte,
                                     &largest, &tables, &python_answer, &python_explain, &python_keep, &python_unfit,
                                     &python_exhausted, &python_go_on, &python_failure))
        return NULL;
    base_fuel = base;
    fuel_per_byte = per_byte;
    largest_request = largest;
    most_tables = tables;
#define TAKE(result, name, parameters) \
    if (!take_address(addresses, "wasmtime_" #name, (void **)&engine.name)) return NULL;
    ENGINE_FUNCTIONS(TAKE)
#undef TAKE
    PyObject *kept[] = {python_answer, python_explain, python_keep, python_unfit, python_exhausted, python_go_on, python_failure};
    for (size_t at = 0; at < sizeof kept / sizeof kept[0]; at++) Py_INCREF(kept[at]);
    return Py_BuildValue("KK", (unsigned long long)(uintptr_t)exchange, (unsigned long long)(uintptr_t)plain);
}

static PyMethodDef functions[] = {
    {"bind", (PyCFunction)(void (*)(void))bind, METH_VARARGS | METH_KEYWORDS, "Take the engine's functions by address; return the addresses of the two callbacks."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "rotifer_host.sandbox._native",
    .m_doc = "The native call path.",
    .m_size = -1,
    .m_methods = functions,
};

/* The names of the functions that `bind` needs the addresses of. */
static PyObject *engine_functions(void) {
#define NAME(result, name, parameters) "wasmtime_" #name,
    static const char *const names[] = {ENGINE_FUNCTIONS(NAME)};
#undef NAME
    const Py_ssize_t count = sizeof names / sizeof names[0];
    PyObject *list = PyTuple_New(count);
    for (Py_ssize_t at = 0; list != NULL && at < count; at++) {
        PyObject *name = PyUnicode_FromString(names[at]);
        if (name == NULL) Py_CLEAR(list);
        else PyTuple_SET_ITEM(list, at, name);
    }
    return list;
}

PyMODINIT_FUNC PyInit__native(void) {
    static const struct { const char *name; PyTypeObject *type; } types[] = {
        {"Function", &FunctionType}, {"GuestMemory", &GuestMemoryType}, {"Store", &StoreType}, {"Ticker", &TickerType}};
    PyObject *module = PyModule_Create(&definition);
    PyObject *names = module == NULL ? NULL : engine_functions();
    int added = names != NULL && PyModule_AddObjectRef(module, "ENGINE_FUNCTIONS", names) == 0 && PyModule_AddIntMacro(module, ERROR_KINDS) == 0;
    Py_XDECREF(names);
    for (size_t at = 0; added && at < sizeof types / sizeof types[0]; at++)
        added = PyType_Ready(types[at].type) == 0 && PyModule_AddObjectRef(module, types[at].name, (PyObject *)types[at].type) == 0;
    if (!added) Py_CLEAR(module);
    return module;
}
