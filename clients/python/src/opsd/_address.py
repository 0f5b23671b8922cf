"""Address of the daemon and properties of the submitting process. Both are determined as opsctl does."""

from __future__ import annotations

import os

from .messages import Capture

SYSTEM_SOCKET = "/run/opsd/control.sock"


def socket_path(path: str | os.PathLike[str] | None = None) -> str:
    """Returns the given path, or $OPS_SOCKET, or the user's own socket if it exists, or the system's socket."""
    if path is not None:
        return os.fspath(path)
    named = os.environ.get("OPS_SOCKET")
    if named:
        return named
    # cron, for example, does not set the variable.
    directory = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    own = directory + "/opsd/control.sock"
    return own if os.access(own, os.F_OK) else SYSTEM_SOCKET


def enclosing_operation(path: str) -> int | None:
    """Returns the id of the operation that this process belongs to, if the daemon at this socket runs it."""
    number = os.environ.get("OPS_ID", "")
    return int(number) if number.isdigit() and os.environ.get("OPS_SOCKET") == path else None


def captured() -> Capture:
    """Returns environment, directory and umask of this process, which its operations inherit."""
    environment = {}
    for name, value in os.environ.items():
        if name.startswith("OPS_") or name == "NOTIFY_SOCKET" or not _is_text(name):
            continue
        environment[name] = value if _is_text(value) else os.fsencode(value).decode("utf-8", "replace")
    return Capture(environment=environment, directory=_directory(), umask=_umask())


def _is_text(text: str) -> bool:
    """Returns whether a text from the environment is valid UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _directory() -> str:
    """Returns the current directory, or `/` if it was removed."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return "/"


def _umask() -> int:
    """Returns the umask without changing it, because a change for even an instant would affect other threads."""
    with open("/proc/self/status", encoding="utf-8", errors="replace") as status:
        for line in status:
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
