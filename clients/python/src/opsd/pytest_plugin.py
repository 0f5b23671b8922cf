"""The pytest fixture `opsd`: a private daemon without any earlier state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .testing import PrivateDaemon


@pytest.fixture
def opsd(monkeypatch: pytest.MonkeyPatch) -> Iterator[PrivateDaemon]:
    """A private daemon for one test. $OPS_SOCKET is its socket, so that clients and opsctl use it."""
    from .testing import PrivateDaemon  # imported here, because every run of pytest loads the plugin

    with PrivateDaemon() as daemon:
        monkeypatch.setenv("OPS_SOCKET", daemon.socket)
        yield daemon
