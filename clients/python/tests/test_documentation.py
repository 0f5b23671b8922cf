"""Tests that the examples of the documentation work as described."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import opsd as ops
from opsd.testing import PrivateDaemon

REPOSITORY = Path(__file__).resolve().parents[3]
SOURCE = str(Path(ops.__file__).parent.parent)


def blocks() -> list[tuple[str, str, str]]:
    """Returns every example with its kind and the output that follows it."""
    found = []
    for page in ("docs/python.md", "clients/python/README.md"):
        text = (REPOSITORY / page).read_text()
        for match in re.finditer(r"```(python|pytest)\n(.*?)```\n(?:\n```output\n(.*?)```)?", text, re.S):
            found.append((match[1], match[2], match[3] or ""))
    return found


def test_the_examples_are_found() -> None:
    assert len(blocks()) >= 8


@pytest.mark.parametrize("number", range(len(blocks())))
def test_an_example_prints_what_the_page_says(opsd: PrivateDaemon, tmp_path: Path, number: int) -> None:
    kind, code, output = blocks()[number]
    if "joblib" in code and not os.environ.get("OPSD_REQUIRE_ALL"):
        pytest.importorskip("joblib")
    path = tmp_path / ("test_example.py" if kind == "pytest" else "example.py")
    path.write_text(code)
    command = [sys.executable, str(path)]
    if kind == "pytest":
        command[1:] = ["-m", "pytest", "-q", "-p", "opsd.pytest_plugin", "--rootdir", str(tmp_path), str(path)]
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    done = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    if kind == "python":
        assert (done.stdout, done.stderr) == (output, "")
