/* Responses of a run that are given again while nothing can have changed them: `ExchangeFunction.unchanged_until`. */
#include "native.h"

enum { PLACES = 64, LARGEST_REQUEST = 1024, LARGEST_RESPONSE = 64 * 1024 };

struct place {
    uint64_t hash, version, until_s;
    char *request, *response; /* one allocation, freed by `request` */
    size_t request_length, response_length;
    int function, asked_before;
};

struct kept {
    uint64_t used; /* a bit for each place that was asked for since all were cleared */
    place_t places[PLACES];
};

/* A table of a run that has ended, cleared, for the next one. */
static _Atomic(kept_t *) spare;

static uint64_t hash_of(int function, const uint8_t *request, size_t length) {
    uint64_t hash = 0x9E3779B97F4A7C15u ^ length ^ ((uint64_t)function << 32);
    for (size_t at = 0; at < length; at += 8) {
        uint64_t word = 0;
        memcpy(&word, request + at, length - at < 8 ? length - at : 8);
        hash = (hash ^ word) * 0xD6E8FEB86659FD93u;
        hash ^= hash >> 32;
    }
    return hash;
}

static void clear(place_t *place) {
    PyMem_RawFree(place->request);
    memset(place, 0, sizeof *place);
}

static kept_t *table_of(Store *store) {
    if (store->kept == NULL) store->kept = atomic_exchange(&spare, NULL);
    if (store->kept == NULL) store->kept = PyMem_RawCalloc(1, sizeof(kept_t));
    return store->kept;
}

/* The place of a request: holding its response, or the memory of having been asked at this version, or cleared for it. */
place_t *place_of(Store *store, const Function *function, const uint8_t *request, uint32_t length) {
    if (store->version == NULL || function->unchanged_until == Py_None || length > LARGEST_REQUEST) return NULL;
    kept_t *kept = table_of(store);
    if (kept == NULL) return NULL;
    const uint64_t version = *store->version;
    const uint64_t hash = hash_of(function->index, request, length);
    place_t *place = &kept->places[hash % PLACES];
    kept->used |= UINT64_C(1) << hash % PLACES;
    if (place->hash != hash || place->version != version) {
        clear(place);
        place->hash = hash;
        place->version = version;
        place->function = function->index;
    }
    return place;
}

/* Answer from a place; NOT_KEPT when it holds nothing for this request that is still right and fits. */
int32_t serve_kept(Store *store, const place_t *place, const Function *function, const uint8_t *request, uint32_t length,
                   uint8_t *out, uint32_t out_cap) {
    if (place->request == NULL || place->function != function->index || place->request_length != length ||
        place->response_length > out_cap || memcmp(place->request, request, length) != 0)
        return NOT_KEPT;
    if (place->until_s != UINT64_MAX && now_ns(CLOCK_REALTIME) / 1000000000u >= place->until_s) return NOT_KEPT;
    if (!charge(store, fuel_per_byte * place->response_length)) return BUDGET_EXHAUSTED;
    memcpy(out, place->response, place->response_length);
    return (int32_t)place->response_length;
}

/* Until which second a response stays right: known, or asked of Python; 0 for not at all, perhaps with an error set. */
static uint64_t until_of(Store *store, const Function *function, const uint64_t *known) {
    if (known != NULL) return *known;
    PyObject *until = PyObject_CallOneArg(function->unchanged_until, store->run);
    const uint64_t second = until == NULL || until == Py_None ? 0 : PyLong_AsUnsignedLongLong(until);
    Py_XDECREF(until);
    return PyErr_Occurred() ? 0 : second;
}

/* Keep a response that was given before at this version, when its function says until when it stays right. */
void keep_response(Store *store, const Function *function, place_t *place, const uint8_t *request, uint32_t length,
                   PyObject *response, const uint64_t *known_until_s) {
    const size_t size = (size_t)PyBytes_GET_SIZE(response);
    if (!place->asked_before) {
        place->asked_before = 1;
        return;
    }
    const uint64_t second = size > LARGEST_RESPONSE ? 0 : until_of(store, function, known_until_s);
    char *room = second == 0 ? NULL : PyMem_RawMalloc(length + size + 1);
    if (room == NULL) return;
    PyMem_RawFree(place->request);
    memcpy(room, request, length);
    memcpy(room + length, PyBytes_AS_STRING(response), size);
    place->request = room;
    place->response = room + length;
    place->request_length = length;
    place->response_length = size;
    place->until_s = second;
}

void forget_kept(Store *store) {
    kept_t *kept = store->kept;
    for (int at = 0; kept != NULL && kept->used != 0; at++, kept->used >>= 1)
        if (kept->used & 1) clear(&kept->places[at]);
}

void free_kept(Store *store) {
    if (store->kept == NULL) return;
    forget_kept(store);
    PyMem_RawFree(atomic_exchange(&spare, store->kept));
    store->kept = NULL;
}
