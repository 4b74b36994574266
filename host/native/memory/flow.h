/* What reading and writing have in common: who asks, the objects of Python that hold the memory's state, and its rows. */
#ifndef ROTIFER_FLOW_H
#define ROTIFER_FLOW_H

#include "ordinary.h"

/* The attributes and methods of Python objects that are used here. */
#define NAMES(N)                                                                                                     \
    N(__exit__) N(_agent_id) N(_changes) N(_clock) N(_environment) N(_failure) N(_held) N(_policy) N(_quota) N(_readers)   \
    N(_store) N(_trail) N(abort) N(announce_lines) N(begin) N(committed) N(delete) N(digest) N(end) N(env) N(first_own)    \
    N(get) N(id) N(maxRetentionDays) N(members) N(now_ms) N(number) N(operation) N(ordinary) N(put) N(readings)

typedef struct {
#define DECLARE(name) PyObject *name;
    NAMES(DECLARE)
#undef DECLARE
} names_t;
extern names_t names;

/* The attributes that each write looks at, which lie at a place of their own in objects of a class with `__slots__`: the
 * class, and the attribute. */
#define SLOTS(S)                                                                                                       \
    S(operation, change) S(operation, process) S(operation, _waiting) S(operation, _durable) S(operation, halfway)     \
    S(change, _txn) S(change, _totals) S(change, _chain) S(change, _firsts) S(change, _has_followers)                  \
    S(change, _changed) S(change, _last) S(change, _open) S(totals, sequence) S(totals, categories)

typedef struct {
#define DECLARE(kind, name) Py_ssize_t kind##_##name;
    SLOTS(DECLARE)
#undef DECLARE
} places_t;
extern places_t places;

/* The attribute of an object, which must be of the class that has it, to be read or set; NULL lies there where it was deleted. */
#define SLOT(object, place) (*(PyObject **)((char *)(object) + places.place))

/* What is said in Python, once: `memory/ordinary.py`. */
extern PyObject *agent_memory_type, *lmdb_store_type, *system_clock_type, *lmdb_error, *sha256, *tally_type;
extern PyObject *operation_type, *change_type, *totals_type;
extern PyObject *python_entry_limit; /* (quota) -> how many entries it admits */
extern PyObject *python_go_on;       /* (run, request, out_cap, operation, now_ms) -> response */
extern PyObject *nothing;            /* what a change remembers of the entry looked at last, when it remembers none */
extern PyObject *empty;              /* no bytes */
extern Py_ssize_t most_waiting_lines;
extern bool processor_hashes; /* whether it has instructions for SHA-256 that do as Python's does, which is asked else */
bool choose_hash(void);       /* find that out; false with an error set */
bool follow_forks(void);      /* know in which process this is; false with an error set */
extern record_t default_record; /* with the access policy of an entry that is given none */

/* One agent's memory for one run, as far as ordinary requests need it. */
typedef struct {
    PyObject_HEAD
    PyObject *changes, *readers, *store;
    PyObject *clock;   /* or None for the machine's */
    PyObject *members; /* (action, caller) -> the members of an audit line that are the same in many */
    PyObject *prefix;  /* agent id and NUL: what an entry id is the hash of, before the key */
    int64_t quota, entry_limit;
    PyObject *caller; /* the last one, and its audit members of an update and a creation */
    PyObject *known_members[2];
} Ordinary;

typedef struct {
    PyObject *object; /* borrowed */
    text_t gene_id, domain;
} caller_t;

/* NULL, with or without an error, for a memory that has no shortcut or a caller that is not plain. */
Ordinary *ordinary_of(PyObject *services, caller_t *caller);
bool now_of(const Ordinary *self, int64_t *now_ms);
bool identity_of(const Ordinary *self, text_t key, uint8_t *identity);
/* The members of the audit line of an update, or of a creation, that are the same in all of this caller's. */
PyObject *members_of(Ordinary *self, const caller_t *caller, bool creates);

bool may(text_t scope, const record_t *record, const caller_t *caller);
int64_t second_of(int64_t ms);
/* The change of an operation, borrowed; NULL where one of them is something else. */
PyObject *change_of(PyObject *operation);
/* The same of a held operation that is this process's, and known to hold nothing that has expired; else NULL. */
PyObject *current_change(PyObject *operation, int64_t now_ms);

PyObject *entry_key(const uint8_t *identity);
/* Look up the row with this key, which may be NULL with an error set: 1 found, as new bytes; 0 there is none; -1 with an error set. */
int get_row(PyObject *txn, PyObject *key, PyObject **row);
/* End a read transaction, and drop it; an error that is set stays set. */
void end_view(PyObject *txn);
/* Turn an error of LMDB that is set into what the change raises for it. */
void map_error(PyObject *change);

/* What a sum of a few of cannot overflow. */
static inline bool is_counter(int64_t number) { return number >= 0 && number <= INT64_C(1) << 53; }

/* False without an error where it is something else. */
bool text_of(PyObject *object, text_t *into);
bool int_item(PyObject *tuple, Py_ssize_t at, int64_t *into);
bool int_attribute(PyObject *object, PyObject *name, int64_t *into);
bool int_of(PyObject *object, int64_t *into);

#endif
