/* A shortcut: what may answer a request in C in the place of its handler (`ExchangeFunction.shortcut`).
 *
 * Handed over as a capsule of the name below. Called with Python's lock, after guard, checks and charges of the
 * request. It returns the response, as new bytes that were admitted; or NULL with the refusal set; or NULL without:
 * then it has done nothing, and the handler is to answer.
 */
#ifndef ROTIFER_SHORTCUT_H
#define ROTIFER_SHORTCUT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>

#define SHORTCUT_CAPSULE "rotifer_host.shortcut"

typedef struct {
    PyObject *capsule;        /* that of the shortcut which is called; all of these are borrowed */
    PyObject *run, *services;
    const uint8_t *request;   /* in the guest's memory, which stays where it is during the call */
    uint32_t length, out_cap;
    void *store;
    /* What `run.admit` and `run.forget` do, for the store. */
    int (*admit)(void *store, Py_ssize_t length, uint32_t out_cap);
    void (*forget)(void *store);
    /* Handed over as 0. Until which second since 1970 the response may be given again while the run's version stays, all
     * bits for ever: what `unchanged_until` says for a handler. */
    uint64_t *until_s;
} asked_t;

typedef PyObject *shortcut_t(const asked_t *asked);

/* The exception that is set, which is set no longer. */
static inline PyObject *take_exception(void) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace != NULL) PyException_SetTraceback(value, trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    return value;
}

#endif
