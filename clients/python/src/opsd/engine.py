"""Engine of an executor: a thread that submits calls, one that reads the events of their ends, and one for callbacks.

Callbacks of futures are functions of the user. They may submit calls, cancel calls and shut the executor down, and so
they may wait for the first two threads. Those threads therefore resolve no futures: they decide how a future ends, and
the third thread resolves it. A thread of the user resolves the futures that it cancels.
"""

from __future__ import annotations

import functools
import itertools
import logging
import os
import pickle
import secrets
import sys
import threading
from collections import deque
from collections.abc import Callable, Container, Iterable, Mapping
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from . import _wire
from ._spool import Calls, Result, Spool
from ._wire import ConnectionFailed, OpsError, ProtocolError
from .client import PART, TEMPORARY, Client, Connection, Reconnection, parts_of
from .future import OpsFuture
from .messages import CancelReply, Event, Lagged, Operation, Selection, SubmitReply, WatchReply

T = TypeVar("T")

LABEL = "opsd-python"
# Longest time for which a thread waits for an executor that is about to release its key.
RELEASE_SECONDS = 5.0
# Outcome of an operation that ended before this process learned its outcome, and is no longer stored.
UNKNOWN = "unknown"
PRUNED = "its operation is no longer stored, and there is no result"


class BrokenOpsExecutor(BrokenExecutor, OpsError):
    """The executor cannot continue: its initializer failed, or the daemon was unreachable for too long."""


@dataclass
class Unit:
    """Calls that are submitted together."""

    calls: Calls
    futures: list[OpsFuture[Any]]
    key: str | None
    # True if a call has run in an earlier process.
    has_run: bool = False

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
        # Futures that are not resolved, in order of submission.
        self._open: dict[OpsFuture[Any], None] = {}
        # Functions that resolve the futures whose end is decided.
        self._ends: dict[OpsFuture[Any], Callable[[], None]] = {}
        self._sending = 0
        self._submitter: threading.Thread | None = None
        self.is_shut_down = False
        self._is_over = False
        self.broken: str | None = None
        self._threads: list[threading.Thread] = []
        self._watching: Connection | None = None
        self._seq = self._patiently(client.status).last_seq

    @property
    def is_inherited(self) -> bool:
        """True in a forked child of the process that created the executor."""
        return self.process != os.getpid()

    @property
    def selection(self) -> Selection:
        """Selection of all operations of the executor."""
        return Selection(labels={LABEL: self.spool.generation})

    # Called by the executor

    def add(self, unit: Unit, *, is_known: bool = False) -> None:
        """Queues calls for submission. Calls of an earlier process whose end is known are not submitted."""
        known = self._known(unit) if is_known else {}
        futures = unit.futures
        with self._changed:
            if self.is_shut_down:
                raise RuntimeError("cannot schedule new futures after shutdown")
            for future in futures:
                self._open[future] = None
                if self.broken is not None:
                    self._fail(future, BrokenOpsExecutor(self.broken))
                elif future in known:
                    self._decide(future, functools.partial(future._settle, known.pop(future)))
            decided = [future for future in futures if future._is_decided]
            unit.futures = [future for future in futures if not future._is_decided]
            if unit.futures:
                self._units.append(unit)
                self._start()
                self._changed.notify_all()
        for future in decided:
            self.resolve(future)

    def _known(self, unit: Unit) -> dict[OpsFuture[Any], Result]:
        """Returns the results that an earlier process has stored, and gives futures the ids that it has stored."""
        for index, id in self.spool.ids(unit.calls).items():
            unit.futures[index]._id = id
        path = unit.calls.path
        results = ((future, self.spool.final(path, future._index)) for future in unit.futures)
        known = {future: result for future, result in results if result is not None}
        unit.has_run = bool(known) or any(self.spool.result(path, future._index) for future in unit.futures)
        return known

    def withdraw(self, future: OpsFuture[Any]) -> bool:
        """Cancels a call and its future if the call has not begun. Returns whether it did."""
        if self.is_inherited:
            return False  # the call belongs to the parent
        with self._changed:
            unit = next((unit for unit in self._units if future in unit.futures), None)
            if unit is not None and self.spool.key is None:
                unit.futures.remove(future)
                self._drop(future)
            is_decided = future._is_decided
        if is_decided:
            return self._is_cancelled(future)
        try:
            refs = [str(future.operation)]
            touched = self.client.cancel(Selection(refs=refs, state="waiting")).touched > 0
        except OpsError:
            return False  # the daemon did not cancel it, as far as is known here
        if touched:
            self._ended(future, "cancelled", "")
        return touched and self._is_cancelled(future)

    def withdraw_all(self, futures: Iterable[OpsFuture[Any]]) -> None:
        """Cancels calls that have not begun, with few requests. The futures of calls that were sent end later.

        The garbage collector may call this in any thread. That thread may hold the lock of the client, or be the one
        that submits the calls.
        """
        if self.is_inherited:
            return
        wanted = dict.fromkeys(futures)
        with self._changed:
            dropped = self._drop_all(wanted)
            if threading.current_thread() is not self._submitter:
                self._changed.wait_for(lambda: all(future._stored.is_set() for future in wanted))
        for future in dropped:
            self.resolve(future)
        ids = [future._id for future in wanted if not future._is_decided and not future.running()]
        try:
            for selection in selections_of(id for id in ids if id is not None):
                parameters = {"selection": replace(selection, state="waiting").to_json()}
                self.client._call("Cancel", parameters, CancelReply.from_json, own=True)
        except OpsError:
            pass  # the daemon did not cancel them, as far as is known here

    def _is_cancelled(self, future: OpsFuture[Any]) -> bool:
        """Resolves a future whose end is decided, and returns whether it is cancelled."""
        self.resolve(future)
        with self._changed:
            # Another thread may be resolving the future.
            self._changed.wait_for(lambda: self._is_over or future not in self._open)
        return future.cancelled()

    def resolve(self, future: OpsFuture[Any]) -> None:
        """Resolves a future whose end is decided, unless another thread does. Its callbacks run in this thread."""
        with self._changed:
            end = self._ends.pop(future, None)
        if end is None:
            return
        try:
            end()
        except BaseException as error:
            future._fail(error)
            if not isinstance(error, Exception):
                raise  # a callback raised it

    def remove(self, future: Any) -> None:
        """Removes a future that is resolved from the unfinished ones."""
        with self._changed:
            self._open.pop(future, None)
            self._changed.notify_all()
            self._finish_if_done()

    def shut_down(self, *, wait: bool, cancel: bool) -> None:
        """Refuses further calls. The threads end when all accepted calls have ended."""
        with self._changed:
            self.is_shut_down = True
            self._changed.notify_all()
        if cancel and not self._is_over:
            self._cancel_unbegun()
        with self._changed:
            self._finish_if_done()
            if not self._threads:
                self._clean_up()
        # A callback runs in a thread of the executor, which cannot wait for itself.
        if wait and threading.current_thread() not in self._threads:
            for thread in self._threads:
                thread.join()

    def wait_until_released(self) -> None:
        """Waits until the key is released if the executor is shut down and all its calls have ended, but not long."""
        if self.is_inherited or not self.is_shut_down:
            return
        with self._changed:
            unfinished = list(self._open)
            cleaning = self._threads[:1]
        if all(future.done() for future in unfinished) and threading.current_thread() not in cleaning:
            for thread in cleaning:
                thread.join(RELEASE_SECONDS)

    def cancel(self, *states: str) -> None:
        """Cancels calls that were not sent, and calls whose operations are in these states. Their futures end later."""
        if self.is_inherited:
            return
        self._drop_unsent()
        self._cancel([self.selection], states)

    def _cancel_unbegun(self) -> None:
        """Cancels calls that have not begun. A call between two attempts has begun, although its operation waits."""
        self._drop_unsent()
        with self._changed:
            sent = dict(self._by_id)
        self._cancel(selections_of(id for id, future in sent.items() if not future.running()), ("waiting",))

    def _drop_unsent(self) -> None:
        """Cancels calls that were not sent, and waits until all others are stored."""
        with self._changed:
            dropped = self._drop_all(self._open)
        for future in dropped:
            self.resolve(future)
        self.wait_until_sent()

    def _cancel(self, selections: list[Selection], states: Iterable[str]) -> None:
        """Cancels the selected operations that are in one of these states."""
        try:
            for selection, state in itertools.product(selections, states):
                self._patiently(functools.partial(self.client.cancel, replace(selection, state=state)))
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
            for future in self._open:
                self._fail(future, BrokenOpsExecutor(self.broken))
            self._by_id.clear()
            self._units.clear()
            self._changed.notify_all()

    def forked(self) -> None:
        """Leaves all calls to the parent. Called in a forked child."""
        self._changed = threading.Condition()
        self._threads = []
        self._ends.clear()
        self._is_over = True
        self.broken = "the executor belongs to the process that created it, not to its forked child"
        if self._watching is not None:
            self._watching.close()

    # State; the lock is held

    def _start(self) -> None:
        if self._threads:
            return
        # Begins with the thread that cleans up. If no thread starts, `shut_down` cleans up.
        bodies = (("watch", self._run_watch), ("submit", self._run_submission), ("resolve", self._run_resolution))
        try:
            for name, body in bodies:
                thread = threading.Thread(target=body, name=f"opsd-{name}", daemon=True)
                thread.start()
                self._threads.append(thread)
        except BaseException as error:
            # Possible reasons: too many threads, or with Python 3.12 the end of the interpreter.
            self.broken = f"a thread could not be started: {error!r}"
            self._units.clear()
            self._open.clear()
            self._is_over = True
            self._changed.notify_all()
            raise

    def _decide(self, future: OpsFuture[Any], end: Callable[[], None]) -> None:
        """Lets the thread for callbacks resolve a future with this function, unless its end is already decided."""
        if future._is_decided:
            return
        future._is_decided = True
        future._stored.set()
        self._ends[future] = end
        self._changed.notify_all()

    def _fail(self, future: OpsFuture[Any], error: Exception) -> None:
        self._decide(future, functools.partial(future._fail, error))

    def _drop(self, future: OpsFuture[Any]) -> None:
        """Cancels a call that was not sent."""
        self._decide(future, functools.partial(self._end, future, ended("cancelled", None)))

    def _drop_all(self, wanted: Container[OpsFuture[Any]]) -> list[OpsFuture[Any]]:
        """Cancels those of the wanted calls that were not sent, and returns their futures, which are not resolved."""
        if self.spool.key is not None:
            return []
        dropped = [future for unit in self._units for future in unit.futures if future in wanted]
        for unit in self._units:
            unit.futures = [future for future in unit.futures if future not in wanted]
        self._units = deque(unit for unit in self._units if unit.futures)
        self._changed.notify_all()
        for future in dropped:
            self._drop(future)
        return dropped

    def _finish_if_done(self) -> None:
        if self.is_shut_down and not self._open and not self._is_over:
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

        self._submitter = threading.current_thread()
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
            stored = unit.calls.submission["operations"]
            wanted = {future._index: future for future in unit.futures if not future._is_decided}
            by_name.update((stored[index]["name"], future) for index, future in wanted.items())
            # With a key, all operations are sent again. Without one, a unit can be a small part of a large map.
            operations += [stored[index] for index in wanted] if key is None else stored
        if not by_name:
            return
        parameters = {**batch[0].calls.submission, "operations": operations, "list": True}
        parameters["key"] = key or "opsd-python:" + secrets.token_hex(16)
        try:
            # An earlier process may have submitted all calls. The daemon forgets the key of a graph that it has pruned.
            if key is not None and all(future._id is not None for future in by_name.values()):
                self._register({name: future._id for name, future in by_name.items()}, by_name)
                self._patiently(lambda: self._catch_up(by_name.values()))
                return
            if batch[0].has_run:
                # Only the key matters. What the operations refer to may have been pruned, too.
                probe = {"operations": [{"name": "probe", "command": ["true"]}], "key": key, "dryRun": True}
                if not self._patiently(lambda: self._send(probe)).existing:
                    for future in by_name.values():
                        self._ended(future, UNKNOWN, PRUNED)
                    return
            reply = self._patiently(lambda: self._send(parameters))
        except ConnectionFailed as error:
            self.break_down(f"opsd could not be reached for {self.patience:.0f} s: {error}")
            return
        except Exception as error:  # noqa: BLE001 - an error reply, or a value that cannot be sent
            if len(batch) > 1:  # one of the units is invalid
                for unit in batch:
                    self._submit([unit])
                return
            with self._changed:
                for future in batch[0].futures:
                    self._fail(future, error)
            return
        if reply.operations is None:  # they are too large for a message
            ids = {operation["name"]: reply.first + index for index, operation in enumerate(operations)}
        else:
            ids = {stored.name: stored.id for stored in reply.operations}
        if key is not None:
            # Stored before any end, because a later process needs the id of a call even if it knows the result.
            known = {future._index: ids[name] for name, future in by_name.items() if name in ids}
            self._note(self.spool.write_ids, batch[0].calls, known)
        if reply.existing:
            for name, future in by_name.items():
                if name not in ids:  # a part of the graph was pruned
                    self._ended(future, UNKNOWN, PRUNED)
        self._register(ids, by_name)
        if reply.existing:
            self._patiently(lambda: self._catch_up(by_name.values()))

    def _send(self, parameters: dict[str, Any]) -> SubmitReply:
        parts = parts_of(parameters["operations"])
        if len(parts) == 1:
            return self.client._call("Submit", parameters, SubmitReply.from_json)
        rest = {name: value for name, value in parameters.items() if name != "operations"}
        with Client(self.client.socket, timeout=self.client.timeout) as client:
            client._call("BeginSubmission", rest, lambda _: None)
            for part in parts:
                client.add_operations(part)
            return client._call("CommitSubmission", {}, SubmitReply.from_json)

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

    def _register(self, ids: Mapping[Any, int | None], by_name: dict[str, OpsFuture[Any]]) -> None:
        early: list[Event] = []
        with self._changed:
            for name, future in by_name.items():
                id = ids.get(name)
                if id is None:
                    self._fail(future, ProtocolError(f"Submit: the reply does not name the operation {name}"))
                    continue
                future._id = id
                future._stored.set()
                if not future._is_decided:
                    self._by_id[id] = future
                    early += self._early.pop(id, [])
        for event in early:
            self._hear(event)

    # Ends

    def _run_resolution(self) -> None:
        def resolve_all() -> None:
            while self._resolve_next():
                pass  # keeps no reference to a future while it waits for the next one, because futures hold results

        while not self._is_over:
            self._guarded(resolve_all)

    def _resolve_next(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._ends or self._is_over)
            future = next(iter(self._ends), None)
        if future is None:
            return False
        self.resolve(future)
        return True

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
                # The daemon sends no events of operations that were pruned before, nor those that a slow reader missed.
                self._catch_up(self._unfinished())
                while True:
                    event = WatchReply.from_json(_wire.decode(connection.receive())[0]).event
                    self._hear(event)
                    self._seq = event.seq
            except Lagged as lagged:
                self._seq = max(self._seq, lagged.resume)
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
            self._ended(future, str(event.outcome), None)

    def _unfinished(self) -> list[OpsFuture[Any]]:
        with self._changed:
            return list(self._by_id.values())

    def _catch_up(self, futures: Iterable[OpsFuture[Any]]) -> None:
        """Reads the operations that may have ended without an event. Ends the calls whose operations were pruned."""
        missing = {future._id: future for future in futures if future._id is not None}
        for selection in selections_of(list(missing)):
            # An operation of another program can have the same id if the daemon has lost its state.
            for reply in self.client.list_stream(selection=replace(selection, labels=self.selection.labels)):
                for row in reply.operations:
                    missing.pop(row.id, None)
                    self._learn(row)
        for future in missing.values():
            self._ended(future, UNKNOWN, PRUNED)

    def _learn(self, row: Operation) -> None:
        with self._changed:
            future = self._by_id.get(row.id)
        if future is None:
            return
        if row.state == "finished":
            self._ended(future, str(row.outcome), row.cause)
        elif row.attempt > 0:
            future._started()

    def _ended(self, future: OpsFuture[Any], outcome: str, cause: str | None) -> None:
        with self._changed:
            if future._id is not None:
                self._by_id.pop(future._id, None)
            self._decide(future, functools.partial(self._finish, future, outcome, cause))

    def _finish(self, future: OpsFuture[Any], outcome: str, cause: str | None) -> None:
        """Resolves the future of an operation that has ended."""
        has_run = outcome in ("succeeded", "failed", UNKNOWN)
        result = self.spool.result(future._calls.path, future._index) if has_run else None
        if result is None or (outcome != UNKNOWN and (outcome == "succeeded") != (result.kind == "result")):
            if outcome == "succeeded":
                cause = "the function left no result"
            elif outcome == "cancelled" and not future.running():
                cause = ""  # not needed, because the future is cancelled
            result = ended(outcome, self._cause(future.operation) if cause is None else cause)
        if result.kind == "initializer":
            logging.getLogger("concurrent.futures").critical("Exception in initializer:\n%s", result.traceback)
            self.break_down("the initializer failed: " + result.summary)
            # The executor may be cleaned up once its last future is resolved.
            self.cancel("waiting")
            future._fail(BrokenOpsExecutor(self.broken))
            return
        self._end(future, result)

    def _end(self, future: OpsFuture[Any], result: Result) -> None:
        self._note(self.spool.finish, future._calls, future._index, result)
        future._settle(result)

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


def selections_of(ids: Iterable[int]) -> list[Selection]:
    """Returns selections of these operations, each small enough for a message."""
    # Unlike an id alone, a range may contain an operation that no longer exists.
    refs = [f"{id}-{id}" for id in ids]
    return [Selection(refs=refs[start : start + PART]) for start in range(0, len(refs), PART)]


def ended(outcome: str, cause: str | None) -> Result:
    """Returns the result of an operation whose worker has written none."""
    return Result("ended", pickle.dumps((outcome, cause)))
