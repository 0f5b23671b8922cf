"""Engine of an executor. One thread submits calls, and another thread reads the events of their ends."""

from __future__ import annotations

import functools
import logging
import os
import pickle
import secrets
import sys
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from . import _wire
from ._spool import Calls, Result, Spool
from ._wire import ConnectionFailed, OpsError
from .client import PART, TEMPORARY, Client, Connection, Reconnection
from .future import OpsFuture
from .messages import Event, Lagged, Operation, Selection, SubmitReply, WatchReply

T = TypeVar("T")

LABEL = "opsd-python"


class BrokenOpsExecutor(BrokenExecutor, OpsError):
    """The executor cannot continue: its initializer failed, or the daemon was unreachable for too long."""


@dataclass
class Unit:
    """Calls that are submitted together."""

    calls: Calls
    futures: list[OpsFuture[Any]]
    key: str | None

    @property
    def names(self) -> list[str]:
        """Names of the operations, which are unique in their graph."""
        return [operation["name"] for operation in self.calls.submission["operations"]]


class Engine:
    """State that the threads of one executor share.

    The engine has no reference to its executor, so that an unused executor can be collected and shut down.
    """

    def __init__(
        self, client: Client, spool: Spool, patience: float, *, queue: str | None = None, window: int | None = None
    ) -> None:
        self.client = client
        self.spool = spool
        self.patience = patience
        self.process = os.getpid()
        # Queue that was created for this executor, or None. Without a queue, `window` limits the unfinished operations.
        self._queue = queue
        self._window = window
        self._changed = threading.Condition()
        self._units: deque[Unit] = deque()
        self._by_id: dict[int, OpsFuture[Any]] = {}
        # Events of operations whose ids this process has not received yet.
        self._early: dict[int, list[Event]] = {}
        self._open = 0
        self._sending = 0
        self.is_shut_down = False
        self._is_over = False
        self.broken: str | None = None
        self._threads: list[threading.Thread] = []
        self._watching: Connection | None = None
        self._seq = self._patiently(client.status).last_seq

    @property
    def selection(self) -> Selection:
        """Selection of all operations of the executor."""
        return Selection(labels={LABEL: self.spool.name})

    # Called by the executor

    def add(self, unit: Unit, *, is_known: bool = False) -> None:
        """Queues calls for submission. Calls of an earlier process whose end is known are not submitted."""
        with self._changed:
            if self.is_shut_down:
                raise RuntimeError("cannot schedule new futures after shutdown")
            self._open += len(unit.futures)
            if self.broken is not None:
                return self._refuse(unit.futures)
        if is_known:
            self._settle_known(unit)
        with self._changed:
            if unit.futures:
                self._units.append(unit)
                self._start()
                self._changed.notify_all()
        return None

    def _settle_known(self, unit: Unit) -> None:
        for index, id in self.spool.ids(unit.calls).items():
            unit.futures[index]._id = id
        for future in unit.futures:
            result = self.spool.final(unit.calls.path, future._index)
            if result is not None:
                future._settle(result)
                with self._changed:
                    self._close_one()
        unit.futures = [future for future in unit.futures if not future.done()]

    def withdraw(self, future: OpsFuture[Any]) -> bool:
        """Cancels a call and its future if the call has not begun. Returns whether it did."""
        with self._changed:
            unit = next((unit for unit in self._units if future in unit.futures), None)
            is_here = unit is not None and self.spool.key is None
            if unit is not None and is_here:
                unit.futures.remove(future)
        if is_here:
            self._end(future, ended("cancelled", None))
            return True
        try:
            refs = [str(future.operation)]
            touched = any(
                self.client.cancel(Selection(refs=refs, state=state)).touched for state in ("pending", "ready")
            )
        except OpsError:
            return False  # the daemon did not cancel it, as far as is known here
        if touched:
            self._ended(future, future.operation, "cancelled", "")
        return touched and future.cancelled()

    def shut_down(self, *, wait: bool, cancel: bool) -> None:
        """Refuses further calls. The threads end when all accepted calls have ended."""
        with self._changed:
            self.is_shut_down = True
            self._changed.notify_all()
        if cancel:
            self.cancel("pending", "ready")
        with self._changed:
            self._finish_if_done()
            if not self._threads:
                self._clean_up()
        if wait:
            for thread in self._threads:
                if thread is not threading.current_thread():
                    thread.join()

    def cancel(self, *states: str) -> None:
        """Cancels calls that were not sent, and calls whose operations are in these states. Their futures end later."""
        dropped: list[OpsFuture[Any]] = []
        with self._changed:
            if self.spool.key is None:
                dropped = [future for unit in self._units for future in unit.futures]
                self._units.clear()
                self._changed.notify_all()
        for future in dropped:
            self._end(future, ended("cancelled", None))
        self.wait_until_sent()
        try:
            for state in states:
                selection = Selection(labels={LABEL: self.spool.name}, state=state)
                self._patiently(functools.partial(self.client.cancel, selection))
        except OpsError as error:
            self.break_down(f"the daemon could not be asked to cancel: {error}")

    def wait_until_sent(self) -> None:
        """Waits until the daemon has stored every call."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_over or self.broken or not (self._units or self._sending))

    def break_down(self, why: str) -> None:
        """Fails all unfinished calls and all later ones."""
        with self._changed:
            if self.broken is None:
                self.broken = why
            left = [*self._by_id.values(), *(future for unit in self._units for future in unit.futures)]
            self._by_id.clear()
            self._units.clear()
            self._changed.notify_all()
        self._refuse(left)

    def _refuse(self, futures: list[OpsFuture[Any]]) -> None:
        """Fails calls because the executor is broken."""
        for future in futures:
            future._fail(BrokenOpsExecutor(self.broken or "the executor is broken"))
        with self._changed:
            for _ in futures:
                self._close_one()

    def forked(self) -> None:
        """Leaves all calls to the parent. Called in a forked child."""
        self._changed = threading.Condition()
        self._threads = []
        self._is_over = True
        self.broken = "the executor belongs to the process that created it, not to its forked child"
        if self._watching is not None:
            self._watching.close()

    # State; the lock is held

    def _start(self) -> None:
        if self._threads:
            return
        for name, body in (("submit", self._run_submission), ("watch", self._run_watch)):
            thread = threading.Thread(target=body, name=f"opsd-{name}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _close_one(self) -> None:
        self._open -= 1
        self._changed.notify_all()
        self._finish_if_done()

    def _finish_if_done(self) -> None:
        if self.is_shut_down and self._open == 0 and not self._is_over:
            self._is_over = True
            self._changed.notify_all()
            if self._watching is not None:
                self._watching.shut_down()

    # Submission

    def _guarded(self, body: Callable[[], None]) -> None:
        """Runs the body of a thread. An unexpected error fails all futures, so that none waits forever."""
        try:
            body()
        except BaseException as error:  # noqa: BLE001
            logging.getLogger("opsd").critical("the executor broke", exc_info=True)
            self.break_down(f"unexpected {error!r}")

    def _run_submission(self) -> None:
        def submit_all() -> None:
            while self._submit_next():
                pass  # keeps no reference to a batch while it waits for the next one, because futures hold results

        self._guarded(submit_all)

    def _submit_next(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: (self._units and self._room() > 0) or self._is_over)
            if not self._units:
                return False
            batch = self._next_batch()
            self._sending += 1
        try:
            self._submit(batch)
        finally:
            with self._changed:
                self._sending -= 1
                self._changed.notify_all()
        return True

    def _room(self) -> int:
        """Returns how many operations may be submitted now."""
        return sys.maxsize if self._window is None else self._window - len(self._by_id)

    def _next_batch(self) -> list[Unit]:
        """Removes and returns the first unit and others that can be in the same graph, so that one call submits all."""
        first, room = self._units[0], self._room()
        if len(first.futures) > room and first.key is None:
            sent = Unit(first.calls, first.futures[:room], None)
            del first.futures[:room]
            return [sent]
        batch = [self._units.popleft()]
        if first.key is not None or self._window is not None:
            return batch
        names = set(batch[0].names)
        capture = batch[0].calls.submission["capture"]
        while self._units and len(names) < PART:
            unit = self._units[0]
            if unit.key is not None or unit.calls.submission["capture"] != capture or not names.isdisjoint(unit.names):
                break
            names.update(unit.names)
            batch.append(self._units.popleft())
        return batch

    def _submit(self, batch: list[Unit]) -> None:
        """Submits units as one graph. The key makes it safe to call again if the reply was lost."""
        key = batch[0].key
        by_name: dict[str, OpsFuture[Any]] = {}
        operations: list[dict[str, Any]] = []
        for unit in batch:
            wanted = {future._index: future for future in unit.futures}
            for index, operation in enumerate(unit.calls.submission["operations"]):
                if index in wanted:
                    by_name[operation["name"]] = wanted[index]
                if index in wanted or key is not None:
                    operations.append(operation)
        if not operations:
            return
        parameters = {**batch[0].calls.submission, "operations": operations, "list": True}
        parameters["key"] = key or "opsd-python:" + secrets.token_hex(16)
        try:
            reply = self._patiently(lambda: self._send(parameters))
        except ConnectionFailed as error:
            self.break_down(f"opsd could not be reached for {self.patience:.0f} s: {error}")
            self._refuse([future for unit in batch for future in unit.futures if not future.done()])
            return
        except OpsError as error:
            if len(batch) > 1:  # one of the units is invalid
                for unit in batch:
                    self._submit([unit])
                return
            for future in batch[0].futures:
                if not future.done():
                    self._give_up(future, error)
            return
        self._register(reply, by_name)
        if key is not None:
            self._note(self.spool.write_ids, batch[0].calls, {one._index: one._id for one in by_name.values()})
        if reply.existing:
            self._patiently(lambda: self._catch_up(Selection(graph=reply.graph)))

    def _send(self, parameters: dict[str, Any]) -> SubmitReply:
        if len(parameters["operations"]) <= PART:
            return self.client._call("Submit", parameters, SubmitReply.from_json)
        rest = {name: value for name, value in parameters.items() if name != "operations"}
        with Client(self.client.socket, timeout=self.client.timeout) as parts:
            parts._call("BeginSubmission", rest, lambda _: None)
            for start in range(0, len(parameters["operations"]), PART):
                parts.add_operations(parameters["operations"][start : start + PART])
            return parts._call("CommitSubmission", {}, SubmitReply.from_json)

    def _patiently(self, call: Callable[[], T]) -> T:
        """Repeats a call while the daemon is unreachable, busy or without storage, for the patience of the executor."""
        retry = Reconnection(self.patience)
        while True:
            try:
                return call()
            except TEMPORARY as error:
                delay = retry.delay(error)
                with self._changed:
                    if self.broken:
                        raise
                    self._changed.wait_for(lambda: self.broken, delay)

    def _give_up(self, future: OpsFuture[Any], error: Exception) -> None:
        future._fail(error)
        with self._changed:
            self._close_one()

    def _register(self, reply: SubmitReply, by_name: dict[str, OpsFuture[Any]]) -> None:
        early: list[Event] = []
        late: list[OpsFuture[Any]] = []
        with self._changed:
            for stored in reply.operations or []:
                future = by_name.get(stored.name or "")
                if future is None:
                    continue
                future._id = stored.id
                if future.done():
                    continue
                if self.broken is not None:
                    late.append(future)
                    continue
                self._by_id[stored.id] = future
                early += self._early.pop(stored.id, [])
        for future in by_name.values():
            future._stored.set()
        self._refuse(late)
        for event in early:
            self._hear(event)

    # Ends

    def _run_watch(self) -> None:
        self._guarded(self._watch)
        with self._changed:
            self._changed.wait_for(lambda: self._is_over)
        self._clean_up()

    def _watch(self) -> None:
        retry = Reconnection(self.patience)
        wanted = self.selection.to_json()
        while True:
            connection = None
            try:
                if retry.is_waiting:
                    self.client.status()
                    retry.succeeded()
                connection = Connection(self.client.socket, None)
                with self._changed:
                    if self._is_over or self.broken:
                        break
                    self._watching = connection
                connection.send(_wire.encode("Watch", {"since": self._seq, "selection": wanted}, more=True))
                while True:
                    event = WatchReply.from_json(_wire.decode(connection.receive())[0]).event
                    self._hear(event)
                    self._seq = event.seq
            except Lagged as lagged:
                # Events in between may have been removed, but their operations still exist.
                self._seq = max(self._seq, lagged.resume)
                self._patiently(lambda: self._catch_up(self.selection))
            except TEMPORARY as error:
                with self._changed:
                    if self._is_over or self.broken:
                        break
                try:
                    delay = retry.delay(error)
                except TEMPORARY:
                    self.break_down(f"opsd could not be reached for {self.patience:.0f} s: {error}")
                    break
                with self._changed:
                    self._changed.wait_for(lambda: self._is_over or self.broken, delay)
            finally:
                with self._changed:
                    self._watching = None
                if connection is not None:
                    connection.close()

    def _hear(self, event: Event) -> None:
        if event.id is None or event.type not in ("started", "finished"):
            return
        with self._changed:
            future = self._by_id.get(event.id)
            if future is None:
                if self._units or self._sending:
                    self._early.setdefault(event.id, []).append(event)
                elif self._early:
                    self._early.clear()
                return
        if event.type == "started":
            future._started()
        else:
            self._ended(future, event.id, str(event.outcome), None)

    def _catch_up(self, selection: Selection) -> None:
        """Reads the operations that may have ended before this process read events."""
        for reply in self.client.list_stream(selection=selection):
            for row in reply.operations:
                self._learn(row)

    def _learn(self, row: Operation) -> None:
        with self._changed:
            future = self._by_id.get(row.id)
        if future is None:
            return
        if row.state == "executing":
            future._started()
        elif row.state == "finished":
            self._ended(future, row.id, str(row.outcome), row.cause)

    def _ended(self, future: OpsFuture[Any], id: int, outcome: str, cause: str | None) -> None:
        with self._changed:
            if self._by_id.pop(id, None) is None:
                return  # the end was already known
        result = self.spool.result(future._calls.path, future._index) if outcome in ("succeeded", "failed") else None
        if result is None or (outcome == "succeeded") != (result.kind == "result"):
            if outcome == "succeeded":
                cause = "the function left no result"
            elif outcome == "cancelled" and not future.running():
                cause = ""  # not needed, because the future is cancelled
            result = ended(outcome, self._cause(id) if cause is None else cause)
        if result.kind == "initializer":
            logging.getLogger("concurrent.futures").critical("Exception in initializer:\n%s", result.traceback)
            self.break_down("the initializer failed: " + result.traceback.strip().splitlines()[-1])
            self._refuse([future])
            self.cancel("pending", "ready")
            return
        self._end(future, result)

    def _end(self, future: OpsFuture[Any], result: Result) -> None:
        self._note(self.spool.finish, future._calls, future._index, result)
        future._settle(result)
        with self._changed:
            self._close_one()

    def _note(self, write: Callable[..., None], *arguments: Any) -> None:
        """Writes a file whose only purpose is to save a later call to the daemon. An error is logged and ignored."""
        try:
            write(*arguments)
        except OSError as error:
            logging.getLogger("opsd").warning("a note about calls could not be written: %s", error)

    def _cause(self, id: int) -> str | None:
        try:
            return self._patiently(lambda: self.client.show(str(id))).operation.cause
        except OpsError as error:
            return f"its cause is not known: {error}"

    # The end

    def _clean_up(self) -> None:
        """Removes the queue and the files of an executor without a key."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
        if self.broken is None and self._queue is not None and self.spool.key is None:
            try:
                self.client.remove_queue(self._queue)
            except OpsError:
                pass  # another process may have submitted an operation to it
        # The operations of a broken executor may still be waiting, and need their files.
        self.spool.close(remove=self.spool.key is None and self.broken is None)
        self.client.close()


def ended(outcome: str, cause: str | None) -> Result:
    """Returns the result of an operation whose worker has written none."""
    return Result("ended", "", pickle.dumps((outcome, cause)))
