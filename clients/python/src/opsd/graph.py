"""Builder of graphs: operations, groups and the dependencies between them."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar, Unpack

from . import aio
from ._keys import CommandKeys, DefaultKeys, Duration, GroupKeys, Observers, as_json, represented
from ._wire import ConnectionFailed
from .client import TEMPORARY, Client, Reconnection
from .messages import Ended, Event, Selection, SubmitReply, WaitReply

ClientType = TypeVar("ClientType", Client, aio.Client)


class Node:
    """An operation of a graph that has not been submitted. Other operations can name it in `after`."""

    def __init__(self, name: str, keys: dict[str, Any]) -> None:
        self.name = name
        self.keys = keys

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    def to_json(self) -> dict[str, Any]:
        """Returns the operation in the format of a graph file."""
        return {"name": self.name, **self.keys}


class _Container:
    """Operations in the order in which they were added."""

    def __init__(self, names: set[str]) -> None:
        self._names = names
        self._nodes: list[Node] = []

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[Node]:
        return iter(self._nodes)

    def add(
        self, command: Sequence[str] | None = None, *, shell: str | None = None, **keys: Unpack[CommandKeys]
    ) -> Node:
        """Adds an operation that runs a command (`["make", "-j8"]`) or a line of `/bin/sh`, or fetches a file (`http`).

        A name is optional.
        """
        if isinstance(command, str):
            raise TypeError(f"a command is a list of words; did you mean shell={command!r}?")
        values = as_json(keys, CommandKeys, "an operation")
        if command is not None:
            values["command"] = [str(word) for word in command]
        if shell is not None:
            values["shell"] = shell
        contents = len(values.keys() & {"command", "shell", "http"})
        # `extra` may contain what a newer daemon can do instead.
        if contents > 1 or (contents == 0 and not keys.get("extra")):
            raise TypeError("an operation has exactly one of command, shell and http")
        return self._append(Node(self._name(values), values))

    def group(self, *, limit: int | None = None, **keys: Unpack[GroupKeys]) -> Group:
        """Adds a group, to which operations can be added. At most `limit` of them execute at once."""
        values = as_json(keys, GroupKeys, "a group")
        if limit is not None:
            values["limit"] = limit
        group = Group(self._name(values), values, self._names)
        self._append(group)
        return group

    def _append(self, node: Node) -> Node:
        self._nodes.append(node)
        return node

    def _name(self, values: dict[str, Any]) -> str:
        name = values.pop("name", None)
        if name is None:
            number = len(self._names) + 1
            while (name := f"op-{number}") in self._names:
                number += 1
        if name in self._names:
            raise ValueError(f"the graph has an operation {name!r} already")
        self._names.add(name)
        return str(name)


class Group(Node, _Container):
    """An operation that contains other operations."""

    def __init__(self, name: str, keys: dict[str, Any], names: set[str]) -> None:
        Node.__init__(self, name, keys)
        _Container.__init__(self, names)

    def to_json(self) -> dict[str, Any]:
        """Returns the group and all operations in it in the format of a graph file."""
        return {"name": self.name, **self.keys, "operations": [node.to_json() for node in self]}


class Graph(_Container):
    """A graph of operations. Either all of it is submitted or nothing.

    `order` and `observers` apply to the graph as a whole: `observers` are commands that run once, when the graph has
    finished (`finish`) and at its first failure (`failure`). The other keys are defaults for its operations.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        order: Literal["submission", "longestPath"] | None = None,
        observers: Observers | None = None,
        **defaults: Unpack[DefaultKeys],
    ) -> None:
        super().__init__(set())
        self.name = name
        self.order = order
        self.observers = represented(observers, "a graph", "observers")
        self.defaults = as_json(defaults, DefaultKeys, "a graph")

    def to_json(self) -> dict[str, Any]:
        """Returns the graph as a file for `opsctl submit -f`."""
        keys: dict[str, Any] = {
            "name": self.name,
            "order": self.order,
            "observers": self.observers,
            "defaults": self.defaults or None,
            "operations": [node.to_json() for node in self],
        }
        return {key: value for key, value in keys.items() if value is not None}

    def submit(
        self, client: Client | None = None, *, key: str | None = None, dry_run: bool | None = None
    ) -> SubmittedGraph:
        """Submits the graph. With the `key` of an earlier submission, returns that one and submits nothing."""
        if client is None:
            with Client() as own:
                return self.submit(own, key=key, dry_run=dry_run)
        before = client.status().last_seq
        reply = client.submit_operations(**self.to_json(), key=key, dry_run=dry_run, list=True)
        return SubmittedGraph(client, reply, before)

    async def submit_async(
        self, client: aio.Client, *, key: str | None = None, dry_run: bool | None = None
    ) -> AsyncSubmittedGraph:
        """Submits the graph from a coroutine."""
        before = (await client.status()).last_seq
        reply = await client.submit_operations(**self.to_json(), key=key, dry_run=dry_run, list=True)
        return AsyncSubmittedGraph(client, reply, before)


class _Submitted(Generic[ClientType]):
    """Ids of a stored graph and of its operations."""

    client: ClientType

    def __init__(self, client: ClientType, reply: SubmitReply, before: int) -> None:
        self.client = client
        # Last event before the graph was stored.
        self._before = 0 if reply.existing else before
        self.graph = reply.graph
        self.existing = reply.existing
        self.count = reply.count
        self.ids: Mapping[str, int] = {item.name: item.id for item in reply.operations or [] if item.name is not None}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.graph} of {self.count}>"

    def __getitem__(self, operation: str | Node) -> int:
        """Returns the id of an operation of the graph."""
        return self.ids[operation if isinstance(operation, str) else operation.name]

    @property
    def selection(self) -> Selection:
        """Selection of all operations of the graph."""
        return Selection(graph=self.graph)


class SubmittedGraph(_Submitted[Client]):
    """A stored graph, with the ids of its operations by name."""

    def watch(self, *, since: int | None = None, patience: float = 60.0) -> Iterator[Event]:
        """Yields the events of the graph from its submission on, without end and without gaps."""
        return self.client.watch(
            since=self._before if since is None else since, selection=self.selection, patience=patience
        )

    def wait(self, timeout: Duration | None = None, *, patience: float = 60.0) -> WaitReply:
        """Waits until nothing in the graph is unfinished; raises `TimedOut` after `timeout`.

        A lost connection is opened again, also to a restarted daemon, for up to `patience` seconds. A timeout that is
        text starts again then.
        """
        retry = Reconnection(patience)
        limit = _Deadline(timeout)
        while True:
            ended: dict[int, Ended] = {}
            last: WaitReply | None = None
            try:
                if retry.is_waiting:
                    self.client.status()  # answers at once; the first reply of the stream may take long
                    retry.succeeded()
                for last in self.client.wait_stream(self.selection, timeout=limit.remaining()):
                    ended.update((one.id, one) for one in last.ended)
                return _complete(last, ended)
            except TEMPORARY as error:
                retry.failed(error)


class AsyncSubmittedGraph(_Submitted[aio.Client]):
    """A stored graph, for coroutines."""

    def watch(self, *, since: int | None = None, patience: float = 60.0) -> AsyncIterator[Event]:
        """Yields the events of the graph from its submission on, without end and without gaps."""
        return self.client.watch(
            since=self._before if since is None else since, selection=self.selection, patience=patience
        )

    async def wait(self, timeout: Duration | None = None, *, patience: float = 60.0) -> WaitReply:
        """Waits until nothing in the graph is unfinished; raises `TimedOut` after `timeout`.

        A lost connection is opened again, also to a restarted daemon, for up to `patience` seconds. A timeout that is
        text starts again then.
        """
        import asyncio

        retry = Reconnection(patience)
        limit = _Deadline(timeout)
        while True:
            ended: dict[int, Ended] = {}
            last: WaitReply | None = None
            try:
                if retry.is_waiting:
                    await self.client.status()  # answers at once; the first reply of the stream may take long
                    retry.succeeded()
                async for last in self.client.wait_stream(self.selection, timeout=limit.remaining()):
                    ended.update((one.id, one) for one in last.ended)
                return _complete(last, ended)
            except TEMPORARY as error:
                await asyncio.sleep(retry.delay(error))


class _Deadline:
    """A timeout that continues after a lost connection, unless it is text, which only the daemon can read."""

    def __init__(self, timeout: Duration | None) -> None:
        self._text = timeout if isinstance(timeout, str) else None
        if timeout is None or isinstance(timeout, str):
            self._end = None
        else:
            seconds = timeout if isinstance(timeout, int | float) else timeout.total_seconds()
            self._end = time.monotonic() + seconds

    def remaining(self) -> str | None:
        if self._end is None:
            return self._text
        left = self._end - time.monotonic()
        return f"{max(1, round(left * 1000))}ms"


def _complete(last: WaitReply | None, ended: dict[int, Ended]) -> WaitReply:
    """Returns the ends of all replies as one reply. Replies before the last one may have a `remaining` of 0, too."""
    if last is None or last.remaining > 0:
        raise ConnectionFailed("the daemon ended the wait")
    return WaitReply(ended=[ended[id] for id in sorted(ended)], remaining=0, succeeded=last.succeeded)
