/* `files.size_if_at`: one look at a path, without an object for everything there is to know of a file. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <errno.h>
#include <sys/stat.h>

/* size_if_at(path, (device, inode)) -> size, or -1 */
static PyObject *size_if_at(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *path, *encoded;
    unsigned long long device, inode;
    if (!PyArg_ParseTuple(arguments, "O(KK):size_if_at", &path, &device, &inode) || !PyUnicode_FSConverter(path, &encoded)) return NULL;
    struct stat found;
    int error;
    Py_BEGIN_ALLOW_THREADS
    error = stat(PyBytes_AS_STRING(encoded), &found) == 0 ? 0 : errno;
    Py_END_ALLOW_THREADS
    Py_DECREF(encoded);
    if (error == ENOENT || (error == 0 && (found.st_dev != device || found.st_ino != inode))) return PyLong_FromLong(-1);
    if (error == 0) return PyLong_FromLongLong((long long)found.st_size);
    errno = error;
    return PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path);
}

static PyMethodDef methods[] = {
    {"size_if_at", size_if_at, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_files", .m_methods = methods};

PyMODINIT_FUNC PyInit__files(void) { return PyModule_Create(&definition); }
