"""Tests of executors with a key after a crash of the client, the daemon or both."""

from __future__ import annotations

import base64
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import functions
import pytest
import torture

import opsd as ops
from opsd._spool import Spool
from opsd.testing import PrivateDaemon

SOURCE = str(Path(ops.__file__).parent.parent)
TESTS = str(Path(__file__).parent)

MAP = """
import functools, sys
import functions, opsd

marks, count, chunk = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
executor = opsd.OpsExecutor(key="squares")
results = executor.map(functools.partial(functions.mark_slowly, marks), range(count), chunksize=chunk)
print("submitted", flush=True)
print(sum(results), flush=True)
"""


def program(text: str, *arguments: str, directory: Path) -> subprocess.Popen[str]:
    """Starts a program that a test can kill."""
    path = directory / "program.py"
    path.write_text(textwrap.dedent(text))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([SOURCE, TESTS])}
    return subprocess.Popen([sys.executable, str(path), *arguments], env=environment, stdout=subprocess.PIPE, text=True)


def finished(daemon: PrivateDaemon, count: int) -> None:
    """Waits until at least this many operations have ended."""
    seen = 0
    for event in daemon.client.watch(since=0):
        seen += event.type == "finished"
        if seen == count:
            return


def test_the_same_program_run_again_gets_the_same_results(opsd: PrivateDaemon, tmp_path: Path) -> None:
    def run() -> list[str]:
        with ops.OpsExecutor(key="k") as executor:
            first = executor.submit(functions.mark, str(tmp_path), "first")
            second = executor.options(after=[first]).submit(functions.mark, str(tmp_path), "second")
            return [first.result(60), second.result(60), *executor.map(str, range(3))]

    assert run() == run() == ["first", "second", "0", "1", "2"]
    assert sorted(os.listdir(tmp_path)) == ["first-1", "second-1"]
    assert len(opsd.client.list().operations) == 5


def test_exceptions_are_found_again_too(opsd: PrivateDaemon) -> None:
    for _ in range(2):
        with ops.OpsExecutor(key="k") as executor:
            error = executor.submit(functions.raise_deep).exception(60)
            assert isinstance(error, LookupError)
            assert "# the line that" in str(error.__cause__)
            dead = executor.submit(functions.die, signal.SIGSEGV).exception(60)
            assert isinstance(dead, ops.OperationFailed)
            assert "SIGSEGV" in str(dead.cause)
    assert len(opsd.client.list().operations) == 2


def test_another_function_under_the_same_key_is_refused(opsd: PrivateDaemon) -> None:
    with ops.OpsExecutor(key="k") as executor:
        executor.submit(functions.double, 1).result(60)
    told = "submission 0 of key 'k' was 1 calls of double, not 1 of mark"
    with ops.OpsExecutor(key="k") as executor, pytest.raises(ValueError, match=told):
        executor.submit(functions.mark, "x", "y")


def test_a_key_is_used_by_one_executor_at_a_time(opsd: PrivateDaemon) -> None:
    with ops.OpsExecutor(key="k"):
        with pytest.raises(ops.OpsError, match="another executor uses the key 'k' now"):
            ops.OpsExecutor(key="k")
        with pytest.raises(ops.OpsError, match="another executor"):
            ops.OpsExecutor.attach("k")
    ops.OpsExecutor(key="k").shutdown()


def test_a_broken_executor_counts_ended_calls_once(opsd: PrivateDaemon, tmp_path: Path) -> None:
    gate = str(tmp_path / "gate")
    with ops.OpsExecutor(key="k") as executor:
        calls = [pickle.dumps((functions.wait_for, (path, value), {})) for path, value in (("/", 1), (gate, 2))]
        done, waiting = executor._core._add({}, calls, "wait_for")
        executor.shutdown(wait=False)
        assert done.result(60) == 1
        engine = waiting._engine
        assert waiting.operation == 2
        opsd.kill()
        engine.break_down("the end of this process")
    for thread in engine._threads:
        thread.join(60)
    opsd.start()
    done, waiting = ops.OpsExecutor.attach("k", patience=0.1)
    engine = waiting._engine
    assert (done.result(60), done.operation, waiting.operation) == (1, 1, 2)
    opsd.kill()
    with pytest.raises(ops.BrokenOpsExecutor):
        waiting.result(60)
    for thread in engine._threads:
        thread.join(60)
    assert not engine._open
    opsd.start()
    Path(gate).touch()
    assert [future.result(60) for future in ops.OpsExecutor.attach("k")] == [1, 2]


def test_attach_to_an_unknown_key_finds_nothing(opsd: PrivateDaemon) -> None:
    assert ops.OpsExecutor.attach("never") == []


def test_forget_removes_all_results_of_a_key(opsd: PrivateDaemon, tmp_path: Path, state_home: Path) -> None:
    with ops.OpsExecutor(2, key="k") as executor:
        assert executor.submit(functions.double, 2).result(60) == 4
    assert len(ops.OpsExecutor.attach("k")) == 1
    ops.OpsExecutor.forget("k")
    assert list(state_home.iterdir()) == []
    assert [queue.name for queue in opsd.client.list_queues().queues] == ["default", "main"]
    assert ops.OpsExecutor.attach("k") == []


def test_a_key_is_free_as_soon_as_its_calls_have_ended(
    opsd: PrivateDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    close = Spool.close

    def close_late(spool: Spool, *, remove: bool) -> None:
        time.sleep(0.3)
        close(spool, remove=remove)

    monkeypatch.setattr(Spool, "close", close_late)
    gate = tmp_path / "gate"
    text = f"""
        import os
        import functions, opsd
        opsd.OpsExecutor(key="k").submit(functions.wait_for, {str(gate)!r}, 3).operation
        os._exit(0)
    """
    assert program(text, directory=tmp_path).wait(60) == 0
    [future] = ops.OpsExecutor.attach("k")
    with pytest.raises(ops.KeyInUse):
        ops.OpsExecutor.forget("k")
    gate.touch()
    assert future.result(60) == 3
    ops.OpsExecutor.forget("k")
    executor = ops.OpsExecutor(key="k")
    future = executor.submit(functions.double, 2)
    executor.shutdown(wait=False)
    assert future.result(60) == 4
    [again] = ops.OpsExecutor.attach("k")
    assert again.result(60) == 4


def test_a_key_that_was_forgotten_makes_its_calls_again(opsd: PrivateDaemon, tmp_path: Path) -> None:
    def run() -> str:
        with ops.OpsExecutor(key="again") as executor:
            return executor.submit(functions.succeed_if, str(tmp_path / "ready")).result(60)

    for _ in range(2):
        with pytest.raises(ValueError, match="not yet"):
            run()
    (tmp_path / "ready").touch()
    ops.OpsExecutor.forget("again")
    assert run() == run() == "now"
    ops.OpsExecutor.forget("again")
    assert run() == "now"
    assert [str(row.outcome) for row in opsd.client.list().operations] == ["failed", "succeeded", "succeeded"]


def test_an_operation_that_waits_is_not_that_of_a_key_that_was_forgotten(opsd: PrivateDaemon, tmp_path: Path) -> None:
    text = """
        import os
        import functions, opsd
        opsd.OpsExecutor(key="k", held=True).submit(functions.double, 1).operation
        os._exit(0)
    """
    assert program(text, directory=tmp_path).wait(60) == 0
    ops.OpsExecutor.forget("k")
    with ops.OpsExecutor(key="k") as executor:
        later = executor.submit(functions.double, 2)
        assert (later.operation, later.result(60)) == (2, 4)
        opsd.client.resume(selection=ops.Selection(refs=["1"]))
        opsd.client.wait(ops.Selection(refs=["1"]))
    assert opsd.client.show("1").operation.outcome == "failed"
    assert b"this call is no longer stored" in base64.b64decode(opsd.client.log("1").data)


@pytest.mark.parametrize("content", [b"", b"\x80", b"opsd-py1"])
def test_a_damaged_file_spoils_at_most_its_call(opsd: PrivateDaemon, state_home: Path, content: bytes) -> None:
    def run() -> list[object]:
        with ops.OpsExecutor(key="k") as executor:
            calls = [executor.submit(functions.double, number) for number in (1, 2)]
            return [call.exception(60) or call.result() for call in calls]

    assert run() == [2, 4]
    [directory] = state_home.iterdir()
    for path in directory.glob("*.ids"):
        path.write_bytes(content)
    assert run() == [2, 4]
    next(directory.glob("*-00000000-0.final")).write_bytes(content)
    lost, other = run()
    assert (str(lost), other) == ("operation 1 succeeded: the function left no result", 4)
    next(directory.glob("*-00000000.calls")).write_bytes(content)
    with pytest.raises(ops.ProtocolError, match=r"00000000.calls is damaged .*; OpsExecutor.forget removes"):
        run()
    with pytest.raises(ops.ProtocolError, match=r"00000000.calls is damaged") as kept:
        ops.OpsExecutor.attach("k")
    ops.OpsExecutor.forget("k")
    assert kept.traceback  # the error and its frames exist, but do not use the key any more
    assert run() == [2, 4]
    (directory / "generation").write_bytes(content)
    assert run() == [2, 4]


def test_attach_finds_the_calls_of_an_executor_that_did_not_wait(opsd: PrivateDaemon, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    executor = ops.OpsExecutor(key="k")
    waiting = executor.submit(functions.wait_for, str(gate), "late")
    executor.submit(functions.double, 4).result(60)
    done = threading.Event()
    waiting.add_done_callback(lambda _: done.set())
    executor.shutdown(wait=False)
    gate.touch()
    assert done.wait(60)
    for thread in waiting._engine._threads:
        thread.join(60)
    found = ops.OpsExecutor.attach("k")
    assert [future.result(60) for future in found] == ["late", 8]
    assert [future.function for future in found] == ["wait_for", "double"]
    assert [future.operation for future in found] == [1, 2]


def test_an_interpreter_with_a_key_exits_without_waiting(opsd: PrivateDaemon, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    text = f"""
        import functions, opsd
        opsd.OpsExecutor(key="k").submit(functions.wait_for, {str(gate)!r}, 5)
    """
    assert program(text, directory=tmp_path).wait(60) == 0
    [future] = ops.OpsExecutor.attach("k")
    assert not future.done()
    gate.touch()
    assert future.result(60) == 5


@pytest.mark.parametrize("chunk", [1, 10])
def test_a_client_killed_in_the_middle_of_a_map_loses_nothing(opsd: PrivateDaemon, tmp_path: Path, chunk: int) -> None:
    count = 1000
    marks = tmp_path / "marks"
    marks.mkdir()
    process = program(MAP, str(marks), str(count), str(chunk), directory=tmp_path)
    finished(opsd, count // chunk // 4)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    results = [future.result(120) for future in ops.OpsExecutor.attach("squares")]
    values = [value for result in results for value in (result if chunk > 1 else [result])]
    assert values == [number * number for number in range(count)]
    # A second mark of the same attempt would have failed.
    assert len(os.listdir(marks)) == count
    again = program(MAP, str(marks), str(count), str(chunk), directory=tmp_path)
    assert again.communicate()[0].split()[-1] == str(sum(number * number for number in range(count)))
    assert len(os.listdir(marks)) == count


@pytest.mark.parametrize("has_ids", [True, False])
def test_no_call_runs_twice_after_its_operation_was_pruned(
    opsd: PrivateDaemon, tmp_path: Path, state_home: Path, has_ids: bool
) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    process = program(MAP, str(marks), "60", "1", directory=tmp_path)
    finished(opsd, 15)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    finished(opsd, 60)
    assert opsd.client.prune(older_than="0s").removed == 60
    [directory] = state_home.iterdir()
    lost = 59
    next(directory.glob(f"*-{lost}.result")).unlink()
    if not has_ids:
        next(directory.glob("*.ids")).unlink()
    *found, missing = ops.OpsExecutor.attach("squares")
    assert [future.result(60) for future in found] == [number * number for number in range(lost)]
    with pytest.raises(ops.OperationFailed, match="its operation is no longer stored"):
        missing.result(60)
    assert not opsd.client.list().operations
    assert len(os.listdir(marks)) == 60


def test_client_and_daemon_killed_together_lose_nothing(opsd: PrivateDaemon, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    process = program(MAP, str(marks), "1000", "20", directory=tmp_path)
    finished(opsd, 10)
    opsd.kill()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    opsd.start()
    values = [value for future in ops.OpsExecutor.attach("squares") for value in future.result(120)]
    assert values == [number * number for number in range(1000)]
    assert len(os.listdir(marks)) == 1000


def test_a_map_continues_while_the_daemon_is_killed_repeatedly(opsd: PrivateDaemon, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    with ops.OpsExecutor() as executor:
        futures = [executor.submit(functions.mark_slowly, str(marks), number) for number in range(120)]
        for count in (10, 40, 80):
            finished(opsd, count)
            opsd.kill()
            opsd.start()
        assert [future.result(120) for future in futures] == [number * number for number in range(120)]
    assert len(os.listdir(marks)) == 120


@pytest.mark.parametrize("seed", [1, 2])
def test_kills_at_random_moments_lose_nothing(seed: int) -> None:
    assert torture.one_round(seed) > 0


def test_a_killed_runner_interrupts_a_call(opsd: PrivateDaemon, tmp_path: Path) -> None:
    with ops.OpsExecutor() as executor:
        once = executor.submit(functions.wait_for, str(tmp_path / "gate"))
        policy = {"limit": 1, "on": ["interrupted"], "backoff": "1ms"}
        again = executor.options(retry=policy).submit(functions.wait_for, str(tmp_path / "gate"), 6)
        started = (event.id for event in opsd.client.watch(since=0) if event.type == "started")
        assert {next(started), next(started)} == {once.operation, again.operation}
        runner = opsd.client.status().runner_pid
        assert runner is not None
        os.kill(runner, signal.SIGKILL)
        error = once.exception(60)
        assert isinstance(error, ops.OperationFailed)
        assert error.outcome == "interrupted"
        (tmp_path / "gate").touch()
        assert again.result(60) == 6


def test_calls_that_never_reached_the_daemon_are_submitted_by_attach(opsd: PrivateDaemon, tmp_path: Path) -> None:
    text = f"""
        import os, signal
        import functions, opsd
        executor = opsd.OpsExecutor(key="k")
        os.kill(int(open({str(tmp_path / "pid")!r}).read()), signal.SIGKILL)  # the daemon
        executor.submit(functions.mark, {str(tmp_path)!r}, "call")
        os.kill(os.getpid(), signal.SIGKILL)
    """
    (tmp_path / "pid").write_text(str(opsd.client.status().pid))
    assert program(text, directory=tmp_path).wait(60) == -signal.SIGKILL
    opsd.kill()
    assert not (tmp_path / "call-1").exists()
    opsd.start()
    assert [future.result(60) for future in ops.OpsExecutor.attach("k")] == ["call"]
    assert (tmp_path / "call-1").exists()


def test_a_lost_reply_stores_nothing_twice(opsd: PrivateDaemon, tmp_path: Path) -> None:
    for number, key in enumerate((None, "k")):
        with ops.OpsExecutor(key=key) as executor:
            engine = executor._engine
            send = engine._send
            calls: list[int] = []

            def lose(parameters: dict[str, object], send: object = send, calls: list[int] = calls) -> object:
                reply = send(parameters)  # type: ignore[operator]
                calls.append(1)
                if len(calls) == 1:
                    raise ops.ConnectionFailed("the reply was lost")
                return reply

            engine._send = lose  # type: ignore[method-assign, assignment]
            assert executor.submit(functions.mark, str(tmp_path), f"once{number}").result(60) == f"once{number}"
            assert len(calls) == 2
    assert len(opsd.client.list().operations) == 2
