/* `audit.link` for a processor that has SHA-256: the same bytes, without an object for each part of a line. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "../sha256.h"

#define QUOTED_BYTES (2 * SHA256_BYTES + 2)
static const char prev_name[] = ",\"prev\":", above_name[] = ",\"above\":";
enum { PREV_BYTES = sizeof prev_name - 1, ABOVE_BYTES = sizeof above_name - 1 };

typedef struct {
    char text[QUOTED_BYTES];
    Py_ssize_t length;
} quoted_t;

/* A hash in hexadecimal, `null` for none. */
static quoted_t quoted(const uint8_t *digest, Py_ssize_t length) {
    quoted_t quoted = {"null", 4};
    if (length == 0) return quoted;
    quoted.text[0] = quoted.text[QUOTED_BYTES - 1] = '"';
    sha256_hex(digest, quoted.text + 1);
    quoted.length = QUOTED_BYTES;
    return quoted;
}

static char *put(char *at, const char *text, Py_ssize_t length) {
    memcpy(at, text, (size_t)length);
    return at + length;
}

/* A line with its last members; NULL with an exception set. */
static PyObject *linked(PyObject *line, const quoted_t *prev, const quoted_t *above) {
    if (!PyBytes_Check(line) || PyBytes_GET_SIZE(line) == 0) {
        PyErr_SetString(PyExc_TypeError, "a line is bytes that end with a brace");
        return NULL;
    }
    const Py_ssize_t open = PyBytes_GET_SIZE(line) - 1;
    const Py_ssize_t more = prev == NULL ? 0 : PREV_BYTES + prev->length;
    PyObject *text = PyBytes_FromStringAndSize(NULL, open + more + ABOVE_BYTES + above->length + 1);
    if (text == NULL) return NULL;
    char *at = put(PyBytes_AS_STRING(text), PyBytes_AS_STRING(line), open);
    if (prev != NULL) at = put(put(at, prev_name, PREV_BYTES), prev->text, prev->length);
    *put(put(at, above_name, ABOVE_BYTES), above->text, above->length) = '}';
    return text;
}

static bool is_hash(PyObject *value) {
    return PyBytes_Check(value) && (PyBytes_GET_SIZE(value) == 0 || PyBytes_GET_SIZE(value) == SHA256_BYTES);
}

static quoted_t quoted_object(PyObject *hash) {
    return quoted((const uint8_t *)PyBytes_AS_STRING(hash), PyBytes_GET_SIZE(hash));
}

/* link(lines, after, above) -> (lines, last) */
static PyObject *link_lines(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (count != 3 || !(arguments[1] == Py_None || is_hash(arguments[1])) || !is_hash(arguments[2])) {
        PyErr_SetString(PyExc_TypeError, "link takes lines, a hash or None, and a hash");
        return NULL;
    }
    PyObject *lines = PySequence_Fast(arguments[0], "link takes lines, a hash or None, and a hash");
    if (lines == NULL) return NULL;
    const Py_ssize_t length = PySequence_Fast_GET_SIZE(lines);
    PyObject *whole = PyList_New(length); /* may collect garbage, and so run what changes the lines */
    if (whole != NULL && PySequence_Fast_GET_SIZE(lines) != length) {
        PyErr_SetString(PyExc_RuntimeError, "the lines changed while they were linked");
        Py_CLEAR(whole);
    }
    const bool chained = arguments[1] != Py_None;
    quoted_t above = quoted_object(arguments[2]), prev = above;
    if (chained) prev = quoted_object(arguments[1]);
    uint8_t digest[SHA256_BYTES];
    for (Py_ssize_t i = 0; whole != NULL && i < length; i++) {
        PyObject *text = linked(PySequence_Fast_GET_ITEM(lines, i), chained ? &prev : NULL, &above);
        if (text == NULL) {
            Py_CLEAR(whole);
            break;
        }
        sha256_of((const uint8_t *)PyBytes_AS_STRING(text), (size_t)PyBytes_GET_SIZE(text), digest);
        PyList_SET_ITEM(whole, i, text);
        above = prev = quoted(digest, sizeof digest);
    }
    Py_DECREF(lines);
    if (whole == NULL) return NULL;
    PyObject *last = length == 0 ? Py_NewRef(arguments[2]) : PyBytes_FromStringAndSize((char *)digest, sizeof digest);
    return Py_BuildValue("NN", whole, last); /* takes both, also when it fails */
}

static PyMethodDef methods[] = {
    {"link", (PyCFunction)(void *)link_lines, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_line", .m_methods = methods};

PyMODINIT_FUNC PyInit__line(void) {
    if (!sha256_is_here()) {
        PyErr_SetString(PyExc_ImportError, "this processor has no SHA-256");
        return NULL;
    }
    return PyModule_Create(&definition);
}
