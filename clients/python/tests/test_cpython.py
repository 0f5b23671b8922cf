"""CPython's tests of executors, run with OpsExecutor.

They are in Debian's libpython3.11-testsuite. Where that is missing they are skipped, unless OPSD_REQUIRE_ALL is set.
"""

from __future__ import annotations

import os
import unittest
from typing import Any, ClassVar

import pytest

import opsd
from opsd.testing import PrivateDaemon

try:
    from test import test_concurrent_futures as cpython
except (ImportError, unittest.SkipTest) as error:
    if os.environ.get("OPSD_REQUIRE_ALL"):
        raise
    pytest.skip(f"no libpython3.11-testsuite here: {error}", allow_module_level=True)


class OpsMixin(cpython.ExecutorMixin):  # type: ignore[misc, unused-ignore]
    """Provides an OpsExecutor for each test, and a daemon for each class."""

    executor_type = opsd.OpsExecutor
    daemon: ClassVar[PrivateDaemon]
    before: ClassVar[str | None]

    @classmethod
    def setUpClass(cls) -> None:
        cls.daemon = PrivateDaemon(workers=5)
        cls.before = os.environ.get("OPS_SOCKET")
        os.environ["OPS_SOCKET"] = cls.daemon.socket
        super().setUpClass()

    @classmethod
    def tearDownClass(cls) -> None:
        super().tearDownClass()
        if cls.before is None:
            del os.environ["OPS_SOCKET"]
        else:
            os.environ["OPS_SOCKET"] = cls.before
        cls.daemon.stop()


def inapplicable(reason: str) -> Any:
    """Replaces a test of CPython that cannot be run."""

    @unittest.skip(reason)
    def test(self: unittest.TestCase) -> None:
        pass

    return test


BY_NAME = "imports the executor from concurrent.futures by its name; test_executor.py has the same test"
POOL = "looks into the processes of ProcessPoolExecutor, which OpsExecutor does not have"


class OpsExecutorTest(OpsMixin, cpython.ExecutorTest, cpython.BaseTestCase):  # type: ignore[misc, unused-ignore]
    """Tests of submit and map, and the tests of ProcessPoolExecutor that do not depend on its processes."""

    test_map_chunksize = cpython.ProcessPoolExecutorTest.test_map_chunksize


class OpsWaitTest(OpsMixin, cpython.WaitTests, cpython.BaseTestCase):  # type: ignore[misc, unused-ignore]
    """Tests of futures.wait."""


class OpsAsCompletedTest(OpsMixin, cpython.AsCompletedTests, cpython.BaseTestCase):  # type: ignore[misc, unused-ignore]
    """Tests of futures.as_completed."""


class OpsShutdownTest(OpsMixin, cpython.ExecutorShutdownTest, cpython.BaseTestCase):  # type: ignore[misc, unused-ignore]
    """Tests of shutdown."""

    test_interpreter_shutdown = inapplicable(BY_NAME)
    test_submit_after_interpreter_shutdown = inapplicable(BY_NAME)
    test_hang_gh83386 = inapplicable(BY_NAME)


class OpsInitializerTest(OpsMixin, cpython.InitializerMixin, cpython.BaseTestCase):  # type: ignore[misc, unused-ignore]
    """Tests of initializers."""


class OpsFailingInitializerTest(OpsMixin, cpython.FailingInitializerMixin, cpython.BaseTestCase):  # type: ignore[misc, unused-ignore]
    """Tests of initializers that fail."""
