"""Has this thread the stack that a guest may use?

The engine ends a guest that calls itself too deeply by counting what the guest has
used, and takes it for granted that so much is there. Where it is not, such a guest
would end the process.
"""

from __future__ import annotations

import ctypes
import os
import resource
import threading
from ctypes import byref, c_size_t, c_ulong, c_void_p
from typing import Final

from rotifer_host import contract
from rotifer_host.errors import UsageError
from rotifer_host.limits import format_size

__all__ = ["check_stack"]

_NEEDED: Final = 960 * contract.KIB
"""512 KB the guest's, as much again for host functions, less a guard that may be counted or not."""
_ATTRIBUTE_BYTES: Final = 128  # of a `pthread_attr_t`, and more

_libc: Final = ctypes.CDLL(None)
_libc.pthread_self.restype = c_ulong


class _Checked(threading.local):
    enough = False


_checked: Final = _Checked()


def check_stack() -> None:
    """Refuse to run guests on a thread with less than a megabyte of stack. Raises `UsageError`."""
    if _checked.enough:
        return
    size = _stack_bytes()
    if size < _NEEDED:
        raise UsageError(
            f"a guest needs a thread with 1 MB of stack; this one has {format_size(size)}",
            help="call threading.stack_size(1 << 20) before the thread is started; for the main thread: ulimit -s 1024",
        )
    _checked.enough = True


def _stack_bytes() -> int:
    if threading.get_native_id() == os.getpid():  # `pthread_getattr_np` reads all of /proc/self/maps to say the same
        limit = resource.getrlimit(resource.RLIMIT_STACK)[0]
        return _NEEDED if limit == resource.RLIM_INFINITY else limit
    attributes, lowest, size = (c_ulong * (_ATTRIBUTE_BYTES // 8))(), c_void_p(), c_size_t()
    if not hasattr(_libc, "pthread_getattr_np") or _libc.pthread_getattr_np(c_ulong(_libc.pthread_self()), attributes):
        return _NEEDED  # nobody says
    try:
        _libc.pthread_attr_getstack(attributes, byref(lowest), byref(size))
    finally:
        _libc.pthread_attr_destroy(attributes)
    return size.value
