"""What is written in C: the operators' kernels for a CPU, and the choice of the best of many keys.

A compiler makes a library of it where the package is installed and there is one.

Its functions are called by ``ctypes``: it knows nothing of Python or torch, only of numbers and where they lie.
"""

from __future__ import annotations

import ctypes
from functools import cache
from importlib.util import find_spec
from typing import Any

from torch import Tensor

# The number in `interface.c`.
INTERFACE = 1


def is_built() -> bool:
    """Whether there is a library.

    >>> is_built() in (True, False)
    True
    """
    return _library() is not None


def call(name: str, *arguments: Tensor | int | float) -> None:
    """Call a function of the library with where tensors lie, and with whole numbers and others as they are."""
    function = _function(name, tuple(map(type, arguments)))
    function(*[x.data_ptr() if isinstance(x, Tensor) else x for x in arguments])


@cache
def _library() -> ctypes.CDLL | None:
    found = find_spec("simpgcn.compiled.library")
    if found is None or found.origin is None:
        return None
    try:
        library = ctypes.CDLL(found.origin)
        number = library.simpgcn_interface
    except (OSError, AttributeError):
        return None  # what it needs is not on this machine, or it is an older one
    number.restype = ctypes.c_int64
    return library if number() == INTERFACE else None


@cache
def _function(name: str, kinds: tuple[type, ...]) -> Any:
    library = _library()
    assert library is not None
    function = library[f"simpgcn_{name}"]
    function.restype = None
    seen: dict[type, Any] = {int: ctypes.c_int64, float: ctypes.c_float}
    function.argtypes = [seen.get(kind, ctypes.c_void_p) for kind in kinds]
    return function
