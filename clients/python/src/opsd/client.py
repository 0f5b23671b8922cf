"""Blocking client of the daemon."""

from __future__ import annotations

import functools
import os
import random
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self, TypedDict, TypeVar, Unpack

from . import _wire
from ._address import captured, enclosing_operation, socket_path
from ._methods import Methods
from ._wire import CallTimeout, ConnectionFailed, JSONObject, ProtocolError
from .messages import Busy, Event, Lagged, Selection, StorageUnavailable, SubmitReply

T = TypeVar("T")

# Maximum number of operations in a message, and their approximate maximum size as JSON. Larger submissions are sent in
# parts.
PART = 5000
PART_SIZE = 4 << 20
# Errors after which the same call may succeed shortly afterwards.
TEMPORARY = (ConnectionFailed, StorageUnavailable, Busy)


class SubmissionOptions(TypedDict, total=False):
    """Parameters of a submission besides its operations and the properties of this process."""

    name: str | None
    defaults: Mapping[str, Any] | None
    child: bool | None
    key: str | None
    unless_active: str | None
    dry_run: bool | None
    list: bool | None
    order: str | None
    observers: Mapping[str, Any] | None


class Connection:
    """One connection to the socket. Only one thread uses it at a time.

    The timeout limits the time from the start of a message to the end of its reply.
    """

    def __init__(self, path: str, timeout: float | None) -> None:
        self._timeout = timeout
        # Moment at which the timeout of the present call ends, on the monotonic clock.
        self._end: float | None = None
        self._buffer = bytearray()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.settimeout(timeout)
            self._socket.connect(path)
        except OSError as error:
            self._socket.close()
            raise ConnectionFailed(f"cannot reach opsd at {path}: {error.strerror or error}") from error

    def send(self, frame: bytes) -> None:
        """Sends a whole message."""
        if self._timeout is not None:
            self._end = time.monotonic() + self._timeout
        try:
            self._limit()
            self._socket.sendall(frame)
        except TimeoutError as error:
            raise CallTimeout(f"the daemon took no message for {self._timeout} s") from error
        except OSError as error:
            raise ConnectionFailed(f"the daemon closed the connection: {error.strerror or error}") from error

    def receive(self) -> bytearray:
        """Returns the next message without its NUL byte."""
        searched = 0
        while True:
            end = self._buffer.find(0, searched)
            if end >= 0:
                frame = self._buffer[:end]
                del self._buffer[: end + 1]
                return frame
            searched = len(self._buffer)
            if searched > _wire.FRAME_BYTES:
                raise ProtocolError(f"the daemon sent more than {_wire.FRAME_BYTES} bytes as one message")
            try:
                self._limit()
                piece = self._socket.recv(1 << 18)
            except TimeoutError as error:
                raise CallTimeout(f"the daemon sent no complete reply within {self._timeout} s") from error
            except OSError as error:
                raise ConnectionFailed(f"the connection broke: {error.strerror or error}") from error
            if not piece:
                raise ConnectionFailed("the daemon closed the connection before its reply")
            self._buffer += piece

    def _limit(self) -> None:
        """Limits the next use of the socket to the time that is left for the call."""
        if self._end is None:
            return
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._socket.settimeout(left)

    def is_stale(self) -> bool:
        """Returns whether the daemon has closed the connection or has sent an unexpected message."""
        return bool(self._buffer) or _wire.is_readable(self._socket.fileno())

    def shut_down(self) -> None:
        """Ends the connection, so that a thread that reads from it returns."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the daemon has already closed it

    def close(self) -> None:
        """Closes the descriptor. A child process that shares the connection keeps it."""
        self._socket.close()


class Client(Methods):
    """Client with a blocking call for each method of the daemon.

    Several threads may use a client. Ordinary calls share one connection, one after another. Each stream and each
    `wait` opens another connection. The client connects at the first call, and again after a restart of the daemon. A
    forked child opens new connections. `timeout` limits every call in seconds, except streams and `wait`.
    """

    def __init__(self, socket: str | os.PathLike[str] | None = None, *, timeout: float | None = None) -> None:
        self.socket = socket_path(socket)
        self.timeout = timeout
        self._connection: Connection | None = None
        self._lock = threading.Lock()
        _clients.add(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Callable[..., Client], tuple[str]]:
        return functools.partial(Client, timeout=self.timeout), (self.socket,)

    def close(self) -> None:
        """Closes the connection. A later call opens another one."""
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _forked(self) -> None:
        """Replaces the parent's connection and a lock that another thread may have held. Called in a forked child."""
        self._lock = threading.Lock()
        self._drop()

    def _call(
        self, method: str, parameters: dict[str, Any], decode: Callable[[JSONObject], T], *, own: bool = False
    ) -> T:
        frame = _wire.encode(method, parameters)
        if own:
            connection = Connection(self.socket, None)
            try:
                return _read(method, decode, self._exchange(connection, frame))
            finally:
                connection.close()
        with self._lock:
            if self._connection is not None and self._connection.is_stale():
                self._drop()
            if self._connection is None:
                self._connection = Connection(self.socket, self.timeout)
            try:
                reply = self._exchange(self._connection, frame)
            except _wire.CallError:
                raise
            except BaseException:
                # The next reply on this connection could belong to the call that failed.
                self._drop()
                raise
        return _read(method, decode, reply)

    def _exchange(self, connection: Connection, frame: bytes) -> JSONObject:
        connection.send(frame)
        return _wire.decode(connection.receive())[0]

    def _stream(self, method: str, parameters: dict[str, Any], decode: Callable[[JSONObject], T]) -> Iterator[T]:
        frame = _wire.encode(method, parameters, more=True)
        connection = Connection(self.socket, None)
        try:
            connection.send(frame)
            continues = True
            while continues:
                reply, continues = _wire.decode(connection.receive())
                yield _read(method, decode, reply)
        finally:
            connection.close()

    def watch(
        self, *, since: int | None = None, selection: Selection | None = None, patience: float = 60.0
    ) -> Iterator[Event]:
        """Yields every event after `since` (default: from now on), each once and in order, without end.

        A lost connection is opened again, also to a restarted daemon, for up to `patience` seconds, and the stream goes
        on after the last event. `Lagged` is raised only if events in between no longer exist.
        """
        retry = Reconnection(patience)
        at = since
        while True:
            fresh = True
            try:
                if at is None or retry.is_waiting:
                    last = self.status().last_seq
                    at = last if at is None else at
                    retry.succeeded()
                for reply in self.watch_stream(since=at, selection=selection):
                    at = reply.event.seq
                    fresh = False
                    yield reply.event
                raise ConnectionFailed("the daemon ended the event stream")
            except Lagged as lagged:
                at = resumed(at or 0, lagged, fresh)
            except TEMPORARY as error:
                retry.failed(error)

    def submit_operations(
        self, operations: Sequence[Mapping[str, Any]], **options: Unpack[SubmissionOptions]
    ) -> SubmitReply:
        """Submits one graph with the environment, directory and umask of this process, as opsctl does.

        The options are the other parameters of `submit`. A large graph is sent in parts over another connection. The
        daemon stores all of it or nothing.
        """
        inside = enclosing_operation(self.socket)
        parts = parts_of(operations)
        if len(parts) == 1:
            return self.submit(operations, capture=captured(), inside=inside, **options)
        with Client(self.socket, timeout=self.timeout) as client:
            client.begin_submission(capture=captured(), inside=inside, **options)
            for part in parts:
                client.add_operations(part)
            reply = client.commit_submission()
        return SubmitReply(
            graph=reply.graph,
            existing=reply.existing,
            first=reply.first,
            count=reply.count,
            operations=reply.operations,
        )


def parts_of(operations: Sequence[Mapping[str, Any]]) -> list[Sequence[Mapping[str, Any]]]:
    """Divides the operations of a submission into the parts that are sent one after another."""
    parts: list[Sequence[Mapping[str, Any]]] = []
    start = size = 0
    for index, operation in enumerate(operations):
        added = _wire.size(operation)
        if index > start and (index - start >= PART or size + added > PART_SIZE):
            parts.append(operations[start:index])
            start, size = index, 0
        size += added
    return [*parts, operations[start:]]


class Reconnection:
    """Decides how long and how often to try to reach a daemon that does not answer."""

    def __init__(self, patience: float) -> None:
        self.patience = patience
        self._since: float | None = None
        self._answered: float | None = None
        self._delay = 0.0

    @property
    def is_waiting(self) -> bool:
        """Returns whether the last try failed."""
        return self._since is not None

    def succeeded(self) -> None:
        """Records that the daemon has answered. If the next failure comes at once, it is still the same trouble."""
        self._answered = time.monotonic()

    def delay(self, error: Exception) -> float:
        """Returns the seconds until the next try, or raises the error if no time is left."""
        now = time.monotonic()
        if self._answered is not None and now - self._answered >= min(1.0, self.patience):
            self._since = None
        self._answered = None
        if self._since is None:
            self._since = now
            self._delay = 0.02
        if now - self._since >= self.patience:
            raise error
        self._delay = min(self._delay * 1.6, 1.0)
        return self._delay * random.uniform(0.7, 1.0)

    def failed(self, error: Exception) -> None:
        """Sleeps until the next try, or raises the error if no time is left."""
        time.sleep(self.delay(error))


def patiently(call: Callable[[], T], patience: float) -> T:
    """Repeats a call for up to `patience` seconds while the daemon is unreachable, busy or without storage."""
    retry = Reconnection(patience)
    while True:
        try:
            return call()
        except TEMPORARY as error:
            retry.failed(error)


def resumed(at: int, lagged: Lagged, fresh: bool) -> int:
    """Returns the event after which the stream continues, or raises the error if events were lost."""
    if fresh and lagged.resume > at:
        raise lagged
    return max(at, lagged.resume)


def _read(method: str, decode: Callable[[JSONObject], T], reply: JSONObject) -> T:
    try:
        return decode(reply)
    except _wire.MISMATCH as error:
        raise ProtocolError(f"{method}: the reply does not match the interface: {error!r}") from error


_clients: weakref.WeakSet[Client] = weakref.WeakSet()


def _after_fork() -> None:
    for client in list(_clients):
        client._forked()


os.register_at_fork(after_in_child=_after_fork)
