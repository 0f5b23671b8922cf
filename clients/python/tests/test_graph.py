"""Tests of the graph builder."""

from __future__ import annotations

import asyncio
import gc
import time
import warnings
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import opsd as ops
from opsd.testing import PrivateDaemon


def test_a_graph_has_the_format_of_a_graph_file() -> None:
    graph = ops.Graph("nightly", timeout=timedelta(minutes=90), labels={"team": "data"})
    dump = graph.add(["./dump", "--all"], name="dump", categories="disk", priority="high", retry=3)
    group = graph.group(name="upload", limit=2, after=dump)
    parts = [group.add(shell=f"upload {part}", categories=[{"name": "net", "units": 2}]) for part in range(2)]
    graph.add(
        ["page"],
        name="page",
        after=[ops.After(group, "failed"), 12, "build@g3", parts[0]],
        not_before=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        conditions=[{"pathExists": "/etc/passwd", "otherwise": "skip"}],
        success_codes=(0, 3),
        extra={"newer": 1},
    )
    assert graph.to_json() == {
        "name": "nightly",
        "defaults": {"timeout": 5400.0, "labels": {"team": "data"}},
        "operations": [
            {
                "name": "dump",
                "categories": ["disk"],
                "priority": "high",
                "retry": {"limit": 3},
                "command": ["./dump", "--all"],
            },
            {
                "name": "upload",
                "after": ["dump"],
                "limit": 2,
                "operations": [
                    {"name": "op-3", "categories": [{"name": "net", "units": 2}], "shell": "upload 0"},
                    {"name": "op-4", "categories": [{"name": "net", "units": 2}], "shell": "upload 1"},
                ],
            },
            {
                "name": "page",
                "after": [{"op": "upload", "when": "failed"}, 12, "build@g3", "op-3"],
                "notBefore": "2026-01-02T03:04:05.000Z",
                "conditions": [{"pathExists": "/etc/passwd", "otherwise": "skip"}],
                "successCodes": [0, 3],
                "newer": 1,
                "command": ["page"],
            },
        ],
    }


def test_a_graph_has_all_keys_of_a_graph_file() -> None:
    graph = ops.Graph(
        order="longestPath",
        observers={"failure": [Path("/bin/page")]},
        executor="cluster",
        slurm={"cpus": 4},
        completion="exit",
        stdin="in",
        umask=0o27,
        extra={"observers": {"start": ["each"]}},
    )
    graph.add(name="data", http={"url": "https://example.org/data", "to": Path("data")}, executor="local")
    graph.add(["true"], name="b", secrets={"TOKEN": {"file": Path("/t")}}, umask="022", after=(n for n in ("data",)))
    graph.add(extra={"newerThanCommand": 1}, name="c", after={1})
    assert graph.to_json() == {
        "order": "longestPath",
        "observers": {"failure": ["/bin/page"]},
        "defaults": {
            "executor": "cluster",
            "slurm": {"cpus": 4},
            "completion": "exit",
            "stdin": "in",
            "umask": "027",
            "observers": {"start": ["each"]},
        },
        "operations": [
            {"name": "data", "http": {"url": "https://example.org/data", "to": "data"}, "executor": "local"},
            {
                "name": "b",
                "secrets": {"TOKEN": {"file": "/t"}},
                "umask": "022",
                "after": ["data"],
                "command": ["true"],
            },
            {"name": "c", "newerThanCommand": 1, "after": [1]},
        ],
    }


def test_a_group_is_one_dependency() -> None:
    graph = ops.Graph()
    group = graph.group(name="g")
    group.add(["true"], name="child")
    assert graph.add(["true"], after=group).keys["after"] == ["g"]


def test_paths_can_be_values_of_keys() -> None:
    graph = ops.Graph(directory=Path("/tmp"))
    graph.add(["true"], stdin=Path("/dev/null"), environment={"X": Path("/x")}, output={"stdout": Path("/dev/null")})
    assert graph.to_json() == {
        "defaults": {"directory": "/tmp"},
        "operations": [
            {
                "name": "op-1",
                "stdin": "/dev/null",
                "environment": {"X": "/x"},
                "output": {"stdout": "/dev/null"},
                "command": ["true"],
            }
        ],
    }


def test_mistakes_are_refused_where_they_are_made() -> None:
    graph = ops.Graph()
    with pytest.raises(TypeError, match="an operation has no key 'categoris'; did you mean 'categories'"):
        graph.add(["true"], categoris=["db"])  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"extra=\{\.\.\.\}"):
        graph.add(["true"], zzz=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="did you mean shell='make all'"):
        graph.add("make all")
    wrong: list[Any] = [{}, {"shell": "a", "http": {}}, {"shell": "a", "extra": {"http": {}}}]
    for keys in wrong:
        with pytest.raises(TypeError, match="exactly one of command, shell and http"):
            graph.add(**keys)
    with pytest.raises(TypeError, match="a group has no key 'stdin'"):
        graph.group(stdin="/dev/null")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="is not an operation, future, id or name"):
        graph.add(["true"], after={"op": "a", "when": "failed"})
    graph.add(["true"], name="a")
    with pytest.raises(ValueError, match="has an operation 'a' already"):
        graph.group().add(["true"], name="a")
    with pytest.raises(TypeError, match="is not an operation, future, id or name"):
        graph.add(["true"], after=[object()])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="an operation: timeout is nan, which JSON cannot represent"):
        graph.add(["true"], timeout=float("nan"))


def test_a_submitted_graph_has_its_ids_and_can_be_awaited(opsd: PrivateDaemon, tmp_path: Path) -> None:
    graph = ops.Graph("chain")
    first = graph.add(shell=f"echo 1 >>{tmp_path}/out", name="first")
    group = graph.group(name="middle", after=first)
    for number in (2, 3):
        group.add(shell=f"echo {number} >>{tmp_path}/out")
    graph.add(shell="exit 4", name="last", after=group)
    graph.add(shell=f"echo failed >>{tmp_path}/out", name="alarm", after=ops.After("last", "failed"))
    submitted = graph.submit()
    assert submitted.ids.keys() == {"first", "middle", "op-3", "op-4", "last", "alarm"}
    waited = submitted.wait(timeout=60)
    assert not waited.succeeded
    outcomes = {one.id: one.outcome for one in waited.ended}
    assert outcomes[submitted["last"]] == "failed"
    assert outcomes[submitted[first]] == outcomes[submitted["alarm"]] == "succeeded"
    lines = (tmp_path / "out").read_text().split()
    assert (lines[0], sorted(lines[1:3]), lines[3]) == ("1", ["2", "3"], "failed")


def test_a_key_prevents_a_second_submission(opsd: PrivateDaemon) -> None:
    graph = ops.Graph("once")
    graph.add(["true"], name="a")
    first, second = graph.submit(key="today"), graph.submit(key="today")
    assert (first.existing, second.existing) == (False, True)
    assert (second.graph, second.ids) == (first.graph, first.ids)


def test_observers_of_a_graph_run_once(opsd: PrivateDaemon, tmp_path: Path) -> None:
    graph = ops.Graph("observed", observers={"finish": ["/bin/sh", "-c", f"echo finished >>{tmp_path}/out"]})
    for _ in range(3):
        graph.add(["true"], umask=0o77)
    assert graph.submit(opsd.client).wait(timeout=60).succeeded
    while not (tmp_path / "out").exists():
        time.sleep(0.01)
    assert (tmp_path / "out").read_text() == "finished\n"


def test_a_client_of_a_submission_is_closed() -> None:
    graph = ops.Graph()
    graph.add(["true"])
    with warnings.catch_warnings(record=True) as told, PrivateDaemon() as daemon, pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("always")
        patch.setenv("OPS_SOCKET", daemon.socket)
        assert graph.submit().wait(timeout=60).succeeded
        gc.collect()
    assert told == []


def test_a_dry_run_stores_nothing(opsd: PrivateDaemon) -> None:
    graph = ops.Graph()
    graph.add(["true"])
    assert graph.submit(dry_run=True).count == 1
    assert opsd.client.list().operations == []


def test_waiting_ends_after_the_timeout(opsd: PrivateDaemon) -> None:
    graph = ops.Graph()
    graph.add(["true"], held=True)
    submitted = graph.submit(opsd.client)
    for timeout in (0.05, "50ms", timedelta(milliseconds=50)):
        with pytest.raises(ops.TimedOut) as late:
            submitted.wait(timeout)
        assert late.value.remaining == 1


def test_a_wait_for_a_large_graph_that_has_finished_returns_all_ends(opsd: PrivateDaemon) -> None:
    graph = ops.Graph("wide")
    for number in range(600):
        graph.add(["true"], name=f"n{number}", held=True)
    submitted = graph.submit(opsd.client, key="wide")
    opsd.client.cancel(submitted.selection)

    async def wait_async() -> ops.WaitReply:
        async with ops.aio.Client() as client:
            return await (await graph.submit_async(client, key="wide")).wait(timeout=60)

    for waited in (submitted.wait(timeout=60), asyncio.run(wait_async())):
        assert {one.id for one in waited.ended} == set(submitted.ids.values())
        assert (waited.remaining, waited.succeeded) == (0, False)


def test_wait_and_watch_continue_after_a_crash_of_the_daemon(opsd: PrivateDaemon, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    graph = ops.Graph("survivor")
    for name in ("a", "b"):
        graph.add(shell=f"until [ -e {gate} ]; do sleep 0.02; done", name=name)
    submitted = graph.submit()
    seen = []
    for event in submitted.watch():
        seen.append((event.type, event.id))
        if event.type == "started" and len([one for one in seen if one[0] == "started"]) == 2:
            opsd.kill()
            gate.touch()  # the operations continue, and end while no daemon is running
            opsd.start()
        if len([one for one in seen if one[0] == "finished"]) == 2:
            break
    assert len(seen) == len(set(seen))
    assert submitted.wait(timeout=60).succeeded


def test_the_patience_of_a_wait_begins_again_after_each_answer(
    opsd: PrivateDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []

    def interrupted(stream: Any) -> Any:
        """Returns a `wait_stream` that loses its connection after each pause."""

        def wait_stream(*arguments: Any, **keys: Any) -> Any:
            if not pauses:
                return stream(*arguments, **keys)
            time.sleep(pauses.pop())
            raise ops.ConnectionFailed("the daemon was restarted")

        return wait_stream

    for client in (ops.Client, ops.aio.Client):
        monkeypatch.setattr(client, "wait_stream", interrupted(client.wait_stream))
    graph = ops.Graph()
    graph.add(["true"])

    async def wait_async() -> ops.WaitReply:
        async with ops.aio.Client() as client:
            return await (await graph.submit_async(client)).wait(timeout=60, patience=0.1)

    pauses += [0.2, 0]
    assert graph.submit(opsd.client).wait(timeout=60, patience=0.1).succeeded
    pauses += [0.2, 0]
    assert asyncio.run(wait_async()).succeeded


def test_coroutines_submit_wait_and_watch(opsd: PrivateDaemon) -> None:
    async def main() -> None:
        graph = ops.Graph("async")
        graph.add(["true"], name="a")
        async with ops.aio.Client() as client:
            submitted = await graph.submit_async(client)
            assert (await submitted.wait(timeout=60)).succeeded
            types = []
            async for event in submitted.watch():
                types.append(str(event.type))
                if event.type == "finished":
                    break
            assert types == ["submitted", "ready", "started", "finished"]

    asyncio.run(main())
