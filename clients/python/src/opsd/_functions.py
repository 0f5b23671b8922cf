"""Functions for another process: their pickles, their main module and their names."""

from __future__ import annotations

import functools
import os
import pickle
import re
import sys
from collections.abc import Callable
from typing import Any


def pickled(value: Any, function: Callable[..., object]) -> bytes:
    """Returns a call as bytes. Functions that pickle refuses are pickled by cloudpickle, if it is installed."""
    interactive = main_module() is None
    try:
        content = pickle.dumps(value, protocol=5)
        if not (interactive and b"__main__" in content):
            return content
        problem: Exception | None = None
    except Exception as error:  # noqa: BLE001 - pickling runs code of the user
        problem = error
    try:
        import cloudpickle  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError:
        pass
    else:
        return bytes(cloudpickle.dumps(value, protocol=5))
    name = _qualified_name(function) or repr(function)
    if problem is None:
        raise pickle.PicklingError(
            f"{name} is defined in an interactive session or in -c, where no other process finds it; "
            "put it into a module, or install cloudpickle"
        )
    if "<lambda>" in name or "<locals>" in name:
        raise pickle.PicklingError(
            f"{name} is a lambda or an inner function, which no other process finds by its name; "
            "define it at the top of a module, or install cloudpickle"
        ) from problem
    problem.add_note(f"while {name} and its arguments were pickled for another process")
    raise problem


def main_module() -> tuple[str, str] | None:
    """Returns how another process can import the main module; None if it cannot."""
    main = sys.modules.get("__main__")
    name = getattr(getattr(main, "__spec__", None), "name", None)
    if name is not None:
        return "module", str(name)
    path = getattr(main, "__file__", None)
    if path is None or not os.path.isfile(path):
        return None
    # Results of the worker refer to classes of the main module by this name, as with multiprocessing.
    sys.modules.setdefault("__mp_main__", sys.modules["__main__"])
    return "path", os.path.abspath(path)


def name_of(function: Callable[..., object]) -> str:
    """Returns the name of a function, changed to a valid name of an operation."""
    while isinstance(function, functools.partial):
        function = function.func
    name = _qualified_name(function) or type(function).__qualname__
    return re.sub(r"[^A-Za-z0-9_.]+", "", name)[-100:] or "call"


def _qualified_name(function: Callable[..., object]) -> str | None:
    """Returns the name of a function. Proxies of remote functions have attributes of any name, of other types."""
    name = getattr(function, "__qualname__", None)
    return name if isinstance(name, str) else None
