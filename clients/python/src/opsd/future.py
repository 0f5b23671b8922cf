"""Futures of functions that run as operations."""

from __future__ import annotations

import os
import pickle
import threading
from concurrent.futures import CancelledError, Future
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ._wire import OpsError

if TYPE_CHECKING:
    from ._spool import Calls, Result
    from .engine import Engine

T = TypeVar("T")


class OperationFailed(OpsError):
    """The operation of a function ended without a result, but not because of an exception of the function.

    `outcome` and `cause` are those of the operation, such as `failed` and "killed by SIGSEGV". See its log for details.
    The outcome is `unknown` if the operation was pruned before this process learned its outcome.
    """

    def __init__(self, operation: int | None, outcome: str, cause: str | None) -> None:
        super().__init__(operation, outcome, cause)
        self.operation = operation
        self.outcome = outcome
        self.cause = cause

    def __str__(self) -> str:
        return f"operation {self.operation} {self.outcome}" + (f": {self.cause}" if self.cause else "")


class OperationCancelled(OperationFailed, CancelledError):
    """The operation of a function was cancelled while the function was running."""


class RemoteTraceback(Exception):
    """Cause of an exception that a function raised. Contains the traceback in the process that ran the function."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f'\n"""\n{self.text}"""'


class OpsFuture(Future[T], Generic[T]):
    """A `concurrent.futures.Future` with the id of its operation."""

    def __init__(self, engine: Engine, calls: Calls, index: int) -> None:
        super().__init__()
        self._engine = engine
        self._calls = calls
        self._index = index
        # Set once it is known whether the daemon has stored the operation.
        self._stored = threading.Event()
        self._id: int | None = None
        # True once the engine knows how the future ends. The lock of the engine protects it.
        self._is_decided = False
        # The first callback, so that callbacks of the user can wait for the shutdown of the executor.
        self.add_done_callback(engine.remove)

    @property
    def function(self) -> str:
        """Name of the function."""
        return self._calls.functions[self._index]

    @property
    def operation(self) -> int:
        """Id of the operation. Blocks until the daemon has stored it."""
        self._stored.wait()
        if self._id is None:
            self._engine.resolve(self)
            try:
                failure = self.exception()
            except CancelledError:
                failure = None
            raise OpsError(f"{self.function} was not submitted: {failure or 'it was cancelled before'}")
        return self._id

    def _is_of(self, socket: str) -> bool:
        """Returns whether the operation is one of the daemon at this socket."""
        return os.path.realpath(self._engine.client.socket) == os.path.realpath(socket)

    def cancel(self) -> bool:
        """Cancels the operation if its function has not begun to run."""
        with self._condition:
            if self._state in ("CANCELLED", "CANCELLED_AND_NOTIFIED"):
                return True
            if self._state != "PENDING":
                return False
        return self._engine.withdraw(self)

    def _cancelled(self) -> bool:
        """Marks the future as cancelled, once it is certain that the function will not run. Returns False if it did."""
        try:
            return super().cancel()
        finally:
            # `wait` and `as_completed` need this, also after a callback that has raised SystemExit.
            if self.cancelled():
                self.set_running_or_notify_cancel()

    def _started(self) -> None:
        with self._condition:
            if self._state == "PENDING":
                self.set_running_or_notify_cancel()

    def _settle(self, result: Result) -> None:
        """Resolves the future with the result that the worker wrote, or with the outcome of the operation."""
        if self.done():
            return
        if result.kind == "ended":
            outcome, cause = pickle.loads(result.content)
            if outcome != "cancelled":
                self._fail(OperationFailed(self._id, outcome, cause))
            elif not self._cancelled():
                self._fail(OperationCancelled(self._id, outcome, cause))
            return
        value: Any = None
        try:
            value = pickle.loads(result.content) if result.content else None
        except BaseException as error:  # noqa: BLE001 - unpickling runs code of the user
            error.add_note(f"while the result of operation {self._id} was unpickled")
            self._fail(error)
            return
        if result.kind == "result":
            self._started()
            self.set_result(value)
            return
        if not isinstance(value, BaseException):
            value = OperationFailed(self._id, "failed", f"{result.summary} (it cannot be pickled)")
        value.__cause__ = RemoteTraceback(result.traceback)
        self._fail(value)

    def _fail(self, error: BaseException) -> None:
        if self.done():
            return
        self._started()
        self.set_exception(error)
