"""Tests that the generated files match the interface file."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import types
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

import opsd
from opsd import _methods, _wire, messages

PACKAGE = Path(__file__).resolve().parent.parent
INTERFACE = PACKAGE.parent.parent / "Sources/OpsWire/org.opsd.Control.varlink"


def test_the_generated_files_match_the_interface_file() -> None:
    checked = subprocess.run(
        [sys.executable, str(PACKAGE / "generate"), "--check"], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


SAMPLE = """
# A sample.
interface org.opsd.Sample

# A thing with types written out within it.
type Thing (name: string, parts: [](left, right), owner: ?(uid: int, since: ?string), sizes: [string]int)

# Makes things.
method Make(things: []string, from: ?int) -> (things: []Thing, by: [string]Thing)
method Stop() -> ()

error Broken (kind: (soft, hard), side: ?(left, right), thing: ?Thing)
"""


def test_the_generator_accepts_nested_types() -> None:
    loader = SourceFileLoader("generate", str(PACKAGE / "generate"))
    generate = importlib.util.module_from_spec(importlib.util.spec_from_loader("generate", loader))  # type: ignore[arg-type]
    sys.modules["generate"] = generate  # its dataclasses look up their module here
    loader.exec_module(generate)
    writer = generate.Writer(generate.Parser(SAMPLE).items(), [])
    text = writer.messages().replace("from ._wire", "from opsd._wire")
    module = types.ModuleType("sample")
    sys.modules["sample"] = module
    exec(text, module.__dict__)  # the generated text
    reply = module.MakeReply.from_json(
        {
            "things": [{"name": "a", "parts": ["left", "up"], "owner": {"uid": 7}, "sizes": {"x": 1}}],
            "by": {"k": {"name": "b", "parts": [], "sizes": {}}},
        }
    )
    [thing] = reply.things
    assert thing.parts[0] is module.ThingParts.left
    assert thing.parts[1] == "up"
    assert (thing.owner.uid, thing.owner.since, thing.sizes) == (7, None, {"x": 1})
    assert reply.by["k"].owner is None
    error = module.Broken({"kind": "hard", "thing": {"name": "c", "parts": [], "sizes": {}}})
    assert error.side is None
    assert not hasattr(module, "BrokenSide")  # the values are the same as those of ThingParts
    assert (error.kind, error.thing.name) == (module.BrokenKind.hard, "c")
    methods = writer.methods()
    assert "def make(self, things: Sequence[str], *, from_: int | None = None) -> MakeReply:" in methods
    assert "async def stop(self) -> None:" in methods


def test_both_clients_have_every_method_and_there_is_a_class_for_every_error() -> None:
    text = INTERFACE.read_text()
    for method in re.findall(r"^method (\w+)", text, re.M):
        name = re.sub(r"(?<!^)([A-Z])", r"_\1", method).lower()
        name = "watch_stream" if name == "watch" else name
        assert hasattr(_methods.Methods, name)
        assert hasattr(_methods.AsyncMethods, name)
    for error in re.findall(r"^error (\w+)", text, re.M):
        assert getattr(messages, error).name_on_wire == f"org.opsd.Control.{error}"


def test_an_enumeration_accepts_values_of_a_newer_daemon() -> None:
    kind = messages.ReasonKind("weather")
    assert kind == "weather"
    assert kind.value == "weather"
    assert kind not in list(messages.ReasonKind)
    assert messages.ReasonKind("pool") is messages.ReasonKind.pool


def test_a_reply_accepts_members_of_a_newer_daemon() -> None:
    known = {"pending": 1, "ready": 2, "scheduled": 3, "held": 4, "executing": 5, "finished": 6}
    counts = messages.Counts.from_json({**known, "dreaming": 7})
    assert counts == messages.Counts(pending=1, ready=2, scheduled=3, held=4, executing=5, finished=6)


def test_an_unknown_error_keeps_its_name_and_parameters() -> None:
    error = _wire.error_of("org.opsd.Control.Tired", {"message": "later"})
    assert isinstance(error, opsd.UnknownCallError)
    assert error.name == "org.opsd.Control.Tired"
    assert str(error) == "Tired: later"


def test_an_error_with_other_members_than_expected_is_an_unknown_error() -> None:
    assert isinstance(_wire.error_of("org.opsd.Control.Cycle", {}), opsd.UnknownCallError)


@pytest.mark.parametrize(
    ("name", "parameters"), [("InvalidOperation", {"problems": [3]}), ("Cycle", {"path": [1]}), ("Cycle", {"path": 5})]
)
def test_an_error_with_members_of_other_types_has_a_text(name: str, parameters: dict[str, object]) -> None:
    assert str(_wire.error_of(f"org.opsd.Control.{name}", parameters)).startswith(name)


def test_a_reply_that_is_nested_too_deeply_is_an_error() -> None:
    with pytest.raises(opsd.ProtocolError, match="an invalid reply"):
        _wire.decode(b"[" * 100_000)


def test_every_public_name_can_be_imported() -> None:
    for name in opsd.__all__:
        assert getattr(opsd, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'Clint'"):
        opsd.Clint  # noqa: B018


def test_a_message_that_is_too_large_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_wire, "FRAME_BYTES", 100)
    with pytest.raises(opsd.ProtocolError, match="a message has"):
        _wire.encode("Show", {"ref": "x" * 200})
