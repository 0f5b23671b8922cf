"""Tests of wheels and of the pytest plugin in an installed package."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent


def pip(*arguments: str) -> None:
    """Runs pip without a network: no server listens at the address of the index."""
    environment = {**os.environ, "PIP_INDEX_URL": "http://127.0.0.1:1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pip", *arguments], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("isolation", [[], ["--no-build-isolation"]])
def test_a_wheel_is_built_without_a_network(tmp_path: Path, isolation: list[str]) -> None:
    pip("wheel", "--no-index", "--no-deps", *isolation, "-w", str(tmp_path), str(PACKAGE))
    [wheel] = tmp_path.glob("opsd-*-py3-none-any.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    sources = {f"opsd/{path.name}" for path in (PACKAGE / "src/opsd").iterdir() if path.suffix in (".py", ".typed")}
    assert sources <= names
    assert {name.split("/")[0] for name in names - sources} == {"opsd-0.1.0.dist-info"}


def test_an_installed_wheel_has_the_fixture_and_runs_functions(tmp_path: Path) -> None:
    pip("install", "--no-index", "--no-deps", "--target", str(tmp_path / "site"), str(PACKAGE))
    test = tmp_path / "test_mine.py"
    test.write_text(
        "import opsd as ops\n"
        "def test_it(opsd):\n"
        "    assert ops.__file__.startswith(" + repr(str(tmp_path)) + ")\n"
        "    with ops.OpsExecutor() as executor:\n"
        "        assert executor.submit(pow, 2, 5).result(60) == 32\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(tmp_path), str(test)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_the_source_archive_builds_the_same_wheel(tmp_path: Path) -> None:
    code = "import opsd_backend, sys; print(opsd_backend.build_sdist(sys.argv[1]))"
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE / "backend")}
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], env=environment, check=True, capture_output=True)
    [archive] = tmp_path.glob("*.tar.gz")
    wheels = []
    for source in (archive, PACKAGE):
        directory = tmp_path / source.stem
        pip("wheel", "--no-index", "--no-deps", "-w", str(directory), str(source))
        [wheel] = directory.glob("*.whl")
        wheels.append(wheel.read_bytes())
    assert wheels[0] == wheels[1]
