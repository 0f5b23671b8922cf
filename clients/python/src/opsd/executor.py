"""Executor that runs functions as operations of opsd."""

from __future__ import annotations

import atexit
import functools
import itertools
import operator
import os
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, Unpack

import opsd

from ._address import captured, enclosing_operation
from ._functions import main_module, name_of, pickled
from ._keys import FunctionKeys, as_json, edges
from ._spool import Calls, Spool
from ._wire import OpsError
from .client import Client, Connection, patiently
from .engine import LABEL, BrokenOpsExecutor, Engine, Unit
from .future import OpsFuture
from .messages import PermissionDenied
from .worker import run_chunk

__all__ = ["BrokenOpsExecutor", "OpsExecutor"]

P = ParamSpec("P")
T = TypeVar("T")

_PACKAGE_PARENT = str(Path(opsd.__file__).resolve().parent.parent)


class OpsExecutor(Executor):
    """Runs functions as operations. For each call opsd starts a process, which outlives this process.

    Keys of operations (`queue`, `priority`, `categories`, `retry`, `timeout`, ...) apply to all calls; `options` sets
    them for some. With a `key`, calls and results are kept on disk: a second run of the program with the same key finds
    the results of the first run, and no call is made twice. `max_workers` limits how many calls run at once, in
    addition to the limits of the daemon. The daemon may be unreachable for up to `patience` seconds.
    """

    def __init__(
        self,
        max_workers: int | None = None,
        *,
        key: str | None = None,
        socket: str | os.PathLike[str] | None = None,
        initializer: Callable[..., object] | None = None,
        initargs: tuple[Any, ...] = (),
        patience: float = 60.0,
        **keys: Unpack[FunctionKeys],
    ) -> None:
        if opsd._importing_main:
            raise RuntimeError(
                "the main module creates an executor while a worker imports it; "
                "put that into `if __name__ == '__main__':`, as for multiprocessing"
            )
        if max_workers is not None:
            max_workers = _positive(max_workers)
            if "queue" in keys:
                raise ValueError("max_workers is the limit of a new queue; set the limit of the queue instead")
        if key == "":
            raise ValueError("a key must not be empty")
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be a callable")
        client = Client(socket)
        self._keys = _function_keys(keys, client.socket)
        self._initializer = None if initializer is None else pickled((initializer, initargs), initializer)
        # A missing daemon is an error here. Later calls wait for a daemon that has stopped.
        Connection(client.socket, None).close()
        spool = _open_spool(client.socket, key)
        try:
            for name in spool.swept:
                _remove_queue(client, name)
            queue = window = None
            if max_workers is not None:
                queue = patiently(functools.partial(_own_queue, client, spool, max_workers), patience)
                if queue is None:
                    window = max_workers
                else:
                    self._keys["queue"] = queue
            self._engine = Engine(client, spool, patience, queue=queue, window=window)
        except BaseException:
            spool.close(remove=key is None)
            client.close()
            raise
        self._core = _Core(self._engine, self._initializer)
        self._finalizer = weakref.finalize(self, self._engine.shut_down, wait=False, cancel=False)
        self._finalizer.atexit = False
        _engines.add(self._engine)
        _register_exit_of_child()

    @classmethod
    def attach(
        cls, key: str, *, socket: str | os.PathLike[str] | None = None, patience: float = 60.0
    ) -> list[OpsFuture[Any]]:
        """Returns a future for each call that was ever submitted with this key, in order of submission.

        A chunk of `map` is one call whose result is a list. Calls that an earlier process could not submit before it
        died are submitted now.
        """
        executor = cls(key=key, socket=socket, patience=patience)
        futures: list[OpsFuture[Any]] = []
        try:
            spool = executor._engine.spool
            # A damaged file raises an error before any call is continued, so that the key can be forgotten then.
            stored = [(number, spool.read(number)) for number in spool.numbers()]
            for number, calls in stored:
                if calls is not None:
                    futures += executor._core.resume(number, calls)
        finally:
            executor.shutdown(wait=False)
        return futures

    @staticmethod
    def forget(key: str, *, socket: str | os.PathLike[str] | None = None) -> None:
        """Removes all stored calls and results of a key, so that its calls are made again.

        The operations are not changed: those that are waiting fail, because their calls are no longer stored.
        """
        with Client(socket) as client:
            spool = _open_spool(client.socket, key)
            _remove_queue(client, spool.name)
            spool.close(remove=True)

    @property
    def _broken(self) -> str | None:
        return self._engine.broken

    def options(self, **keys: Unpack[FunctionKeys]) -> _Options:
        """Returns an executor that submits to this one with additional keys, such as `after=[future]`."""
        return _Options(self, {**self._keys, **_function_keys(keys, self._engine.client.socket)})

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> OpsFuture[T]:
        """Runs `fn(*args, **kwargs)` as an operation. All keyword arguments are passed to the function."""
        return self._core.submit(self._keys, fn, args, kwargs)

    def map(
        self,
        fn: Callable[..., T],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int = 1,
        buffersize: int | None = None,
    ) -> Iterator[T]:
        """Returns an iterator over `fn` of each item, in order. `chunksize` items share one process.

        The daemon stores all chunks together. Starting a process takes 20 to 40 ms, so use chunks for functions that
        are faster than that. With a `buffersize`, at most that many chunks are submitted before their results are
        taken, and the items of later chunks are not read yet.
        """
        return self._core.map(self._keys, fn, iterables, timeout, chunksize, buffersize)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Refuses further calls and waits for all calls. With `cancel_futures`, cancels calls that have not begun."""
        self._finalizer.detach()
        self._engine.shut_down(wait=wait, cancel=cancel_futures)


class _Options(Executor):
    """View of an executor with additional keys."""

    def __init__(self, executor: OpsExecutor, keys: dict[str, Any]) -> None:
        self._executor = executor
        self._keys = keys

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> OpsFuture[T]:
        return self._executor._core.submit(self._keys, fn, args, kwargs)

    def map(
        self,
        fn: Callable[..., T],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int = 1,
        buffersize: int | None = None,
    ) -> Iterator[T]:
        return self._executor._core.map(self._keys, fn, iterables, timeout, chunksize, buffersize)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._executor.shutdown(wait, cancel_futures=cancel_futures)


class _Core:
    """Submits calls: writes functions to files and gives units to the engine."""

    def __init__(self, engine: Engine, initializer: bytes | None) -> None:
        self._engine = engine
        self._initializer = initializer
        self._lock = threading.Lock()
        self._number = 0
        self._last_capture: dict[str, Any] = {}

    def submit(self, keys: dict[str, Any], fn: Callable[..., T], args: Any, kwargs: Any) -> OpsFuture[T]:
        self._check()
        return self._add(keys, [pickled((fn, args, kwargs), fn)], name_of(fn))[0]

    def map(
        self,
        keys: dict[str, Any],
        fn: Callable[..., T],
        iterables: tuple[Iterable[Any], ...],
        timeout: float | None,
        chunksize: int,
        buffersize: int | None,
    ) -> Iterator[T]:
        if chunksize < 1:
            raise ValueError("chunksize must be >= 1.")
        if buffersize is not None and not isinstance(buffersize, int):
            raise TypeError("buffersize must be an integer or None")
        if buffersize is not None and buffersize < 1:
            raise ValueError("buffersize must be None or > 0")
        end = None if timeout is None else timeout + time.monotonic()
        self._check()
        items = zip(*iterables, strict=False)
        if chunksize == 1:
            calls = (pickled((fn, item, {}), fn) for item in items)
        else:
            chunks = iter(lambda: list(itertools.islice(items, chunksize)), [])
            calls = (pickled((run_chunk, (fn, chunk), {}), fn) for chunk in chunks)
        first = list(itertools.islice(calls, buffersize))
        futures = self._add(keys, first, name_of(fn)) if first else []
        return _results(futures, self._later(keys, calls, name_of(fn)), end, is_chunked=chunksize > 1)

    def _later(self, keys: dict[str, Any], calls: Iterator[bytes], function: str) -> Iterator[OpsFuture[Any]]:
        """Submits one call for each future that is taken from the iterator."""
        for call in calls:
            self._check()
            yield self._add(keys, [call], function)[0]

    def resume(self, number: int, calls: Calls) -> list[OpsFuture[Any]]:
        """Continues with calls that an earlier process has written."""
        with self._lock:
            self._number = max(self._number, number + 1)
        return self._queue(number, calls, is_known=True)

    def _check(self) -> None:
        if self._engine.is_inherited:
            raise RuntimeError("the executor belongs to the process that created it, not to its forked child")
        if self._engine.broken is not None:
            raise BrokenOpsExecutor(self._engine.broken)
        if self._engine.is_shut_down:
            raise RuntimeError("cannot schedule new futures after shutdown")
        if _exiting.is_set():
            raise RuntimeError("cannot schedule new futures after interpreter shutdown")
        # An executor of a module can be older than the start of the child, which drops earlier finalizers.
        _register_exit_of_child()

    def _add(self, keys: dict[str, Any], calls: list[bytes], function: str) -> list[OpsFuture[Any]]:
        with self._lock:
            number = self._number
            self._number += 1
            known = self._engine.spool.read(number) if self._engine.spool.key is not None else None
            if known is not None:
                if known.functions != [function] * len(calls):
                    raise ValueError(
                        f"submission {number} of key {self._engine.spool.key!r} was {len(known.functions)} calls of "
                        f"{known.functions[0]}, not {len(calls)} of {function}; use another key for other work"
                    )
                return self._queue(number, known, is_known=True)
            written = self._write(number, keys, calls, function)
            return self._queue(number, written, is_known=False)

    def _write(self, number: int, keys: dict[str, Any], calls: list[bytes], function: str) -> Calls:
        spool = self._engine.spool
        environment = keys.get("environment", {})
        own_path = environment.get("PYTHONPATH")
        pythonpath = os.environ.get("PYTHONPATH") if own_path is None else own_path
        search = [*own_path.split(os.pathsep), *sys.path] if own_path else sys.path
        main = main_module() if any(b"__main__" in call for call in (*calls, self._initializer or b"")) else None
        header = {
            "sys_path": [os.path.abspath(entry) if isinstance(entry, str) else str(entry) for entry in search],
            "argv": [str(word) for word in sys.argv],
            "pythonpath": pythonpath,
            "main": main,
            "initializer": self._initializer,
        }
        file = str(spool.path_of(number))
        name = keys.get("name") or f"{function}-{spool.generation[:6]}.{number}"
        operations = []
        for index in range(len(calls)):
            operation = dict(keys)
            operation["name"] = name if len(calls) == 1 else f"{name}.{index}"
            operation["command"] = [sys.executable, "-P", "-m", "opsd.worker", file, str(index)]
            operation["labels"] = {**keys.get("labels", {}), LABEL: spool.generation}
            # The worker finds this package through the variable, and restores the original value for the function.
            path = _PACKAGE_PARENT + (os.pathsep + pythonpath if pythonpath else "")
            operation["environment"] = {**environment, "PYTHONPATH": path}
            operations.append(operation)
        submission: dict[str, Any] = {"operations": operations, "capture": self._capture()}
        inside = enclosing_operation(self._engine.client.socket)
        if inside is not None:
            submission["inside"] = inside
        try:
            return spool.write(number, header, calls, [function] * len(calls), submission)
        except FileNotFoundError:
            # A shutdown in another thread has removed the directory.
            if self._engine.is_shut_down:
                raise RuntimeError("cannot schedule new futures after shutdown") from None
            raise

    def _capture(self) -> dict[str, Any]:
        """Returns the properties of this process. Calls share the object, because an environment can be large."""
        capture = captured().to_json()
        if capture != self._last_capture:
            self._last_capture = capture
        return self._last_capture

    def _queue(self, number: int, calls: Calls, *, is_known: bool) -> list[OpsFuture[Any]]:
        engine = self._engine
        futures: list[OpsFuture[Any]] = [OpsFuture(engine, calls, index) for index in range(len(calls.functions))]
        key = None if engine.spool.key is None else f"opsd-python:{engine.spool.generation}:{number}"
        engine.add(Unit(calls, list(futures), key), is_known=is_known)
        return futures


def _results(
    first: list[OpsFuture[Any]], later: Iterator[OpsFuture[Any]], end: float | None, *, is_chunked: bool
) -> Iterator[Any]:
    """Yields results in order without keeping references to them. Cancels the other calls if the iterator is closed.

    Takes a later future before it waits for each result.
    """
    futures = deque(first)

    def iterate() -> Iterator[Any]:
        try:
            while futures:
                futures.extend(itertools.islice(later, 1))
                future = futures.popleft()
                try:
                    result = future.result() if end is None else future.result(end - time.monotonic())
                finally:
                    if not future.done():
                        futures.appendleft(future)
                    del future
                if not is_chunked:
                    box = [result]
                    del result
                    yield box.pop()
                    continue
                result.reverse()
                while result:
                    yield result.pop()
        finally:
            if futures:
                futures[0]._engine.withdraw_all(futures)

    return iterate()


def _positive(workers: int) -> int:
    """Returns a number of workers as an int. It may be of a type of numpy."""
    if isinstance(workers, bool):
        raise TypeError(f"max_workers is {workers}; it must be a number")
    number = operator.index(workers)
    if number <= 0:
        raise ValueError("max_workers must be greater than 0")
    return number


def _function_keys(keys: Mapping[str, Any], socket: str) -> dict[str, Any]:
    """Returns the keys of calls in the format of the daemon at this socket."""
    after = keys.get("after")
    dependencies = None if after is None else edges(after)
    for edge in dependencies or []:
        if isinstance(edge.target, OpsFuture) and not edge.target._is_of(socket):
            raise ValueError(f"after: the call of {edge.target.function} is an operation of another daemon")
    values = as_json({**keys, "after": dependencies}, FunctionKeys, "an executor")
    name = values.get("name", "")
    if not isinstance(name, str):
        raise TypeError(f"an executor: name is {name!r}; a name is text")
    return values


def _open_spool(socket: str, key: str | None) -> Spool:
    """Opens a directory. An executor of this process whose calls have ended may be about to release the key."""
    if key is not None:
        for engine in list(_engines):
            if engine.spool.key == key:
                engine.wait_until_released()
    return Spool(socket, key)


def _queue_name(spool: str) -> str:
    return f"python-{spool[4:16]}"


def _remove_queue(client: Client, spool: str) -> None:
    try:
        client.remove_queue(_queue_name(spool))
    except OpsError:
        pass  # the queue does not exist or is in use


def _own_queue(client: Client, spool: Spool, limit: int) -> str | None:
    """Creates a queue with this limit and returns its name, or None if the user is not permitted to."""
    name = _queue_name(spool.name)
    try:
        client.set_queue(name, limit=limit)
    except PermissionDenied as error:
        if spool.key is None:
            return None
        error.add_note("max_workers makes a queue for a key; leave it out, or name a queue that exists with queue=")
        raise
    return name


_engines: weakref.WeakSet[Engine] = weakref.WeakSet()
_exiting = threading.Event()
# Children of multiprocessing that call `_at_exit` when they end.
_children: set[int] = set()


def _at_exit() -> None:
    """Waits for all calls, as executors of the standard library do. With a key, waits only until they are stored."""
    _exiting.set()
    for engine in list(_engines):
        if not engine.is_inherited:
            engine.shut_down(wait=engine.spool.key is None, cancel=False)
            engine.wait_until_sent()


def _register_exit_of_child() -> None:
    """Makes a child of multiprocessing call `_at_exit`: a forked one ends without the functions of atexit."""
    process: Any = sys.modules.get("multiprocessing.process")
    util: Any = sys.modules.get("multiprocessing.util")
    if process is None or util is None or process.parent_process() is None or os.getpid() in _children:
        return
    _children.add(os.getpid())
    # Runs before the finalizers of queues and pools of multiprocessing, because callbacks may use them.
    util.Finalize(None, _at_exit, exitpriority=100)


def _after_fork() -> None:
    for engine in list(_engines):
        engine.forked()


atexit.register(_at_exit)
os.register_at_fork(after_in_child=_after_fork)
