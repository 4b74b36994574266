/* What the files of the extension share: the engine's functions, and the store of a run.
 *
 * Nothing here links against the engine: the addresses of the functions of its C API are
 * handed over by `bind`.
 */
#ifndef ROTIFER_NATIVE_H
#define ROTIFER_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "shortcut.h"

enum { BUDGET_EXHAUSTED = -4, NOT_ADMITTED = -1 };
enum { ERROR_KINDS = 24 }; /* as many different results as one function has: contract.MAX_OWN_ERRORS and the shared */
enum { MAX_PARAMS = 16 };

/* ---------------------------------------------------------------- the engine's C API */

typedef struct wasm_engine engine_t;
typedef struct wasmtime_store store_t;
typedef struct wasmtime_context context_t;
typedef struct wasmtime_caller caller_t;
typedef struct wasmtime_instance_pre instance_pre_t;
typedef struct wasm_trap trap_t;
typedef struct wasmtime_error failure_t;
typedef union { int32_t i32; int64_t i64; float f32; double f64; uint8_t v128[16]; } raw_t;
typedef struct { uint64_t words[2]; } instance_t;
typedef struct { uint64_t words[2]; } func_t;
typedef struct { uint64_t words[3]; } memory_t;
typedef struct { uint8_t kind; union { func_t func; memory_t memory; uint64_t room[6]; } of; } extern_t;
typedef failure_t *epoch_callback_t(context_t *, void *, uint64_t *, uint8_t *);
enum { EXTERN_FUNC = 0, EXTERN_MEMORY = 3, EPOCH_CONTINUE = 0 };

#define ENGINE_FUNCTIONS(F)                                                                                 \
    F(context_t *, caller_context, (caller_t *))                                                            \
    F(bool, caller_export_get, (caller_t *, const char *, size_t, extern_t *))                              \
    F(void *, context_get_data, (const context_t *))                                                        \
    F(void, context_set_data, (context_t *, void *))                                                        \
    F(failure_t *, context_get_fuel, (const context_t *, uint64_t *))                                       \
    F(failure_t *, context_set_fuel, (context_t *, uint64_t))                                               \
    F(void, context_set_epoch_deadline, (context_t *, uint64_t))                                            \
    F(void, error_delete, (failure_t *))                                                                    \
    F(failure_t *, error_new, (const char *))                                                               \
    F(failure_t *, func_call_unchecked, (context_t *, const func_t *, raw_t *, size_t, trap_t **))          \
    F(bool, instance_export_get, (context_t *, const instance_t *, const char *, size_t, extern_t *))       \
    F(failure_t *, instance_pre_instantiate, (const instance_pre_t *, context_t *, instance_t *, trap_t **)) \
    F(uint8_t *, memory_data, (const context_t *, const memory_t *))                                        \
    F(size_t, memory_data_size, (const context_t *, const memory_t *))                                      \
    F(context_t *, store_context, (store_t *))                                                              \
    F(void, store_delete, (store_t *))                                                                      \
    F(void, store_epoch_deadline_callback, (store_t *, epoch_callback_t *, void *, void (*)(void *)))       \
    F(void, store_limiter, (store_t *, int64_t, int64_t, int64_t, int64_t, int64_t))                        \
    F(store_t *, store_new, (engine_t *, void *, void (*)(void *)))                                         \
    F(trap_t *, trap_new, (const char *, size_t))

#define DECLARE(result, name, parameters) result(*name) parameters;
typedef struct { ENGINE_FUNCTIONS(DECLARE) } engine_functions_t;
#undef DECLARE
extern engine_functions_t engine;

/* ---------------------------------------------------------------- what Python hands over */

/* What every host call costs, the largest request, the tables of an instance: said once, in Python. */
extern uint64_t base_fuel, fuel_per_byte, largest_request, most_tables;

/* What is said in Python, once for all paths: `calls/native.py`. */
extern PyObject *python_answer;    /* (run, function, req_ptr, req_len, out_ptr, out_cap) -> result */
extern PyObject *python_explain;   /* (run, error, out_ptr, out_cap) -> result, or raises what is no refusal */
extern PyObject *python_keep;      /* (run, error) */
extern PyObject *python_unfit;     /* (length, out_cap): raise why a response is not admitted */
extern PyObject *python_exhausted; /* (run, function, error or None) -> what a function without a budget answers, or raises */
extern PyObject *python_go_on;     /* (run) -> whether it may run on; notes why not */
extern PyObject *python_failure;   /* (error, trap) -> Failure; takes what is at these addresses */

/* ---------------------------------------------------------------- one host function */

typedef struct {
    PyObject_HEAD
    PyObject *function;        /* the ExchangeFunction or PlainFunction */
    PyObject *guard;           /* exchange: (run) -> None, or raises */
    PyObject *unchanged_until; /* exchange: (run) -> a second or None; or None */
    PyObject *handler;         /* exchange: (run, request, out_cap) -> bytes; plain: (run, *arguments) -> int | None */
    PyObject *capsule;         /* of the shortcut, or None */
    shortcut_t *shortcut;      /* or NULL */
    int index;
    int count;
    char params[MAX_PARAMS + 1]; /* 'i' i32, 'I' i64, 'f' f32, 'F' f64 */
    char result;                 /* the same letters, or 0 */
} Function;

typedef struct {
    uint64_t count, bytes_in, bytes_out, nanos;
    uint64_t shortcuts; /* calls that the function's shortcut answered */
    struct {
        int32_t result; /* 0 ends those in use */
        uint64_t count;
    } errors[ERROR_KINDS];
    int let_in; /* the guard has let the caller in: it is not asked again */
} stats_t;

/* ---------------------------------------------------------------- one run */

typedef struct kept kept_t;
typedef struct place place_t;
typedef struct Store Store;

typedef struct {
    PyObject_HEAD
    Store *store; /* not owned; NULL once detached */
} GuestMemory;

struct Store {
    PyObject_HEAD
    store_t *store; /* NULL once closed */
    context_t *context;
    instance_t instance;
    memory_t memory;
    int has_memory;
    GuestMemory *guest_memory;
    /* The rest is set by `enter`. */
    PyObject *run;
    PyObject *services;    /* of the run */
    PyThreadState *own;    /* the thread that runs the guest */
    PyThreadState *saved;  /* the same while it has given Python's lock up */
    const char *cancelled; /* the run's deadline sets it */
    Py_buffer cancel_cell;
    uint64_t deadline_ns;
    uint64_t host_limit_ns;
    _Atomic uint64_t *host_used_ns; /* shared by the genes of a run */
    Py_buffer host_cell;
    const volatile uint64_t *version; /* another number whenever an answer may have changed; NULL where nobody says */
    Py_buffer version_cell;
    int functions;
    Py_ssize_t admitted; /* length of the response the call under way has admitted, or NOT_ADMITTED */
    stats_t *stats;
    kept_t *kept; /* made when it is first needed */
};

/* ---------------------------------------------------------------- the interpreter lock */

/* While Python knows this thread alone, nobody waits for its lock and the guest runs with it. Another thread
 * is seen at the next host call or tick. */
static inline void leave_python(Store *store) {
    if (PyInterpreterState_ThreadHead(PyThreadState_GetInterpreter(store->own)) == store->own &&
        PyThreadState_Next(store->own) == NULL)
        return;
    store->saved = PyEval_SaveThread();
}

static inline void enter_python(Store *store) {
    if (store->saved == NULL) return;
    PyEval_RestoreThread(store->saved);
    store->saved = NULL;
}

/* ---------------------------------------------------------------- budgets */

static inline uint64_t now_ns(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static inline int charge(Store *store, uint64_t fuel) {
    uint64_t left = 0;
    failure_t *error = engine.context_get_fuel(store->context, &left);
    if (error != NULL) {
        engine.error_delete(error);
        return 0;
    }
    if (left < fuel) return 0;
    error = engine.context_set_fuel(store->context, left - fuel);
    if (error != NULL) engine.error_delete(error);
    return 1;
}

static inline int has_time(const Store *store, uint64_t now) {
    return !*(volatile const char *)store->cancelled && now < store->deadline_ns;
}

static inline uint64_t host_used(const Store *store) {
    return atomic_load_explicit(store->host_used_ns, memory_order_relaxed);
}

/* No atomic addition, which costs more than the rest of the accounting: genes that run side by side may lose one. */
static inline void add_host_time(Store *store, uint64_t nanos) {
    atomic_store_explicit(store->host_used_ns, host_used(store) + nanos, memory_order_relaxed);
}

/* ---------------------------------------------------------------- linear memory */

static inline int inside(uint64_t size, uint64_t start, uint64_t length) { return start <= size && length <= size - start; }

/* ---------------------------------------------------------------- across the files */

trap_t *exchange(void *env, caller_t *caller, raw_t *args, size_t count);
trap_t *plain(void *env, caller_t *caller, raw_t *args, size_t count);
failure_t *on_epoch(context_t *context, void *data, uint64_t *delta, uint8_t *kind);

void keep_failure(Store *store);
int admit(Store *store, Py_ssize_t length, uint32_t out_cap);

place_t *place_of(Store *store, const Function *function, const uint8_t *request, uint32_t length);
int32_t serve_kept(Store *store, const place_t *place, const Function *function, const uint8_t *request, uint32_t length,
                   uint8_t *out, uint32_t out_cap);
void keep_response(Store *store, const Function *function, place_t *place, const uint8_t *request, uint32_t length,
                   PyObject *response, const uint64_t *known_until_s);
void forget_kept(Store *store);
void free_kept(Store *store);
enum { NOT_KEPT = INT32_MIN };

extern PyTypeObject FunctionType, GuestMemoryType, StoreType, TickerType;

#endif
