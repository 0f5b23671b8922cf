"""Tests of OpsExecutor that CPython does not have."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import dataclasses
import functools
import gc
import multiprocessing
import os
import pickle
import signal
import stat
import subprocess
import sys
import textwrap
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from concurrent import futures
from fractions import Fraction
from pathlib import Path
from typing import Any

import functions
import pytest

import opsd as ops
from opsd import _wire
from opsd._spool import home
from opsd.engine import Unit
from opsd.testing import PrivateDaemon

SOURCE = str(Path(ops.__file__).parent.parent)


def script(text: str, *arguments: str, directory: Path) -> subprocess.CompletedProcess[str]:
    """Writes a program to a file and runs it."""
    path = directory / "program.py"
    path.write_text(textwrap.dedent(text))
    tests = str(Path(__file__).parent)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([SOURCE, tests])}
    return subprocess.run(
        [sys.executable, str(path), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@contextlib.contextmanager
def submitted_together(executor: ops.OpsExecutor) -> Iterator[None]:
    """Delays all submissions, so that the calls that are made meanwhile are sent in one message."""
    engine = executor._engine
    send, may_send = engine._send, threading.Event()

    def delayed(parameters: dict[str, Any]) -> Any:
        may_send.wait(60)
        return send(parameters)

    engine._send = delayed  # type: ignore[method-assign]
    executor.submit(functions.double, 0)
    while not engine._sending:
        time.sleep(0.001)
    try:
        yield
    finally:
        may_send.set()


def record(future: futures.Future[Any], callback: Callable[[], object]) -> futures.Future[Any]:
    """Adds a callback to a future, and returns a future for the result of the callback."""
    returned: futures.Future[Any] = futures.Future()

    def run(_: object) -> None:
        try:
            returned.set_result(callback())
        except BaseException as error:  # noqa: BLE001
            returned.set_exception(error)

    future.add_done_callback(run)
    return returned


def has_ended(executor: ops.OpsExecutor) -> bool:
    """Waits for the threads of an executor that was shut down. Returns whether they have ended."""
    for thread in executor._engine._threads:
        thread.join(30)
    return not any(thread.is_alive() for thread in executor._engine._threads)


def test_all_keywords_are_passed_to_the_function(opsd: PrivateDaemon) -> None:
    with ops.OpsExecutor() as executor:
        future = executor.submit(functions.everything, 1, queue="q", fn=2, self=3, key=4, after=[5])
        assert future.result(60) == ((1,), {"queue": "q", "fn": 2, "self": 3, "key": 4, "after": [5]})


def test_values_classes_methods_and_partials_can_be_called(opsd: PrivateDaemon) -> None:
    with ops.OpsExecutor() as executor:
        assert executor.submit(functions.Point(1).moved, 2).result(60) == functions.Point(3)
        assert executor.submit(functools.partial(functions.double, 21)).result(60) == 42
        assert executor.submit(functions.Point, 4).result(60) == functions.Point(4)
        large = os.urandom(3_000_000)
        assert executor.submit(bytes.upper, large).result(60) == large.upper()


def test_a_proxy_with_attributes_of_any_name_can_be_called(opsd: PrivateDaemon) -> None:
    with ops.OpsExecutor() as executor:
        future = executor.submit(functions.Remote().add, 1)
        assert future.result(60) == "remote.add(1)"
        assert (opsd.client.show(str(future.operation)).operation.name or "").startswith("Remote-")


def test_a_function_has_directory_path_and_environment_of_its_caller(
    opsd: PrivateDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path / "modules")
    monkeypatch.setenv("WORD", "here")
    with ops.OpsExecutor() as executor:
        directory, path, pythonpath, pid = executor.submit(functions.where).result(60)
        assert (directory, path, pythonpath) == (str(tmp_path), sys.path, os.environ.get("PYTHONPATH"))
        assert pid != os.getpid()
        assert executor.submit(functions.environment, "WORD").result(60) == "here"
        named = executor.options(environment={"WORD": "there"}).submit(functions.environment, "WORD")
        assert named.result(60) == "there"


def test_an_exception_is_raised_with_its_remote_traceback(opsd: PrivateDaemon) -> None:
    with ops.OpsExecutor() as executor:
        error = executor.submit(functions.raise_deep).exception(60)
    assert isinstance(error, LookupError)
    assert error.args == ("nothing here", 7)
    assert isinstance(error.__cause__, ops.RemoteTraceback)
    text = "".join(traceback.format_exception(error))
    assert "# the line that the traceback shows" in text
    assert "functions.py" in text
    assert "worker.py" not in text


def test_the_error_names_what_cannot_be_pickled(opsd: PrivateDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with ops.OpsExecutor() as executor:
        with pytest.raises(pickle.PicklingError, match="is a lambda or an inner function"):
            executor.submit(lambda: 1)
        with pytest.raises(TypeError) as refused:
            executor.submit(functions.double, threading.Lock())  # type: ignore[arg-type]
        assert refused.value.__notes__ == ["while double and its arguments were pickled for another process"]
        error = executor.submit(functions.raise_stubborn).exception(60)
        assert isinstance(error, ops.OperationFailed)
        assert error.cause == "functions.Stubborn: ab (it cannot be pickled)"
        assert "raise_stubborn" in str(error.__cause__)
        with pytest.raises(pickle.PicklingError, match="the function returned function, which cannot be pickled"):
            executor.submit(functions.unpicklable).result(60)


@pytest.mark.parametrize(
    ("function", "cause"),
    [
        (functions.raise_with_notes, "functions.Stubborn: first line"),
        (functions.raise_syntax_error, "SyntaxError: invalid syntax"),
        (functions.raise_leaving, "functions.Leaving: here"),
    ],
)
def test_the_error_about_an_unpicklable_exception_names_its_type(
    opsd: PrivateDaemon, function: Callable[[], None], cause: str
) -> None:
    with ops.OpsExecutor() as executor:
        error = executor.submit(function).exception(60)
        assert isinstance(error, ops.OperationFailed)
        assert str(error.cause).startswith(cause)
        assert str(error.cause).endswith(" (it cannot be pickled)")


def test_a_value_whose_pickling_ends_the_process_fails_its_call(opsd: PrivateDaemon) -> None:
    with ops.OpsExecutor() as executor, pytest.raises(pickle.PicklingError, match="returned Leaving, which cannot be"):
        executor.submit(functions.return_leaving).result(60)


def test_an_exception_comes_back_without_standard_error(opsd: PrivateDaemon) -> None:
    with ops.OpsExecutor() as executor:
        for how in ("none", "closed", "descriptor"):
            assert isinstance(executor.submit(functions.raise_without_stderr, how).exception(60), LookupError)


def test_a_finished_call_that_is_retried_says_that_it_is_not_stored(opsd: PrivateDaemon) -> None:
    with ops.OpsExecutor() as executor:
        refs = [str(executor.submit(functions.double, 1).operation)]
        opsd.client.wait(ops.Selection(refs=refs))
    opsd.client.retry(ops.Selection(refs=refs))
    opsd.client.wait(ops.Selection(refs=refs))
    assert b"this call is no longer stored" in base64.b64decode(opsd.client.log(refs[0]).data)


def test_lambdas_can_be_called_if_cloudpickle_is_installed(opsd: PrivateDaemon) -> None:
    pytest.importorskip("cloudpickle")
    by = 3
    with ops.OpsExecutor() as executor:
        assert executor.submit(lambda x: x * by, 4).result(60) == 12


def test_an_end_without_a_result_names_outcome_and_cause(opsd: PrivateDaemon) -> None:
    with ops.OpsExecutor() as executor:
        killed = executor.submit(functions.die, signal.SIGSEGV)
        left = executor.submit(functions.leave, 3)
        mute = executor.submit(functions.leave, 0)
        late = executor.options(timeout="100ms").submit(functions.wait_for, "/nonexistent")
        skipped = executor.options(after=left).submit(functions.double, 1)
        errors = [future.exception(60) for future in (killed, left, mute, late, skipped)]
        told = [(error.outcome, error.cause) for error in errors if isinstance(error, ops.OperationFailed)]
        assert told[0][0] == "failed"
        assert "SIGSEGV" in str(told[0][1])
        assert told[1] == ("failed", "exit status 3")
        assert told[2] == ("succeeded", "the function left no result")
        assert told[3][0] == "timedOut"
        assert told[4][0] == "skipped"
        assert f"{left.operation}" in str(told[4][1])


def test_operations_have_name_keys_and_labels(opsd: PrivateDaemon) -> None:
    opsd.client.set_queue("slow", limit=1)
    with ops.OpsExecutor(queue="slow", labels={"team": "a"}, categories="db") as executor:
        plain = executor.submit(functions.double, 1)
        special = executor.options(priority="high", name="special", labels={"x": "y"}).submit(functions.double, 1)
        rows = [opsd.client.show(str(future.operation)).operation for future in (plain, special)]
    assert (rows[0].name or "").startswith("double-")
    assert (rows[0].queue, rows[0].priority, rows[0].labels["team"]) == ("slow", 0, "a")
    assert [use.name for use in rows[0].categories] == ["db"]
    assert (rows[1].name, rows[1].priority, rows[1].labels["x"]) == ("special", 4, "y")


def test_a_wrong_keyword_is_refused_at_once(opsd: PrivateDaemon) -> None:
    with pytest.raises(TypeError, match="did you mean 'queue'"):
        ops.OpsExecutor(quue="x")  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="is the limit of a new queue"):
        ops.OpsExecutor(2, queue="x")
    for number in (2.5, True, "2"):
        with pytest.raises(TypeError):
            ops.OpsExecutor(number)  # type: ignore[arg-type]
    with ops.OpsExecutor() as executor, pytest.raises(TypeError, match="has no key 'afer'; did you mean 'after'"):
        executor.options(afer=1)  # type: ignore[call-arg]


def test_keys_that_a_function_cannot_have_are_refused(opsd: PrivateDaemon) -> None:
    for key in ("user", "success_codes", "completion"):
        with pytest.raises(TypeError, match=f"an executor has no key '{key}'"):
            ops.OpsExecutor(**{key: "x"})  # type: ignore[arg-type]


def test_paths_can_be_values_of_keys(opsd: PrivateDaemon, tmp_path: Path) -> None:
    with ops.OpsExecutor(directory=tmp_path, environment={"WORD": tmp_path / "word"}) as executor:
        assert executor.submit(functions.where).result(30)[0] == str(tmp_path)
        assert executor.submit(functions.environment, "WORD").result(30) == str(tmp_path / "word")


def test_secrets_and_umask_are_keys_of_a_function(opsd: PrivateDaemon, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("abc\n")
    with ops.OpsExecutor(secrets={"TOKEN": {"file": tmp_path / "token"}}, umask=0o27) as executor:
        assert executor.submit(functions.environment, "TOKEN").result(60) == "abc"
        assert executor.submit(os.umask, 0).result(60) == 0o27


def test_a_module_path_in_the_environment_comes_before_that_of_the_caller(opsd: PrivateDaemon, tmp_path: Path) -> None:
    with ops.OpsExecutor(environment={"PYTHONPATH": tmp_path}) as executor:
        _, path, pythonpath, _ = executor.submit(functions.where).result(60)
        empty = executor.options(environment={"PYTHONPATH": ""}).submit(functions.where).result(60)
    assert (path, pythonpath) == ([str(tmp_path), *sys.path], str(tmp_path))
    assert (empty[1], empty[2]) == (sys.path, "")


class Int64:
    """A number that is not an int, as those of numpy."""

    def __index__(self) -> int:
        return 1

    def __repr__(self) -> str:
        return "int64(1)"


@pytest.mark.parametrize(
    ("keys", "error", "text"),
    [
        ({"priority": Int64()}, TypeError, r"priority is int64\(1\) of type Int64, .*; convert it with int\(\)"),
        ({"retry": {"limit": Fraction(3)}}, TypeError, r"retry\['limit'\] is Fraction\(3, 1\) .* with float\(\)"),
        ({"timeout": float("nan")}, ValueError, "timeout is nan, .*; use a finite number, or leave the key out"),
        ({"not_before": float("inf")}, ValueError, "notBefore is inf, "),
        ({"environment": {"X": b"x"}}, TypeError, r"environment\['X'\] is b'x' of type bytes, .*; decode it"),
        ({"environment": {("a", "b"): "x"}}, TypeError, r"environment has the name \('a', 'b'\), "),
        (
            {"categories": ["a", {"name": "b", "units": {2}}]},
            TypeError,
            r"categories\[1\]\['units'\] is \{2\} of type set",
        ),
        ({"labels": {"team": "\udcff"}}, ValueError, r"labels\['team'\] is '\\udcff', .*: it is not valid UTF-8"),
        ({"extra": {"newer": [object()]}}, TypeError, r"newer\[0\] is <object object at"),
        ({"name": ["a"]}, TypeError, r"name is \['a'\]; a name is text"),
    ],
)
def test_a_value_that_json_cannot_represent_is_refused_at_once(
    opsd: PrivateDaemon, keys: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        ops.OpsExecutor(**keys)
    with ops.OpsExecutor() as executor, pytest.raises(error, match=text):
        executor.options(**keys)


def test_a_call_that_cannot_be_sent_fails_alone(opsd: PrivateDaemon) -> None:
    executor = ops.OpsExecutor()
    with submitted_together(executor):
        good = executor.submit(functions.double, 2)
        bad, huge = (
            executor._core.submit({"priority": value}, functions.double, (2,), {}) for value in (object(), 10**5000)
        )
        also = executor.submit(functions.double, 3)
    assert isinstance(bad.exception(30), TypeError)
    assert isinstance(huge.exception(30), ValueError)
    assert (good.result(30), also.result(30)) == (4, 6)
    executor.shutdown()


def test_an_operation_that_the_reply_does_not_name_fails_its_call(opsd: PrivateDaemon) -> None:
    executor = ops.OpsExecutor()
    engine = executor._engine
    send = engine._send
    engine._send = lambda parameters: dataclasses.replace(send(parameters), operations=[])  # type: ignore[method-assign]
    assert isinstance(executor.submit(functions.double, 2).exception(30), ops.ProtocolError)
    executor.shutdown()


def test_calls_get_their_ids_without_the_operations_in_a_reply(opsd: PrivateDaemon) -> None:
    with ops.OpsExecutor() as executor:
        engine = executor._engine
        send = engine._send
        engine._send = lambda parameters: dataclasses.replace(send(parameters), operations=None)  # type: ignore[method-assign]
        assert executor.submit(functions.double, 1).result(60) == 2
        with submitted_together(executor):
            calls = [executor.submit(functions.double, number) for number in range(3)]
        assert list(executor.map(functions.double, range(3))) == [0, 2, 4]
        assert [call.result(60) for call in calls] == [0, 2, 4]
        for call in calls:
            named = call._calls.submission["operations"][call._index]["name"]
            assert opsd.client.show(str(call.operation)).operation.name == named


def test_the_end_of_the_thread_that_submits_breaks_the_executor(
    opsd: PrivateDaemon, caplog: pytest.LogCaptureFixture
) -> None:
    def end(_: object) -> Any:
        raise SystemExit(3)

    executor = ops.OpsExecutor()
    executor._engine._send = end  # type: ignore[method-assign, assignment]
    assert isinstance(executor.submit(functions.double, 2).exception(30), ops.BrokenOpsExecutor)
    executor.shutdown()
    assert "the executor broke" in caplog.text


def test_a_result_that_cannot_be_read_fails_only_its_call(opsd: PrivateDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    executor = ops.OpsExecutor()
    read = executor._engine.spool.result

    def fail(path: Path, index: int) -> Any:
        monkeypatch.setattr(executor._engine.spool, "result", read)
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(executor._engine.spool, "result", fail)
    with pytest.raises(OSError, match="Input/output error"):
        executor.submit(functions.double, 2).result(30)
    assert executor.submit(functions.double, 3).result(30) == 6
    executor.shutdown()


@pytest.mark.parametrize(("limit", "value"), [("PART", 3), ("PART_SIZE", 2000)])
def test_a_large_map_is_submitted_in_parts(
    opsd: PrivateDaemon, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    monkeypatch.setattr(f"opsd.client.{limit}", value)
    parts: list[int] = []
    add = ops.Client.add_operations

    def count(self: ops.Client, operations: Any) -> None:
        parts.append(len(operations))
        add(self, operations)

    monkeypatch.setattr(ops.Client, "add_operations", count)
    with ops.OpsExecutor(labels={"text": "x" * 500}) as executor:
        assert list(executor.map(functions.double, range(8))) == [2 * number for number in range(8)]
    assert {row.graph for row in opsd.client.list().operations} == {"g1"}
    assert (len(parts) > 2, sum(parts)) == (True, 8)


def test_only_the_call_that_opsd_refuses_as_busy_fails(opsd: PrivateDaemon) -> None:
    with ops.OpsExecutor(patience=0.1) as executor:
        engine = executor._engine
        send = engine._send
        full = True

        def refuse(parameters: dict[str, Any]) -> Any:
            if full:
                raise ops.Busy({"message": "user 1000 has 1000000 unfinished operations"})
            return send(parameters)

        engine._send = refuse  # type: ignore[method-assign]
        with pytest.raises(ops.Busy, match="1000000 unfinished operations"):
            executor.submit(functions.double, 1).result(60)
        full = False
        assert executor.submit(functions.double, 2).result(60) == 4


def test_an_executor_finds_ends_that_the_event_stream_skipped(
    opsd: PrivateDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    decode = _wire.decode
    lost: list[int] = []

    def lose(frame: bytes) -> Any:
        reply = decode(frame)
        event = reply[0].get("event")
        if event is not None and event["type"] == "finished" and not lost:
            lost.append(event["seq"])
            raise ops.Lagged({"resume": event["seq"]})
        return reply

    with ops.OpsExecutor() as executor:
        monkeypatch.setattr(_wire, "decode", lose)
        assert executor.submit(functions.double, 3).result(60) == 6
        assert executor.submit(functions.double, 4).result(60) == 8
    assert lost


@pytest.mark.parametrize(
    ("function", "outcome"),
    [(functions.wait_for, "succeeded"), (functions.wait_then_die, "failed")],
)
def test_an_executor_finds_ends_whose_operations_were_pruned(
    opsd: PrivateDaemon, tmp_path: Path, function: Callable[[str], None], outcome: str
) -> None:
    gate = tmp_path / "gate"
    executor = ops.OpsExecutor(patience=20)
    engine = executor._engine
    call = executor.submit(function, str(gate))
    id = call.operation
    assert next(event for event in opsd.client.watch(since=0) if event.type == "started").id == id
    # The connection is lost, and the executor cannot reach the daemon for some time.
    client, engine.client = engine.client, ops.Client(tmp_path / "nobody")
    opsd.kill()
    opsd.start()
    gate.touch()
    opsd.client.wait(ops.Selection(refs=[str(id)]))
    assert opsd.client.show(str(id)).operation.outcome == outcome
    assert opsd.client.prune(older_than="0s").removed == 1
    engine.client = client
    if outcome == "succeeded":
        assert call.result(60) is None
    else:
        with pytest.raises(ops.OperationFailed, match="its operation is no longer stored"):
            call.result(60)
    executor.shutdown()


def test_only_the_refused_call_fails(opsd: PrivateDaemon) -> None:
    with ops.OpsExecutor() as executor:
        good = executor.submit(functions.double, 2)
        bad = executor.options(queue="nowhere").submit(functions.double, 2)
        also = executor.submit(functions.double, 3)
        assert isinstance(bad.exception(60), ops.InvalidOperation | ops.NotFound)
        assert (good.result(60), also.result(60)) == (4, 6)


def test_a_call_waits_for_the_futures_in_after(opsd: PrivateDaemon, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with ops.OpsExecutor() as executor, ops.OpsExecutor() as other:
        first = executor.submit(functions.wait_for, str(gate))
        second = executor.options(after=[first]).submit(functions.mark, str(tmp_path), "second")
        third = other.options(after=[ops.After(second, "finished")]).submit(functions.mark, str(tmp_path), "third")
        failed = other.options(after=ops.After(first, "failed")).submit(functions.double, 1)
        assert opsd.client.show(str(third.operation)).operation.state == "pending"
        gate.touch()
        assert third.result(60) == "third"
        assert (tmp_path / "second-1").exists()
        error = failed.exception(60)
        assert isinstance(error, ops.OperationFailed)
        assert error.outcome == "skipped"


def test_a_future_of_asyncio_in_after_is_refused(opsd: PrivateDaemon) -> None:
    async def main() -> None:
        with ops.OpsExecutor() as executor:
            future: Any = asyncio.get_running_loop().create_future()
            for after in (future, b"12"):
                with pytest.raises(TypeError, match="is not an operation, future, id or name"):
                    executor.options(after=after)

    asyncio.run(main())


def test_a_future_of_another_daemon_is_refused(opsd: PrivateDaemon) -> None:
    with PrivateDaemon() as elsewhere, ops.OpsExecutor(socket=elsewhere.socket) as other, ops.OpsExecutor() as executor:
        future = other.submit(functions.double, 1)
        cases: list[Any] = [future, {future}, [ops.After(future, "failed")]]
        for after in cases:
            with pytest.raises(ValueError, match="the call of double is an operation of another daemon"):
                executor.options(after=after)
        assert other.options(after=(one for one in [future])).submit(functions.double, 2).result(60) == 4


def test_a_retry_makes_another_attempt(opsd: PrivateDaemon, tmp_path: Path) -> None:
    with ops.OpsExecutor(retry={"limit": 3, "backoff": "1ms"}) as executor:
        assert executor.submit(functions.fail_until, str(tmp_path), 3).result(60) == 3
    assert sorted(os.listdir(tmp_path)) == ["tried-1", "tried-2", "tried-3"]


def test_the_result_of_an_earlier_attempt_does_not_count(opsd: PrivateDaemon, tmp_path: Path) -> None:
    with ops.OpsExecutor(retry={"limit": 1, "backoff": "1ms"}) as executor:
        error = executor.submit(functions.fail_then_die, str(tmp_path)).exception(60)
    assert isinstance(error, ops.OperationFailed)
    assert "SIGKILL" in str(error.cause)


def test_output_is_in_the_log_of_the_operation(opsd: PrivateDaemon) -> None:
    with ops.OpsExecutor() as executor:
        future = executor.submit(functions.speak, "hello")
        future.result(60)
    log = base64.b64decode(opsd.client.log(str(future.operation)).data)
    assert log.split() == [b"hello!", b"hello"] or log.split() == [b"hello", b"hello!"]


def test_states_of_futures_follow_the_operation(opsd: PrivateDaemon, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with ops.OpsExecutor(max_workers=1) as executor:
        running = executor.submit(functions.wait_for, str(gate), "done")
        waiting = executor.submit(functions.double, 1)
        started = threading.Event()
        for event in opsd.client.watch(since=0):
            if event.type == "started" and event.id == running.operation:
                break
        while not running.running():  # the event reaches the executor a moment later
            started.wait(0.001)
        assert not waiting.running()
        assert not running.cancel()
        assert waiting.cancel()
        assert waiting.cancel()
        assert waiting.cancelled()
        assert waiting.done()
        with pytest.raises(futures.CancelledError):
            waiting.result()
        assert opsd.client.show(str(waiting.operation)).operation.outcome == "cancelled"
        gate.touch()
        assert running.result(60) == "done"
        assert not running.cancel()


def test_an_operation_that_opsctl_cancels_cancels_its_future(opsd: PrivateDaemon, tmp_path: Path) -> None:
    with ops.OpsExecutor(max_workers=1) as executor:
        running = executor.submit(functions.wait_for, str(tmp_path / "never"))
        waiting = executor.submit(functions.double, 1)
        opsd.client.cancel(ops.Selection(refs=[str(waiting.operation)]))
        with pytest.raises(futures.CancelledError):
            waiting.result(60)
        assert waiting.cancelled()
        for event in opsd.client.watch(since=0):
            if event.type == "started" and event.id == running.operation:
                break
        opsd.client.cancel(ops.Selection(refs=[str(running.operation)]), reason="wrong branch")
        error = running.exception(60)
        assert isinstance(error, ops.OperationCancelled)
        assert isinstance(error, futures.CancelledError)
        assert "wrong branch" in str(error)


def test_a_function_can_use_another_executor(opsd: PrivateDaemon) -> None:
    with ops.OpsExecutor() as executor:
        future = executor.submit(functions.nested, 4)
        assert future.result(60) == 8
    [outer, inner] = opsd.client.list().operations
    assert (inner.produced_by, outer.produced_by) == (outer.id, None)


def test_an_event_loop_can_await_calls(opsd: PrivateDaemon) -> None:
    async def main() -> list[int]:
        loop = asyncio.get_running_loop()
        with ops.OpsExecutor() as executor:
            return await asyncio.gather(*(loop.run_in_executor(executor, functions.double, n) for n in range(3)))

    assert asyncio.run(main()) == [0, 2, 4]


def methods_called(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Returns a list to which each call of the daemon adds its method from now on."""
    methods: list[str] = []
    call = ops.Client._call

    def record(self: ops.Client, method: str, *arguments: Any, **named: Any) -> Any:
        methods.append(method)
        return call(self, method, *arguments, **named)

    monkeypatch.setattr(ops.Client, "_call", record)
    return methods


def test_calls_cancelled_by_shutdown_are_asked_about_together(
    opsd: PrivateDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = methods_called(monkeypatch)
    executor = ops.OpsExecutor(held=True)
    waiting = [executor.submit(functions.double, number) for number in range(40)]
    executor.shutdown(cancel_futures=True)
    assert all(future.cancelled() for future in waiting)
    assert "Show" not in asked
    assert asked.count("Cancel") == 1


def test_the_remaining_calls_of_a_map_are_cancelled_together(
    opsd: PrivateDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor = ops.OpsExecutor(held=True)
    results = executor.map(functions.double, range(40), timeout=0)
    assert executor.submit(functions.double, 40).operation == 41  # the calls of the map are stored, too
    asked = methods_called(monkeypatch)
    with pytest.raises(TimeoutError):
        next(results)
    assert asked.count("Cancel") == 1
    cancelled = [row.id for row in opsd.client.list().operations if row.outcome == "cancelled"]
    assert cancelled == list(range(1, 41))
    executor.shutdown(cancel_futures=True)


def test_a_callback_that_exits_does_not_hide_the_cancellation_of_its_call(opsd: PrivateDaemon) -> None:
    executor = ops.OpsExecutor(held=True)
    future = executor.submit(functions.double, 1)
    future.add_done_callback(lambda _: sys.exit(3))
    with contextlib.suppress(SystemExit):  # it comes from the thread that resolves the future, perhaps this one
        future.cancel()
    assert futures.wait([future], 30).done == {future}
    executor.shutdown()


def test_shutdown_does_not_cancel_a_call_between_two_attempts(opsd: PrivateDaemon, tmp_path: Path) -> None:
    executor = ops.OpsExecutor(retry={"limit": 1, "backoff": "500ms", "jitter": 0})
    begun = executor.submit(functions.fail_until, str(tmp_path), 2)
    unbegun = executor.options(held=True).submit(functions.double, 1)
    for event in opsd.client.watch(since=0):
        if event.type == "retrying":
            break
    while not begun.running():
        time.sleep(0.001)
    executor.shutdown(cancel_futures=True)
    assert unbegun.cancelled()
    assert begun.result(60) == 2


def test_a_call_that_races_with_shutdown_is_refused(opsd: PrivateDaemon) -> None:
    executor = ops.OpsExecutor()
    assert executor.submit(functions.double, 1).result(60) == 2
    executor._engine.shut_down(wait=False, cancel=False)
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor._engine.add(Unit(executor._core._write(5, {}, [b""], "f"), [], None))
    executor.shutdown()


def test_a_call_that_is_written_after_the_directory_was_removed_is_refused(opsd: PrivateDaemon) -> None:
    executor = ops.OpsExecutor()
    executor.shutdown()
    assert not executor._engine.spool.path.exists()
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor._core._write(1, {}, [b""], "f")


def test_a_result_counts_even_if_its_end_cannot_be_recorded(
    opsd: PrivateDaemon, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with ops.OpsExecutor(key="k") as executor:
        monkeypatch.setattr(executor._engine.spool, "finish", full)
        assert executor.submit(functions.double, 4).result(60) == 8
    assert "No space left on device" in caplog.text


def test_callbacks_can_submit(opsd: PrivateDaemon) -> None:
    results: list[int] = []
    done = threading.Event()
    with ops.OpsExecutor() as executor:

        def again(future: futures.Future[int]) -> None:
            results.append(future.result())
            if len(results) < 3:
                executor.submit(functions.double, future.result()).add_done_callback(again)
            else:
                done.set()

        executor.submit(functions.double, 1).add_done_callback(again)
        assert done.wait(60)
    assert results == [2, 4, 8]


def test_a_callback_can_shut_down_its_executor(opsd: PrivateDaemon, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    executor = ops.OpsExecutor()
    last = executor.submit(functions.wait_for, str(gate), 1)
    returned = record(last, executor.shutdown)
    gate.touch()
    assert last.result(30) == 1
    returned.result(30)
    assert has_ended(executor)


def test_a_callback_of_a_cancelled_call_can_shut_down_its_executor(opsd: PrivateDaemon, tmp_path: Path) -> None:
    executor = ops.OpsExecutor(held=True)
    waiting = executor.submit(functions.double, 1)
    returned = record(waiting, executor.shutdown)
    thread = threading.Thread(target=waiting.cancel, daemon=True)
    thread.start()
    returned.result(30)
    assert waiting.cancelled()
    assert has_ended(executor)


@pytest.mark.parametrize("key", [None, "k"])
def test_a_callback_of_a_refused_call_can_cancel_all_calls(opsd: PrivateDaemon, key: str | None) -> None:
    executor = ops.OpsExecutor(key=key)
    with submitted_together(executor):
        bad = executor.options(queue="nowhere").submit(functions.double, 2)
        others = [executor.options(held=True).submit(functions.double, number) for number in range(3)]
        returned = record(bad, lambda: executor.shutdown(wait=False, cancel_futures=True))
    returned.result(30)
    assert isinstance(bad.exception(30), ops.InvalidOperation | ops.NotFound)
    futures.wait(others, 30)
    assert all(other.cancelled() for other in others)
    assert has_ended(executor)


@pytest.mark.parametrize("key", [None, "k"])
def test_a_callback_of_a_refused_call_can_cancel_another_call(opsd: PrivateDaemon, key: str | None) -> None:
    executor = ops.OpsExecutor(key=key)
    with submitted_together(executor):
        bad = executor.options(queue="nowhere").submit(functions.double, 2)
        other = executor.options(held=True).submit(functions.double, 3)
        returned = record(bad, other.cancel)
    assert returned.result(30)
    assert other.cancelled()
    executor.shutdown()


def test_a_callback_of_a_refused_call_can_submit_calls_that_wait_for_each_other(opsd: PrivateDaemon) -> None:
    executor = ops.OpsExecutor()

    def submit_two() -> ops.OpsFuture[int]:
        first = executor.submit(functions.double, 3)
        return executor.options(after=first).submit(functions.double, 4)

    with submitted_together(executor):
        returned = record(executor.options(queue="nowhere").submit(functions.double, 2), submit_two)
    assert returned.result(30).result(30) == 8
    executor.shutdown()


def test_a_callback_can_submit_calls_that_wait_for_others_despite_max_workers(
    opsd: PrivateDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise ops.PermissionDenied({"message": "only root"})

    monkeypatch.setattr(ops.Client, "set_queue", refuse)
    gate = tmp_path / "gate"
    executor = ops.OpsExecutor(max_workers=1)
    running = executor.submit(functions.wait_for, str(gate))
    waiting = executor.submit(functions.double, 1)
    returned = record(running, lambda: executor.submit(functions.double, 2).operation)
    gate.touch()
    assert returned.result(30) == 3
    assert waiting.result(30) == 2
    executor.shutdown()


def test_a_callback_can_use_other_calls_that_were_refused_with_its_own(opsd: PrivateDaemon) -> None:
    executor = ops.OpsExecutor()
    with submitted_together(executor):
        call = pickle.dumps((functions.double, (1,), {}))
        first, second, third = executor._core._add({"queue": "nowhere"}, [call] * 3, "double")
        cancelled = record(first, second.cancel)
        asked = record(first, lambda: third.operation)
    assert cancelled.result(30) is False
    with pytest.raises(ops.OpsError, match="double was not submitted"):
        asked.result(30)
    errors = [future.exception(30) for future in (first, second, third)]
    assert all(isinstance(error, ops.InvalidOperation | ops.NotFound) for error in errors)
    executor.shutdown()


def test_a_callback_can_cancel_other_calls_of_a_broken_executor(opsd: PrivateDaemon) -> None:
    executor = ops.OpsExecutor()
    with submitted_together(executor):
        first, second = (executor.submit(functions.double, number) for number in (1, 2))
        returned = record(first, second.cancel)
        thread = threading.Thread(target=executor._engine.break_down, args=("a test",), daemon=True)
        thread.start()
        assert returned.result(30) is False
        assert isinstance(second.exception(30), ops.BrokenOpsExecutor)
    executor.shutdown()


def test_a_callback_can_cancel_other_calls_that_a_shutdown_cancels(opsd: PrivateDaemon) -> None:
    executor = ops.OpsExecutor()
    with submitted_together(executor):
        first, second = (executor.submit(functions.double, number) for number in (1, 2))
        returned = record(first, second.cancel)
        thread = threading.Thread(target=lambda: executor.shutdown(cancel_futures=True), daemon=True)
        thread.start()
        assert returned.result(30)
        futures.wait([first, second], 30)
        assert first.cancelled()
        assert second.cancelled()
    assert has_ended(executor)


def test_a_callback_that_exits_does_not_stop_the_shutdown(
    opsd: PrivateDaemon, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    executor = ops.OpsExecutor()
    leaving, other = (executor.submit(functions.wait_for, str(path), 1) for path in (gate, tmp_path / "never"))
    leaving.add_done_callback(lambda _: sys.exit(3))
    gate.touch()
    assert leaving.result(30) == 1
    assert isinstance(other.exception(30), ops.BrokenOpsExecutor)
    executor.shutdown(wait=False)
    assert has_ended(executor)
    assert "SystemExit" in caplog.text


def test_threads_share_an_executor(opsd: PrivateDaemon) -> None:
    found: list[int] = []
    with ops.OpsExecutor() as executor:

        def many(start: int) -> None:
            submitted = [executor.submit(functions.double, number) for number in range(start, start + 5)]
            found.extend(future.result(60) for future in submitted)

        threads = [threading.Thread(target=many, args=(start,)) for start in (0, 5, 10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(found) == [2 * number for number in range(15)]


def test_map_in_chunks_makes_one_operation_for_each(opsd: PrivateDaemon) -> None:
    with ops.OpsExecutor() as executor:
        assert list(executor.map(functions.double, range(10), chunksize=4)) == [2 * number for number in range(10)]
        assert list(executor.map(pow, [2, 3], [3, 2, 9])) == [8, 9]
        assert list(executor.map(functions.double, [])) == []
    assert len(opsd.client.list().operations) == 3 + 2


@pytest.mark.parametrize(("chunksize", "taken"), [(1, 3), (2, 6)])
def test_map_with_a_buffer_submits_calls_when_results_are_taken(
    opsd: PrivateDaemon, chunksize: int, taken: int
) -> None:
    read: list[int] = []

    def numbers() -> Iterator[int]:
        for number in range(9):
            read.append(number)
            yield number

    with ops.OpsExecutor() as executor:
        results = executor.map(functions.double, numbers(), chunksize=chunksize, buffersize=2)
        assert read == list(range(2 * chunksize))
        assert next(results) == 0
        assert read == list(range(taken))
        assert list(results) == [2 * number for number in range(1, 9)]


def test_map_with_a_buffer_refuses_later_calls_after_shutdown(opsd: PrivateDaemon) -> None:
    with ops.OpsExecutor() as executor:
        results = executor.map(functions.double, range(3), buffersize=2)
        for size, error in ((0, ValueError), ("2", TypeError)):
            with pytest.raises(error, match="buffersize must be"):
                executor.options(retry=1).map(functions.double, [1], buffersize=size)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="after shutdown"):
        next(results)


@pytest.mark.parametrize("failing", [1, 2, 3])
def test_a_thread_that_cannot_be_started_breaks_the_executor(
    opsd: PrivateDaemon, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    executor = ops.OpsExecutor(key="k")
    start, started = threading.Thread.start, 0

    def fail(self: threading.Thread) -> None:
        nonlocal started
        started += 1
        if started == failing:
            raise RuntimeError("can't start new thread")
        start(self)

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", fail)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            executor.submit(functions.double, 1)
    with pytest.raises(ops.BrokenOpsExecutor, match="a thread could not be started"):
        executor.submit(functions.double, 2)
    executor.shutdown()
    assert has_ended(executor)
    # A later executor can use the key.
    with ops.OpsExecutor(key="k") as later:
        assert later.submit(functions.double, 1).result(60) == 2


def test_an_initializer_runs_before_each_call(opsd: PrivateDaemon) -> None:
    with ops.OpsExecutor(initializer=functions.initialize, initargs=("yes",)) as executor:
        assert executor.submit(functions.initialized).result(60) == "yes"


def test_a_failed_initializer_breaks_the_executor(opsd: PrivateDaemon) -> None:
    executor = ops.OpsExecutor(initializer=functions.fail_to_initialize)
    with pytest.raises(ops.BrokenOpsExecutor, match="RuntimeError: no licence"):
        executor.submit(functions.initialized).result(60)
    with pytest.raises(futures.BrokenExecutor):
        executor.submit(functions.initialized)
    executor.shutdown()


def test_connections_are_closed(opsd: PrivateDaemon) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        executor = ops.OpsExecutor(initializer=functions.fail_to_initialize)
        assert isinstance(executor.submit(functions.initialized).exception(60), ops.BrokenOpsExecutor)
        executor.shutdown()
        ops.OpsExecutor.forget("k")
        del executor
        gc.collect()
    assert told == []


def test_a_daemon_that_is_not_restarted_in_time_breaks_the_executor(opsd: PrivateDaemon, tmp_path: Path) -> None:
    with ops.OpsExecutor(patience=0.3) as executor:
        future = executor.submit(functions.wait_for, str(tmp_path / "gate"))
        assert future.operation == 1
        opsd.kill()
        with pytest.raises(ops.BrokenOpsExecutor, match="could not be reached"):
            future.result(60)
        with pytest.raises(futures.BrokenExecutor):
            executor.submit(functions.double, 1)


def test_the_constructor_fails_without_a_daemon(tmp_path: Path) -> None:
    with pytest.raises(ops.ConnectionFailed, match="cannot reach opsd"):
        ops.OpsExecutor(socket=tmp_path / "none")


def test_files_are_private_and_removed_with_the_executor(opsd: PrivateDaemon, state_home: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with ops.OpsExecutor() as executor:
        future = executor.submit(functions.wait_for, str(gate))
        assert future.operation
        [directory] = state_home.iterdir()
        assert stat.S_IMODE(state_home.stat().st_mode) == stat.S_IMODE(directory.stat().st_mode) == 0o700
        for file in directory.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
        gate.touch()
        future.result(60)
        assert [file.name for file in directory.iterdir()] == ["lock"]
        command = opsd.client.show(str(future.operation)).operation.command or []
        assert not [word for word in command if str(gate) in word]
    assert list(state_home.iterdir()) == []


def test_abandoned_directories_are_removed_after_a_month(opsd: PrivateDaemon, state_home: Path) -> None:
    ops.OpsExecutor().shutdown()
    old, young = state_home / "run-old", state_home / "run-young"
    for path in (old, young):
        path.mkdir()
        (path / "00000000.calls").touch()
    os.utime(old, (0, 0))
    with ops.OpsExecutor():
        assert not old.exists()
        assert young.exists()


def test_the_queue_of_max_workers_is_removed_with_the_executor(opsd: PrivateDaemon) -> None:
    with ops.OpsExecutor(max_workers=Int64()) as executor:  # type: ignore[arg-type]
        executor.submit(functions.double, 1).result(60)
        assert [queue.limit for queue in opsd.client.list_queues().queues if queue.name.startswith("python-")] == [1]
    assert [queue.name for queue in opsd.client.list_queues().queues] == ["default", "main"]


def test_max_workers_works_for_users_who_may_not_create_queues(
    opsd: PrivateDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise ops.PermissionDenied({"message": "only root"})

    monkeypatch.setattr(ops.Client, "set_queue", refuse)
    opsd.client.set_workers(5)
    gate = tmp_path / "gate"
    with ops.OpsExecutor(max_workers=2) as executor:
        results = executor.map(functions.wait_for, [str(gate)] * 4, range(4))
        last = executor.submit(functions.wait_for, str(gate), 4)
        unsent = executor.submit(functions.double, 1)
        started = (event.id for event in opsd.client.watch(since=0) if event.type == "started")
        assert [next(started), next(started)] == [1, 2]
        assert len(opsd.client.list().operations) == 2
        assert unsent.cancel()
        gate.touch()
        assert list(results) == [0, 1, 2, 3]
        assert last.result(60) == 4
        with pytest.raises(ops.PermissionDenied) as refused:
            ops.OpsExecutor(2, key="k")
        assert "leave it out" in refused.value.__notes__[0]


def test_a_submission_reads_only_those_operations_of_a_map_that_it_sends(
    opsd: PrivateDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Operations(list[Any]):
        def __iter__(self) -> Iterator[Any]:
            raise AssertionError("all operations of the map were read")

    def refuse(*_: object, **__: object) -> None:
        raise ops.PermissionDenied({"message": "only root"})

    monkeypatch.setattr(ops.Client, "set_queue", refuse)
    with ops.OpsExecutor(max_workers=1) as executor:
        write = executor._core._write

        def written(*arguments: Any) -> Any:
            calls = write(*arguments)
            calls.submission["operations"] = Operations(calls.submission["operations"])
            return calls

        monkeypatch.setattr(executor._core, "_write", written)
        assert list(executor.map(functions.double, range(3))) == [0, 2, 4]


def test_calls_share_the_environment_of_their_process(opsd: PrivateDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    executor = ops.OpsExecutor(held=True)
    first, second = (executor.submit(functions.double, number)._calls.submission for number in range(2))
    monkeypatch.setenv("WORD", "changed")
    third = executor.submit(functions.double, 2)._calls.submission
    assert first["capture"] is second["capture"]
    assert third["capture"]["environment"]["WORD"] == "changed"
    executor.shutdown(cancel_futures=True)


def test_ids_of_calls_with_a_key_are_stored_before_their_ends(
    opsd: PrivateDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ops.OpsExecutor(key="k") as executor:
        engine = executor._engine
        write = engine.spool.write_ids
        registered: list[int] = []

        def record_registered(*arguments: Any) -> None:
            registered.append(len(engine._by_id))
            write(*arguments)

        monkeypatch.setattr(engine.spool, "write_ids", record_registered)
        assert executor.submit(functions.double, 1).result(60) == 2
        assert registered == [0]


def test_a_relative_state_directory_is_ignored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "state")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert home() == tmp_path / ".local/state/opsd-python"


def test_an_unused_executor_is_shut_down(opsd: PrivateDaemon, state_home: Path) -> None:
    future = ops.OpsExecutor().submit(functions.double, 4)
    engine = future._engine
    assert future.result(60) == 8
    for thread in engine._threads:
        thread.join(60)
    assert list(state_home.iterdir()) == []


def test_a_forked_child_leaves_the_executor_to_its_parent(opsd: PrivateDaemon, tmp_path: Path) -> None:
    with ops.OpsExecutor() as executor:
        future = executor.submit(functions.wait_for, str(tmp_path / "gate"), 1)
        assert future.operation

        def child() -> None:
            try:
                executor.submit(functions.double, 1)
            except RuntimeError as error:
                (tmp_path / "told").write_text(str(error))
            with ops.OpsExecutor() as own:
                (tmp_path / "own").write_text(str(own.submit(functions.double, 2).result(60)))

        process = multiprocessing.get_context("fork").Process(target=child)
        process.start()
        process.join()
        (tmp_path / "gate").touch()
        assert future.result(60) == 1
    assert "forked child" in (tmp_path / "told").read_text()
    assert (tmp_path / "own").read_text() == "4"


def test_a_forked_child_cannot_cancel_the_calls_of_its_parent(opsd: PrivateDaemon, tmp_path: Path) -> None:
    executor = ops.OpsExecutor(held=True)
    future = executor.submit(functions.double, 1)
    assert future.operation == 1

    def child() -> None:
        (tmp_path / "told").write_text(str(future.cancel()))
        executor._engine.cancel("waiting")
        executor._engine.withdraw_all([future])
        executor.shutdown(cancel_futures=True)

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join()
    assert (tmp_path / "told").read_text() == "False"
    opsd.client.resume(selection=ops.Selection(refs=["1"]))
    assert future.result(60) == 2
    executor.shutdown()


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_a_child_of_multiprocessing_waits_for_its_calls(opsd: PrivateDaemon, tmp_path: Path, method: str) -> None:
    context: Any = multiprocessing.get_context(method)
    process = context.Process(target=functions.submit_marks, args=(str(tmp_path), 3))
    process.start()
    process.join(60)
    assert process.exitcode == 0
    assert sorted(os.listdir(tmp_path)) == ["0-1", "1-1", "2-1"]


def test_functions_of_the_main_program_are_found_by_its_path(opsd: PrivateDaemon, tmp_path: Path) -> None:
    done = script(
        """
        import opsd, sys

        class Value:
            def __init__(self, x): self.x = x

        def double(value): return Value(value.x * 2)

        if __name__ == "__main__":
            with opsd.OpsExecutor() as executor:
                result = executor.submit(double, Value(21)).result()
                print(result.x, type(result) is Value)
        """,
        directory=tmp_path,
    )
    assert (done.stdout, done.stderr) == ("42 True\n", "")


def test_the_error_about_a_main_program_without_a_guard_names_the_remedy(opsd: PrivateDaemon, tmp_path: Path) -> None:
    done = script(
        """
        import opsd

        def f(): return 1

        print(opsd.OpsExecutor().submit(f).exception())
        """,
        directory=tmp_path,
    )
    assert "put that into `if __name__ == '__main__':`" in done.stdout


def test_a_function_of_an_interactive_session_is_refused_with_the_reason(opsd: PrivateDaemon) -> None:
    text = textwrap.dedent(
        """
        import sys; sys.modules["cloudpickle"] = None
        import opsd
        def f(): return 1
        try: opsd.OpsExecutor().submit(f)
        except Exception as error: print(type(error).__name__, error)
        """
    )
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    done = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True, check=True)
    assert "PicklingError f is defined in an interactive session" in done.stdout


def test_an_interpreter_that_exits_waits_for_its_calls(opsd: PrivateDaemon, tmp_path: Path) -> None:
    for shutdown in ("", "executor.shutdown(wait=False)"):
        done = script(
            f"""
            import opsd, functions, time, sys
            if __name__ == "__main__":
                executor = opsd.OpsExecutor()
                future = executor.submit(time.sleep, 0.3)
                future.add_done_callback(lambda future: print("apple", flush=True))
                {shutdown}
            """,
            directory=tmp_path,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "apple\n", "")


def test_no_call_is_accepted_while_the_interpreter_exits(opsd: PrivateDaemon, tmp_path: Path) -> None:
    done = script(
        """
        import atexit
        @atexit.register
        def run_last():
            try:
                executor.submit(id, None)
            except RuntimeError:
                print("runtime-error")
                raise
        import opsd
        if __name__ == "__main__":
            executor = opsd.OpsExecutor(5)
            executor.submit(id, 42).result()
        """,
        directory=tmp_path,
    )
    assert "RuntimeError: cannot schedule new futures" in done.stderr
    assert done.stdout == "runtime-error\n"


def test_submissions_wait_for_a_daemon_that_is_restarted(opsd: PrivateDaemon) -> None:
    with ops.OpsExecutor() as executor:
        assert executor.submit(functions.double, 1).result(60) == 2
        opsd.kill()
        later: Any = executor.submit(functions.double, 2)
        opsd.start()
        assert later.result(60) == 4
