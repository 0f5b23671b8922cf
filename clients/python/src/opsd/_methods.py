"""Methods of org.opsd.Control for both clients. Made by `generate`; do not edit."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from ._wire import JSONObject
from .messages import (
    AddOperationsReply,
    AddScheduleReply,
    BackfillScheduleReply,
    BackupReply,
    CancelReply,
    Capture,
    CheckReply,
    CommitSubmissionReply,
    CompleteReply,
    GraphReply,
    ListCategoriesReply,
    ListExecutorsReply,
    ListGraphsReply,
    ListQueuesReply,
    ListReply,
    ListSchedulesReply,
    LogReply,
    MetricsReply,
    PruneReply,
    ResumeReply,
    RetryReply,
    RunScheduleReply,
    ScheduleInstantsReply,
    ScheduleRunsReply,
    Selection,
    SetCategoryReply,
    SetQueueReply,
    SetReply,
    ShowReply,
    StatsReply,
    StatusReply,
    SubmitReply,
    SuspendReply,
    WaitReply,
    WatchReply,
    WhyReply,
    WhyScheduleReply,
)

T = TypeVar("T")


def _nothing(value: JSONObject) -> None:
    """Reads an empty reply."""


class Methods:
    """Methods of org.opsd.Control as blocking calls."""

    def _call(
        self, method: str, parameters: dict[str, Any], decode: Callable[[JSONObject], T], *, own: bool = False
    ) -> T:
        raise NotImplementedError

    def _stream(self, method: str, parameters: dict[str, Any], decode: Callable[[JSONObject], T]) -> Iterator[T]:
        raise NotImplementedError

    def submit(
        self,
        operations: Sequence[Mapping[str, Any]],
        *,
        name: str | None = None,
        defaults: Mapping[str, Any] | None = None,
        capture: Capture | None = None,
        inside: int | None = None,
        child: bool | None = None,
        key: str | None = None,
        unless_active: str | None = None,
        dry_run: bool | None = None,
        list: bool | None = None,
        order: str | None = None,
        observers: Mapping[str, Any] | None = None,
    ) -> SubmitReply:
        """Stores a graph whole or not at all. "operations" are objects with the keys of an operation, and
        "defaults" has keys for all of them. "inside": the id of the operation that makes this call (its
        OPS_ID); with "child" the new operations become its children. "key": if there is an earlier submission
        with this key, returns that one ("existing"). "unlessActive", instead of "key": the same, but only
        while that one is unfinished. "dryRun": only checks. "list": returns a Submitted for each operation,
        unless these are too large for a message; the ids of the operations are consecutive, in their order.
        "order": with "longestPath", operations with the longest estimated path go first among those of equal
        priority; with "submission" or null, the order of each queue applies. "observers": {"finish": [argv],
        "failure": [argv]}, commands that run once each: when the whole graph has finished, and at its first
        failure.
        """
        return self._call("Submit", {
            "name": name,
            "defaults": defaults,
            "capture": None if capture is None else capture.to_json(),
            "inside": inside,
            "child": child,
            "key": key,
            "unlessActive": unless_active,
            "dryRun": dry_run,
            "list": list,
            "order": order,
            "observers": observers,
            "operations": operations,
        }, SubmitReply.from_json)

    def begin_submission(
        self,
        *,
        name: str | None = None,
        defaults: Mapping[str, Any] | None = None,
        capture: Capture | None = None,
        inside: int | None = None,
        child: bool | None = None,
        key: str | None = None,
        unless_active: str | None = None,
        dry_run: bool | None = None,
        list: bool | None = None,
        order: str | None = None,
        observers: Mapping[str, Any] | None = None,
    ) -> None:
        """Begins a submission that is too large for one message. It has the parameters of Submit except
        "operations". Any number of AddOperations on the same connection follow, then CommitSubmission. If the
        connection closes before, nothing is stored.
        """
        self._call("BeginSubmission", {"name": name, "defaults": defaults, "capture": None if capture is None else capture.to_json(), "inside": inside, "child": child, "key": key, "unlessActive": unless_active, "dryRun": dry_run, "list": list, "order": order, "observers": observers}, _nothing)

    def add_operations(self, operations: Sequence[Mapping[str, Any]]) -> AddOperationsReply:
        """Adds operations to the submission that this connection has begun, and returns their number so far."""
        return self._call("AddOperations", {"operations": operations}, AddOperationsReply.from_json)

    def commit_submission(self) -> CommitSubmissionReply:
        """Stores the submission that this connection has begun, whole or not at all."""
        return self._call("CommitSubmission", {}, CommitSubmissionReply.from_json)

    def list(
        self,
        *,
        selection: Selection | None = None,
        limit: int | None = None,
        newest: bool | None = None,
    ) -> ListReply:
        """Lists operations in the order of their ids. With "more": all of them, in batches; without: the first
        "limit" (at most 1000), or with "newest" the last. Without a selection: all that the caller may see.
        """
        return self._call("List", {
            "selection": None if selection is None else selection.to_json(),
            "limit": limit,
            "newest": newest,
        }, ListReply.from_json)

    def list_stream(
        self,
        *,
        selection: Selection | None = None,
        limit: int | None = None,
        newest: bool | None = None,
    ) -> Iterator[ListReply]:
        """Lists operations in the order of their ids. With "more": all of them, in batches; without: the first
        "limit" (at most 1000), or with "newest" the last. Without a selection: all that the caller may see.
        """
        return self._stream("List", {
            "selection": None if selection is None else selection.to_json(),
            "limit": limit,
            "newest": newest,
        }, ListReply.from_json)

    def show(self, ref: str) -> ShowReply:
        """Returns everything about an operation."""
        return self._call("Show", {"ref": ref}, ShowReply.from_json)

    def list_graphs(self, *, limit: int | None = None, name: str | None = None) -> ListGraphsReply:
        """Lists graphs, the newest last: the newest "limit" (default 100, at most 1000) of all, or of those with
        one name. "unsuccessful": number of finished operations that count as failures.
        """
        return self._call("ListGraphs", {"limit": limit, "name": name}, ListGraphsReply.from_json)

    def why(self, ref: str, *, what_if: str | None = None) -> WhyReply:
        """Explains what an operation waits for. "whatIf" names a change ("cancel 7", "finish 7", "resume",
        "capacity gpu 3", ...), which is not made: the answer is the one that Why would give after it.
        "outcome": the outcome that the change would give the operation.
        """
        return self._call("Why", {"ref": ref, "whatIf": what_if}, WhyReply.from_json)

    def status(self) -> StatusReply:
        """Returns the state of the daemon. With "more": again after every change, at most ten times a second.
        "runnerAnswers" is false if opsd-runner has been silent for several seconds; "detail" says for how
        long. While the database cannot be read, the call fails with StorageUnavailable; while it can be read
        but not written, "state" says so. "slotsUsed" counts the workers in use: groups, for example, execute
        without one.
        """
        return self._call("Status", {}, StatusReply.from_json)

    def status_stream(self) -> Iterator[StatusReply]:
        """Returns the state of the daemon. With "more": again after every change, at most ten times a second.
        "runnerAnswers" is false if opsd-runner has been silent for several seconds; "detail" says for how
        long. While the database cannot be read, the call fails with StorageUnavailable; while it can be read
        but not written, "state" says so. "slotsUsed" counts the workers in use: groups, for example, execute
        without one.
        """
        return self._stream("Status", {}, StatusReply.from_json)

    def log(
        self,
        ref: str,
        *,
        attempt: int | None = None,
        stderr: bool | None = None,
        offset: int | None = None,
        lines: int | None = None,
        follow: bool | None = None,
        since: str | None = None,
        until: str | None = None,
        times: bool | None = None,
    ) -> LogReply:
        """Returns output of an attempt, in base64, from a byte offset on or its last "lines" lines. A null
        "attempt" is the newest one. "follow" (with "more"): continues until the operation ends, and waits for
        one that has not started. "dropped": number of bytes at the front that were dropped because of the log
        limit. "since" and "until" (RFC 3339): only lines that were written between these instants, accurate
        to a second. "times": returns the instants at which the bytes of each reply were written.
        """
        return self._call("Log", {
            "ref": ref,
            "attempt": attempt,
            "stderr": stderr,
            "offset": offset,
            "lines": lines,
            "follow": follow,
            "since": since,
            "until": until,
            "times": times,
        }, LogReply.from_json)

    def log_stream(
        self,
        ref: str,
        *,
        attempt: int | None = None,
        stderr: bool | None = None,
        offset: int | None = None,
        lines: int | None = None,
        follow: bool | None = None,
        since: str | None = None,
        until: str | None = None,
        times: bool | None = None,
    ) -> Iterator[LogReply]:
        """Returns output of an attempt, in base64, from a byte offset on or its last "lines" lines. A null
        "attempt" is the newest one. "follow" (with "more"): continues until the operation ends, and waits for
        one that has not started. "dropped": number of bytes at the front that were dropped because of the log
        limit. "since" and "until" (RFC 3339): only lines that were written between these instants, accurate
        to a second. "times": returns the instants at which the bytes of each reply were written.
        """
        return self._stream("Log", {
            "ref": ref,
            "attempt": attempt,
            "stderr": stderr,
            "offset": offset,
            "lines": lines,
            "follow": follow,
            "since": since,
            "until": until,
            "times": times,
        }, LogReply.from_json)

    def wait(self, selection: Selection, *, any: bool | None = None, timeout: str | None = None) -> WaitReply:
        """Answers when all selected operations have finished, or with "any" one of them. With "more": a reply
        for each end; in the last one "remaining" is 0 (with "any" it may be more). If only a queue or a graph
        is selected: waits until nothing in it is unfinished.
        """
        return self._call("Wait", {
            "selection": selection.to_json(),
            "any": any,
            "timeout": timeout,
        }, WaitReply.from_json, own=True)

    def wait_stream(
        self,
        selection: Selection,
        *,
        any: bool | None = None,
        timeout: str | None = None,
    ) -> Iterator[WaitReply]:
        """Answers when all selected operations have finished, or with "any" one of them. With "more": a reply
        for each end; in the last one "remaining" is 0 (with "any" it may be more). If only a queue or a graph
        is selected: waits until nothing in it is unfinished.
        """
        return self._stream("Wait", {
            "selection": selection.to_json(),
            "any": any,
            "timeout": timeout,
        }, WaitReply.from_json)

    def watch_stream(self, *, since: int | None = None, selection: Selection | None = None) -> Iterator[WatchReply]:
        """Returns the events after "since" (default: from now on): first those that are stored, then each new
        one. Needs "more".
        """
        return self._stream("Watch", {
            "since": since,
            "selection": None if selection is None else selection.to_json(),
        }, WatchReply.from_json)

    def cancel(self, selection: Selection, *, reason: str | None = None, force: bool | None = None) -> CancelReply:
        """Cancels operations. Waiting ones end at once; executing ones get SIGTERM, and SIGKILL after their
        grace. "force" ends an operation even if its processes cannot be killed. "touched": number of
        operations that the call has changed; "ids": which ones.
        """
        return self._call("Cancel", {
            "selection": selection.to_json(),
            "reason": reason,
            "force": force,
        }, CancelReply.from_json)

    def suspend(self, *, selection: Selection | None = None, freeze: bool | None = None) -> SuspendReply:
        """Suspends operations, so that they do not start; "freeze" also stops the processes of executing ones.
        Without a selection: the whole daemon. A selection of only a graph or a queue suspends that as a
        whole, with later operations too. Nothing below a suspended group starts.
        """
        return self._call("Suspend", {
            "selection": None if selection is None else selection.to_json(),
            "freeze": freeze,
        }, SuspendReply.from_json)

    def resume(self, *, selection: Selection | None = None) -> ResumeReply:
        """Resumes what the selection names: a graph, a queue, or held and frozen operations; without a
        selection, the daemon.
        """
        return self._call("Resume", {
            "selection": None if selection is None else selection.to_json(),
        }, ResumeReply.from_json)

    def retry(self, selection: Selection, *, downstream: bool | None = None) -> RetryReply:
        """Runs finished operations again, and those that were skipped because of them. Operations that "refs"
        names are retried whatever their outcome, others only if they did not succeed. "downstream": also
        everything that depends on them.
        """
        return self._call("Retry", {"selection": selection.to_json(), "downstream": downstream}, RetryReply.from_json)

    def finish(self, ref: str, *, failed: bool | None = None, message: str | None = None) -> None:
        """Ends an operation with the key "completion": "notify", as succeeded or failed. "message" is recorded
        as the cause.
        """
        self._call("Finish", {"ref": ref, "failed": failed, "message": message}, _nothing)

    def signal(self, ref: str, signal: int) -> None:
        """Sends a signal, by its number, to every process of an executing operation."""
        self._call("Signal", {"ref": ref, "signal": signal}, _nothing)

    def note(self, ref: str, *, text: str | None = None) -> None:
        """Attaches a note to an operation, in any state. Null or an empty text removes it. At most 4 KiB."""
        self._call("Note", {"ref": ref, "text": text}, _nothing)

    def set(self, selection: Selection, changes: Mapping[str, Any]) -> SetReply:
        """Changes operations. "changes" is an object with keys of an operation that can be edited while it waits
        (priority, queue, timeout, ...). Keys that it does not have are unchanged, and so are the members that
        its "retry" does not have. null removes a value: of a member of "retry", it restores the default.
        """
        return self._call("Set", {"selection": selection.to_json(), "changes": changes}, SetReply.from_json)

    def add_dependency(self, ref: str, on: str, *, when: str | None = None) -> None:
        """Makes an operation wait for another one. "when": the event that it waits for (default: succeeded)."""
        self._call("AddDependency", {"ref": ref, "on": on, "when": when}, _nothing)

    def remove_dependency(self, ref: str, on: str) -> None:
        """Removes a dependency of an operation."""
        self._call("RemoveDependency", {"ref": ref, "on": on}, _nothing)

    def list_queues(self) -> ListQueuesReply:
        """Lists all queues."""
        return self._call("ListQueues", {}, ListQueuesReply.from_json)

    def set_queue(
        self,
        name: str,
        *,
        limit: int | None = None,
        aging: str | None = None,
        order: str | None = None,
        create: bool | None = None,
        executor: str | None = None,
        fair: str | None = None,
    ) -> SetQueueReply:
        """Adds or changes a queue; null leaves a setting as it is. "limit": -1 for none. "aging": "off" or a
        duration. "order": "submission" or "longestPath". "create": if true, the queue must not exist; if
        false, it must exist. "executor": the executor of later submissions that name none; "none" is this
        machine. "fair": "user" or "none".
        """
        return self._call("SetQueue", {
            "name": name,
            "limit": limit,
            "aging": aging,
            "order": order,
            "create": create,
            "executor": executor,
            "fair": fair,
        }, SetQueueReply.from_json)

    def remove_queue(self, name: str) -> None:
        """Removes a queue without unfinished operations."""
        self._call("RemoveQueue", {"name": name}, _nothing)

    def list_executors(self) -> ListExecutorsReply:
        """Lists the executors other than this machine."""
        return self._call("ListExecutors", {}, ListExecutorsReply.from_json)

    def list_categories(self) -> ListCategoriesReply:
        """Lists categories in the order of their names; of more than 1000 only those that were first used."""
        return self._call("ListCategories", {}, ListCategoriesReply.from_json)

    def set_category(
        self,
        name: str,
        *,
        capacity: int | None = None,
        units: Sequence[str] | None = None,
        share: int | None = None,
        export: str | None = None,
        rate: str | None = None,
        unlimited: bool | None = None,
    ) -> SetCategoryReply:
        """Changes a category; null leaves a setting as it is. "capacity": it has so many units without names.
        "unlimited": it has no capacity. "units": it has these named units. "export": a second variable that
        contains the assigned units; "" removes it. "rate": the limit of starts in an interval, "60/1m"; ""
        removes it.
        """
        return self._call("SetCategory", {
            "name": name,
            "capacity": capacity,
            "units": units,
            "share": share,
            "export": export,
            "rate": rate,
            "unlimited": unlimited,
        }, SetCategoryReply.from_json)

    def graph(self, graph: str) -> GraphReply:
        """Returns a graph to draw. "trace": the trace id that its operations have in TRACEPARENT."""
        return self._call("Graph", {"graph": graph}, GraphReply.from_json)

    def stats(self, *, selection: Selection | None = None) -> StatsReply:
        """Returns statistics of the selected operations: counts, times, the critical path."""
        return self._call("Stats", {
            "selection": None if selection is None else selection.to_json(),
        }, StatsReply.from_json)

    def prune(self, *, older_than: str | None = None, selection: Selection | None = None) -> PruneReply:
        """Removes graphs of which all operations have finished, longer ago than "olderThan", and are selected.
        At least one of the two parameters must be given. Without a selection only root and the daemon's user
        may call it; with one, other users remove their own graphs.
        """
        return self._call("Prune", {
            "olderThan": older_than,
            "selection": None if selection is None else selection.to_json(),
        }, PruneReply.from_json)

    def backup(self, path: str, *, force: bool | None = None) -> BackupReply:
        """Makes a consistent copy of the database while operations run. It replaces only an earlier copy; with
        "force" any file, but never one inside the state directory.
        """
        return self._call("Backup", {"path": path, "force": force}, BackupReply.from_json)

    def check(self) -> CheckReply:
        """Verifies the database, and returns what is wrong."""
        return self._call("Check", {}, CheckReply.from_json)

    def set_workers(self, workers: int) -> None:
        """Sets how many operations run at once."""
        self._call("SetWorkers", {"workers": workers}, _nothing)

    def metrics(self) -> MetricsReply:
        """Returns figures for monitoring, in addition to Status. Queues are in the order of their creation,
        including removed ones. "commits" and "turns" never decrease, like the counters of queues, even if the
        daemon is restarted.
        """
        return self._call("Metrics", {}, MetricsReply.from_json)

    def complete(self, kind: str, prefix: str) -> CompleteReply:
        """Returns names for completion, the newest first."""
        return self._call("Complete", {"kind": kind, "prefix": prefix}, CompleteReply.from_json)

    def add_schedule(
        self,
        name: str,
        at: Sequence[str],
        operations: Sequence[Mapping[str, Any]],
        *,
        zone: str | None = None,
        overlap: str | None = None,
        catch_up: str | None = None,
        window: str | None = None,
        spread: str | None = None,
        from_: str | None = None,
        until: str | None = None,
        count: int | None = None,
        keep: int | None = None,
        on_path: str | None = None,
        settle: str | None = None,
        batch: bool | None = None,
        poll: str | None = None,
        on_exec: str | None = None,
        every: str | None = None,
        replace: bool | None = None,
        dry_run: bool | None = None,
        defaults: Mapping[str, Any] | None = None,
        order: str | None = None,
        observers: Mapping[str, Any] | None = None,
        capture: Capture | None = None,
    ) -> AddScheduleReply:
        """Adds a schedule: a graph that is submitted at each instant of the expressions "at". "overlap": skip,
        queueOne, queueAll, cancel or allow. "catchUp": none, last or all of the instants that were missed
        within "window". "keep": number of finished runs whose graph is kept. "replace": updates a schedule of
        this name. "dryRun": only checks, and returns the next ten "instants". "change": added, updated, or
        none if everything except "capture" is unchanged. "onPath", instead of "at": a run for each new or
        changed file of this pattern, when it has not changed for "settle", or one run for all of them
        ("batch"); files are checked every "poll". "onExec", instead of "at": a run for each new line that
        this command prints; the command runs every "every".
        """
        return self._call("AddSchedule", {
            "name": name,
            "at": at,
            "zone": zone,
            "overlap": overlap,
            "catchUp": catch_up,
            "window": window,
            "spread": spread,
            "from": from_,
            "until": until,
            "count": count,
            "keep": keep,
            "onPath": on_path,
            "settle": settle,
            "batch": batch,
            "poll": poll,
            "onExec": on_exec,
            "every": every,
            "replace": replace,
            "dryRun": dry_run,
            "defaults": defaults,
            "order": order,
            "observers": observers,
            "capture": None if capture is None else capture.to_json(),
            "operations": operations,
        }, AddScheduleReply.from_json)

    def list_schedules(self, *, name: str | None = None) -> ListSchedulesReply:
        """Lists all schedules in the order of their names, or the one of this name, with its "definition": the
        graph file that it was given as, with "***" in place of each "environment".
        """
        return self._call("ListSchedules", {"name": name}, ListSchedulesReply.from_json)

    def schedule_runs(self, name: str, *, limit: int | None = None) -> ScheduleRunsReply:
        """Returns the records of a schedule, the newest first: "limit" of them (default 50, at most 1000)."""
        return self._call("ScheduleRuns", {"name": name, "limit": limit}, ScheduleRunsReply.from_json)

    def run_schedule(self, name: str) -> RunScheduleReply:
        """Starts a run of a schedule now."""
        return self._call("RunSchedule", {"name": name}, RunScheduleReply.from_json)

    def pause_schedule(self, name: str, paused: bool) -> None:
        """Pauses a schedule, or ends the pause. Instants that pass during a pause are recorded as paused and not
        caught up.
        """
        self._call("PauseSchedule", {"name": name, "paused": paused}, _nothing)

    def schedule_instants(
        self,
        name: str,
        *,
        after: str | None = None,
        limit: int | None = None,
    ) -> ScheduleInstantsReply:
        """Returns the next instants of a schedule, after one (default: now): "limit" of them (default 10, at
        most 1000).
        """
        return self._call("ScheduleInstants", {
            "name": name,
            "after": after,
            "limit": limit,
        }, ScheduleInstantsReply.from_json)

    def why_schedule(self, name: str) -> WhyScheduleReply:
        """Explains what a schedule waits for, and the result of its latest instant."""
        return self._call("WhySchedule", {"name": name}, WhyScheduleReply.from_json)

    def backfill_schedule(self, name: str, from_: str, to: str, *, overlap: str | None = None) -> BackfillScheduleReply:
        """Starts a run for each instant from "from" through "to" that has not run; at most 1000. "overlap":
        queueAll, so that they run one after the other, or allow. "present": number of instants that had run
        already.
        """
        return self._call("BackfillSchedule", {
            "name": name,
            "from": from_,
            "to": to,
            "overlap": overlap,
        }, BackfillScheduleReply.from_json)

    def forget_trigger(self, name: str, key: str) -> None:
        """Forgets a file or a line that has triggered a run, so that it can trigger another."""
        self._call("ForgetTrigger", {"name": name, "key": key}, _nothing)

    def remove_schedule(self, name: str) -> None:
        """Removes a schedule; its runs stay."""
        self._call("RemoveSchedule", {"name": name}, _nothing)


class AsyncMethods:
    """Methods of org.opsd.Control as coroutines."""

    async def _call(
        self, method: str, parameters: dict[str, Any], decode: Callable[[JSONObject], T], *, own: bool = False
    ) -> T:
        raise NotImplementedError

    def _stream(self, method: str, parameters: dict[str, Any], decode: Callable[[JSONObject], T]) -> AsyncIterator[T]:
        raise NotImplementedError

    async def submit(
        self,
        operations: Sequence[Mapping[str, Any]],
        *,
        name: str | None = None,
        defaults: Mapping[str, Any] | None = None,
        capture: Capture | None = None,
        inside: int | None = None,
        child: bool | None = None,
        key: str | None = None,
        unless_active: str | None = None,
        dry_run: bool | None = None,
        list: bool | None = None,
        order: str | None = None,
        observers: Mapping[str, Any] | None = None,
    ) -> SubmitReply:
        """Stores a graph whole or not at all. "operations" are objects with the keys of an operation, and
        "defaults" has keys for all of them. "inside": the id of the operation that makes this call (its
        OPS_ID); with "child" the new operations become its children. "key": if there is an earlier submission
        with this key, returns that one ("existing"). "unlessActive", instead of "key": the same, but only
        while that one is unfinished. "dryRun": only checks. "list": returns a Submitted for each operation,
        unless these are too large for a message; the ids of the operations are consecutive, in their order.
        "order": with "longestPath", operations with the longest estimated path go first among those of equal
        priority; with "submission" or null, the order of each queue applies. "observers": {"finish": [argv],
        "failure": [argv]}, commands that run once each: when the whole graph has finished, and at its first
        failure.
        """
        return await self._call("Submit", {
            "name": name,
            "defaults": defaults,
            "capture": None if capture is None else capture.to_json(),
            "inside": inside,
            "child": child,
            "key": key,
            "unlessActive": unless_active,
            "dryRun": dry_run,
            "list": list,
            "order": order,
            "observers": observers,
            "operations": operations,
        }, SubmitReply.from_json)

    async def begin_submission(
        self,
        *,
        name: str | None = None,
        defaults: Mapping[str, Any] | None = None,
        capture: Capture | None = None,
        inside: int | None = None,
        child: bool | None = None,
        key: str | None = None,
        unless_active: str | None = None,
        dry_run: bool | None = None,
        list: bool | None = None,
        order: str | None = None,
        observers: Mapping[str, Any] | None = None,
    ) -> None:
        """Begins a submission that is too large for one message. It has the parameters of Submit except
        "operations". Any number of AddOperations on the same connection follow, then CommitSubmission. If the
        connection closes before, nothing is stored.
        """
        await self._call("BeginSubmission", {
            "name": name,
            "defaults": defaults,
            "capture": None if capture is None else capture.to_json(),
            "inside": inside,
            "child": child,
            "key": key,
            "unlessActive": unless_active,
            "dryRun": dry_run,
            "list": list,
            "order": order,
            "observers": observers,
        }, _nothing)

    async def add_operations(self, operations: Sequence[Mapping[str, Any]]) -> AddOperationsReply:
        """Adds operations to the submission that this connection has begun, and returns their number so far."""
        return await self._call("AddOperations", {"operations": operations}, AddOperationsReply.from_json)

    async def commit_submission(self) -> CommitSubmissionReply:
        """Stores the submission that this connection has begun, whole or not at all."""
        return await self._call("CommitSubmission", {}, CommitSubmissionReply.from_json)

    async def list(
        self,
        *,
        selection: Selection | None = None,
        limit: int | None = None,
        newest: bool | None = None,
    ) -> ListReply:
        """Lists operations in the order of their ids. With "more": all of them, in batches; without: the first
        "limit" (at most 1000), or with "newest" the last. Without a selection: all that the caller may see.
        """
        return await self._call("List", {
            "selection": None if selection is None else selection.to_json(),
            "limit": limit,
            "newest": newest,
        }, ListReply.from_json)

    def list_stream(
        self,
        *,
        selection: Selection | None = None,
        limit: int | None = None,
        newest: bool | None = None,
    ) -> AsyncIterator[ListReply]:
        """Lists operations in the order of their ids. With "more": all of them, in batches; without: the first
        "limit" (at most 1000), or with "newest" the last. Without a selection: all that the caller may see.
        """
        return self._stream("List", {
            "selection": None if selection is None else selection.to_json(),
            "limit": limit,
            "newest": newest,
        }, ListReply.from_json)

    async def show(self, ref: str) -> ShowReply:
        """Returns everything about an operation."""
        return await self._call("Show", {"ref": ref}, ShowReply.from_json)

    async def list_graphs(self, *, limit: int | None = None, name: str | None = None) -> ListGraphsReply:
        """Lists graphs, the newest last: the newest "limit" (default 100, at most 1000) of all, or of those with
        one name. "unsuccessful": number of finished operations that count as failures.
        """
        return await self._call("ListGraphs", {"limit": limit, "name": name}, ListGraphsReply.from_json)

    async def why(self, ref: str, *, what_if: str | None = None) -> WhyReply:
        """Explains what an operation waits for. "whatIf" names a change ("cancel 7", "finish 7", "resume",
        "capacity gpu 3", ...), which is not made: the answer is the one that Why would give after it.
        "outcome": the outcome that the change would give the operation.
        """
        return await self._call("Why", {"ref": ref, "whatIf": what_if}, WhyReply.from_json)

    async def status(self) -> StatusReply:
        """Returns the state of the daemon. With "more": again after every change, at most ten times a second.
        "runnerAnswers" is false if opsd-runner has been silent for several seconds; "detail" says for how
        long. While the database cannot be read, the call fails with StorageUnavailable; while it can be read
        but not written, "state" says so. "slotsUsed" counts the workers in use: groups, for example, execute
        without one.
        """
        return await self._call("Status", {}, StatusReply.from_json)

    def status_stream(self) -> AsyncIterator[StatusReply]:
        """Returns the state of the daemon. With "more": again after every change, at most ten times a second.
        "runnerAnswers" is false if opsd-runner has been silent for several seconds; "detail" says for how
        long. While the database cannot be read, the call fails with StorageUnavailable; while it can be read
        but not written, "state" says so. "slotsUsed" counts the workers in use: groups, for example, execute
        without one.
        """
        return self._stream("Status", {}, StatusReply.from_json)

    async def log(
        self,
        ref: str,
        *,
        attempt: int | None = None,
        stderr: bool | None = None,
        offset: int | None = None,
        lines: int | None = None,
        follow: bool | None = None,
        since: str | None = None,
        until: str | None = None,
        times: bool | None = None,
    ) -> LogReply:
        """Returns output of an attempt, in base64, from a byte offset on or its last "lines" lines. A null
        "attempt" is the newest one. "follow" (with "more"): continues until the operation ends, and waits for
        one that has not started. "dropped": number of bytes at the front that were dropped because of the log
        limit. "since" and "until" (RFC 3339): only lines that were written between these instants, accurate
        to a second. "times": returns the instants at which the bytes of each reply were written.
        """
        return await self._call("Log", {
            "ref": ref,
            "attempt": attempt,
            "stderr": stderr,
            "offset": offset,
            "lines": lines,
            "follow": follow,
            "since": since,
            "until": until,
            "times": times,
        }, LogReply.from_json)

    def log_stream(
        self,
        ref: str,
        *,
        attempt: int | None = None,
        stderr: bool | None = None,
        offset: int | None = None,
        lines: int | None = None,
        follow: bool | None = None,
        since: str | None = None,
        until: str | None = None,
        times: bool | None = None,
    ) -> AsyncIterator[LogReply]:
        """Returns output of an attempt, in base64, from a byte offset on or its last "lines" lines. A null
        "attempt" is the newest one. "follow" (with "more"): continues until the operation ends, and waits for
        one that has not started. "dropped": number of bytes at the front that were dropped because of the log
        limit. "since" and "until" (RFC 3339): only lines that were written between these instants, accurate
        to a second. "times": returns the instants at which the bytes of each reply were written.
        """
        return self._stream("Log", {
            "ref": ref,
            "attempt": attempt,
            "stderr": stderr,
            "offset": offset,
            "lines": lines,
            "follow": follow,
            "since": since,
            "until": until,
            "times": times,
        }, LogReply.from_json)

    async def wait(self, selection: Selection, *, any: bool | None = None, timeout: str | None = None) -> WaitReply:
        """Answers when all selected operations have finished, or with "any" one of them. With "more": a reply
        for each end; in the last one "remaining" is 0 (with "any" it may be more). If only a queue or a graph
        is selected: waits until nothing in it is unfinished.
        """
        return await self._call("Wait", {
            "selection": selection.to_json(),
            "any": any,
            "timeout": timeout,
        }, WaitReply.from_json, own=True)

    def wait_stream(
        self,
        selection: Selection,
        *,
        any: bool | None = None,
        timeout: str | None = None,
    ) -> AsyncIterator[WaitReply]:
        """Answers when all selected operations have finished, or with "any" one of them. With "more": a reply
        for each end; in the last one "remaining" is 0 (with "any" it may be more). If only a queue or a graph
        is selected: waits until nothing in it is unfinished.
        """
        return self._stream("Wait", {
            "selection": selection.to_json(),
            "any": any,
            "timeout": timeout,
        }, WaitReply.from_json)

    def watch_stream(
        self,
        *,
        since: int | None = None,
        selection: Selection | None = None,
    ) -> AsyncIterator[WatchReply]:
        """Returns the events after "since" (default: from now on): first those that are stored, then each new
        one. Needs "more".
        """
        return self._stream("Watch", {
            "since": since,
            "selection": None if selection is None else selection.to_json(),
        }, WatchReply.from_json)

    async def cancel(
        self,
        selection: Selection,
        *,
        reason: str | None = None,
        force: bool | None = None,
    ) -> CancelReply:
        """Cancels operations. Waiting ones end at once; executing ones get SIGTERM, and SIGKILL after their
        grace. "force" ends an operation even if its processes cannot be killed. "touched": number of
        operations that the call has changed; "ids": which ones.
        """
        return await self._call("Cancel", {
            "selection": selection.to_json(),
            "reason": reason,
            "force": force,
        }, CancelReply.from_json)

    async def suspend(self, *, selection: Selection | None = None, freeze: bool | None = None) -> SuspendReply:
        """Suspends operations, so that they do not start; "freeze" also stops the processes of executing ones.
        Without a selection: the whole daemon. A selection of only a graph or a queue suspends that as a
        whole, with later operations too. Nothing below a suspended group starts.
        """
        return await self._call("Suspend", {
            "selection": None if selection is None else selection.to_json(),
            "freeze": freeze,
        }, SuspendReply.from_json)

    async def resume(self, *, selection: Selection | None = None) -> ResumeReply:
        """Resumes what the selection names: a graph, a queue, or held and frozen operations; without a
        selection, the daemon.
        """
        return await self._call("Resume", {
            "selection": None if selection is None else selection.to_json(),
        }, ResumeReply.from_json)

    async def retry(self, selection: Selection, *, downstream: bool | None = None) -> RetryReply:
        """Runs finished operations again, and those that were skipped because of them. Operations that "refs"
        names are retried whatever their outcome, others only if they did not succeed. "downstream": also
        everything that depends on them.
        """
        return await self._call("Retry", {
            "selection": selection.to_json(),
            "downstream": downstream,
        }, RetryReply.from_json)

    async def finish(self, ref: str, *, failed: bool | None = None, message: str | None = None) -> None:
        """Ends an operation with the key "completion": "notify", as succeeded or failed. "message" is recorded
        as the cause.
        """
        await self._call("Finish", {"ref": ref, "failed": failed, "message": message}, _nothing)

    async def signal(self, ref: str, signal: int) -> None:
        """Sends a signal, by its number, to every process of an executing operation."""
        await self._call("Signal", {"ref": ref, "signal": signal}, _nothing)

    async def note(self, ref: str, *, text: str | None = None) -> None:
        """Attaches a note to an operation, in any state. Null or an empty text removes it. At most 4 KiB."""
        await self._call("Note", {"ref": ref, "text": text}, _nothing)

    async def set(self, selection: Selection, changes: Mapping[str, Any]) -> SetReply:
        """Changes operations. "changes" is an object with keys of an operation that can be edited while it waits
        (priority, queue, timeout, ...). Keys that it does not have are unchanged, and so are the members that
        its "retry" does not have. null removes a value: of a member of "retry", it restores the default.
        """
        return await self._call("Set", {"selection": selection.to_json(), "changes": changes}, SetReply.from_json)

    async def add_dependency(self, ref: str, on: str, *, when: str | None = None) -> None:
        """Makes an operation wait for another one. "when": the event that it waits for (default: succeeded)."""
        await self._call("AddDependency", {"ref": ref, "on": on, "when": when}, _nothing)

    async def remove_dependency(self, ref: str, on: str) -> None:
        """Removes a dependency of an operation."""
        await self._call("RemoveDependency", {"ref": ref, "on": on}, _nothing)

    async def list_queues(self) -> ListQueuesReply:
        """Lists all queues."""
        return await self._call("ListQueues", {}, ListQueuesReply.from_json)

    async def set_queue(
        self,
        name: str,
        *,
        limit: int | None = None,
        aging: str | None = None,
        order: str | None = None,
        create: bool | None = None,
        executor: str | None = None,
        fair: str | None = None,
    ) -> SetQueueReply:
        """Adds or changes a queue; null leaves a setting as it is. "limit": -1 for none. "aging": "off" or a
        duration. "order": "submission" or "longestPath". "create": if true, the queue must not exist; if
        false, it must exist. "executor": the executor of later submissions that name none; "none" is this
        machine. "fair": "user" or "none".
        """
        return await self._call("SetQueue", {
            "name": name,
            "limit": limit,
            "aging": aging,
            "order": order,
            "create": create,
            "executor": executor,
            "fair": fair,
        }, SetQueueReply.from_json)

    async def remove_queue(self, name: str) -> None:
        """Removes a queue without unfinished operations."""
        await self._call("RemoveQueue", {"name": name}, _nothing)

    async def list_executors(self) -> ListExecutorsReply:
        """Lists the executors other than this machine."""
        return await self._call("ListExecutors", {}, ListExecutorsReply.from_json)

    async def list_categories(self) -> ListCategoriesReply:
        """Lists categories in the order of their names; of more than 1000 only those that were first used."""
        return await self._call("ListCategories", {}, ListCategoriesReply.from_json)

    async def set_category(
        self,
        name: str,
        *,
        capacity: int | None = None,
        units: Sequence[str] | None = None,
        share: int | None = None,
        export: str | None = None,
        rate: str | None = None,
        unlimited: bool | None = None,
    ) -> SetCategoryReply:
        """Changes a category; null leaves a setting as it is. "capacity": it has so many units without names.
        "unlimited": it has no capacity. "units": it has these named units. "export": a second variable that
        contains the assigned units; "" removes it. "rate": the limit of starts in an interval, "60/1m"; ""
        removes it.
        """
        return await self._call("SetCategory", {
            "name": name,
            "capacity": capacity,
            "units": units,
            "share": share,
            "export": export,
            "rate": rate,
            "unlimited": unlimited,
        }, SetCategoryReply.from_json)

    async def graph(self, graph: str) -> GraphReply:
        """Returns a graph to draw. "trace": the trace id that its operations have in TRACEPARENT."""
        return await self._call("Graph", {"graph": graph}, GraphReply.from_json)

    async def stats(self, *, selection: Selection | None = None) -> StatsReply:
        """Returns statistics of the selected operations: counts, times, the critical path."""
        return await self._call("Stats", {
            "selection": None if selection is None else selection.to_json(),
        }, StatsReply.from_json)

    async def prune(self, *, older_than: str | None = None, selection: Selection | None = None) -> PruneReply:
        """Removes graphs of which all operations have finished, longer ago than "olderThan", and are selected.
        At least one of the two parameters must be given. Without a selection only root and the daemon's user
        may call it; with one, other users remove their own graphs.
        """
        return await self._call("Prune", {
            "olderThan": older_than,
            "selection": None if selection is None else selection.to_json(),
        }, PruneReply.from_json)

    async def backup(self, path: str, *, force: bool | None = None) -> BackupReply:
        """Makes a consistent copy of the database while operations run. It replaces only an earlier copy; with
        "force" any file, but never one inside the state directory.
        """
        return await self._call("Backup", {"path": path, "force": force}, BackupReply.from_json)

    async def check(self) -> CheckReply:
        """Verifies the database, and returns what is wrong."""
        return await self._call("Check", {}, CheckReply.from_json)

    async def set_workers(self, workers: int) -> None:
        """Sets how many operations run at once."""
        await self._call("SetWorkers", {"workers": workers}, _nothing)

    async def metrics(self) -> MetricsReply:
        """Returns figures for monitoring, in addition to Status. Queues are in the order of their creation,
        including removed ones. "commits" and "turns" never decrease, like the counters of queues, even if the
        daemon is restarted.
        """
        return await self._call("Metrics", {}, MetricsReply.from_json)

    async def complete(self, kind: str, prefix: str) -> CompleteReply:
        """Returns names for completion, the newest first."""
        return await self._call("Complete", {"kind": kind, "prefix": prefix}, CompleteReply.from_json)

    async def add_schedule(
        self,
        name: str,
        at: Sequence[str],
        operations: Sequence[Mapping[str, Any]],
        *,
        zone: str | None = None,
        overlap: str | None = None,
        catch_up: str | None = None,
        window: str | None = None,
        spread: str | None = None,
        from_: str | None = None,
        until: str | None = None,
        count: int | None = None,
        keep: int | None = None,
        on_path: str | None = None,
        settle: str | None = None,
        batch: bool | None = None,
        poll: str | None = None,
        on_exec: str | None = None,
        every: str | None = None,
        replace: bool | None = None,
        dry_run: bool | None = None,
        defaults: Mapping[str, Any] | None = None,
        order: str | None = None,
        observers: Mapping[str, Any] | None = None,
        capture: Capture | None = None,
    ) -> AddScheduleReply:
        """Adds a schedule: a graph that is submitted at each instant of the expressions "at". "overlap": skip,
        queueOne, queueAll, cancel or allow. "catchUp": none, last or all of the instants that were missed
        within "window". "keep": number of finished runs whose graph is kept. "replace": updates a schedule of
        this name. "dryRun": only checks, and returns the next ten "instants". "change": added, updated, or
        none if everything except "capture" is unchanged. "onPath", instead of "at": a run for each new or
        changed file of this pattern, when it has not changed for "settle", or one run for all of them
        ("batch"); files are checked every "poll". "onExec", instead of "at": a run for each new line that
        this command prints; the command runs every "every".
        """
        return await self._call("AddSchedule", {
            "name": name,
            "at": at,
            "zone": zone,
            "overlap": overlap,
            "catchUp": catch_up,
            "window": window,
            "spread": spread,
            "from": from_,
            "until": until,
            "count": count,
            "keep": keep,
            "onPath": on_path,
            "settle": settle,
            "batch": batch,
            "poll": poll,
            "onExec": on_exec,
            "every": every,
            "replace": replace,
            "dryRun": dry_run,
            "defaults": defaults,
            "order": order,
            "observers": observers,
            "capture": None if capture is None else capture.to_json(),
            "operations": operations,
        }, AddScheduleReply.from_json)

    async def list_schedules(self, *, name: str | None = None) -> ListSchedulesReply:
        """Lists all schedules in the order of their names, or the one of this name, with its "definition": the
        graph file that it was given as, with "***" in place of each "environment".
        """
        return await self._call("ListSchedules", {"name": name}, ListSchedulesReply.from_json)

    async def schedule_runs(self, name: str, *, limit: int | None = None) -> ScheduleRunsReply:
        """Returns the records of a schedule, the newest first: "limit" of them (default 50, at most 1000)."""
        return await self._call("ScheduleRuns", {"name": name, "limit": limit}, ScheduleRunsReply.from_json)

    async def run_schedule(self, name: str) -> RunScheduleReply:
        """Starts a run of a schedule now."""
        return await self._call("RunSchedule", {"name": name}, RunScheduleReply.from_json)

    async def pause_schedule(self, name: str, paused: bool) -> None:
        """Pauses a schedule, or ends the pause. Instants that pass during a pause are recorded as paused and not
        caught up.
        """
        await self._call("PauseSchedule", {"name": name, "paused": paused}, _nothing)

    async def schedule_instants(
        self,
        name: str,
        *,
        after: str | None = None,
        limit: int | None = None,
    ) -> ScheduleInstantsReply:
        """Returns the next instants of a schedule, after one (default: now): "limit" of them (default 10, at
        most 1000).
        """
        return await self._call("ScheduleInstants", {
            "name": name,
            "after": after,
            "limit": limit,
        }, ScheduleInstantsReply.from_json)

    async def why_schedule(self, name: str) -> WhyScheduleReply:
        """Explains what a schedule waits for, and the result of its latest instant."""
        return await self._call("WhySchedule", {"name": name}, WhyScheduleReply.from_json)

    async def backfill_schedule(
        self,
        name: str,
        from_: str,
        to: str,
        *,
        overlap: str | None = None,
    ) -> BackfillScheduleReply:
        """Starts a run for each instant from "from" through "to" that has not run; at most 1000. "overlap":
        queueAll, so that they run one after the other, or allow. "present": number of instants that had run
        already.
        """
        return await self._call("BackfillSchedule", {
            "name": name,
            "from": from_,
            "to": to,
            "overlap": overlap,
        }, BackfillScheduleReply.from_json)

    async def forget_trigger(self, name: str, key: str) -> None:
        """Forgets a file or a line that has triggered a run, so that it can trigger another."""
        await self._call("ForgetTrigger", {"name": name, "key": key}, _nothing)

    async def remove_schedule(self, name: str) -> None:
        """Removes a schedule; its runs stay."""
        await self._call("RemoveSchedule", {"name": name}, _nothing)
