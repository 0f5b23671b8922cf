#!/usr/bin/env python3
"""bench.py [--load PROGRAM] [--runs N]: measure the Python client and other libraries with the same work.

Programs of opsd are found by $OPSD_PROGRAMS or PATH. joblib's loky and the load generator in C (`--load`, built by
`swift build --product load`) are measured where they are there.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

from work import small

import opsd
from opsd.testing import PrivateDaemon

CALLS = 2000
CHUNK = 100


def seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def row(name: str, values: list[float], unit: str) -> None:
    values = sorted(values)
    print(f"{name:<58} {statistics.median(values):10.3f} {unit:<9} ({values[0]:.3f} to {values[-1]:.3f})", flush=True)


def functions(runs: int, workers: int) -> None:
    """Measures 2,000 small functions in chunks, from the creation of an executor to its shutdown."""

    def by_opsd() -> None:
        with opsd.OpsExecutor() as executor:
            assert list(executor.map(small, range(CALLS), chunksize=CHUNK)) == expected

    def by_pool() -> None:
        with ProcessPoolExecutor(workers) as executor:
            assert list(executor.map(small, range(CALLS), chunksize=CHUNK)) == expected

    def by_loky() -> None:
        calls = (joblib.delayed(small)(number) for number in range(CALLS))
        assert joblib.Parallel(workers, backend="loky", batch_size=CHUNK)(calls) == expected
        get_reusable_executor().shutdown()

    def alone() -> None:
        assert [small(number) for number in range(CALLS)] == expected

    expected = [small(number) for number in range(CALLS)]
    peers: dict[str, Callable[[], None]] = {"OpsExecutor": by_opsd, "ProcessPoolExecutor": by_pool}
    try:
        import joblib
        from joblib.externals.loky import get_reusable_executor

        peers["joblib, loky"] = by_loky
    except ImportError:
        print("joblib: NOT MEASURED: not installed")
    peers["a loop in this process"] = alone
    times: dict[str, list[float]] = {name: [] for name in peers}
    for _ in range(runs):
        for name, work in peers.items():
            times[name].append(seconds(work))
    print(f"{CALLS} functions in chunks of {CHUNK}, {workers} at a time")
    for name, values in times.items():
        row("  " + name, values, "s")
    for name in list(peers)[1:]:
        ratios = [peer / own for peer, own in zip(times[name], times["OpsExecutor"], strict=True)]
        row(f"  {name} / OpsExecutor", ratios, "")


def starts(runs: int) -> None:
    """Measures the cost of one call in a separate process."""
    count = 50
    with opsd.OpsExecutor() as executor:
        values = [seconds(lambda: list(executor.map(abs, range(count)))) / count * 1000 for _ in range(runs)]
        row("one call with a process of its own, of 50", values, "ms")
        values = [seconds(lambda: executor.submit(abs, -1).result()) * 1000 for _ in range(runs * 3)]
        row("submit and result of a single call", values, "ms")


def submissions(runs: int, load: str | None) -> None:
    """Measures submissions of single operations, one after another, by one client."""
    count = 1000
    with PrivateDaemon() as daemon:
        client = opsd.Client(daemon.socket)
        operation = [{"command": ["true"], "held": True}]
        own: list[float] = []
        theirs: list[float] = []

        def submit() -> None:
            for _ in range(count):
                client.submit(operation)

        for _ in range(runs):
            own.append(count / seconds(submit))
            if load:
                told = subprocess.run(
                    [load, "submit", daemon.socket, "1", str(count)], capture_output=True, text=True, check=True
                )
                theirs.append(float(told.stdout.split()[1]))
        row("submissions of one client", own, "a second")
        if theirs:
            row("submissions of one client in C", theirs, "a second")
            row("  Python / C", [mine / other for mine, other in zip(own, theirs, strict=True)], "")
        else:
            print("client in C: NOT MEASURED: no --load")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--load", help="the load generator")
    parser.add_argument("--runs", type=int, default=5)
    chosen = parser.parse_args()
    workers = os.cpu_count() or 2
    print(f"medians of {chosen.runs} alternating runs; {workers} cores, load {os.getloadavg()[0]:.1f} at the start")
    print(f"Python {sys.version.split()[0]}, {os.uname().release}")
    with tempfile.TemporaryDirectory() as state, PrivateDaemon(workers) as daemon:
        os.environ.update(XDG_STATE_HOME=state, OPS_SOCKET=daemon.socket)
        functions(chosen.runs, workers)
        starts(chosen.runs)
    submissions(chosen.runs, chosen.load)


if __name__ == "__main__":
    main()
