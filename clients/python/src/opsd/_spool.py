"""Files of an executor, which contain calls for workers and results of workers.

All files are below one private directory of the user, so that they outlive this process and the daemon.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import marshal
import os
import pickle
import secrets
import shutil
import stat
import time
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._wire import OpsError, ProtocolError
from .worker import MAGIC, WORD, result_path

# Abandoned directories are removed after this time, when the daemon has removed their operations too.
KEPT_SECONDS = 30 * 24 * 3600.0


class KeyInUse(OpsError):
    """Another executor uses this key now."""


@dataclass
class Calls:
    """One file of calls: the function calls of one submission."""

    path: Path
    functions: list[str]
    # Parameters of Submit.
    submission: dict[str, Any]
    # Number of calls whose end is not known.
    left: int = 0

    def __post_init__(self) -> None:
        self.left = len(self.functions)


@dataclass
class Result:
    """Content of a result file: the value or the exception as bytes. The summary of an exception is one line."""

    kind: str
    content: bytes
    traceback: str = ""
    summary: str = ""


def home() -> Path:
    """Returns the private directory of all executors of this user, and creates it if necessary."""
    state = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(state):  # a worker may run in another directory
        state = os.path.expanduser("~/.local/state")
    path = Path(state, "opsd-python")
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise OpsError(f"{path} is not a directory of this user; set XDG_STATE_HOME to a directory of yours")
    if stat.S_IMODE(found.st_mode) != 0o700:
        path.chmod(0o700)  # this user runs the functions that are stored here
    return path


class Spool:
    """Directory of one executor. It is locked while the executor exists.

    Its random generation is part of the names of its files, and marks its operations in the daemon. If a directory is
    removed and created again for the same key, nothing of the earlier one counts.
    """

    def __init__(self, socket: str, key: str | None) -> None:
        self.key = key
        base = home()
        # Names of the directories of earlier executors that this start has removed.
        self.swept = sweep(base)
        self.generation = secrets.token_hex(8)
        if key is None:
            self.name = "run-" + self.generation
        else:
            words = f"{os.path.realpath(socket)}\0{key}"
            self.name = "key-" + hashlib.sha256(words.encode("utf-8", "surrogateescape")).hexdigest()[:32]
        self.path = base / self.name
        self.path.mkdir(mode=0o700, exist_ok=key is not None)
        self._lock = _lock(self.path)
        if self._lock is None:
            raise KeyInUse(f"another executor uses the key {key!r} now")
        _spools.add(self)
        try:
            if key is not None:
                self._share_generation()
            os.utime(self.path)
        except BaseException:
            self.close(remove=False)
            raise

    @property
    def is_durable(self) -> bool:
        """True if the files must survive a power cut."""
        return self.key is not None

    def _share_generation(self) -> None:
        """Reads the generation that an earlier executor with this key has stored, or stores the new one."""
        path = self.path / "generation"
        stored = path.read_text("ascii", "replace") if path.exists() else ""
        # A damaged file counts as absent.
        if stored.isalnum():
            self.generation = stored
        else:
            self._replace(path, self.generation.encode(), is_durable=True)

    def path_of(self, number: int) -> Path:
        """Returns the file of the submission with this number."""
        return self.path / f"{self.generation}-{number:08d}.calls"

    def write(
        self, number: int, header: dict[str, Any], calls: Sequence[bytes], functions: list[str], submission: Any
    ) -> Calls:
        """Writes a file of calls. The header is all that the worker needs in addition to the call."""
        path = self.path_of(number)
        start = marshal.dumps({**header, "durable": self.is_durable})
        tail = json.dumps({"functions": functions, "submission": submission}).encode() if self.is_durable else b""
        offset = len(MAGIC) + WORD + len(start) + WORD * (len(calls) + 2)
        offsets = []
        for content in (*calls, tail):
            offsets.append(offset)
            offset += len(content)
        offsets.append(offset)
        table = b"".join(value.to_bytes(WORD, "little") for value in offsets)
        self._replace(
            path,
            b"".join((MAGIC, len(start).to_bytes(WORD, "little"), start, table, *calls, tail)),
            is_durable=self.is_durable,
        )
        return Calls(path, functions, submission)

    def read(self, number: int) -> Calls | None:
        """Returns the earlier file of calls with this number, or None."""
        path = self.path_of(number)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        start = len(MAGIC) + WORD
        table = start + int.from_bytes(content[len(MAGIC) : start], "little")
        first = int.from_bytes(content[table : table + WORD], "little")
        count = (first - table) // WORD - 2
        tail = int.from_bytes(content[table + WORD * count : table + WORD * (count + 1)], "little")
        try:
            stored = json.loads(content[tail:]) if content.startswith(MAGIC) else None
        except ValueError:
            stored = None
        if stored is None:
            remedy = "OpsExecutor.forget removes all calls of its key"
            raise ProtocolError(f"{path} is damaged or of another version; {remedy}")
        return Calls(path, stored["functions"], stored["submission"])

    def numbers(self) -> Iterator[int]:
        """Yields the numbers of all files of calls, in order."""
        paths = self.path.glob(f"{self.generation}-*.calls")
        yield from sorted(int(path.stem.rpartition("-")[2]) for path in paths)

    def result(self, calls: Path, index: int) -> Result | None:
        """Returns the result that a worker has written for a call."""
        return _read_result(Path(result_path(str(calls), index)))

    def final(self, calls: Path, index: int) -> Result | None:
        """Returns the result of a call whose end is known."""
        return _read_result(_final_path(calls, index))

    def finish(self, calls: Calls, index: int, result: Result) -> None:
        """Records that the end of a call is known. Keeps the result if there is a key; otherwise removes all its files.

        The record need not survive a power cut, because the daemon knows the end too.
        """
        written = Path(result_path(str(calls.path), index))
        calls.left -= 1
        if not self.is_durable:
            written.unlink(missing_ok=True)
            if calls.left == 0:
                calls.path.unlink(missing_ok=True)
        elif result.kind == "ended":
            header = pickle.dumps((result.kind, result.traceback, result.summary))
            self._replace(_final_path(calls.path, index), header + result.content)
        else:
            written.rename(_final_path(calls.path, index))

    def write_ids(self, calls: Calls, ids: dict[int, int]) -> None:
        """Stores the ids of the operations, by the index of the call."""
        known = {**self.ids(calls), **ids}
        self._replace(calls.path.with_suffix(".ids"), json.dumps(list(known.items())).encode())

    def ids(self, calls: Calls) -> dict[int, int]:
        """Returns the ids that an earlier process has stored. A damaged file counts as absent."""
        try:
            return dict(json.loads(calls.path.with_suffix(".ids").read_bytes()))
        except (FileNotFoundError, ValueError, TypeError):
            return {}

    def close(self, *, remove: bool) -> None:
        """Releases the lock, and removes the directory with all files."""
        if self._lock is None:
            return
        if remove:
            shutil.rmtree(self.path, ignore_errors=True)  # what is left is swept later
        os.close(self._lock)
        self._lock = None

    def _replace(self, path: Path, content: bytes, *, is_durable: bool = False) -> None:
        """Writes a file atomically. A durable file survives a power cut."""
        temporary = path.with_name(path.name + ".new")
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(content)
            if is_durable:
                file.flush()
                os.fsync(file.fileno())
        temporary.rename(path)
        if not is_durable:
            return
        directory = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

    def _forked(self) -> None:
        """Leaves the lock to the parent. Called in a forked child."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _final_path(calls: Path, index: int) -> Path:
    return Path(result_path(str(calls), index)).with_suffix(".final")


def _read_result(path: Path) -> Result | None:
    """Returns the content of a result file. A damaged file counts as absent."""
    try:
        with path.open("rb") as file:
            kind, traceback, summary = pickle.load(file)
            return Result(kind, file.read(), traceback, summary)
    except FileNotFoundError:
        return None
    except OSError:
        raise
    except Exception:  # noqa: BLE001 - a damaged pickle raises almost any exception
        return None


def _lock(path: Path) -> int | None:
    """Returns a descriptor that holds the lock of a directory; None if another process holds it."""
    descriptor = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def sweep(base: Path) -> list[str]:
    """Removes directories of executors that ended without cleaning up, long ago; returns their names."""
    removed: list[str] = []
    oldest = time.time() - KEPT_SECONDS
    for path in base.iterdir():
        try:
            if not path.name.startswith(("run-", "key-")) or path.stat().st_mtime > oldest:
                continue
            descriptor = _lock(path)
        except OSError:
            continue  # another process removes it too
        if descriptor is not None:
            shutil.rmtree(path, ignore_errors=True)
            os.close(descriptor)
            removed.append(path.name)
    return removed


_spools: weakref.WeakSet[Spool] = weakref.WeakSet()


def _after_fork() -> None:
    for spool in list(_spools):
        spool._forked()


os.register_at_fork(after_in_child=_after_fork)
