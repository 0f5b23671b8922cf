"""Tests of the joblib backend."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import functions
import pytest

from opsd.testing import PrivateDaemon

if os.environ.get("OPSD_REQUIRE_ALL"):
    import joblib
else:
    joblib: Any = pytest.importorskip("joblib")  # type: ignore[no-redef]
import opsd.joblib


def fail(number: int) -> int:
    if number == 3:
        raise ValueError("three")
    return number


def test_parallel_calls_are_operations(opsd: PrivateDaemon) -> None:
    with joblib.parallel_config(backend="opsd", n_jobs=-1):
        results = joblib.Parallel()(joblib.delayed(functions.double)(number) for number in range(30))
    assert results == [2 * number for number in range(30)]
    rows = opsd.client.list().operations
    assert 1 < len(rows) <= 30
    assert {row.outcome for row in rows} == {"succeeded"}


def test_arguments_of_the_backend_are_keys_of_operations(opsd: PrivateDaemon) -> None:
    with joblib.parallel_config(backend="opsd", n_jobs=2, queue="main", labels={"a": "b"}):
        assert joblib.Parallel()(joblib.delayed(functions.double)(number) for number in range(4)) == [0, 2, 4, 6]
    for row in opsd.client.list().operations:
        assert (row.queue, row.labels["a"]) == ("main", "b")


def test_n_jobs_is_the_limit_of_a_queue(opsd: PrivateDaemon) -> None:
    with joblib.parallel_config(backend="opsd", n_jobs=2):
        assert joblib.Parallel()(joblib.delayed(abs)(number) for number in (-1, -2, -3)) == [1, 2, 3]
    assert {row.queue[:7] for row in opsd.client.list().operations} == {"python-"}
    with joblib.parallel_config(backend="opsd", n_jobs=-1):
        assert joblib.effective_n_jobs() == 2  # as many as the daemon runs at once


def test_lambdas_and_closures_can_be_called(opsd: PrivateDaemon) -> None:
    by = 5
    with joblib.parallel_config(backend="opsd", n_jobs=2):
        assert joblib.Parallel()(joblib.delayed(lambda x: x * by)(number) for number in range(3)) == [0, 5, 10]


def test_a_failure_ends_the_rest(opsd: PrivateDaemon, tmp_path: Path) -> None:
    calls = [joblib.delayed(fail)(3), joblib.delayed(functions.wait_for)(str(tmp_path / "never"))]
    with joblib.parallel_config(backend="opsd", n_jobs=2), pytest.raises(ValueError, match="three"):
        joblib.Parallel(batch_size=1)(calls)
    opsd.client.wait(ops_all())
    assert {str(row.outcome) for row in opsd.client.list().operations} == {"failed", "cancelled"}


def test_results_can_be_a_generator(opsd: PrivateDaemon) -> None:
    with joblib.parallel_config(backend="opsd", n_jobs=2):
        generator = joblib.Parallel(return_as="generator")(joblib.delayed(functions.double)(n) for n in range(6))
        assert list(generator) == [0, 2, 4, 6, 8, 10]


def ops_all() -> opsd.Selection:
    return opsd.Selection(all=True)
