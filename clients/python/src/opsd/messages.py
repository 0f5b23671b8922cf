"""Types, replies and errors of org.opsd.Control. Made by `generate`; do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from ._wire import CallError, JSONObject, OpenEnum


class DependencyWhen(OpenEnum):
    """One of succeeded, finished, failed, started."""

    succeeded = "succeeded"
    finished = "finished"
    failed = "failed"
    started = "started"


class CategoryUseMode(OpenEnum):
    """One of units, exclusive, shared."""

    units = "units"
    exclusive = "exclusive"
    shared = "shared"


class OperationState(OpenEnum):
    """One of pending, ready, executing, finished."""

    pending = "pending"
    ready = "ready"
    executing = "executing"
    finished = "finished"


class OperationOutcome(OpenEnum):
    """One of succeeded, failed, timedOut, cancelled, skipped, interrupted."""

    succeeded = "succeeded"
    failed = "failed"
    timed_out = "timedOut"
    cancelled = "cancelled"
    skipped = "skipped"
    interrupted = "interrupted"


class ReasonKind(OpenEnum):
    """One of dependency, category, queue, pool, suspended, held, notBefore, backoff, condition, barrier, group,
    storage, executor, rate.
    """

    dependency = "dependency"
    category = "category"
    queue = "queue"
    pool = "pool"
    suspended = "suspended"
    held = "held"
    not_before = "notBefore"
    backoff = "backoff"
    condition = "condition"
    barrier = "barrier"
    group = "group"
    storage = "storage"
    executor = "executor"
    rate = "rate"


class ExecutorState(OpenEnum):
    """One of connected, disconnected."""

    connected = "connected"
    disconnected = "disconnected"


class EventType(OpenEnum):
    """One of submitted, ready, started, progress, produced, retrying, cancelling, suspended, resumed, finished,
    edited, conditionFalse, interrupted, fired, skipped, missed, refused.
    """

    submitted = "submitted"
    ready = "ready"
    started = "started"
    progress = "progress"
    produced = "produced"
    retrying = "retrying"
    cancelling = "cancelling"
    suspended = "suspended"
    resumed = "resumed"
    finished = "finished"
    edited = "edited"
    condition_false = "conditionFalse"
    interrupted = "interrupted"
    fired = "fired"
    skipped = "skipped"
    missed = "missed"
    refused = "refused"


class StatusReplyState(OpenEnum):
    """One of running, draining, storageUnavailable."""

    running = "running"
    draining = "draining"
    storage_unavailable = "storageUnavailable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Selects the operations that match all given members. With "refs", they must also be one of these: a ref
    may be a range of ids here, "10-20". "state": states, outcomes, or held, scheduled, cancelling, frozen,
    waiting, active, separated by commas. An empty selection is refused by Cancel, Set, Wait and Prune; List,
    Stats, Watch, Suspend and Resume treat it like none. "all" selects everything that the caller may see.
    """

    refs: list[str] | None = None
    graph: str | None = None
    queue: str | None = None
    state: str | None = None
    outcome: str | None = None
    labels: dict[str, str] | None = None
    user: str | None = None
    all: bool | None = None

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            refs=value.get("refs"),
            graph=value.get("graph"),
            queue=value.get("queue"),
            state=value.get("state"),
            outcome=value.get("outcome"),
            labels=value.get("labels"),
            user=value.get("user"),
            all=value.get("all"),
        )

    def to_json(self) -> dict[str, Any]:
        """Returns the object as a method takes it; absent members are left out."""
        value: dict[str, Any] = {
            "refs": self.refs,
            "graph": self.graph,
            "queue": self.queue,
            "state": self.state,
            "outcome": self.outcome,
            "labels": self.labels,
            "user": self.user,
            "all": self.all,
        }
        return {key: item for key, item in value.items() if item is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """Properties of the submitting process that opsd records for its operations. Keys of an operation override
    them. "directory" is absolute; "umask": 0 to 511.
    """

    environment: dict[str, str]
    directory: str
    umask: int

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            environment=value["environment"],
            directory=value["directory"],
            umask=value["umask"],
        )

    def to_json(self) -> dict[str, Any]:
        """Returns the object as a method takes it; absent members are left out."""
        value: dict[str, Any] = {
            "environment": self.environment,
            "directory": self.directory,
            "umask": self.umask,
        }
        return {key: item for key, item in value.items() if item is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A problem of a submission: the operation (its index in the flattened graph, and its name), the key, and a
    message.
    """

    index: int | None = None
    name: str | None = None
    key: str | None = None
    message: str

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            index=value.get("index"),
            name=value.get("name"),
            key=value.get("key"),
            message=value["message"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """An operation that was submitted."""

    id: int
    name: str | None = None
    graph: str

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            id=value["id"],
            name=value.get("name"),
            graph=value["graph"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """An operation that another one waits for, and the event that it waits for."""

    id: int
    when: DependencyWhen
    satisfied: bool

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            id=value["id"],
            when=DependencyWhen(value["when"]),
            satisfied=value["satisfied"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryUse:
    """A category of an operation, and how the operation uses it. "assigned": the named units that the current
    attempt holds, or that the last one held.
    """

    name: str
    mode: CategoryUseMode
    units: int
    assigned: list[str]

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            name=value["name"],
            mode=CategoryUseMode(value["mode"]),
            units=value["units"],
            assigned=value["assigned"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Processor time and peak memory of all processes of an attempt."""

    user_seconds: float
    system_seconds: float
    max_resident_bytes: int

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            user_seconds=value["userSeconds"],
            system_seconds=value["systemSeconds"],
            max_resident_bytes=value["maxResidentBytes"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Progress that an operation has reported."""

    done: int
    total: int | None = None

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            done=value["done"],
            total=value.get("total"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """An operation, as `show --json` and `ls --json` print it. Only its owner and root get "result" and
    "environment". "notNeeded": skipped because it was not needed, which is not a failure of its group, of a
    Wait or of a Retry.
    """

    id: int
    name: str | None = None
    graph: str
    graph_name: str | None = None
    queue: str
    state: OperationState
    outcome: OperationOutcome | None = None
    not_needed: bool
    cause: str | None = None
    command: list[str] | None = None
    priority: int
    effective_priority: int
    attempt: int
    run: int
    exit_code: int | None = None
    signal: int | None = None
    cancelling: bool
    frozen: bool
    held: bool
    barrier: bool
    is_group: bool
    completion: str
    dependencies: list[Dependency]
    categories: list[CategoryUse]
    labels: dict[str, str]
    user: str
    produced_by: int | None = None
    group: int | None = None
    progress: Progress | None = None
    status_text: str | None = None
    result: str | None = None
    timeout: str | None = None
    deadline: str | None = None
    not_before: str | None = None
    key: str | None = None
    note: str | None = None
    submitted_at: str
    ready_at: str | None = None
    started_at: str | None = None
    finished_at: str | None = None
    usage: Usage | None = None
    environment: dict[str, str] | None = None
    directory: str | None = None

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            id=value["id"],
            name=value.get("name"),
            graph=value["graph"],
            graph_name=value.get("graphName"),
            queue=value["queue"],
            state=OperationState(value["state"]),
            outcome=None if value.get("outcome") is None else OperationOutcome(value["outcome"]),
            not_needed=value["notNeeded"],
            cause=value.get("cause"),
            command=value.get("command"),
            priority=value["priority"],
            effective_priority=value["effectivePriority"],
            attempt=value["attempt"],
            run=value["run"],
            exit_code=value.get("exitCode"),
            signal=value.get("signal"),
            cancelling=value["cancelling"],
            frozen=value["frozen"],
            held=value["held"],
            barrier=value["barrier"],
            is_group=value["isGroup"],
            completion=value["completion"],
            dependencies=[Dependency.from_json(item) for item in value["dependencies"]],
            categories=[CategoryUse.from_json(item) for item in value["categories"]],
            labels=value["labels"],
            user=value["user"],
            produced_by=value.get("producedBy"),
            group=value.get("group"),
            progress=None if value.get("progress") is None else Progress.from_json(value["progress"]),
            status_text=value.get("statusText"),
            result=value.get("result"),
            timeout=value.get("timeout"),
            deadline=value.get("deadline"),
            not_before=value.get("notBefore"),
            key=value.get("key"),
            note=value.get("note"),
            submitted_at=value["submittedAt"],
            ready_at=value.get("readyAt"),
            started_at=value.get("startedAt"),
            finished_at=value.get("finishedAt"),
            usage=None if value.get("usage") is None else Usage.from_json(value["usage"]),
            environment=value.get("environment"),
            directory=value.get("directory"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """The other keys of an operation, its process and the user that it runs as. The keys are those of an
    operation in a graph. "output": log, split, journal, null or files; with files, "stdout" and "stderr" name
    them. "executor": absent if the operation runs on this machine. "job": the job of its last attempt in the
    engine of its executor. "limit": of a group that has one.
    """

    pid: int | None = None
    run_as: str
    retry: dict[str, Any] | None = None
    grace: str
    success_codes: list[int]
    leftovers: str
    qos: str | None = None
    limits: dict[str, Any] | None = None
    limit: int | None = None
    output: str
    stdout: str | None = None
    stderr: str | None = None
    stdin: str | None = None
    umask: str | None = None
    conditions: list[dict[str, Any]]
    observers: dict[str, Any] | None = None
    executor: str | None = None
    job: str | None = None
    slurm: dict[str, Any] | None = None
    http: dict[str, Any] | None = None
    secrets: dict[str, Any] | None = None

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            pid=value.get("pid"),
            run_as=value["runAs"],
            retry=value.get("retry"),
            grace=value["grace"],
            success_codes=value["successCodes"],
            leftovers=value["leftovers"],
            qos=value.get("qos"),
            limits=value.get("limits"),
            limit=value.get("limit"),
            output=value["output"],
            stdout=value.get("stdout"),
            stderr=value.get("stderr"),
            stdin=value.get("stdin"),
            umask=value.get("umask"),
            conditions=value["conditions"],
            observers=value.get("observers"),
            executor=value.get("executor"),
            job=value.get("job"),
            slurm=value.get("slurm"),
            http=value.get("http"),
            secrets=value.get("secrets"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """An attempt to run an operation. "run": it is 1, and one more after each Retry. "scaled": the values of
    this attempt that "retry.scale" multiplies, according to the present settings of the operation. "outputs":
    its output directory, while the attempt runs, and afterwards if it has left files there.
    """

    attempt: int
    run: int
    outcome: OperationOutcome | None = None
    cause: str | None = None
    exit_code: int | None = None
    signal: int | None = None
    started_at: str | None = None
    finished_at: str | None = None
    usage: Usage | None = None
    scaled: dict[str, Any] | None = None
    outputs: str | None = None

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            attempt=value["attempt"],
            run=value["run"],
            outcome=None if value.get("outcome") is None else OperationOutcome(value["outcome"]),
            cause=value.get("cause"),
            exit_code=value.get("exitCode"),
            signal=value.get("signal"),
            started_at=value.get("startedAt"),
            finished_at=value.get("finishedAt"),
            usage=None if value.get("usage") is None else Usage.from_json(value["usage"]),
            scaled=value.get("scaled"),
            outputs=value.get("outputs"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """A reason why an operation waits. "ids": the operations that it waits for; of more than 1000 only the
    first, and "text" has their number. "at": for a rate, the instant of the next possible start.
    """

    kind: ReasonKind
    text: str
    ids: list[int]
    at: str | None = None

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            kind=ReasonKind(value["kind"]),
            text=value["text"],
            ids=value["ids"],
            at=value.get("at"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """A queue. "pending" and "ready" do not include the operations that are "scheduled" or "held", as in Counts.
    "fair" is "user" if, among operations of equal effective priority, those of the user go first who has used
    the least slot time in the last hour; otherwise null.
    """

    name: str
    limit: int | None = None
    suspended: bool
    aging: str | None = None
    order: str
    pending: int
    ready: int
    scheduled: int
    held: int
    executing: int
    executor: str | None = None
    fair: str | None = None

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            name=value["name"],
            limit=value.get("limit"),
            suspended=value["suspended"],
            aging=value.get("aging"),
            order=value["order"],
            pending=value["pending"],
            ready=value["ready"],
            scheduled=value["scheduled"],
            held=value["held"],
            executing=value["executing"],
            executor=value.get("executor"),
            fair=value.get("fair"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryUnit:
    """A named unit of a category. "holders": the operations that hold it; of more than 1000 only the first.
    "draining": the unit was removed from the list, and no other operation gets it.
    """

    name: str
    holders: list[int]
    draining: bool

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            name=value["name"],
            holders=value["holders"],
            draining=value["draining"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Executor:
    """An executor other than this machine. "window": maximum number of unfinished attempts; "inFlight": their
    present number.
    """

    name: str
    kind: str
    state: ExecutorState
    since: str
    window: int
    in_flight: int

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            name=value["name"],
            kind=value["kind"],
            state=ExecutorState(value["state"]),
            since=value["since"],
            window=value["window"],
            in_flight=value["inFlight"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    """A category. "capacity" is null if only a rate limits it. "holders" and "waiting": operations; of more than
    1000 only the first. "units": empty for a category without named units. "share": number of operations that
    may hold a unit at once. "rate": "60/1m" is at most 60 starts in any minute.
    """

    name: str
    capacity: int | None = None
    holders: list[int]
    waiting: list[int]
    units: list[CategoryUnit]
    share: int
    export: str | None = None
    rate: str | None = None

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            name=value["name"],
            capacity=value.get("capacity"),
            holders=value["holders"],
            waiting=value["waiting"],
            units=[CategoryUnit.from_json(item) for item in value["units"]],
            share=value["share"],
            export=value.get("export"),
            rate=value.get("rate"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Numbers of operations. "scheduled": those that wait only for an instant in the future; "held": those that
    wait for Resume. The other numbers include neither.
    """

    pending: int
    ready: int
    scheduled: int
    held: int
    executing: int
    finished: int

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            pending=value["pending"],
            ready=value["ready"],
            scheduled=value["scheduled"],
            held=value["held"],
            executing=value["executing"],
            finished=value["finished"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An event of the event stream. Events of schedules have "schedule", "nominal" and "count": the number of
    instants that were processed together, and the first of them. "graph" is then the run that "fired"
    started.
    """

    seq: int
    at: str
    id: int | None = None
    graph: str | None = None
    type: EventType
    old: OperationState | None = None
    new: OperationState | None = None
    outcome: OperationOutcome | None = None
    not_needed: bool
    product: int | None = None
    attempt: int | None = None
    queue: str | None = None
    schedule: str | None = None
    nominal: str | None = None
    count: int | None = None
    detail: str | None = None

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            seq=value["seq"],
            at=value["at"],
            id=value.get("id"),
            graph=value.get("graph"),
            type=EventType(value["type"]),
            old=None if value.get("old") is None else OperationState(value["old"]),
            new=None if value.get("new") is None else OperationState(value["new"]),
            outcome=None if value.get("outcome") is None else OperationOutcome(value["outcome"]),
            not_needed=value["notNeeded"],
            product=value.get("product"),
            attempt=value.get("attempt"),
            queue=value.get("queue"),
            schedule=value.get("schedule"),
            nominal=value.get("nominal"),
            count=value.get("count"),
            detail=value.get("detail"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LogTime:
    """The time of a part of a log: its bytes from "offset" on, up to the offset of the next LogTime, were
    written at "at".
    """

    offset: int
    at: str

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            offset=value["offset"],
            at=value["at"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The end of an operation that a Wait selected."""

    id: int
    name: str | None = None
    outcome: OperationOutcome
    not_needed: bool
    cause: str | None = None
    exit_code: int | None = None
    signal: int | None = None

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            id=value["id"],
            name=value.get("name"),
            outcome=OperationOutcome(value["outcome"]),
            not_needed=value["notNeeded"],
            cause=value.get("cause"),
            exit_code=value.get("exitCode"),
            signal=value.get("signal"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """An operation in a graph that is drawn."""

    id: int
    name: str | None = None
    state: OperationState
    outcome: OperationOutcome | None = None
    not_needed: bool
    group: int | None = None
    is_group: bool
    held: bool
    scheduled: bool
    started_at: str | None = None
    finished_at: str | None = None
    slot: int | None = None
    cause: str | None = None

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            id=value["id"],
            name=value.get("name"),
            state=OperationState(value["state"]),
            outcome=None if value.get("outcome") is None else OperationOutcome(value["outcome"]),
            not_needed=value["notNeeded"],
            group=value.get("group"),
            is_group=value["isGroup"],
            held=value["held"],
            scheduled=value["scheduled"],
            started_at=value.get("startedAt"),
            finished_at=value.get("finishedAt"),
            slot=value.get("slot"),
            cause=value.get("cause"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """Durations in seconds, counted by their size. "counts" has one more member than "bounds": the number of
    durations above the last bound.
    """

    bounds: list[float]
    counts: list[int]
    sum: float

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            bounds=value["bounds"],
            counts=value["counts"],
            sum=value["sum"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeCounts:
    """Numbers of finished operations by outcome."""

    succeeded: int
    failed: int
    timed_out: int
    cancelled: int
    skipped: int
    interrupted: int

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            succeeded=value["succeeded"],
            failed=value["failed"],
            timed_out=value["timedOut"],
            cancelled=value["cancelled"],
            skipped=value["skipped"],
            interrupted=value["interrupted"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueMetrics:
    """A queue for monitoring. "finished", "waiting" (durations from ready to the last start) and "running" never
    decrease, and include pruned operations. "pending" and "ready" do not include operations that are
    scheduled or held, as in Counts. "readySince": the instant since which the first of its ready operations
    has been ready.
    """

    name: str
    removed: bool
    limit: int | None = None
    suspended: bool
    pending: int
    ready: int
    executing: int
    ready_since: str | None = None
    finished: OutcomeCounts
    waiting: Histogram
    running: Histogram

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            name=value["name"],
            removed=value["removed"],
            limit=value.get("limit"),
            suspended=value["suspended"],
            pending=value["pending"],
            ready=value["ready"],
            executing=value["executing"],
            ready_since=value.get("readySince"),
            finished=OutcomeCounts.from_json(value["finished"]),
            waiting=Histogram.from_json(value["waiting"]),
            running=Histogram.from_json(value["running"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryMetrics:
    """A category for monitoring. "capacity" is null if only a rate limits it. "used": units in use. This is all
    of them (one without a capacity) while an exclusive operation holds the category, and at least one while
    others share it.
    """

    name: str
    capacity: int | None = None
    used: int
    waiting: int

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            name=value["name"],
            capacity=value.get("capacity"),
            used=value["used"],
            waiting=value["waiting"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleMetrics:
    """A schedule for monitoring. "lastSuccess": start of its last run that succeeded; "missed": number of missed
    instants.
    """

    name: str
    user: str
    last_success: str | None = None
    missed: int

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            name=value["name"],
            user=value["user"],
            last_success=value.get("lastSuccess"),
            missed=value["missed"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphSummary:
    """A graph in a list. "pending" and "ready" do not include the operations that are "scheduled" or "held", as
    in Counts.
    """

    graph: str
    name: str | None = None
    user: str
    submitted_at: str
    suspended: bool
    pending: int
    ready: int
    scheduled: int
    held: int
    executing: int
    finished: int
    unsuccessful: int

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            graph=value["graph"],
            name=value.get("name"),
            user=value["user"],
            submitted_at=value["submittedAt"],
            suspended=value["suspended"],
            pending=value["pending"],
            ready=value["ready"],
            scheduled=value["scheduled"],
            held=value["held"],
            executing=value["executing"],
            finished=value["finished"],
            unsuccessful=value["unsuccessful"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A dependency of a graph that is drawn: "from" waits for "on"."""

    from_: int
    on: int
    when: DependencyWhen

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            from_=value["from"],
            on=value["on"],
            when=DependencyWhen(value["when"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A schedule. "at": its calendar expressions; "zone": the time zone in which they are read. "next": its next
    run. "missed": number of instants that passed while nothing could be started, and that were not caught up.
    "problem": reason why it does not run, such as a time zone that is missing.
    """

    name: str
    user: str
    at: list[str]
    zone: str
    paused: bool
    overlap: str
    catch_up: str
    next: str | None = None
    last: ScheduleLast | None = None
    missed: int
    problem: str | None = None

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            name=value["name"],
            user=value["user"],
            at=value["at"],
            zone=value["zone"],
            paused=value["paused"],
            overlap=value["overlap"],
            catch_up=value["catchUp"],
            next=value.get("next"),
            last=None if value.get("last") is None else ScheduleLast.from_json(value["last"]),
            missed=value["missed"],
            problem=value.get("problem"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleLast:
    """The latest run of a schedule. "nominal": the instant that it is for; "outcome": null while it is
    unfinished.
    """

    nominal: str
    graph: str | None = None
    outcome: OperationOutcome | None = None

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            nominal=value["nominal"],
            graph=value.get("graph"),
            outcome=None if value.get("outcome") is None else OperationOutcome(value["outcome"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleRun:
    """A record of a schedule: of one instant at which it was due ("nominal"), or of "count" adjacent ones up to
    "through" that did not run. "result": run, skipped, missed, paused or refused. "origin": calendar, manual,
    backfill or trigger. "key": the file or the printed line that triggered the run, or the first of them;
    null for a caller who may not read the environment of the owner's operations.
    """

    schedule: str
    nominal: str
    through: str
    count: int
    result: str
    origin: str
    graph: str | None = None
    outcome: OperationOutcome | None = None
    at: str
    key: str | None = None
    note: str | None = None

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            schedule=value["schedule"],
            nominal=value["nominal"],
            through=value["through"],
            count=value["count"],
            result=value["result"],
            origin=value["origin"],
            graph=value.get("graph"),
            outcome=None if value.get("outcome") is None else OperationOutcome(value["outcome"]),
            at=value["at"],
            key=value.get("key"),
            note=value.get("note"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleNext:
    """A future instant of a schedule. "local": in the time zone of the schedule; "start": the instant at which
    its run starts, which the key "spread" can delay.
    """

    nominal: str
    local: str
    start: str

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            nominal=value["nominal"],
            local=value["local"],
            start=value["start"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleReason:
    """A reason why a schedule has not started a run. "kind": paused, storage, problem, calendar, event, trigger,
    overlap, ended, skipped, missed or refused.
    """

    kind: str
    text: str

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            kind=value["kind"],
            text=value["text"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitReply:
    """Reply of Submit."""

    graph: str
    existing: bool
    first: int
    count: int
    operations: list[Submitted] | None = None

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            graph=value["graph"],
            existing=value["existing"],
            first=value["first"],
            count=value["count"],
            operations=None if value.get("operations") is None else [Submitted.from_json(item) for item in value["operations"]],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AddOperationsReply:
    """Reply of AddOperations."""

    count: int

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            count=value["count"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitSubmissionReply:
    """Reply of CommitSubmission."""

    graph: str
    existing: bool
    first: int
    count: int
    operations: list[Submitted] | None = None

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            graph=value["graph"],
            existing=value["existing"],
            first=value["first"],
            count=value["count"],
            operations=None if value.get("operations") is None else [Submitted.from_json(item) for item in value["operations"]],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ListReply:
    """Reply of List."""

    operations: list[Operation]

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            operations=[Operation.from_json(item) for item in value["operations"]],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowReply:
    """Reply of Show."""

    operation: Operation
    details: Details
    attempts: list[Attempt]

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            operation=Operation.from_json(value["operation"]),
            details=Details.from_json(value["details"]),
            attempts=[Attempt.from_json(item) for item in value["attempts"]],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ListGraphsReply:
    """Reply of ListGraphs."""

    graphs: list[GraphSummary]

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            graphs=[GraphSummary.from_json(item) for item in value["graphs"]],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyReply:
    """Reply of Why."""

    id: int
    state: OperationState
    outcome: OperationOutcome | None = None
    waiting_for: list[Reason]

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            id=value["id"],
            state=OperationState(value["state"]),
            outcome=None if value.get("outcome") is None else OperationOutcome(value["outcome"]),
            waiting_for=[Reason.from_json(item) for item in value["waitingFor"]],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusReply:
    """Reply of Status."""

    version: str
    pid: int
    runner_pid: int | None = None
    runner_answers: bool
    state: StatusReplyState
    detail: str | None = None
    suspended: bool
    workers: int
    slots_used: int
    counts: Counts
    queues: list[Queue]
    last_seq: int
    started_at: str

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            version=value["version"],
            pid=value["pid"],
            runner_pid=value.get("runnerPid"),
            runner_answers=value["runnerAnswers"],
            state=StatusReplyState(value["state"]),
            detail=value.get("detail"),
            suspended=value["suspended"],
            workers=value["workers"],
            slots_used=value["slotsUsed"],
            counts=Counts.from_json(value["counts"]),
            queues=[Queue.from_json(item) for item in value["queues"]],
            last_seq=value["lastSeq"],
            started_at=value["startedAt"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LogReply:
    """Reply of Log."""

    id: int
    attempt: int
    offset: int
    data: str
    dropped: int | None = None
    times: list[LogTime] | None = None

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            id=value["id"],
            attempt=value["attempt"],
            offset=value["offset"],
            data=value["data"],
            dropped=value.get("dropped"),
            times=None if value.get("times") is None else [LogTime.from_json(item) for item in value["times"]],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitReply:
    """Reply of Wait."""

    ended: list[Ended]
    remaining: int
    succeeded: bool

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            ended=[Ended.from_json(item) for item in value["ended"]],
            remaining=value["remaining"],
            succeeded=value["succeeded"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchReply:
    """Reply of Watch."""

    event: Event

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            event=Event.from_json(value["event"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelReply:
    """Reply of Cancel."""

    touched: int
    ids: list[int]

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            touched=value["touched"],
            ids=value["ids"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspendReply:
    """Reply of Suspend."""

    touched: int

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            touched=value["touched"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeReply:
    """Reply of Resume."""

    touched: int

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            touched=value["touched"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryReply:
    """Reply of Retry."""

    touched: int
    ids: list[int]

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            touched=value["touched"],
            ids=value["ids"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SetReply:
    """Reply of Set."""

    touched: int

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            touched=value["touched"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQueuesReply:
    """Reply of ListQueues."""

    queues: list[Queue]

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            queues=[Queue.from_json(item) for item in value["queues"]],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SetQueueReply:
    """Reply of SetQueue."""

    queue: Queue

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            queue=Queue.from_json(value["queue"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ListExecutorsReply:
    """Reply of ListExecutors."""

    executors: list[Executor]

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            executors=[Executor.from_json(item) for item in value["executors"]],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ListCategoriesReply:
    """Reply of ListCategories."""

    categories: list[Category]

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            categories=[Category.from_json(item) for item in value["categories"]],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SetCategoryReply:
    """Reply of SetCategory."""

    category: Category

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            category=Category.from_json(value["category"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphReply:
    """Reply of Graph."""

    graph: str
    name: str | None = None
    suspended: bool
    trace: str | None = None
    nodes: list[Node]
    edges: list[Edge]

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            graph=value["graph"],
            name=value.get("name"),
            suspended=value["suspended"],
            trace=value.get("trace"),
            nodes=[Node.from_json(item) for item in value["nodes"]],
            edges=[Edge.from_json(item) for item in value["edges"]],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StatsReply:
    """Reply of Stats."""

    stats: dict[str, Any]

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            stats=value["stats"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneReply:
    """Reply of Prune."""

    removed: int

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            removed=value["removed"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupReply:
    """Reply of Backup."""

    bytes: int

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            bytes=value["bytes"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReply:
    """Reply of Check."""

    problems: list[str]

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            problems=value["problems"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsReply:
    """Reply of Metrics."""

    queues: list[QueueMetrics]
    categories: list[CategoryMetrics]
    schedules: list[ScheduleMetrics]
    commits: Histogram
    turns: Histogram
    database_bytes: int

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            queues=[QueueMetrics.from_json(item) for item in value["queues"]],
            categories=[CategoryMetrics.from_json(item) for item in value["categories"]],
            schedules=[ScheduleMetrics.from_json(item) for item in value["schedules"]],
            commits=Histogram.from_json(value["commits"]),
            turns=Histogram.from_json(value["turns"]),
            database_bytes=value["databaseBytes"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CompleteReply:
    """Reply of Complete."""

    words: list[str]

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            words=value["words"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AddScheduleReply:
    """Reply of AddSchedule."""

    schedule: Schedule
    change: str
    warnings: list[str]
    instants: list[ScheduleNext] | None = None

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            schedule=Schedule.from_json(value["schedule"]),
            change=value["change"],
            warnings=value["warnings"],
            instants=None if value.get("instants") is None else [ScheduleNext.from_json(item) for item in value["instants"]],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ListSchedulesReply:
    """Reply of ListSchedules."""

    schedules: list[Schedule]
    definition: dict[str, Any] | None = None

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            schedules=[Schedule.from_json(item) for item in value["schedules"]],
            definition=value.get("definition"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleRunsReply:
    """Reply of ScheduleRuns."""

    runs: list[ScheduleRun]

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            runs=[ScheduleRun.from_json(item) for item in value["runs"]],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunScheduleReply:
    """Reply of RunSchedule."""

    graph: str

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            graph=value["graph"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleInstantsReply:
    """Reply of ScheduleInstants."""

    zone: str
    instants: list[ScheduleNext]

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            zone=value["zone"],
            instants=[ScheduleNext.from_json(item) for item in value["instants"]],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyScheduleReply:
    """Reply of WhySchedule."""

    schedule: str
    next: str | None = None
    waiting_for: list[ScheduleReason]

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            schedule=value["schedule"],
            next=value.get("next"),
            waiting_for=[ScheduleReason.from_json(item) for item in value["waitingFor"]],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillScheduleReply:
    """Reply of BackfillSchedule."""

    runs: list[ScheduleRun]
    present: int

    @classmethod
    def from_json(cls, value: JSONObject) -> Self:
        """Reads a reply; members that a newer daemon adds are ignored."""
        return cls(
            runs=[ScheduleRun.from_json(item) for item in value["runs"]],
            present=value["present"],
        )


class InterfaceNotFound(CallError):
    """The interface is not served here."""

    name_on_wire = "org.varlink.service.InterfaceNotFound"
    interface: str

    def __init__(self, parameters: JSONObject) -> None:
        self.interface = parameters["interface"]
        super().__init__(parameters)


class MethodNotFound(CallError):
    """The method does not exist in this version of the daemon."""

    name_on_wire = "org.varlink.service.MethodNotFound"
    method: str

    def __init__(self, parameters: JSONObject) -> None:
        self.method = parameters["method"]
        super().__init__(parameters)


class InvalidParameter(CallError):
    """A parameter is unknown, missing or of the wrong type."""

    name_on_wire = "org.varlink.service.InvalidParameter"
    parameter: str

    def __init__(self, parameters: JSONObject) -> None:
        self.parameter = parameters["parameter"]
        super().__init__(parameters)


class ExpectedMore(CallError):
    """The method must be called with "more"."""

    name_on_wire = "org.varlink.service.ExpectedMore"

    def __init__(self, parameters: JSONObject) -> None:
        super().__init__(parameters)


class InvalidOperation(CallError):
    """A graph, an operation or a value is invalid, and nothing was stored. "problems" has all that is wrong."""

    name_on_wire = "org.opsd.Control.InvalidOperation"
    problems: list[Problem]

    def __init__(self, parameters: JSONObject) -> None:
        self.problems = [Problem.from_json(item) for item in parameters["problems"]]
        super().__init__(parameters)


class NotFound(CallError):
    """There is no operation, queue or other thing ("kind") of this name. "nearest": a similar name that exists."""

    name_on_wire = "org.opsd.Control.NotFound"
    kind: str
    name: str
    nearest: str | None

    def __init__(self, parameters: JSONObject) -> None:
        self.kind = parameters["kind"]
        self.name = parameters["name"]
        self.nearest = parameters.get("nearest")
        super().__init__(parameters)


class Cycle(CallError):
    """The operations of "path" would wait for each other, in this order; the first is repeated at the end.
    "category": one of them would hold this category until others have ended that need it too.
    """

    name_on_wire = "org.opsd.Control.Cycle"
    path: list[str]
    category: str | None

    def __init__(self, parameters: JSONObject) -> None:
        self.path = parameters["path"]
        self.category = parameters.get("category")
        super().__init__(parameters)


class WrongState(CallError):
    """The state of the operation, of the queue or of the connection does not allow the call; "message" explains."""

    name_on_wire = "org.opsd.Control.WrongState"
    id: int | None
    message: str

    def __init__(self, parameters: JSONObject) -> None:
        self.id = parameters.get("id")
        self.message = parameters["message"]
        super().__init__(parameters)


class PermissionDenied(CallError):
    """The operation belongs to another user, or only root may make the call."""

    name_on_wire = "org.opsd.Control.PermissionDenied"
    message: str

    def __init__(self, parameters: JSONObject) -> None:
        self.message = parameters["message"]
        super().__init__(parameters)


class StorageUnavailable(CallError):
    """The disk is full or fails, and nothing was done."""

    name_on_wire = "org.opsd.Control.StorageUnavailable"
    message: str

    def __init__(self, parameters: JSONObject) -> None:
        self.message = parameters["message"]
        super().__init__(parameters)


class TooLarge(CallError):
    """The size of "what" exceeds "limit"."""

    name_on_wire = "org.opsd.Control.TooLarge"
    what: str
    limit: int

    def __init__(self, parameters: JSONObject) -> None:
        self.what = parameters["what"]
        self.limit = parameters["limit"]
        super().__init__(parameters)


class Busy(CallError):
    """A limit of connections, outstanding work, buffered bytes or unfinished operations is reached; "message"
    says which one, and what to do. A submission in parts is dropped; an incomplete message ends the
    connection.
    """

    name_on_wire = "org.opsd.Control.Busy"
    message: str

    def __init__(self, parameters: JSONObject) -> None:
        self.message = parameters["message"]
        super().__init__(parameters)


class Lagged(CallError):
    """The next events of a stream were pruned, or its reader was too slow. Nothing after "resume" was sent."""

    name_on_wire = "org.opsd.Control.Lagged"
    resume: int

    def __init__(self, parameters: JSONObject) -> None:
        self.resume = parameters["resume"]
        super().__init__(parameters)


class TimedOut(CallError):
    """The "timeout" of Wait has passed, and "remaining" operations are unfinished."""

    name_on_wire = "org.opsd.Control.TimedOut"
    remaining: int

    def __init__(self, parameters: JSONObject) -> None:
        self.remaining = parameters["remaining"]
        super().__init__(parameters)


ERRORS: dict[str, type[CallError]] = {error.name_on_wire: error for error in (
    InterfaceNotFound,
    MethodNotFound,
    InvalidParameter,
    ExpectedMore,
    InvalidOperation,
    NotFound,
    Cycle,
    WrongState,
    PermissionDenied,
    StorageUnavailable,
    TooLarge,
    Busy,
    Lagged,
    TimedOut,
)}
