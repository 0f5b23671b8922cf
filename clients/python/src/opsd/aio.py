"""Client of the daemon for asyncio."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Self, TypeVar, Unpack

from . import _wire
from ._address import captured, enclosing_operation, socket_path
from ._methods import AsyncMethods
from ._wire import CallTimeout, ConnectionFailed, JSONObject, ProtocolError
from .client import TEMPORARY, Reconnection, SubmissionOptions, _read, parts_of, resumed
from .messages import Event, Lagged, Selection, SubmitReply

__all__ = ["Client"]

T = TypeVar("T")


class _Connection:
    """One connection to the socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, path: str) -> Self:
        try:
            return cls(*await asyncio.open_unix_connection(path, limit=_wire.FRAME_BYTES))
        except OSError as error:
            raise ConnectionFailed(f"cannot reach opsd at {path}: {error.strerror or error}") from error

    async def send(self, frame: bytes) -> None:
        try:
            self._writer.write(frame)
            await self._writer.drain()
        except OSError as error:
            raise ConnectionFailed(f"the daemon closed the connection: {error.strerror or error}") from error

    async def receive(self) -> bytes:
        try:
            return (await self._reader.readuntil(b"\0"))[:-1]
        except asyncio.IncompleteReadError as error:
            raise ConnectionFailed("the daemon closed the connection before its reply") from error
        except asyncio.LimitOverrunError as error:
            raise ProtocolError(f"the daemon sent more than {_wire.FRAME_BYTES} bytes as one message") from error
        except OSError as error:
            raise ConnectionFailed(f"the connection broke: {error.strerror or error}") from error

    @property
    def is_stale(self) -> bool:
        """Returns whether the daemon has closed the connection or has sent an unexpected message.

        The event loop may not have noticed that yet, or may have read the message already.
        """
        if self._reader.at_eof() or self._writer.is_closing() or self._reader._buffer:  # type: ignore[attr-defined]
            return True
        return _wire.is_readable(self._writer.get_extra_info("socket").fileno())

    def close(self) -> None:
        self._writer.close()


class Client(AsyncMethods):
    """Client with a coroutine for each method of the daemon.

    A client belongs to one event loop, and any number of tasks may use it. Ordinary calls share one connection, one
    after another. Each stream and each `wait` opens another connection. `timeout` limits every call in seconds, except
    streams and `wait`.
    """

    def __init__(self, socket: str | os.PathLike[str] | None = None, *, timeout: float | None = None) -> None:
        self.socket = socket_path(socket)
        self.timeout = timeout
        self._connection: _Connection | None = None
        self._lock = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection. A later call opens another one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def _call(
        self, method: str, parameters: dict[str, Any], decode: Callable[[JSONObject], T], *, own: bool = False
    ) -> T:
        frame = _wire.encode(method, parameters)
        if own:
            connection = await _Connection.open(self.socket)
            try:
                return _read(method, decode, await self._exchange(connection, frame))
            finally:
                connection.close()
        async with self._lock:
            if self._connection is not None and self._connection.is_stale:
                self.close()
            try:
                async with asyncio.timeout(self.timeout):
                    if self._connection is None:
                        self._connection = await _Connection.open(self.socket)
                    reply = await self._exchange(self._connection, frame)
            except _wire.CallError:
                raise
            except TimeoutError as error:
                self.close()
                raise CallTimeout(f"the daemon sent no complete reply within {self.timeout} s") from error
            except BaseException:
                # The next reply on this connection could belong to the call that failed.
                self.close()
                raise
        return _read(method, decode, reply)

    async def _exchange(self, connection: _Connection, frame: bytes) -> JSONObject:
        await connection.send(frame)
        return _wire.decode(await connection.receive())[0]

    async def _stream(
        self, method: str, parameters: dict[str, Any], decode: Callable[[JSONObject], T]
    ) -> AsyncIterator[T]:
        frame = _wire.encode(method, parameters, more=True)
        connection = await _Connection.open(self.socket)
        try:
            await connection.send(frame)
            continues = True
            while continues:
                reply, continues = _wire.decode(await connection.receive())
                yield _read(method, decode, reply)
        finally:
            connection.close()

    async def watch(
        self, *, since: int | None = None, selection: Selection | None = None, patience: float = 60.0
    ) -> AsyncIterator[Event]:
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
                    last = (await self.status()).last_seq
                    at = last if at is None else at
                    retry.succeeded()
                async for reply in self.watch_stream(since=at, selection=selection):
                    at = reply.event.seq
                    fresh = False
                    yield reply.event
                raise ConnectionFailed("the daemon ended the event stream")
            except Lagged as lagged:
                at = resumed(at or 0, lagged, fresh)
            except TEMPORARY as error:
                await asyncio.sleep(retry.delay(error))

    async def submit_operations(
        self, operations: Sequence[Mapping[str, Any]], **options: Unpack[SubmissionOptions]
    ) -> SubmitReply:
        """Submits one graph with the environment, directory and umask of this process, as opsctl does.

        The options are the other parameters of `submit`. A large graph is sent in parts over another connection. The
        daemon stores all of it or nothing.
        """
        inside = enclosing_operation(self.socket)
        parts = parts_of(operations)
        if len(parts) == 1:
            return await self.submit(operations, capture=captured(), inside=inside, **options)
        async with Client(self.socket, timeout=self.timeout) as client:
            await client.begin_submission(capture=captured(), inside=inside, **options)
            for part in parts:
                await client.add_operations(part)
            reply = await client.commit_submission()
        return SubmitReply(
            graph=reply.graph,
            existing=reply.existing,
            first=reply.first,
            count=reply.count,
            operations=reply.operations,
        )
