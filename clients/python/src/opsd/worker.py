"""Process that runs one function for an executor: `python -m opsd.worker FILE INDEX`.

The process imports as little as possible, for its start is what every call costs.
"""

from __future__ import annotations

import marshal
import os
import sys
from _pickle import PicklingError, dumps, loads

import opsd

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MAGIC = b"opsd-py1"
RESULT, EXCEPTION, INITIALIZER = "result", "exception", "initializer"
# The number of bytes of each length and offset in a file of calls.
WORD = 8


def result_path(calls: str, index: int) -> str:
    """Returns the file that the result of one call is written to."""
    return f"{calls.removesuffix('.calls')}-{index}.result"


def run_chunk(function: Callable[..., Any], chunk: list[tuple[Any, ...]]) -> list[Any]:
    """Calls a function once for each item of a chunk of `map`."""
    return [function(*arguments) for arguments in chunk]


def main() -> int:
    """Reads a call, runs it and writes its result. Returns the exit status of the operation."""
    if len(sys.argv) != 3:
        sys.exit("usage: python -m opsd.worker FILE INDEX (started by opsd for an OpsExecutor)")
    calls, index = sys.argv[1], int(sys.argv[2])
    target = result_path(calls, index)
    try:
        os.unlink(target)  # the result of an earlier attempt must not count for this attempt
    except FileNotFoundError:
        pass
    try:
        with open(calls, "rb") as file:
            header, call = read_call(file, index)
    except FileNotFoundError:
        sys.exit(f"opsd.worker: this call is no longer stored: it has ended, or its key was forgotten ({calls})")
    prepare(header)
    kind, value = run(header, call)
    traceback = write(target, kind, value, header["durable"])
    if not traceback:
        return 0
    log(traceback)
    return 1


def read_call(file: Any, index: int) -> tuple[dict[str, Any], bytes]:
    """Returns the header of a file of calls, and one call."""
    if file.read(len(MAGIC)) != MAGIC:
        raise SystemExit(f"opsd.worker: {file.name} is not a file of calls of this version")
    header = marshal.loads(file.read(int.from_bytes(file.read(WORD), "little")))
    table = file.tell()
    file.seek(table + index * WORD)
    begin = int.from_bytes(file.read(WORD), "little")
    end = int.from_bytes(file.read(WORD), "little")
    file.seek(begin)
    return header, file.read(end - begin)


def prepare(header: dict[str, Any]) -> None:
    """Sets the arguments and the module path of the caller in this process."""
    sys.argv[:] = header["argv"]
    sys.path[:] = header["sys_path"]
    if header["pythonpath"] is None:
        os.environ.pop("PYTHONPATH", None)
    else:
        os.environ["PYTHONPATH"] = header["pythonpath"]


def run(header: dict[str, Any], call: bytes) -> tuple[str, Any]:
    """Runs the function and returns its value or its exception."""
    kind = EXCEPTION
    try:
        import_main(header["main"])
        if header["initializer"] is not None:
            initializer, arguments = loads(header["initializer"])
            kind = INITIALIZER
            initializer(*arguments)
            kind = EXCEPTION
        function, arguments, keywords = loads(call)
        del call
        return RESULT, function(*arguments, **keywords)
    except BaseException as error:  # noqa: BLE001 - the caller raises every exception again
        return kind, error


def import_main(source: tuple[str, str] | None) -> None:
    """Runs the main module of the caller under another name, as multiprocessing's spawn does."""
    if source is None:
        return
    import runpy
    import types

    kind, name = source
    module = types.ModuleType("__mp_main__")
    opsd._importing_main = True
    try:
        if kind == "module":
            content = runpy.run_module(name, run_name="__mp_main__", alter_sys=True)
        else:
            content = runpy.run_path(name, run_name="__mp_main__")
    finally:
        opsd._importing_main = False
    module.__dict__.update(content)
    sys.modules["__main__"] = sys.modules["__mp_main__"] = module


def write(target: str, kind: str, value: Any, durable: bool) -> str:
    """Writes the result file atomically, and returns the traceback of its exception, if it contains one."""
    traceback = summary = ""
    if kind == RESULT:
        try:
            content = dumps(value, protocol=5)
        except BaseException as error:  # noqa: BLE001 - pickling runs code of the user
            kind = EXCEPTION
            value = PicklingError(f"the function returned {type(value).__name__}, which cannot be pickled: {error}")
    if kind != RESULT:
        traceback, summary = described(value)
        content = pickled_exception(value)
    temporary = target + ".new"
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
        file.write(dumps((kind, traceback, summary), protocol=5))
        file.write(content)
        if durable:
            file.flush()
            os.fsync(file.fileno())
    os.rename(temporary, target)
    if durable:
        directory = os.open(os.path.dirname(target), os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
    return traceback


def described(error: BaseException) -> tuple[str, str]:
    """Returns the traceback without the frames of this module, and the line with the type of the exception."""
    import traceback

    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
        frames = frames.tb_next
    text = "".join(traceback.format_exception(type(error), error, frames))
    # Indented lines show the place of a syntax error.
    lines = (line for line in traceback.format_exception_only(type(error), error) if not line.startswith(" "))
    return text, next(lines).splitlines()[0]


def log(traceback: str) -> None:
    """Writes a traceback to the log of the operation, if the function has not made that impossible."""
    try:
        sys.stderr.write(traceback)
    except Exception:  # noqa: BLE001 - the function may have replaced or closed the stream
        pass


def pickled_exception(error: BaseException) -> bytes:
    """Returns the exception as bytes, or nothing if it cannot be restored from them."""
    try:
        content = dumps(error, protocol=5)
        if type(loads(content)) is type(error):
            return content
    except BaseException:  # noqa: BLE001 - pickling an exception can raise any exception
        pass
    return b""


if __name__ == "__main__":
    sys.exit(main())
