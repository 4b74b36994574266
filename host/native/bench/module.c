/* rotifer_host.bench._shortcuts: a shortcut that is timed, and one that does nothing. */
#include "../shortcut.h"

#include <string.h>

/* ---------------------------------------------------------------- timed */

typedef struct {
    PyObject *capsule; /* of the shortcut that is timed */
    shortcut_t *shortcut;
    PyObject *enter, *leave;
} timed_t;

static PyObject *call_timed(const asked_t *asked) {
    const timed_t *timed = PyCapsule_GetContext(asked->capsule);
    PyObject *entered = PyObject_CallNoArgs(timed->enter);
    if (entered == NULL) return NULL;
    Py_DECREF(entered);
    asked_t same = *asked;
    same.capsule = timed->capsule;
    PyObject *response = timed->shortcut(&same), *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *left = PyObject_CallFunctionObjArgs(timed->leave, response != NULL ? Py_True : type != NULL ? Py_False : Py_None, NULL);
    if (left == NULL) {
        Py_CLEAR(response);
        Py_CLEAR(type);
        Py_CLEAR(value);
        Py_CLEAR(trace);
    } else {
        PyErr_Restore(type, value, trace);
    }
    Py_XDECREF(left);
    return response;
}

static void free_timed(PyObject *capsule) {
    timed_t *timed = PyCapsule_GetContext(capsule);
    if (timed == NULL) return;
    Py_DECREF(timed->capsule);
    Py_DECREF(timed->enter);
    Py_DECREF(timed->leave);
    PyMem_Free(timed);
}

static PyObject *time_shortcut(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *capsule, *enter, *leave;
    if (!PyArg_ParseTuple(arguments, "OOO", &capsule, &enter, &leave)) return NULL;
    shortcut_t *shortcut = (shortcut_t *)PyCapsule_GetPointer(capsule, SHORTCUT_CAPSULE);
    PyObject *timing = shortcut == NULL ? NULL : PyCapsule_New((void *)call_timed, SHORTCUT_CAPSULE, free_timed);
    timed_t *timed = timing == NULL ? NULL : PyMem_Malloc(sizeof *timed);
    if (timed == NULL) {
        Py_XDECREF(timing);
        return shortcut == NULL ? NULL : PyErr_NoMemory();
    }
    *timed = (timed_t){Py_NewRef(capsule), shortcut, Py_NewRef(enter), Py_NewRef(leave)};
    PyCapsule_SetContext(timing, timed);
    return timing;
}

/* ---------------------------------------------------------------- one that does nothing */

/* Answer with as many spaces as there is room for: the same ones as before, where the room is. */
static PyObject *fill(const asked_t *asked) {
    static PyObject *spaces;
    const Py_ssize_t room = (Py_ssize_t)asked->out_cap;
    if (!asked->admit(asked->store, room, asked->out_cap)) return NULL;
    if (spaces == NULL || PyBytes_GET_SIZE(spaces) != room) {
        Py_XSETREF(spaces, PyBytes_FromStringAndSize(NULL, room));
        if (spaces == NULL) return NULL;
        memset(PyBytes_AS_STRING(spaces), ' ', (size_t)room);
    }
    return Py_NewRef(spaces);
}

/* ---------------------------------------------------------------- the module */

static PyMethodDef functions[] = {
    {"timed", time_shortcut, METH_VARARGS, "Return a shortcut that calls `enter()`, then the given one, then `leave(answered)`."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "_shortcuts", .m_size = -1, .m_methods = functions};

PyMODINIT_FUNC PyInit__shortcuts(void) {
    PyObject *made = PyModule_Create(&module);
    PyObject *capsule = made == NULL ? NULL : PyCapsule_New((void *)fill, SHORTCUT_CAPSULE, NULL);
    if (capsule == NULL || PyModule_AddObjectRef(made, "fill", capsule) < 0) Py_CLEAR(made);
    Py_XDECREF(capsule);
    return made;
}
