"""Build backend of this package (PEP 517, PEP 660). It uses only the standard library."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# A fixed time, so that the same sources always give the same archive.
EPOCH = (1980, 1, 1, 0, 0, 0)


def _project() -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return project


def _stem() -> str:
    project = _project()
    return f"{project['name']}-{project['version']}"


def _metadata() -> str:
    project = _project()
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {project['name']}",
        f"Version: {project['version']}",
        f"Summary: {project['description']}",
        f"License: {project['license']['text']}",
        f"Requires-Python: {project['requires-python']}",
        "Description-Content-Type: text/markdown",
    ]
    readme = (ROOT / "README.md").read_text()
    return "\n".join(lines) + "\n\n" + readme


def _entry_points() -> str:
    groups = _project()["entry-points"]
    return "\n".join(
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in entries.items())
        for group, entries in groups.items()
    )


def _dist_info() -> dict[str, bytes]:
    tag = "Wheel-Version: 1.0\nGenerator: opsd_backend\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    texts = {"METADATA": _metadata(), "WHEEL": tag, "entry_points.txt": _entry_points()}
    return {f"{_stem()}.dist-info/{name}": text.encode() for name, text in texts.items()}


def _package() -> dict[str, bytes]:
    source = ROOT / "src"
    files = [path for path in sorted(source.rglob("*")) if path.suffix == ".py" or path.name == "py.typed"]
    return {str(path.relative_to(source)): path.read_bytes() for path in files}


def _write_wheel(directory: str, files: dict[str, bytes]) -> str:
    name = f"{_stem()}-py3-none-any.whl"
    record = ""
    with zipfile.ZipFile(os.path.join(directory, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in files.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record += f"{path},sha256={digest},{len(content)}\n"
            _add(wheel, path, content)
        path = f"{_stem()}.dist-info/RECORD"
        _add(wheel, path, f"{record}{path},,\n".encode())
    return name


def _add(wheel: zipfile.ZipFile, path: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(path, EPOCH)
    entry.external_attr = 0o100644 << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    wheel.writestr(entry, content)


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    """Builds a wheel (PEP 517)."""
    return _write_wheel(wheel_directory, {**_package(), **_dist_info()})


def build_editable(wheel_directory: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    """Builds a wheel that refers to the sources (PEP 660)."""
    return _write_wheel(wheel_directory, {"opsd-editable.pth": f"{ROOT / 'src'}\n".encode(), **_dist_info()})


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    """Builds a source archive (PEP 517)."""
    name = f"{_stem()}.tar.gz"
    files = {"PKG-INFO": _metadata().encode()}
    for path in ["pyproject.toml", "README.md", "backend/opsd_backend.py"]:
        files[path] = (ROOT / path).read_bytes()
    files.update((f"src/{path}", content) for path, content in _package().items())
    with tarfile.open(os.path.join(sdist_directory, name), "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for path, content in files.items():
            entry = tarfile.TarInfo(f"{_stem()}/{path}")
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))
    return name
