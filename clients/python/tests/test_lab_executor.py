"""Tests of the executor in docs/executors.md with a scripted daemon, which sends what opsd sends after a crash."""

from __future__ import annotations

import os
import re
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[3] / "docs/executors.md"
PATIENCE = 60.0

HELLO, LAUNCH, ACKNOWLEDGE, PING, RELEASE = 1, 2, 7, 12, 14
LAUNCHED, FAILED, EXITED, PONG, ACCEPTED, REFUSED = 2, 3, 4, 9, 10, 11
ATTEMPT = struct.pack("<qi", 1, 1)


def text(words: str) -> bytes:
    return struct.pack("<I", len(words.encode())) + words.encode()


def record(fields: bytes) -> bytes:
    return struct.pack("<I", len(fields)) + fields


def launch(*command: str, directory: str = "/", uid: int | None = None) -> bytes:
    """Returns the launch of the attempt, up to its user."""
    fields = ATTEMPT + struct.pack("<iI", 0, len(command)) + b"".join(text(word) for word in command)
    fields += struct.pack("<I", 1) + text("PATH=/usr/bin:/bin") + text(directory)
    fields += struct.pack("<I", 0o22) + text("/dev/null") + b"\5"
    fields += b"\0" if uid is None else b"\1" + record(text("other") + struct.pack("<II", uid, uid))
    return record(fields)


class Lab:
    """The executor of the page, and a connection to it."""

    def __init__(self, state: Path) -> None:
        self.state = state
        found = re.search(r"```python lab-executor\n(.*?)```", PAGE.read_text(), re.S)
        assert found is not None
        (state / "lab-executor").write_text(found[1])
        self.start()

    def start(self) -> None:
        """Starts the program, connects, and sends the greeting of a daemon."""
        self._process = subprocess.Popen(
            [sys.executable, str(self.state / "lab-executor"), "--state", str(self.state), "--name", "lab"]
        )
        end = time.monotonic() + PATIENCE
        while True:
            self._socket = socket.socket(socket.AF_UNIX)
            try:
                self._socket.connect(str(self.state / "executor-lab.sock"))
                break
            except OSError:
                self._socket.close()
                assert time.monotonic() < end
                time.sleep(0.01)
        self._socket.settimeout(PATIENCE)
        self._frames = self._socket.makefile("rb")
        self.send(HELLO, struct.pack("<IH", 0x5250534F, 4))

    def kill(self) -> None:
        """Kills the program. Its jobs continue."""
        self._process.kill()
        self._process.wait()
        self._frames.close()
        self._socket.close()

    def send(self, kind: int, fields: bytes = b"") -> None:
        self._socket.sendall(struct.pack("<IB", 1 + len(fields), kind) + fields)

    def receive(self, *kinds: int) -> tuple[int, bytes]:
        """Returns the next report of one of these kinds."""
        while True:
            [length] = struct.unpack("<I", self._frames.read(4))
            frame = self._frames.read(length)
            if frame[0] & 0x7F in kinds:
                return frame[0] & 0x7F, frame[1:]

    def known(self) -> dict[int, int]:
        """Returns the operations in the greeting of the program, with the codes of their states."""
        fields = self.receive(HELLO)[1][6:]
        for _ in range(2):  # the name of the executor and the boot id
            fields = fields[4 + int.from_bytes(fields[:4], "little") :]
        [count] = struct.unpack_from("<I", fields, 4)
        fields, states = fields[8:], {}
        for _ in range(count):
            length, operation, _, code = struct.unpack_from("<IqiB", fields)
            states[operation] = code
            fields = fields[4 + length :]
        return states


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """The executor of the page with a state directory of its own."""
    started = Lab(tmp_path)
    yield started
    started.kill()


def test_a_refused_attempt_is_not_accepted_after_a_restart_of_the_executor(lab: Lab) -> None:
    lab.send(LAUNCH, launch("true", uid=os.geteuid() + 1))
    assert lab.receive(REFUSED, ACCEPTED)[0] == REFUSED
    lab.kill()  # before opsd has stored the report
    lab.start()
    assert lab.known() == {1: 6}


def test_a_second_release_of_a_running_job_changes_nothing(lab: Lab, tmp_path: Path) -> None:
    directory = tmp_path / "directory"
    directory.mkdir()
    lab.send(LAUNCH, launch("sleep", "2", directory=str(directory)))
    lab.receive(ACCEPTED)
    lab.send(RELEASE, ATTEMPT)
    lab.receive(LAUNCHED)
    directory.rmdir()  # so that a second start would fail
    lab.send(RELEASE, ATTEMPT)
    assert lab.receive(EXITED, FAILED)[0] == EXITED
    lab.send(ACKNOWLEDGE, ATTEMPT)
    lab.send(PING)
    lab.receive(PONG)
    assert list((tmp_path / "executor-lab.jobs").iterdir()) == []
