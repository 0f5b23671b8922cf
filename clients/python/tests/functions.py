"""Functions that tests run in other processes."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import opsd as ops

INITIALIZED = "no"


def double(number: int) -> int:
    return number * 2


def everything(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return args, kwargs


def where() -> tuple[str, list[str], str | None, int]:
    return os.getcwd(), sys.path, os.environ.get("PYTHONPATH"), os.getpid()


def environment(name: str) -> str | None:
    return os.environ.get(name)


def raise_deep() -> None:
    def inner() -> None:
        raise LookupError("nothing here", 7)  # the line that the traceback shows

    inner()


class Stubborn(Exception):
    """An exception that cannot be restored from its pickle."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(one + two)


def raise_stubborn() -> None:
    raise Stubborn("a", "b")


def raise_with_notes() -> None:
    error = Stubborn("first line\n", "second line")
    error.add_note("a note")
    raise error


def raise_syntax_error() -> None:
    try:
        compile("1 +", "x.py", "exec")
    except SyntaxError as error:
        error.args = (threading.Lock(),)
        raise


class Leaving(Exception):
    """An exception whose pickling ends the process."""

    def __reduce__(self) -> Any:
        raise SystemExit(5)


def raise_leaving() -> None:
    raise Leaving("here")


def return_leaving() -> Any:
    return Leaving("here")


def raise_without_stderr(how: str) -> None:
    """Raises after standard error has become useless."""
    if how == "none":
        sys.stderr = None
    elif how == "closed":
        sys.stderr.close()
    else:
        os.close(2)
    raise LookupError(how)


def unpicklable() -> Any:
    return lambda: None


def die(number: int) -> None:
    os.kill(os.getpid(), number)


def leave(status: int) -> None:
    os._exit(status)


def mark(directory: str, name: str) -> str:
    """Creates a file at each call."""
    with open(Path(directory, f"{name}-{os.environ['OPS_ATTEMPT']}"), "x", encoding="utf-8"):
        pass
    return name


def mark_slowly(directory: str, number: int) -> int:
    mark(directory, str(number))
    time.sleep(0.002)
    return number * number


def wait_for(path: str, value: Any = None) -> Any:
    while not os.path.exists(path):
        time.sleep(0.01)
    return value


def wait_then_die(path: str) -> None:
    wait_for(path)
    os.kill(os.getpid(), signal.SIGKILL)


def fail_until(directory: str, attempts: int) -> int:
    """Fails in the first attempts."""
    attempt = int(os.environ["OPS_ATTEMPT"])
    mark(directory, "tried")
    if attempt < attempts:
        raise ValueError(f"attempt {attempt}")
    return attempt


def succeed_if(path: str) -> str:
    if not os.path.exists(path):
        raise ValueError("not yet")
    return "now"


def fail_then_die(directory: str) -> None:
    """Raises in the first attempt, and dies in the second."""
    if os.environ["OPS_ATTEMPT"] == "1":
        raise ValueError("attempt 1")
    os.kill(os.getpid(), signal.SIGKILL)


def initialize(word: str) -> None:
    global INITIALIZED
    INITIALIZED = word


def initialized() -> str:
    return INITIALIZED


def fail_to_initialize() -> None:
    raise RuntimeError("no licence")


def speak(text: str) -> None:
    print(text)
    print(text + "!", file=sys.stderr)


def nested(number: int) -> int:
    """Runs a function with another executor."""
    with ops.OpsExecutor() as executor:
        return executor.submit(double, number).result(60)


EXECUTORS: list[ops.OpsExecutor] = []


def submit_marks(directory: str, count: int) -> None:
    """Makes calls of several executors, and shuts none of them down."""
    for number in range(count):
        EXECUTORS.append(ops.OpsExecutor())
        EXECUTORS[-1].submit(mark, directory, str(number))


class Remote:
    """A proxy of a remote function. It has attributes of any name, as those of xmlrpc do."""

    path = "remote"

    def __getattr__(self, name: str) -> Remote:
        if name.startswith("__") and name != "__qualname__":
            raise AttributeError(name)
        if self.path.count(".") > 50:
            raise RuntimeError("the attributes of a proxy have no end")
        found = Remote()
        found.path = f"{self.path}.{name}"
        return found

    def __call__(self, number: int) -> str:
        return f"{self.path}({number})"


class Point:
    """A value of a class that is defined here."""

    def __init__(self, x: int) -> None:
        self.x = x

    def moved(self, by: int) -> Point:
        return Point(self.x + by)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Point) and other.x == self.x

    __hash__ = None  # type: ignore[assignment]
