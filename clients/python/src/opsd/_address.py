"""Address of the daemon and description of the submitting process, found as opsctl finds them."""

from __future__ import annotations

import os

from .messages import Capture

SYSTEM_SOCKET = "/run/opsd/control.sock"


def socket_path(path: str | os.PathLike[str] | None = None) -> str:
    """Returns the given path, else $OPS_SOCKET, else the user's own daemon if it has a socket, else the system's."""
    if path is not None:
        return os.fspath(path)
    named = os.environ.get("OPS_SOCKET")
    if named:
        return named
    directory = os.environ.get("XDG_RUNTIME_DIR")
    if directory:
        own = directory + "/opsd/control.sock"
        if os.access(own, os.F_OK):
            return own
    return SYSTEM_SOCKET


def enclosing_operation(path: str) -> int | None:
    """Returns the id of the operation that this process belongs to, if the daemon at this socket runs it."""
    number = os.environ.get("OPS_ID", "")
    return int(number) if number.isdigit() and os.environ.get("OPS_SOCKET") == path else None


def captured() -> Capture:
    """Returns environment, directory and umask of this process, from which its operations start."""
    environment = {}
    for name, value in os.environ.items():
        if name.startswith("OPS_") or name == "NOTIFY_SOCKET" or not _is_text(name):
            continue
        environment[name] = value if _is_text(value) else os.fsencode(value).decode("utf-8", "replace")
    return Capture(environment=environment, directory=os.getcwd(), umask=_umask())


def _is_text(text: str) -> bool:
    """Returns whether the bytes behind a text of the environment are UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _umask() -> int:
    """Reads the umask without changing it for an instant, which other threads would notice."""
    with open("/proc/self/status", encoding="utf-8", errors="replace") as status:
        for line in status:
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
