"""The pytest fixture `opsd`: a private daemon, with no other state than what the test makes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .testing import PrivateDaemon


@pytest.fixture
def opsd(monkeypatch: pytest.MonkeyPatch) -> Iterator[PrivateDaemon]:
    """A daemon of this test alone. $OPS_SOCKET names it, so that clients and opsctl find it by themselves."""
    from .testing import PrivateDaemon  # the plugin is loaded by every run of pytest

    with PrivateDaemon() as daemon:
        monkeypatch.setenv("OPS_SOCKET", daemon.socket)
        yield daemon
