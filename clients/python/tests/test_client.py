"""Tests of both clients with a real daemon."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import pickle
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import opsd as ops
from opsd import _wire
from opsd.client import parts_of
from opsd.messages import OperationOutcome, OperationState
from opsd.testing import PrivateDaemon


def submit(client: ops.Client, *commands: str, **keys: Any) -> list[int]:
    reply = client.submit_operations([{"shell": command, **keys} for command in commands])
    return list(range(reply.first, reply.first + reply.count))


def test_a_submission_runs_with_environment_and_directory_of_the_client(
    opsd: PrivateDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORD", "grün")
    monkeypatch.chdir(tmp_path)
    [id] = submit(opsd.client, 'echo "$WORD" >told')
    waited = opsd.client.wait(ops.Selection(refs=[str(id)]))
    assert waited.succeeded
    assert (tmp_path / "told").read_text() == "grün\n"
    shown = opsd.client.show(str(id)).operation
    assert shown.state is OperationState.finished
    assert shown.outcome is OperationOutcome.succeeded
    assert shown.usage is not None
    assert shown.usage.max_resident_bytes > 0


def test_errors_are_typed_and_have_their_members(opsd: PrivateDaemon) -> None:
    [id] = submit(opsd.client, "true", name="build")
    with pytest.raises(ops.NotFound) as missing:
        opsd.client.show("bild")
    assert (missing.value.kind, missing.value.name, missing.value.nearest) == ("operation", "bild", "build")
    assert str(missing.value) == "NotFound: there is no operation 'bild'; did you mean 'build'?"
    with pytest.raises(ops.InvalidOperation) as refused:
        opsd.client.submit([{"comand": ["true"]}])
    assert refused.value.problems[0].key == "comand"
    with pytest.raises(ops.Cycle) as cycle:
        opsd.client.submit([{"name": "a", "shell": "x", "after": ["b"]}, {"name": "b", "shell": "x", "after": ["a"]}])
    assert set(cycle.value.path) == {"a", "b"}
    opsd.client.wait(ops.Selection(refs=[str(id)]))
    with pytest.raises(ops.WrongState):
        opsd.client.cancel(ops.Selection(refs=[str(id)]))
    copy = pickle.loads(pickle.dumps(missing.value))
    assert copy.nearest == "build"


def test_a_call_after_an_error_goes_over_the_same_connection(opsd: PrivateDaemon) -> None:
    opsd.client.status()
    before = opsd.client._connection
    with pytest.raises(ops.NotFound):
        opsd.client.show("nothing")
    opsd.client.status()
    assert opsd.client._connection is before


def test_the_error_about_a_missing_daemon_names_its_socket(tmp_path: Path) -> None:
    with pytest.raises(ops.ConnectionFailed, match=r"cannot reach opsd at .*control\.sock: No such file"):
        ops.Client(tmp_path / "control.sock").status()


def test_the_socket_is_found_as_opsctl_finds_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("OPS_SOCKET", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert ops.socket_path() == "/run/opsd/control.sock"
    (tmp_path / "opsd").mkdir()
    (tmp_path / "opsd/control.sock").touch()
    assert ops.socket_path() == f"{tmp_path}/opsd/control.sock"
    monkeypatch.setenv("OPS_SOCKET", "/elsewhere")
    assert ops.socket_path() == "/elsewhere"
    assert ops.socket_path("/named") == "/named"


def test_the_socket_of_the_user_is_found_without_the_runtime_directory_in_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = f"/run/user/{os.getuid()}/opsd/control.sock"
    monkeypatch.delenv("OPS_SOCKET", raising=False)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr("os.access", lambda path, _: path == own)
    assert ops.socket_path() == own
    monkeypatch.setenv("XDG_RUNTIME_DIR", "")
    assert ops.socket_path() == own
    monkeypatch.setattr("os.access", lambda *_: False)
    assert ops.socket_path() == "/run/opsd/control.sock"


def test_a_submission_from_a_removed_directory_runs_in_the_root_directory(
    opsd: PrivateDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    [id] = submit(opsd.client, "true", held=True)
    assert opsd.client.show(str(id)).operation.directory == "/"


def test_a_client_can_be_pickled(opsd: PrivateDaemon) -> None:
    copy = pickle.loads(pickle.dumps(ops.Client(timeout=7)))
    assert (copy.socket, copy.timeout) == (opsd.socket, 7)
    copy.close()


def test_threads_share_a_client(opsd: PrivateDaemon) -> None:
    found: list[int] = []

    def many() -> None:
        for _ in range(10):
            found.extend(submit(opsd.client, "true", held=True))

    threads = [threading.Thread(target=many) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == list(range(1, 41))


def test_a_wait_does_not_block_other_threads(opsd: PrivateDaemon) -> None:
    [id] = submit(opsd.client, "true", held=True)
    replies: list[bool] = []
    waiting = threading.Thread(target=lambda: replies.append(opsd.client.wait(ops.Selection(refs=[str(id)])).succeeded))
    waiting.start()
    opsd.client.resume(selection=ops.Selection(refs=[str(id)]))
    waiting.join(30)
    assert replies == [True]


def test_a_forked_child_opens_another_connection(opsd: PrivateDaemon) -> None:
    opsd.client.status()
    child = os.fork()
    if child == 0:
        try:
            submit(opsd.client, "true", held=True)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    # The parent must not receive the reply of the child, and its connection must still be open.
    assert submit(opsd.client, "true", held=True) == [2]


def test_calls_continue_after_a_restart_of_the_daemon(opsd: PrivateDaemon) -> None:
    assert submit(opsd.client, "true", held=True) == [1]
    opsd.kill()
    with pytest.raises(ops.ConnectionFailed):
        opsd.client.status()
    opsd.start()
    assert submit(opsd.client, "true", held=True) == [2]


def both(path: Path, timeout: float | None = None) -> list[Callable[[], object]]:
    """Returns a call of each client."""

    async def call() -> None:
        async with ops.aio.Client(path, timeout=timeout) as client:
            await client.status()

    return [ops.Client(path, timeout=timeout).status, lambda: asyncio.run(call())]


def test_a_call_without_a_reply_times_out(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(str(tmp_path / "sock"))
        deaf.listen()
        for call in both(tmp_path / "sock", timeout=0.05):
            with pytest.raises(ops.CallTimeout):
                call()


def test_a_client_with_a_timeout_uses_its_connection_again(
    opsd: PrivateDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("opsd.client.PART", 7)
    with ops.Client(timeout=30) as client:
        client.status()
        before = client._connection
        client.status()
        assert client._connection is before
        operations = [{"command": ["true"], "held": True} for _ in range(20)]
        assert client.submit_operations(operations).count == 20


@contextlib.contextmanager
def server(path: Path, *pieces: bytes, pause: float = 0) -> Iterator[None]:
    """Answers every call with these pieces, with a pause after each."""

    def talk(peer: socket.socket) -> None:
        with peer, contextlib.suppress(OSError):
            while peer.recv(1000):
                for piece in pieces:
                    peer.sendall(piece)
                    time.sleep(pause)

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=talk, args=(listener.accept()[0],), daemon=True).start()

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        threading.Thread(target=serve, daemon=True).start()
        yield
        listener.shutdown(socket.SHUT_RDWR)


def test_the_timeout_includes_all_pieces_of_a_reply(tmp_path: Path) -> None:
    with server(tmp_path / "sock", *[b" "] * 100, pause=0.1):
        for call in both(tmp_path / "sock", timeout=0.3):
            began = time.monotonic()
            with pytest.raises(ops.CallTimeout, match=r"no complete reply within 0\.3 s"):
                call()
            assert time.monotonic() - began < 5


def test_a_second_reply_to_a_call_is_not_taken_for_that_of_the_next_call(tmp_path: Path) -> None:
    def reply(graph: str) -> bytes:
        parameters = {"graph": graph, "existing": False, "first": 1, "count": 0}
        return json.dumps({"parameters": parameters}).encode() + b"\0"

    async def submit_twice() -> list[str]:
        async with ops.aio.Client(tmp_path / "sock") as client:
            return [(await client.submit([])).graph for _ in range(2)]

    with server(tmp_path / "sock", reply("first") + reply("second")):
        assert asyncio.run(submit_twice()) == ["first", "first"]
        with ops.Client(tmp_path / "sock") as client:
            assert [client.submit([]).graph for _ in range(2)] == ["first", "first"]


@pytest.mark.parametrize(
    ("reply", "error", "text"),
    [
        (b"hello\0", ops.ProtocolError, "an invalid reply: b'hello'"),
        (b"[]\0", ops.ProtocolError, "an invalid reply"),
        (b'{"parameters":{}}\0', ops.ProtocolError, "does not match the interface: KeyError"),
        (b'{"parameters":5}\0', ops.ProtocolError, "an invalid reply"),
        (b'{"error":5}\0', ops.ProtocolError, "an invalid reply"),
        (b'{"error":"org.opsd.Control.Busy","parameters":[1]}\0', ops.ProtocolError, "an invalid reply"),
        (b"x" * 5000, ops.ProtocolError, "more than 1000 bytes"),
        (b'{"par', ops.ConnectionFailed, "before its reply"),
        (b"", ops.ConnectionFailed, "before its reply"),
    ],
)
def test_an_invalid_reply_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reply: bytes, error: type[Exception], text: str
) -> None:
    monkeypatch.setattr(_wire, "FRAME_BYTES", 1000)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "sock"))
        server.listen()

        def answer() -> None:
            for _ in range(2):
                peer, _ = server.accept()
                with peer:
                    peer.recv(1000)
                    peer.sendall(reply)

        thread = threading.Thread(target=answer)
        thread.start()
        for call in both(tmp_path / "sock"):
            with pytest.raises(error, match=text):
                call()
        thread.join()


def test_rows_and_logs_are_streamed(opsd: PrivateDaemon) -> None:
    ids = submit(opsd.client, *["echo hello"] * 20)
    opsd.client.wait(ops.Selection(all=True))
    rows = [row.id for reply in opsd.client.list_stream() for row in reply.operations]
    assert rows == ids
    pieces = [base64.b64decode(reply.data) for reply in opsd.client.log_stream(str(ids[0]), follow=True)]
    assert b"".join(pieces) == b"hello\n"


def test_a_large_submission_is_sent_in_parts(opsd: PrivateDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opsd.client.PART", 7)
    reply = opsd.client.submit_operations(
        [{"name": f"n{number}", "command": ["true"], "held": True} for number in range(20)], name="wide", list=True
    )
    assert (reply.count, len(reply.operations or [])) == (20, 20)


def test_a_submission_of_large_operations_is_sent_in_parts(
    opsd: PrivateDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("opsd.client.PART_SIZE", 1000)
    large = [{"command": ["true", "x" * 300], "held": True} for _ in range(20)]

    async def submit_async() -> int:
        async with ops.aio.Client() as client:
            return (await client.submit_operations(large)).count

    sent: list[int] = []
    encode = _wire.encode

    def count(method: str, parameters: dict[str, Any], **keys: Any) -> bytes:
        sent.append(len(parameters.get("operations", [])))
        return encode(method, parameters, **keys)

    monkeypatch.setattr(_wire, "encode", count)
    assert (opsd.client.submit_operations(large).count, asyncio.run(submit_async())) == (20, 20)
    assert max(sent) == 2


def test_every_operation_is_in_one_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opsd.client.PART", 3)
    monkeypatch.setattr("opsd.client.PART_SIZE", 100)
    small, half, large = {"a": 1}, {"a": "x" * 40}, {"a": "x" * 200}
    assert parts_of([]) == [[]]
    assert parts_of([small]) == [[small]]
    assert parts_of([small] * 7) == [[small] * 3, [small] * 3, [small]]
    assert parts_of([half] * 3) == [[half] * 2, [half]]
    assert parts_of([large, small, large, large]) == [[large], [small], [large], [large]]


def test_options_of_a_submission_are_those_of_opsctl(opsd: PrivateDaemon) -> None:
    operations = [{"command": ["true"], "held": True}]
    first = opsd.client.submit_operations(operations, unless_active="k", order="longestPath")
    assert opsd.client.submit_operations(operations, unless_active="k").graph == first.graph
    opsd.client.cancel(ops.Selection(graph=first.graph))
    assert not opsd.client.submit_operations(operations, unless_active="k").existing


def test_watch_continues_after_the_daemon_was_killed(opsd: PrivateDaemon) -> None:
    [first] = submit(opsd.client, "true", held=True)
    seen: list[int] = []
    finished: list[int] = []
    for event in ops.Client().watch(since=0):
        seen.append(event.seq)
        if event.type == "submitted" and event.id == first:
            opsd.kill()
            opsd.start()
            opsd.client.resume(selection=ops.Selection(refs=[str(first)]))
        if event.type == "finished" and event.id is not None:
            finished.append(event.id)
            if event.id == first:
                submit(opsd.client, "true")
            else:
                break
    assert seen == list(range(1, len(seen) + 1))
    assert finished == [1, 2]


def test_watch_fails_if_the_daemon_is_not_restarted_in_time(opsd: PrivateDaemon) -> None:
    events = opsd.client.watch(since=0, patience=0.2)
    submit(opsd.client, "true", held=True)
    assert next(events).seq == 1
    opsd.kill()
    with pytest.raises(ops.ConnectionFailed):
        list(events)


def test_coroutines_call_and_watch(opsd: PrivateDaemon) -> None:
    async def main() -> None:
        async with ops.aio.Client() as client:
            replies = await asyncio.gather(
                *(client.submit_operations([{"shell": "exit 3", "name": f"n{number}"}]) for number in range(5))
            )
            assert sorted(reply.first for reply in replies) == [1, 2, 3, 4, 5]
            finished = 0
            async for event in client.watch(since=0):
                finished += event.type == "finished"
                if finished == 5:
                    break
            waited = await client.wait(ops.Selection(all=True))
            assert not waited.succeeded
            with pytest.raises(ops.NotFound):
                await client.show("nothing")
            opsd.kill()
            opsd.start()
            assert (await client.show("n3")).operation.exit_code == 3

    asyncio.run(main())


def test_a_cancelled_coroutine_leaves_no_reply_on_the_connection(opsd: PrivateDaemon) -> None:
    async def main() -> None:
        async with ops.aio.Client() as client:
            call = asyncio.create_task(client.status())
            await asyncio.sleep(0)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert await client.list_queues()

    asyncio.run(main())
