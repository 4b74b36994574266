/* A guest's linear memory as host functions see it: `guest_memory.py` in C. */
#include "native.h"

/* The memory as it is now; empty before there is one, and after its store. */
static uint64_t view(GuestMemory *self, uint8_t **base) {
    Store *store = self->store;
    *base = NULL;
    if (store == NULL || !store->has_memory) return 0;
    *base = engine.memory_data(store->context, &store->memory);
    return engine.memory_data_size(store->context, &store->memory);
}

/* Where [address, address + length) lies; 0 when it is not inside memory. */
static int find_range(GuestMemory *self, uint64_t address, uint64_t length, uint8_t **at) {
    const uint64_t size = view(self, at);
    if (!inside(size, address, length)) return 0;
    if (*at != NULL) *at += address;
    return 1;
}

/* An offset or a length. One that 64 bits cannot hold, or below zero, lies in no memory: the largest stands for it. */
static uint64_t number(PyObject *object) {
    const uint64_t value = PyLong_AsUnsignedLongLong(object);
    if (value == UINT64_MAX && PyErr_ExceptionMatches(PyExc_OverflowError)) PyErr_Clear();
    return value;
}

static int takes_two(Py_ssize_t count) {
    if (count != 2) PyErr_SetString(PyExc_TypeError, "two arguments are needed");
    return count == 2;
}

static PyObject *memory_fits(GuestMemory *self, PyObject *const *arguments, Py_ssize_t count) {
    if (!takes_two(count)) return NULL;
    const uint64_t address = number(arguments[0]), length = number(arguments[1]);
    uint8_t *at;
    return PyErr_Occurred() ? NULL : PyBool_FromLong(find_range(self, address, length, &at));
}

static PyObject *memory_read(GuestMemory *self, PyObject *const *arguments, Py_ssize_t count) {
    if (!takes_two(count)) return NULL;
    const uint64_t address = number(arguments[0]), length = number(arguments[1]);
    uint8_t *from;
    if (PyErr_Occurred()) return NULL;
    if (!find_range(self, address, length, &from)) Py_RETURN_NONE;
    return PyBytes_FromStringAndSize((const char *)from, (Py_ssize_t)length);
}

static PyObject *memory_read_u32(GuestMemory *self, PyObject *address) {
    const uint64_t at = number(address);
    uint8_t *from;
    if (PyErr_Occurred()) return NULL;
    if (!find_range(self, at, sizeof(uint32_t), &from)) Py_RETURN_NONE;
    return PyLong_FromUnsignedLong(from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24);
}

static PyObject *memory_read_until_nul(GuestMemory *self, PyObject *const *arguments, Py_ssize_t count) {
    if (!takes_two(count)) return NULL;
    const uint64_t address = number(arguments[0]), most = number(arguments[1]);
    uint8_t *base;
    if (PyErr_Occurred()) return NULL;
    const uint64_t size = view(self, &base);
    if (!inside(size, address, 1)) Py_RETURN_NONE;
    const uint64_t limit = most < size - address ? most : size - address;
    const uint8_t *nul = memchr(base + address, 0, limit);
    const uint64_t length = nul == NULL ? limit : (uint64_t)(nul - (base + address));
    return PyBytes_FromStringAndSize((const char *)base + address, (Py_ssize_t)length);
}

static PyObject *memory_write(GuestMemory *self, PyObject *const *arguments, Py_ssize_t count) {
    Py_buffer data;
    if (!takes_two(count)) return NULL;
    const uint64_t address = number(arguments[0]);
    if (PyErr_Occurred() || PyObject_GetBuffer(arguments[1], &data, PyBUF_SIMPLE) < 0) return NULL;
    uint8_t *into;
    const int found = find_range(self, address, (uint64_t)data.len, &into);
    if (found && data.len > 0) memcpy(into, data.buf, (size_t)data.len);
    PyBuffer_Release(&data);
    return PyBool_FromLong(found);
}

static PyObject *memory_size(GuestMemory *self, void *unused) {
    (void)unused;
    uint8_t *base;
    return PyLong_FromUnsignedLongLong(view(self, &base));
}

static void memory_free(GuestMemory *self) { Py_TYPE(self)->tp_free(self); }

static PyMethodDef methods[] = {
    {"fits", (PyCFunction)(void (*)(void))memory_fits, METH_FASTCALL, "Tell whether `[address, address + length)` lies inside memory as it is now."},
    {"read", (PyCFunction)(void (*)(void))memory_read, METH_FASTCALL, "Return a copy of the range, None when it is not inside memory."},
    {"read_u32", (PyCFunction)memory_read_u32, METH_O, "Return the little-endian 32-bit number at `address`."},
    {"read_until_nul", (PyCFunction)(void (*)(void))memory_read_until_nul, METH_FASTCALL, "Return the bytes from `address` up to a NUL or the end of memory, at most `most` of them."},
    {"write", (PyCFunction)(void (*)(void))memory_write, METH_FASTCALL, "Copy `data` to `address`; False, and nothing is written, when it does not fit."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef values[] = {
    {"size", (getter)memory_size, NULL, "Bytes at this moment.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject GuestMemoryType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "rotifer_host.sandbox._native.GuestMemory",
    .tp_basicsize = sizeof(GuestMemory),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = (destructor)memory_free,
    .tp_methods = methods,
    .tp_getset = values,
    .tp_doc = "A guest's linear memory; the class of the same name in `guest_memory.py` says what it does.",
};
