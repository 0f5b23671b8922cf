"""Client of the job scheduler opsd.

`Client` has a blocking call for each method of the daemon, and `aio.Client` has a coroutine for each. `Graph` builds
graphs of operations. `OpsExecutor` runs functions as operations.
"""

from __future__ import annotations

# Defined here, because importing typing would take a fifth of the start time of a worker.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from . import aio as aio
    from . import messages as messages
    from ._address import captured as captured
    from ._address import socket_path as socket_path
    from ._keys import After as After
    from ._spool import KeyInUse as KeyInUse
    from ._wire import CallError as CallError
    from ._wire import CallTimeout as CallTimeout
    from ._wire import ConnectionFailed as ConnectionFailed
    from ._wire import OpsError as OpsError
    from ._wire import ProtocolError as ProtocolError
    from ._wire import UnknownCallError as UnknownCallError
    from .client import Client as Client
    from .executor import BrokenOpsExecutor as BrokenOpsExecutor
    from .executor import OpsExecutor as OpsExecutor
    from .future import OperationCancelled as OperationCancelled
    from .future import OperationFailed as OperationFailed
    from .future import OpsFuture as OpsFuture
    from .future import RemoteTraceback as RemoteTraceback
    from .graph import AsyncSubmittedGraph as AsyncSubmittedGraph
    from .graph import Graph as Graph
    from .graph import Group as Group
    from .graph import Node as Node
    from .graph import SubmittedGraph as SubmittedGraph
    from .messages import Busy as Busy
    from .messages import Cycle as Cycle
    from .messages import InvalidOperation as InvalidOperation
    from .messages import Lagged as Lagged
    from .messages import NotFound as NotFound
    from .messages import PermissionDenied as PermissionDenied
    from .messages import Selection as Selection
    from .messages import StorageUnavailable as StorageUnavailable
    from .messages import TimedOut as TimedOut
    from .messages import TooLarge as TooLarge
    from .messages import WrongState as WrongState

# A module is loaded when one of its names is used. A worker that runs a function needs none of them, and the start of
# the worker is most of the cost of a call.
_MODULES = {
    "_address": ("captured", "socket_path"),
    "_keys": ("After",),
    "_spool": ("KeyInUse",),
    "_wire": ("CallError", "CallTimeout", "ConnectionFailed", "OpsError", "ProtocolError", "UnknownCallError"),
    "client": ("Client",),
    "executor": ("BrokenOpsExecutor", "OpsExecutor"),
    "future": ("OperationCancelled", "OperationFailed", "OpsFuture", "RemoteTraceback"),
    "graph": ("AsyncSubmittedGraph", "Graph", "Group", "Node", "SubmittedGraph"),
    "messages": (
        "Busy",
        "Cycle",
        "InvalidOperation",
        "Lagged",
        "NotFound",
        "PermissionDenied",
        "Selection",
        "StorageUnavailable",
        "TimedOut",
        "TooLarge",
        "WrongState",
    ),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [  # noqa: PLE0604 - the names are those of the table
    *_HOMES,
    "aio",
    "messages",
]


# True in a worker while it imports the main module of its caller.
_importing_main = False


def __getattr__(name: str) -> Any:
    import importlib

    if name in ("aio", "messages"):
        return importlib.import_module("." + name, __name__)
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module("." + home, __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
