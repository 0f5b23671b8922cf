"""Varlink messages. Each is a JSON object followed by a NUL byte."""

from __future__ import annotations

import json
import select
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, ClassVar, Self

JSONObject = Mapping[str, Any]

INTERFACE = "org.opsd.Control."
# The daemon's maximum size of a message, in both directions.
FRAME_BYTES = 64 << 20

# Exceptions that reading a message raises if its members are not those of the interface.
MISMATCH = (KeyError, TypeError, AttributeError, ValueError)

_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


class OpsError(Exception):
    """Base of every error of this package."""


class ConnectionFailed(OpsError, ConnectionError):
    """The daemon cannot be reached, or it closed the connection before its reply."""


class CallTimeout(OpsError, TimeoutError):
    """No complete reply came within the timeout of the client. The call may have had its effect."""


class ProtocolError(OpsError):
    """A message is too large or does not match the interface."""


class CallError(OpsError):
    """An error reply. Each error of the interface has a subclass whose attributes are the members of the error."""

    name_on_wire: ClassVar[str] = ""

    def __init__(self, parameters: JSONObject) -> None:
        self.parameters = dict(parameters)
        super().__init__(parameters)

    def __str__(self) -> str:
        return describe(self.name_on_wire, self.parameters)


class UnknownCallError(CallError):
    """An error reply that this version of the package does not know."""

    def __init__(self, name: str, parameters: JSONObject) -> None:
        super().__init__(parameters)
        self.name = name
        self.args = (name, parameters)

    def __str__(self) -> str:
        return describe(self.name, self.parameters)


def describe(name: str, parameters: JSONObject) -> str:
    """Returns an error reply as one sentence."""
    short = name.rpartition(".")[2]
    problems = parameters.get("problems")
    if isinstance(problems, list):
        texts = []
        for problem in problems:
            if not isinstance(problem, Mapping):
                continue
            where = [str(problem[key]) for key in ("name", "key") if problem.get(key) is not None]
            texts.append(": ".join([*where, str(problem.get("message"))]))
        return f"{short}: " + "; ".join(texts)
    if "message" in parameters:
        return f"{short}: {parameters['message']}"
    path = parameters.get("path")
    if isinstance(path, list):
        category = parameters.get("category")
        return f"{short}: " + " -> ".join(map(str, path)) + (f" (category {category})" if category else "")
    if short == "NotFound":
        nearest = parameters.get("nearest")
        hint = f"; did you mean {nearest!r}?" if nearest else ""
        return f"{short}: there is no {parameters.get('kind')} {parameters.get('name')!r}{hint}"
    words = ", ".join(f"{key} {value}" for key, value in parameters.items())
    return f"{short}: {words}" if words else short


def is_readable(descriptor: int) -> bool:
    """Returns whether the peer of a socket has sent something or has closed the connection."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


class OpenEnum(StrEnum):
    """An enumeration of the interface. An unknown value of a newer daemon becomes another member."""

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        if not isinstance(value, str):
            return None
        member = str.__new__(cls, value)
        member._name_ = value
        member._value_ = value
        return member


def size(value: Any) -> int:
    """Returns the number of characters of a value in a message."""
    return len(_encode(value))


def encode(method: str, parameters: dict[str, Any], *, more: bool = False) -> bytes:
    """Returns a call as bytes. Parameters that are None are left out."""
    message: dict[str, Any] = {
        "method": method if "." in method else INTERFACE + method,
        "parameters": {key: value for key, value in parameters.items() if value is not None},
    }
    if more:
        message["more"] = True
    try:
        frame = _encode(message).encode()
    except UnicodeEncodeError:
        # A file name that is not valid UTF-8 contains lone surrogates, which JSON cannot represent.
        raise ProtocolError(f"{method}: a text is not valid UTF-8") from None
    if len(frame) > FRAME_BYTES:
        raise ProtocolError(f"{method}: a message has {len(frame)} bytes; the daemon accepts at most {FRAME_BYTES}")
    return frame + b"\0"


def decode(frame: bytes | bytearray) -> tuple[JSONObject, bool]:
    """Returns the parameters of a reply and whether another reply follows. Raises an exception for an error reply."""
    try:
        reply = json.loads(frame)
        parameters: JSONObject = reply.get("parameters") or {}
        error = reply.get("error")
        continues = bool(reply.get("continues", False))
        if not isinstance(parameters, Mapping) or not isinstance(error, str | None):
            raise TypeError("a member of the reply has another type")
    except (ValueError, TypeError, AttributeError, RecursionError) as wrong:
        raise ProtocolError(f"the daemon sent an invalid reply: {bytes(frame[:80])!r}") from wrong
    if error is None:
        return parameters, continues
    raise error_of(error, parameters)


def error_of(name: str, parameters: JSONObject) -> CallError:
    """Returns the exception for an error reply."""
    from .messages import ERRORS

    known = ERRORS.get(name)
    if known is not None:
        try:
            return known(parameters)
        except MISMATCH:
            pass  # the error has other members than this version knows
    return UnknownCallError(name, parameters)
