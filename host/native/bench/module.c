/* rotifer_host.bench._shortcuts: a shortcut that is timed, and one that does nothing. */
#include "../shortcut.h"

#include <string.h>

/* ---------------------------------------------------------------- timed */

enum { PLACES = 8 };

typedef struct {
    PyObject *capsule; /* of the shortcut that is timed; NULL where the place is free */
    shortcut_t *shortcut;
    PyObject *enter, *leave;
} timed_t;

static timed_t places[PLACES];

static PyObject *call(const timed_t *timed, const asked_t *asked) {
    PyObject *entered = PyObject_CallNoArgs(timed->enter);
    if (entered == NULL) return NULL;
    Py_DECREF(entered);
    PyObject *response = timed->shortcut(asked), *type, *value, *trace;
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

/* A shortcut is called with nothing that says which it is: each place has a function of its own. */
#define PLACE(at) static PyObject *call_##at(const asked_t *asked) { return call(&places[at], asked); }
PLACE(0) PLACE(1) PLACE(2) PLACE(3) PLACE(4) PLACE(5) PLACE(6) PLACE(7)
static shortcut_t *const calls[PLACES] = {call_0, call_1, call_2, call_3, call_4, call_5, call_6, call_7};

static int free_place(void) {
    int at = 0;
    while (at < PLACES && places[at].capsule != NULL) at++;
    return at;
}

static void give_back(PyObject *capsule) {
    timed_t *place = PyCapsule_GetContext(capsule);
    Py_CLEAR(place->capsule);
    Py_CLEAR(place->enter);
    Py_CLEAR(place->leave);
}

static PyObject *time_shortcut(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *capsule, *enter, *leave;
    if (!PyArg_ParseTuple(arguments, "OOO", &capsule, &enter, &leave)) return NULL;
    shortcut_t *shortcut = (shortcut_t *)PyCapsule_GetPointer(capsule, SHORTCUT_CAPSULE);
    if (shortcut == NULL) return NULL;
    int at = free_place();
    if (at == PLACES) { /* those of an earlier measurement may be garbage that is not collected yet */
        PyGC_Collect();
        at = free_place();
    }
    if (at == PLACES) return PyErr_Format(PyExc_RuntimeError, "no more than %d shortcuts can be timed at once", PLACES);
    PyObject *timed = PyCapsule_New((void *)calls[at], SHORTCUT_CAPSULE, NULL);
    if (timed == NULL) return NULL;
    places[at] = (timed_t){Py_NewRef(capsule), shortcut, Py_NewRef(enter), Py_NewRef(leave)};
    if (PyCapsule_SetContext(timed, &places[at]) < 0 || PyCapsule_SetDestructor(timed, give_back) < 0) Py_CLEAR(timed);
    return timed;
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
