"""A private daemon for tests."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Self

from ._wire import CallError, ConnectionFailed, OpsError
from .client import Client
from .messages import Selection

# Maximum time in seconds for starting and for stopping.
PATIENCE = 60.0


def find_programs() -> Path:
    """Returns the directory with opsd and opsd-runner: $OPSD_PROGRAMS, or the directory of the `opsd` in PATH."""
    named = os.environ.get("OPSD_PROGRAMS")
    if named:
        directory = Path(named).resolve()
        if not os.access(directory / "opsd", os.X_OK):
            raise OpsError(f"$OPSD_PROGRAMS is {named}, but there is no program opsd in it")
        return directory
    found = shutil.which("opsd") or shutil.which("opsd", path="/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin")
    if found is None:
        raise OpsError("no opsd: install it, or set OPSD_PROGRAMS to the directory that has opsd and opsd-runner")
    return Path(found).parent


class PrivateDaemon:
    """An opsd with a private state directory. `close` ends it together with its runner and all operations."""

    def __init__(self, workers: int = 2) -> None:
        self.workers = workers
        self._programs = find_programs()
        self._home = tempfile.mkdtemp(prefix="opsd-py-")
        self.socket = self._home + "/control.sock"
        self._process: subprocess.Popen[bytes] | None = None
        self._runner: int | None = None
        self.client = Client(self.socket)
        try:
            self.start()
        except BaseException:
            self.stop()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def log(self) -> str:
        """Log of the daemon."""
        return Path(self._home, "opsd.log").read_text(errors="replace")

    def start(self) -> None:
        """Starts the daemon, also after `kill`, and returns once it answers."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("OPS_")}
        environment.pop("NOTIFY_SOCKET", None)
        with Path(self._home, "opsd.log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    str(self._programs / "opsd"),
                    *("--state", self._home + "/state", "--socket", self.socket, "--workers", str(self.workers)),
                ],
                env=environment,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        end = time.monotonic() + PATIENCE
        while True:
            try:
                status = self.client.status()
            except ConnectionFailed:
                pass
            else:
                if status.runner_pid is not None:
                    self._runner = status.runner_pid
                    return
            if self._process.poll() is not None:
                raise OpsError(f"opsd did not start: {self.log}")
            if time.monotonic() > end:
                raise OpsError(f"opsd did not answer within {PATIENCE:.0f} s: {self.log}")
            time.sleep(0.01)

    def kill(self) -> None:
        """Kills the daemon, as in a crash. The runner and the operations continue."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """Cancels all operations, ends daemon and runner, and removes the state directory."""
        try:
            if self._process is None and self._runner is not None:
                self.start()  # only a daemon can cancel what the runner still runs
            self._cancel_everything()
        finally:
            self.client.close()
            self._end()
            shutil.rmtree(self._home, ignore_errors=True)

    def _cancel_everything(self) -> None:
        if self._process is None or self._process.poll() is not None:
            return
        try:
            self._runner = self.client.status().runner_pid  # the first one may have died
            everything = Selection(all=True)
            self.client.resume(selection=everything)
            self.client.cancel(everything, reason="end of the test", force=None)
            self.client.wait(everything, timeout=f"{PATIENCE:.0f}s")
        except (CallError, ConnectionFailed):
            pass  # the daemon is ended anyway

    def _end(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.kill()
            self._process = None
        if self._runner is not None and _is_runner(self._runner):
            os.kill(self._runner, signal.SIGTERM)
            end = time.monotonic() + PATIENCE
            while _is_runner(self._runner) and time.monotonic() < end:
                time.sleep(0.005)
            self._runner = None


def _is_runner(pid: int) -> bool:
    """Returns whether the process is still a runner. Its pid may have been reused."""
    try:
        name = Path(f"/proc/{pid}/comm").read_text()
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return name.startswith("opsd-runner") and state != "Z"
