"""Keys of operations with their Python names, checked before anything is sent."""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, Protocol, TypedDict

When = Literal["succeeded", "finished", "failed", "started"]
Duration = str | float | timedelta
Instant = str | float | timedelta | datetime
PathText = str | os.PathLike[str]
Observers = Mapping[str, Sequence[PathText]]


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


Dependencies = Target | After | Iterable[Target | After]


class CommonKeys(TypedDict, total=False):
    """Keys of commands, functions and groups. The manual page opsd-graph(5) describes them."""

    queue: str
    priority: int | Literal["veryLow", "low", "normal", "high", "veryHigh"]
    after: Dependencies
    categories: str | Sequence[str | Mapping[str, Any]]
    barrier: bool
    conditions: Sequence[Mapping[str, Any]]
    timeout: Duration
    deadline: Instant
    not_before: Instant
    held: bool
    labels: Mapping[str, str]
    extra: Mapping[str, Any]


class ProcessKeys(CommonKeys, total=False):
    """Keys of commands and functions. A group has no process."""

    qos: Literal["userInteractive", "userInitiated", "default", "utility", "background"]
    grace: Duration
    retry: int | Mapping[str, Any]
    leftovers: Literal["kill", "wait", "leave"]
    environment: Mapping[str, PathText]
    secrets: Mapping[str, Mapping[str, PathText]]
    directory: PathText
    umask: int | str
    output: PathText | Mapping[str, PathText]
    limits: Mapping[str, Any]


class FunctionKeys(ProcessKeys, total=False):
    """Keys of an operation that runs a function."""

    name: str
    observers: Observers


class DefaultKeys(ProcessKeys, total=False):
    """Keys that a graph can set for all its operations."""

    user: str
    success_codes: Sequence[int]
    completion: Literal["exit", "notify"]
    stdin: PathText
    executor: str
    slurm: Mapping[str, Any]


class CommandKeys(DefaultKeys, total=False):
    """Keys of an operation that runs a command, or that fetches a file (`http`)."""

    name: str
    key: str
    observers: Observers
    http: Mapping[str, Any]


class GroupKeys(CommonKeys, total=False):
    """Keys of a group."""

    name: str
    key: str
    observers: Observers


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


def edges(value: Dependencies) -> list[After]:
    """Returns the dependencies in `after`."""
    targets: list[Any] = [value]
    # A group can be iterated over, but is one target. Bytes and futures of asyncio can be, too, but are no targets.
    is_one = isinstance(value, str | bytes | Mapping | Awaitable) or hasattr(value, "name")
    if isinstance(value, Iterable) and not is_one:
        targets = list(value)
    return [one if isinstance(one, After) else After(one) for one in targets]


def dependencies(value: Dependencies) -> list[Any]:
    """Returns the dependencies in `after` in the format of the daemon."""
    found: list[Any] = []
    for edge in edges(value):
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


def umask(value: int | str) -> str:
    """Returns a umask as octal text."""
    return value if isinstance(value, str) else format(value, "03o")


CONVERSIONS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "after": ("after", dependencies),
    "categories": ("categories", categories),
    "retry": ("retry", retry),
    "timeout": ("timeout", duration),
    "grace": ("grace", duration),
    "deadline": ("deadline", instant),
    "not_before": ("notBefore", instant),
    "success_codes": ("successCodes", list),
    "umask": ("umask", umask),
}


def as_json(keys: Mapping[str, Any], allowed: Any, what: str) -> dict[str, Any]:
    """Returns keys in the format of the daemon. Refuses unknown keys, and values that JSON cannot represent.

    `extra` contains keys of a newer daemon, under the names of the interface.
    """
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
    return {name: represented(value, what, name) for name, value in result.items()}


def represented(value: Any, what: str, where: str) -> Any:
    """Returns a value with types that JSON has. Paths become text. `where` is the place of the value in its keys."""
    if isinstance(value, os.PathLike):
        value = os.fsdecode(value)
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        remedy = "use a finite number, or leave the key out"
        raise ValueError(f"{what}: {where} is {value}, which JSON cannot represent; {remedy}")
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            short = _short(value)
            raise ValueError(
                f"{what}: {where} is {short}, which JSON cannot represent: it is not valid UTF-8"
            ) from None
        return value
    if isinstance(value, Mapping):
        return {
            _represented_name(name, what, where): represented(member, what, f"{where}[{name!r}]")
            for name, member in value.items()
        }
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return [represented(member, what, f"{where}[{index}]") for index, member in enumerate(value)]
    short = f"{_short(value)} of type {type(value).__name__}"
    raise TypeError(f"{what}: {where} is {short}, which JSON cannot represent; {_remedy(value)}")


def _represented_name(name: Any, what: str, where: str) -> Any:
    if not isinstance(name, str | int | float | os.PathLike | None):
        raise TypeError(f"{what}: {where} has the name {_short(name)}, which JSON cannot represent; use text")
    return represented(name, what, f"a name in {where}")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 100 else text[:100] + "..."


def _remedy(value: Any) -> str:
    """Returns how to change a value so that JSON can represent it."""
    if isinstance(value, bytes | bytearray | memoryview):
        return "decode it"
    for method, function in (("__index__", "int"), ("__float__", "float")):
        if hasattr(type(value), method):
            return f"convert it with {function}()"
    return "use text, a number, a list or a mapping"
