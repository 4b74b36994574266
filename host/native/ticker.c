/* The ticker in C: `epoch.py` says what it does. Its thread never needs Python's lock, so that nothing that
 * holds the lock holds up a deadline. */
#include "native.h"

#include <pthread.h>
#include <signal.h>

enum { IDLE_TICKS = 5 };

typedef struct {
    PyObject_HEAD
    void (*increment)(void *);
    void *subject; /* what it is called with */
    uint64_t tick_ns;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t next_tick;
    uint64_t *expiries; /* of the runs under way, in nanoseconds of the monotonic clock */
    size_t count, room;
    int running;
} Ticker;

static void reset(Ticker *self) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    self->count = 0;
    self->running = 0;
    self->next_tick = 0;
}

static void *tick(void *argument) {
    Ticker *self = argument;
    int idle = 0;
    pthread_setname_np(pthread_self(), "rotifer-ticker");
    pthread_mutex_lock(&self->lock);
    while (self->count > 0 || idle < IDLE_TICKS) {
        const uint64_t now = now_ns(CLOCK_MONOTONIC);
        uint64_t next = now + self->tick_ns;
        for (size_t at = 0; at < self->count; at++)
            if (now < self->expiries[at] && self->expiries[at] < next) next = self->expiries[at];
        self->next_tick = next;
        const struct timespec until = {(time_t)(next / 1000000000u), (long)(next % 1000000000u)};
        pthread_cond_timedwait(&self->changed, &self->lock, &until);
        pthread_mutex_unlock(&self->lock); /* nothing is called with it that may wait for another lock */
        self->increment(self->subject);
        pthread_mutex_lock(&self->lock);
        idle = self->count > 0 ? 0 : idle + 1; /* looked at last: a run that came during the wait counts on this thread */
    }
    self->running = 0;
    pthread_mutex_unlock(&self->lock);
    return NULL;
}

/* Signals are for the program's own threads. */
static int start_thread(Ticker *self) {
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(&thread, &attributes, tick, self);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return failed == 0;
}

static PyObject *ticker_add(Ticker *self, PyObject *expiry_s) {
    const double nanos = PyFloat_AsDouble(expiry_s) * 1e9;
    if (PyErr_Occurred()) return NULL;
    const uint64_t expiry = nanos < 0 ? 0 : nanos < 9e18 ? (uint64_t)nanos : INT64_MAX;
    const char *problem = NULL;
    pthread_mutex_lock(&self->lock);
    if (self->count == self->room) {
        const size_t room = self->room == 0 ? 16 : 2 * self->room;
        uint64_t *expiries = PyMem_RawRealloc(self->expiries, room * sizeof(uint64_t));
        if (expiries == NULL) {
            problem = "no memory for another run";
        } else {
            self->expiries = expiries;
            self->room = room;
        }
    }
    if (problem == NULL) {
        self->expiries[self->count++] = expiry;
        if (self->running) {
            if (expiry < self->next_tick) pthread_cond_signal(&self->changed);
        } else if (start_thread(self)) {
            self->running = 1;
        } else {
            self->count--;
            problem = "can't start new thread"; /* Python's own words for it */
        }
    }
    pthread_mutex_unlock(&self->lock);
    if (problem != NULL) return PyErr_Format(PyExc_RuntimeError, "%s", problem);
    return PyLong_FromUnsignedLongLong(expiry);
}

static PyObject *ticker_remove(Ticker *self, PyObject *mark) {
    const uint64_t expiry = PyLong_AsUnsignedLongLong(mark);
    if (PyErr_Occurred()) return NULL;
    pthread_mutex_lock(&self->lock);
    for (size_t at = 0; at < self->count; at++) {
        if (self->expiries[at] != expiry) continue;
        self->expiries[at] = self->expiries[--self->count]; /* of two that are equal either will do */
        break;
    }
    pthread_mutex_unlock(&self->lock);
    Py_RETURN_NONE;
}

static PyObject *ticker_reset(Ticker *self, PyObject *unused) {
    (void)unused;
    reset(self);
    Py_RETURN_NONE;
}

static PyObject *ticker_runs(Ticker *self, void *unused) {
    (void)unused;
    pthread_mutex_lock(&self->lock);
    const size_t count = self->count;
    pthread_mutex_unlock(&self->lock);
    return PyLong_FromSize_t(count);
}

static int ticker_init(Ticker *self, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"increment", "subject", "tick_s", NULL};
    unsigned long long increment, subject;
    double tick_s;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "KKd", names, &increment, &subject, &tick_s)) return -1;
    self->increment = (void (*)(void *))(uintptr_t)increment;
    self->subject = (void *)(uintptr_t)subject;
    self->tick_ns = (uint64_t)(tick_s * 1e9);
    reset(self);
    Py_INCREF(self); /* its thread may outlive everything that knows it */
    return 0;
}

static PyMethodDef methods[] = {
    {"add", (PyCFunction)ticker_add, METH_O, "Tick for a run whose deadline passes at this second; returns what `remove` takes."},
    {"remove", (PyCFunction)ticker_remove, METH_O, "Tick for this run no longer."},
    {"reset", (PyCFunction)ticker_reset, METH_NOARGS, "Start afresh in a forked process, where no thread but one exists."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef values[] = {
    {"runs", (getter)ticker_runs, NULL, "How many runs it ticks for.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject TickerType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "rotifer_host.sandbox._native.Ticker",
    .tp_basicsize = sizeof(Ticker),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)ticker_init,
    .tp_methods = methods,
    .tp_getset = values,
    .tp_doc = "Calls `increment(subject)`, both addresses, every tick and when a deadline passes, while there are runs.",
};
