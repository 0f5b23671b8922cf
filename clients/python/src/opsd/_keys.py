"""Keys of operations with their Python names, checked before anything is sent."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, Protocol, TypedDict

When = Literal["succeeded", "finished", "failed", "started"]
Duration = str | float | timedelta
Instant = str | float | timedelta | datetime


class HasOperation(Protocol):
    """An object that stands for a stored operation, such as a future of an executor."""

    @property
    def operation(self) -> int:
        """Id of the operation."""


class HasName(Protocol):
    """An operation of the same graph."""

    @property
    def name(self) -> str:
        """Name within the graph."""


Target = str | int | HasOperation | HasName


@dataclass(frozen=True)
class After:
    """A dependency with a condition: `After(build, "failed")` is satisfied once `build` has ended without success."""

    target: Target
    when: When = "succeeded"


Dependencies = Target | After | Sequence[Target | After]


class CommonKeys(TypedDict, total=False):
    """Keys of commands and of functions. The manual page opsd-graph(5) describes them."""

    queue: str
    priority: int | Literal["veryLow", "low", "normal", "high", "veryHigh"]
    qos: Literal["userInteractive", "userInitiated", "default", "utility", "background"]
    after: Dependencies
    categories: str | Sequence[str | Mapping[str, Any]]
    barrier: bool
    conditions: Sequence[Mapping[str, Any]]
    observers: Mapping[str, Sequence[str]]
    timeout: Duration
    grace: Duration
    deadline: Instant
    not_before: Instant
    held: bool
    retry: int | Mapping[str, Any]
    leftovers: Literal["kill", "wait", "leave"]
    environment: Mapping[str, str]
    directory: str
    umask: int | str
    output: str | Mapping[str, str]
    limits: Mapping[str, Any]
    labels: Mapping[str, str]
    extra: Mapping[str, Any]


class FunctionKeys(CommonKeys, total=False):
    """Keys of an operation that runs a function."""

    name: str


class SharedKeys(CommonKeys, total=False):
    """Keys that several operations of a graph may share."""

    user: str
    success_codes: Sequence[int]


class OperationKeys(SharedKeys, total=False):
    """Keys of any operation of a graph, also of a group."""

    name: str


class CommandKeys(OperationKeys, total=False):
    """Keys of an operation that runs a command."""

    completion: Literal["exit", "notify"]
    stdin: str
    key: str


def duration(value: Duration) -> str | float:
    """Returns a duration in the format of the daemon."""
    if isinstance(value, timedelta):
        return value / timedelta(seconds=1)
    return value


def instant(value: Instant) -> str | float:
    """Returns an instant in the format of RFC 3339, or the duration until then."""
    if not isinstance(value, datetime):
        return duration(value)
    if value.tzinfo is None:
        value = value.astimezone()
    return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def dependencies(value: Dependencies) -> list[Any]:
    """Returns the dependencies in `after` in the format of the daemon."""
    if isinstance(value, str | int | After) or not isinstance(value, Sequence):
        value = [value]
    found: list[Any] = []
    for one in value:
        edge = one if isinstance(one, After) else After(one)
        target = reference(edge.target)
        found.append(target if edge.when == "succeeded" else {"op": target, "when": edge.when})
    return found


def reference(target: Target) -> str | int:
    """Returns the id or name of an operation."""
    if isinstance(target, str | int):
        return target
    operation = getattr(target, "operation", None)
    if isinstance(operation, int):
        return operation
    name = getattr(target, "name", None)
    if isinstance(name, str):
        return name
    raise TypeError(f"after: {target!r} is not an operation, future, id or name")


def categories(value: str | Sequence[str | Mapping[str, Any]]) -> list[Any]:
    """Returns categories as a list. The argument may be a single name."""
    return [value] if isinstance(value, str) else list(value)


def retry(value: int | Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns a retry policy. A number is the limit of the policy."""
    return {"limit": value} if isinstance(value, int) else value


CONVERSIONS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "after": ("after", dependencies),
    "categories": ("categories", categories),
    "retry": ("retry", retry),
    "timeout": ("timeout", duration),
    "grace": ("grace", duration),
    "deadline": ("deadline", instant),
    "not_before": ("notBefore", instant),
    "success_codes": ("successCodes", list),
}


def as_json(keys: Mapping[str, Any], allowed: Any, what: str) -> dict[str, Any]:
    """Returns keys in the format of the daemon, and refuses unknown keys. `extra` is sent unchanged."""
    known = allowed.__optional_keys__
    result: dict[str, Any] = {}
    for key, value in keys.items():
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else "keys of a newer daemon can be given as extra={...}"
            raise TypeError(f"{what} has no key {key!r}; {hint}")
        if value is None or key == "extra":
            continue
        name, convert = CONVERSIONS.get(key, (key, None))
        result[name] = convert(value) if convert else value
    result.update(keys.get("extra") or {})
    return result
