/* What a host call costs when nothing of it is Python: the floor of the comparison.
 *
 * Host functions in C, bound to the engine by its C interface and to memory by
 * liblmdb. A stored value is the category's first letters, where its base64 text
 * starts, and the response as it is sent. Requests are parsed strictly, as far as they
 * go: an object of known string members, each once, without escapes or spaces.
 *
 * The engine is not linked: the addresses of its functions come from Python.
 */

#include <fcntl.h>
#include <lmdb.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* As in wasmtime's C headers; bench/peers/floor.py checks the sizes. */
typedef struct { uint64_t store; void *item; } func_t;
typedef struct { uint64_t store; uint32_t a; uint32_t b; uint32_t c; uint32_t d; } memory_t;
typedef struct { uint64_t store; uint64_t index; } instance_t;
typedef struct { uint8_t kind; union { func_t func; memory_t memory; } of; } extern_t;
typedef union { int32_t i32; uint32_t u32; uint64_t size[2]; } raw_t;

const size_t floor_sizes[] = {sizeof(func_t), sizeof(memory_t), sizeof(extern_t), sizeof(raw_t), sizeof(instance_t)};

typedef struct {
    void *(*store_new)(void *engine, void *data, void *finalizer);
    void *(*store_context)(void *store);
    void (*store_delete)(void *store);
    void *(*set_fuel)(void *context, uint64_t fuel);
    void (*set_epoch_deadline)(void *context, uint64_t ticks);
    void (*store_limiter)(void *store, int64_t memory, int64_t table, int64_t instances, int64_t tables, int64_t memories);
    void *(*instantiate)(void *pre, void *context, instance_t *instance, void **trap);
    bool (*export_get)(void *context, instance_t *instance, const char *name, size_t size, extern_t *item);
    void *(*call)(void *context, func_t *func, raw_t *values, size_t count, void **trap);
    uint8_t *(*memory_data)(void *context, memory_t *memory);
    size_t (*memory_size)(void *context, memory_t *memory);
} engine_t;

typedef struct {
    engine_t engine;
    MDB_env *env;
    MDB_dbi dbi;
    MDB_txn *read; /* reset between calls, so that each call sees what is committed */
    MDB_txn *held; /* the run's one transaction, or NULL */
    bool hold;     /* whether a run's writes are one transaction */
    int audit;
    const char *line;
    size_t line_size;
    void *context; /* of the run */
    memory_t memory;
} floor_t;

enum { FUEL_BITS = 62, MEMORY_BYTES = 256 << 20, MAX_VALUE = 4096 };

typedef struct { const char *at; size_t size; } text_t;
typedef struct { text_t key, category, value; } request_t;
typedef struct { char category[2]; uint16_t value_at; } header_t;

/* ---- requests ---------------------------------------------------------- */

static bool string(const char **p, const char *end, text_t *out) {
    if (*p == end || **p != '"') return false;
    const char *start = ++*p;
    while (*p < end && **p != '"') {
        if (**p == '\\' || (unsigned char)**p < 0x20) return false;
        ++*p;
    }
    if (*p == end) return false;
    *out = (text_t){start, (size_t)(*p - start)};
    ++*p;
    return true;
}

static bool is(text_t text, const char *word) {
    size_t size = strlen(word);
    return text.size == size && memcmp(text.at, word, size) == 0;
}

static bool parse(const char *p, const char *end, request_t *request) {
    memset(request, 0, sizeof *request);
    if (p == end || *p++ != '{') return false;
    do {
        text_t name, value;
        if (!string(&p, end, &name) || p == end || *p++ != ':' || !string(&p, end, &value) || p == end) return false;
        text_t *member = is(name, "key") ? &request->key
            : is(name, "category") ? &request->category
            : is(name, "value") ? &request->value : NULL;
        if (member == NULL || member->at != NULL) return false;
        *member = value;
    } while (*p++ == ',');
    if (p[-1] != '}' || p != end || request->key.size == 0 || request->key.size > 511) return false;
    return request->category.at == NULL || is(request->category, "PREFERENCE") || is(request->category, "PATTERN")
        || is(request->category, "CONTEXT") || is(request->category, "CACHE");
}

/* ---- host functions ---------------------------------------------------- */

void *floor_noop(void *data, void *caller, raw_t *values, size_t count) {
    (void)data, (void)caller, (void)count;
    values[0].i32 = values[0].i32 + values[1].i32 + values[2].i32 + values[3].i32;
    return NULL;
}

typedef struct { uint8_t *request; uint32_t request_size; uint8_t *out; uint32_t cap; } exchange_t;

static bool take(floor_t *self, raw_t *values, exchange_t *exchange) {
    uint8_t *base = self->engine.memory_data(self->context, &self->memory);
    size_t size = self->engine.memory_size(self->context, &self->memory);
    uint64_t request = values[0].u32, request_size = values[1].u32, out = values[2].u32, cap = values[3].u32;
    if (request + request_size > size || out + cap > size) return false;
    *exchange = (exchange_t){base + request, (uint32_t)request_size, base + out, (uint32_t)cap};
    return true;
}

static int32_t answer(exchange_t *exchange, const void *response, size_t size) {
    if (size > exchange->cap) return -1;
    memcpy(exchange->out, response, size);
    return (int32_t)size;
}

void *floor_echo(floor_t *self, void *caller, raw_t *values, size_t count) {
    (void)caller, (void)count;
    exchange_t exchange;
    values[0].i32 = take(self, values, &exchange) ? answer(&exchange, exchange.request, exchange.request_size) : -10;
    return NULL;
}

static bool category_of(const header_t *header, text_t wanted) {
    return wanted.at == NULL || memcmp(header->category, wanted.at, sizeof header->category) == 0;
}

static int32_t read_memory(floor_t *self, exchange_t *exchange) {
    request_t request;
    const char *text = (const char *)exchange->request;
    if (!parse(text, text + exchange->request_size, &request) || request.value.at != NULL) return -10;
    MDB_val key = {request.key.size, (void *)request.key.at}, stored;
    MDB_txn *txn = self->held;
    if (txn == NULL) {
        txn = self->read;
        if (mdb_txn_renew(txn)) return -13;
    }
    int failure = mdb_get(txn, self->dbi, &key, &stored);
    int32_t result = -13;
    if (failure == MDB_NOTFOUND || (!failure && !category_of(stored.mv_data, request.category)))
        result = answer(exchange, "null", 4);
    else if (!failure)
        result = answer(exchange, (char *)stored.mv_data + sizeof(header_t), stored.mv_size - sizeof(header_t));
    if (self->held == NULL) mdb_txn_reset(txn);
    return result;
}

void *floor_read(floor_t *self, void *caller, raw_t *values, size_t count) {
    (void)caller, (void)count;
    exchange_t exchange;
    values[0].i32 = take(self, values, &exchange) ? read_memory(self, &exchange) : -10;
    return NULL;
}

/* An entry that exists gets a value of the length it has: nothing else is rendered again. */
static int32_t write_memory(floor_t *self, exchange_t *exchange) {
    request_t request;
    const char *text = (const char *)exchange->request;
    if (!parse(text, text + exchange->request_size, &request)) return -10;
    if (request.value.at == NULL || request.category.at == NULL) return -10;
    MDB_txn *txn = self->held;
    if (txn == NULL && mdb_txn_begin(self->env, NULL, 0, &txn)) return -13;
    if (self->hold) self->held = txn;
    MDB_val key = {request.key.size, (void *)request.key.at}, stored;
    char entry[MAX_VALUE];
    if (mdb_get(txn, self->dbi, &key, &stored) || stored.mv_size > sizeof entry) goto failed;
    memcpy(entry, stored.mv_data, stored.mv_size);
    header_t *header = (header_t *)entry;
    memcpy(header->category, request.category.at, sizeof header->category);
    char *value = entry + sizeof *header + header->value_at;
    if (value + request.value.size >= entry + stored.mv_size || value[request.value.size] != '"') goto failed;
    memcpy(value, request.value.at, request.value.size);
    int32_t result = answer(exchange, entry + sizeof *header, stored.mv_size - sizeof *header);
    if (result < 0) {
        if (!self->hold) mdb_txn_abort(txn);
        return result;
    }
    stored.mv_data = entry;
    if (mdb_put(txn, self->dbi, &key, &stored, 0)) goto failed;
    if (write(self->audit, self->line, self->line_size) != (ssize_t)self->line_size) goto failed;
    if (self->hold) return result;
    if (fdatasync(self->audit)) goto failed;
    return mdb_txn_commit(txn) ? -13 : result;
failed:
    mdb_txn_abort(txn);
    self->held = NULL;
    return -13;
}

void *floor_write(floor_t *self, void *caller, raw_t *values, size_t count) {
    (void)caller, (void)count;
    exchange_t exchange;
    values[0].i32 = take(self, values, &exchange) ? write_memory(self, &exchange) : -10;
    return NULL;
}

/* ---- set-up and runs ------------------------------------------------------- */

int floor_open(const void *const *engine, const char *path, int audit, const char *line, bool hold, floor_t **out) {
    floor_t *self = calloc(1, sizeof *self);
    memcpy(&self->engine, engine, sizeof self->engine);
    self->audit = audit;
    self->line = line;
    self->line_size = strlen(line);
    self->hold = hold;
    *out = self;
    MDB_txn *txn;
    int failure;
    if ((failure = mdb_env_create(&self->env)) || (failure = mdb_env_set_mapsize(self->env, MEMORY_BYTES))
        || (failure = mdb_env_open(self->env, path, 0, 0600)) || (failure = mdb_txn_begin(self->env, NULL, 0, &txn))
        || (failure = mdb_dbi_open(txn, NULL, 0, &self->dbi)) || (failure = mdb_txn_commit(txn))
        || (failure = mdb_txn_begin(self->env, NULL, MDB_RDONLY, &self->read)))
        return failure;
    mdb_txn_reset(self->read);
    return 0;
}

void floor_close(floor_t *self) {
    mdb_txn_abort(self->read);
    mdb_env_close(self->env);
    free(self);
}

const char *floor_error(int failure) { return mdb_strerror(failure); }

/* `texts` holds count keys, each followed by its stored value; `sizes` the length of each text. */
int floor_fill(floor_t *self, const char *texts, const size_t *sizes, size_t count) {
    MDB_txn *txn;
    int failure = mdb_txn_begin(self->env, NULL, 0, &txn);
    if (failure) return failure;
    for (size_t i = 0; i < count; i++) {
        MDB_val key = {sizes[2 * i], (void *)texts}, value = {sizes[2 * i + 1], (void *)(texts + sizes[2 * i])};
        texts += key.mv_size + value.mv_size;
        if ((failure = mdb_put(txn, self->dbi, &key, &value, 0))) {
            mdb_txn_abort(txn);
            return failure;
        }
    }
    return mdb_txn_commit(txn);
}

static int settle(floor_t *self) {
    MDB_txn *txn = self->held;
    self->held = NULL;
    if (txn == NULL) return 0;
    if (fdatasync(self->audit)) {
        mdb_txn_abort(txn);
        return -1;
    }
    return mdb_txn_commit(txn);
}

/* One whole run; returns the length of the output copied to `output`, or a negative number. */
int floor_run(floor_t *self, void *engine, void *pre, const char *input, char *output, size_t cap) {
    engine_t *e = &self->engine;
    void *store = e->store_new(engine, NULL, NULL), *trap = NULL;
    void *context = self->context = e->store_context(store);
    e->store_limiter(store, MEMORY_BYTES, -1, -1, -1, -1);
    e->set_epoch_deadline(context, 1);
    instance_t instance;
    extern_t alloc, express, memory;
    raw_t values[2];
    int size = -1;
    size_t input_size = strlen(input);
    if (e->set_fuel(context, UINT64_C(1) << FUEL_BITS) || e->instantiate(pre, context, &instance, &trap) || trap) goto done;
    if (!e->export_get(context, &instance, "memory", 6, &memory) || !e->export_get(context, &instance, "alloc", 5, &alloc)
        || !e->export_get(context, &instance, "express", 7, &express))
        goto done;
    self->memory = memory.of.memory;
    values[0].i32 = (int32_t)input_size;
    if (e->call(context, &alloc.of.func, values, 1, &trap) || trap) goto done;
    uint64_t at = values[0].u32, limit = e->memory_size(context, &self->memory);
    if (at + input_size > limit) goto done;
    memcpy(e->memory_data(context, &self->memory) + at, input, input_size);
    values[1].i32 = (int32_t)input_size;
    if (e->call(context, &express.of.func, values, 2, &trap) || trap || values[0].i32 < 0) goto done;
    limit = e->memory_size(context, &self->memory);
    const char *text = (char *)e->memory_data(context, &self->memory) + values[0].u32;
    if (values[0].u32 >= limit) goto done;
    size_t found = strnlen(text, limit - values[0].u32);
    if (found > cap) goto done;
    memcpy(output, text, found);
    size = (int)found;
done:
    if (settle(self)) size = -1;
    e->store_delete(store);
    return size;
}
