/* The module `_ordinary`: what Python hands over, and the two shortcuts. */
#include "flow.h"

#include <structmember.h>

names_t names;
places_t places;
text_t category_names[CATEGORIES], scope_names[SCOPES], share_policy_names[SHARE_POLICIES];
Py_ssize_t longest_key, largest_value, cut_key, most_waiting_lines;
uint8_t format_version;
int64_t last_ms, never_s;
record_t default_record;
PyObject *agent_memory_type, *lmdb_store_type, *system_clock_type, *lmdb_error, *sha256, *tally_type;
PyObject *operation_type, *change_type, *totals_type;
PyObject *python_entry_limit, *python_go_on, *nothing, *empty;

/* ---------------------------------------------------------------- Ordinary */

static void ordinary_free(Ordinary *self) {
    Py_XDECREF(self->changes);
    Py_XDECREF(self->readers);
    Py_XDECREF(self->store);
    Py_XDECREF(self->clock);
    Py_XDECREF(self->members);
    Py_XDECREF(self->prefix);
    Py_XDECREF(self->caller);
    Py_XDECREF(self->known_members[0]);
    Py_XDECREF(self->known_members[1]);
    PyObject_Free(self);
}

PyTypeObject OrdinaryType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "rotifer_host.memory._ordinary.Ordinary",
    .tp_basicsize = sizeof(Ordinary),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = (destructor)ordinary_free,
    .tp_doc = "One agent's memory for one run, as far as ordinary requests need it.",
};

/* ---------------------------------------------------------------- bind */

static bool take_words(PyObject *tuple, text_t *into, Py_ssize_t count) {
    bool taken = PyTuple_Check(tuple) && PyTuple_GET_SIZE(tuple) == count;
    for (Py_ssize_t at = 0; taken && at < count; at++) taken = text_of(PyTuple_GET_ITEM(tuple, at), &into[at]);
    if (!taken) PyErr_Format(PyExc_TypeError, "a tuple of %zd words is needed", count);
    return taken;
}

static bool take_names(void) {
#define INTERN(name) && (names.name = PyUnicode_InternFromString(#name)) != NULL
    return true NAMES(INTERN);
#undef INTERN
}

/* Find where an attribute lies in the objects of a class. */
static bool find_place(PyObject *type, const char *name, Py_ssize_t *into) {
    PyObject *found = PyObject_GetAttrString(type, name);
    const bool has_place = found != NULL && Py_IS_TYPE(found, &PyMemberDescr_Type) && ((PyMemberDescrObject *)found)->d_member->type == T_OBJECT_EX;
    if (has_place) *into = ((PyMemberDescrObject *)found)->d_member->offset;
    else if (found != NULL) PyErr_Format(PyExc_TypeError, "%s of %R is in no slot", name, type);
    Py_XDECREF(found);
    return has_place;
}

static bool find_places(void) {
#define FIND(kind, name) && find_place(kind##_type, #name, &places.kind##_##name)
    return true SLOTS(FIND);
#undef FIND
}

static PyObject *bind(PyObject *module, PyObject *arguments, PyObject *keywords) {
    (void)module;
    static char *keys[] = {"memory", "store", "system_clock", "entry_limit", "error", "sha256", "operation", "change", "tally", "totals", "go_on", "nothing", "categories", "scopes", "share_policies",
                           "default_words", "default_access", "longest_key", "largest_value", "cut_key", "most_waiting_lines",
                           "format_version", "last_ms", "never", NULL};
    PyObject *categories, *scopes, *share_policies, *words, *access;
    text_t defaults[3];
    long long last, never;
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) { /* there is one of all this in a process */
        PyErr_SetString(PyExc_ImportError, "the shortcuts are there for the main interpreter alone");
        return NULL;
    }
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "$OOOOOOOOOOOOOOOOSnnnnbLL", keys, &agent_memory_type, &lmdb_store_type, &system_clock_type,
                                     &python_entry_limit, &lmdb_error, &sha256, &operation_type, &change_type, &tally_type,
                                     &totals_type, &python_go_on, &nothing, &categories, &scopes, &share_policies, &words, &access,
                                     &longest_key, &largest_value, &cut_key, &most_waiting_lines, &format_version, &last, &never) ||
        !take_words(categories, category_names, CATEGORIES) || !take_words(scopes, scope_names, SCOPES) ||
        !take_words(share_policies, share_policy_names, SHARE_POLICIES) || !take_words(words, defaults, 3) || !take_names() || !find_places() ||
        (empty = PyBytes_FromStringAndSize(NULL, 0)) == NULL)
        return NULL;
    last_ms = last;
    never_s = never;
    if (!choose_hash() || !follow_forks()) return NULL;
    prepare_requests();
    default_record = (record_t){.read_scope = defaults[0], .write_scope = defaults[1], .share_policy = defaults[2],
                                .access = {PyBytes_AS_STRING(access), PyBytes_GET_SIZE(access)}};
    PyObject *kept[] = {agent_memory_type, lmdb_store_type, system_clock_type, python_entry_limit, lmdb_error, sha256, operation_type, change_type, tally_type, totals_type, python_go_on, nothing, categories, scopes, share_policies, words, access};
    for (size_t at = 0; at < sizeof kept / sizeof kept[0]; at++) Py_INCREF(kept[at]);
    return Py_BuildValue("NN", PyCapsule_New((void *)read_shortcut, SHORTCUT_CAPSULE, NULL), PyCapsule_New((void *)write_shortcut, SHORTCUT_CAPSULE, NULL));
}

static PyMethodDef functions[] = {
    {"bind", (PyCFunction)(void (*)(void))bind, METH_VARARGS | METH_KEYWORDS, "Take what is said in Python; return the shortcuts of `readMemory` and `writeMemory`."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "rotifer_host.memory._ordinary",
    .m_doc = "Ordinary reads and writes in C.",
    .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC PyInit__ordinary(void) {
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL || (PyType_Ready(&OrdinaryType) == 0 && PyModule_AddObjectRef(module, "Ordinary", (PyObject *)&OrdinaryType) == 0))
        return module;
    Py_DECREF(module);
    return NULL;
}
