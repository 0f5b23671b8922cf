"""Tests of event streams with a scripted daemon: the reader is too slow, or the daemon is without storage."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import opsd as ops

Reply = dict[str, Any]

STATUS = {
    "version": "1", "pid": 1, "runnerPid": 2, "runnerAnswers": True, "state": "running", "detail": None,
    "suspended": False, "workers": 1, "slotsUsed": 0,
    "counts": {"pending": 0, "ready": 0, "scheduled": 0, "held": 0, "executing": 0, "finished": 0},
    "queues": [], "lastSeq": 5, "startedAt": "2026-11-22T00:00:00.000Z",
}  # fmt: skip


def event(seq: int) -> Reply:
    body = {"seq": seq, "at": "", "id": seq, "graph": "g1", "type": "ready", "notNeeded": False}
    return {"parameters": {"event": body}, "continues": True}


def failed(name: str, **parameters: Any) -> Reply:
    return {"error": f"org.opsd.Control.{name}", "parameters": parameters}


class Player:
    """A daemon that answers each Watch with the next list of replies, then closes the connection.

    It hangs up on the first `deaths` calls without a reply, as one that is killed does.
    """

    def __init__(self, path: Path, watches: list[list[Reply]], deaths: int = 0) -> None:
        self.path = path
        self.deaths = deaths
        self.since: list[int] = []
        self._watches = iter(watches)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._talk, args=(peer,), daemon=True).start()

    def _talk(self, peer: socket.socket) -> None:
        with peer, peer.makefile("rb") as calls:
            buffer = b""
            while piece := calls.read1():
                buffer += piece
                if not buffer.endswith(b"\0"):
                    continue
                call = json.loads(buffer[:-1])
                buffer = b""
                if self.deaths:
                    self.deaths -= 1
                    return
                if call["method"].endswith("Status"):
                    peer.sendall(json.dumps({"parameters": STATUS}).encode() + b"\0")
                    continue
                self.since.append(call["parameters"]["since"])
                for reply in next(self._watches):
                    peer.sendall(json.dumps(reply).encode() + b"\0")
                return

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Any]:
    players: list[Player] = []

    def start(*watches: list[Reply], deaths: int = 0) -> Player:
        players.append(Player(tmp_path / f"sock{len(players)}", list(watches), deaths))
        return players[-1]

    yield start
    for player in players:
        player.close()


def test_a_slow_reader_continues_after_the_event_that_the_daemon_names(play: Any) -> None:
    player = play([event(6), event(7), failed("Lagged", resume=9)], [event(10)])
    events = ops.Client(player.path).watch()
    assert [next(events).seq for _ in range(3)] == [6, 7, 10]
    assert player.since == [5, 9]


def test_events_that_no_longer_exist_are_an_error(play: Any) -> None:
    player = play([event(3)], [failed("Lagged", resume=8)])
    events = ops.Client(player.path).watch(since=2)
    assert next(events).seq == 3
    with pytest.raises(ops.Lagged) as lost:
        next(events)
    assert lost.value.resume == 8


def test_a_stream_waits_for_storage_and_for_a_busy_daemon(play: Any) -> None:
    player = play(
        [failed("StorageUnavailable", message="no space")], [failed("Busy", message="too many connections")], [event(6)]
    )
    assert next(ops.Client(player.path).watch(since=5)).seq == 6
    assert player.since == [5, 5, 5]


def test_a_closed_stream_is_opened_again(play: Any) -> None:
    player = play([event(6)], [event(7)], [])
    events = ops.Client(player.path).watch(since=5)
    assert [next(events).seq, next(events).seq] == [6, 7]


def test_an_executor_waits_for_a_daemon_that_dies_during_its_creation(play: Any) -> None:
    player = play(deaths=2)
    ops.OpsExecutor(socket=player.path).shutdown()
    assert player.deaths == 0


def test_an_executor_does_not_wait_for_a_missing_daemon(tmp_path: Path) -> None:
    with pytest.raises(ops.ConnectionFailed, match="cannot reach opsd"):
        ops.OpsExecutor(socket=tmp_path / "nobody")
