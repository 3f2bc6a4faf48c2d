"""Several processes that answer the requests of one address, and share the memory of what was loaded before.

The process that loaded the graphs accepts connections and hands each to the worker with the fewest. The workers are its
copies (fork), so that graphs, indices and compiled code take memory once. A worker that dies is replaced; only what it
was answering is lost. A change that a worker asks for, such as new weights, goes to all workers, in one order; it is
complete when all of them have made it. New workers make all changes anew before they get connections; changes that can
be joined into few are kept as these.
"""

from __future__ import annotations

import asyncio
import functools
import os
import selectors
import signal
import socket
import struct
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NoReturn

from vkssp.errors import QueryError
from vkssp.log import logger
from vkssp.server.protocol import at_once

_log = logger(__name__)
_HEADER = struct.Struct("!cQI")  # kind, number, length of what follows
#: Kinds of messages: a connection, a change, that all earlier changes have been sent, and the end to a worker; from a
#: worker that it has made these and is ready, that a connection has ended, that it asks for a change, and that it has
#: made one, or could not; to a worker that its change is complete, or has failed.
_CONNECTION, _CHANGE, _SENT, _END, _READY, _ENDED, _ASK, _MADE, _UNMADE, _COMPLETE, _FAILED = (
    bytes([c]) for c in b"CXSQREAMUDF"
)
#: Seconds before a worker that dies at once is replaced, and those in which workers have to end beyond their own limit.
_PAUSE_S, _KILL_S = 1.0, 5.0
_BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\nconnection: close\r\n"
    b'content-length: 56\r\n\r\n{"code":"TooManyRequests","message":"Too many connections"}'
)
_BUSY = _BUSY.replace(b"content-length: 56", b"content-length: %d" % len(_BUSY.partition(b"\r\n\r\n")[2]))

#: Bytes of changes beyond twice those of joined ones that are kept before they are joined again.
_JOIN_BYTES = 1 << 20
#: Files that a worker has open beside its connections, or may open.
_FILES = 64

#: Asks all workers for a change, or makes one; returns what there is to tell of it.
Change = Callable[[bytes], Awaitable[bytes]]
#: Makes the application of a worker, given a function that asks all workers for a change, and the number of the worker,
#: from 0, which its successor has as well if it dies; returns the application, and a function that makes changes.
MakeApp = Callable[[Change, int], tuple[Any, Change]]
#: Returns few changes that do the same as many.
Join = Callable[[list[bytes]], list[bytes]]


class ChangeRefusedError(Exception):
    """Change that cannot be made; all workers refuse it, and the text is for the one who asked."""


@dataclass(frozen=True)
class Serving:
    """How an application is served.

    Attributes
    ----------
    workers : int
        Number of processes.
    connections : int
        Most connections at a time, of all workers together; further ones get status 503.
    keep_alive_s : float
        Seconds that a connection stays without a request.
    graceful_s : float
        Seconds in which answers that have begun are finished at the end.
    """

    workers: int = 1
    connections: int = 4096
    keep_alive_s: int = 5
    graceful_s: int = 30


class _Messages:
    """Messages received in pieces over a stream."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[bytes, int, bytes]]:
        """Return the kind, number and content of the messages that are complete with more bytes."""
        self._bytes += data
        while len(self._bytes) >= _HEADER.size:
            kind, number, length = _HEADER.unpack_from(self._bytes)
            end = _HEADER.size + length
            if len(self._bytes) < end:
                return
            content = bytes(self._bytes[_HEADER.size : end])
            del self._bytes[:end]
            yield kind, number, content


def _message(kind: bytes, number: int = 0, content: bytes = b"") -> bytes:
    return _HEADER.pack(kind, number, len(content)) + content


#: Most bytes of an error of a child, which a pipe takes at once.
_ERROR_BYTES = 4096


# ---- the worker ----


class _Worker:
    """Event loop of a worker: connections and changes come from the first process, through one channel."""

    def __init__(self, channel: socket.socket, make: MakeApp, serving: Serving, number: int) -> None:
        self._channel, self._serving, self._make_app, self._number = channel, serving, make, number
        self._asked: dict[int, asyncio.Future[bytes]] = {}
        self._next, self._changes = 0, asyncio.Queue[tuple[int, bytes] | None]()
        self._sending = asyncio.Lock()

    async def ask(self, change: bytes) -> bytes:
        """Ask all workers for a change, and return what one of them tells of it when all have made it.

        Raises
        ------
        ChangeRefusedError
            If it cannot be made.
        RuntimeError
            If it failed for another reason.
        """
        self._next += 1
        done: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._asked[self._next] = done
        await self._send(_message(_ASK, self._next, change))
        return await done

    async def _send(self, message: bytes) -> None:
        async with self._sending:  # or parts of two messages might mix
            await asyncio.get_running_loop().sock_sendall(self._channel, message)

    async def _tell_end(self) -> None:
        with suppress(OSError):  # the first process was killed
            await self._send(_message(_ENDED))

    async def run(self) -> None:
        """Answer requests until the first process says that it is enough, or has ended."""
        import uvicorn

        app, make_change = self._make_app(self.ask, self._number)
        config = uvicorn.Config(
            app,
            lifespan="on",
            access_log=False,
            log_config=None,
            timeout_keep_alive=self._serving.keep_alive_s,
            timeout_graceful_shutdown=self._serving.graceful_s,
        )
        config.load()
        server = uvicorn.Server(config)
        server.lifespan = config.lifespan_class(config)
        await server.startup(sockets=[])  # which listens nowhere
        if server.should_exit:
            raise SystemExit(1)
        loop = asyncio.get_running_loop()
        protocol: Any = _counted(at_once(config.http_protocol_class, app), lambda: loop.create_task(self._tell_end()))
        factory = functools.partial(
            protocol, config=config, server_state=server.server_state, app_state=server.lifespan.state
        )
        changing = loop.create_task(self._change(make_change))
        reading = loop.create_task(self._read(server, factory))
        ticking = loop.create_task(server.main_loop())
        await asyncio.wait([reading, ticking, changing], return_when=asyncio.FIRST_COMPLETED)
        for task in (reading, ticking, changing):
            if task.done() and not task.cancelled() and task.exception() is not None:
                _log.error("a worker ends: %r", task.exception())
        await server.shutdown(sockets=[])
        for task in (reading, ticking, changing):
            task.cancel()

    async def _read(self, server: Any, factory: Callable[[], Any]) -> None:
        loop, messages = asyncio.get_running_loop(), _Messages()
        readable = asyncio.Event()
        loop.add_reader(self._channel, readable.set)
        descriptors: list[int] = []
        try:
            while True:
                await readable.wait()
                readable.clear()
                try:
                    data, found, *_ = socket.recv_fds(self._channel, 1 << 16, 64)
                except BlockingIOError:
                    continue
                if not data:  # the first process was killed
                    return
                readable.set()  # there may be more
                descriptors += found
                for kind, number, content in messages.feed(data):
                    if kind == _CONNECTION:
                        door = socket.socket(fileno=descriptors.pop(0))
                        door.setblocking(False)
                        with suppress(OSError):  # the client may have gone away
                            await loop.connect_accepted_socket(factory, door)
                    elif kind == _CHANGE:
                        await self._changes.put((number, content))
                    elif kind == _SENT:
                        await self._changes.put(None)
                    elif kind in (_COMPLETE, _FAILED):
                        done = self._asked.pop(number)
                        if done.done():  # whoever asked has gone away
                            continue
                        if kind == _COMPLETE:
                            done.set_result(content)
                        else:
                            name, _, text = content.decode().partition(": ")
                            is_refused = name == ChangeRefusedError.__name__
                            done.set_exception(
                                ChangeRefusedError(text) if is_refused else RuntimeError(f"{name}: {text}")
                            )
                    elif kind == _END:
                        server.should_exit = True
                        return
        finally:
            loop.remove_reader(self._channel)

    async def _change(self, make_change: Change) -> None:
        while True:
            change = await self._changes.get()
            if change is None:  # before the first connection: answers have the weights of all changes
                await self._send(_message(_READY))
                continue
            number, content = change
            try:
                told = await make_change(content)
                message = _message(_MADE, number, told)
            except Exception as problem:
                message = _message(_UNMADE, number, f"{type(problem).__name__}: {problem}".encode())
            await self._send(message)


def _counted(kind: type[Any], ended: Callable[[], object]) -> type[Any]:
    """Return a protocol that tells when its connection ends."""

    class Counted(kind):  # type: ignore[misc]
        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            ended()

    return Counted


# ---- the first process ----


@dataclass
class _Child:
    """Worker as the first process knows it: what it has, and the changes that it has not made yet."""

    pid: int
    number: int
    channel: socket.socket
    messages: _Messages = field(default_factory=_Messages)
    is_ready: bool = False
    connections: int = 0
    began: float = field(default_factory=time.monotonic)


@dataclass
class _Change:
    """Change under way: who asked for it under which number, and the workers that have to make it."""

    asker: _Child
    number: int
    content: bytes
    missing: set[int]
    told: bytes = b""
    failed: bool = False


class _Supervisor:
    """First process: accepts connections, orders changes, replaces workers that die."""

    def __init__(
        self, listening: socket.socket, make: MakeApp, serving: Serving, ready: Callable[[], None], join: Join
    ) -> None:
        self._listening, self._make, self._serving, self._ready = listening, make, serving, ready
        self._join, self._join_at = join, _JOIN_BYTES
        self._most = max(1, allow_files(serving.connections + _FILES) - _FILES)
        self._selector = selectors.DefaultSelector()
        self._children: dict[int, _Child] = {}
        self._made: list[bytes] = []
        self._made_bytes = 0
        self._under_way: dict[int, _Change] = {}
        self._number, self._ending, self._told = 0, False, False
        self._replacing: list[tuple[float, int]] = []  # when, and with which number

    def run(self) -> None:
        """Serve until SIGTERM or SIGINT."""
        wake, woken = socket.socketpair()
        woken.setblocking(False)
        wake.setblocking(False)
        before = {number: signal.signal(number, self._end) for number in (signal.SIGTERM, signal.SIGINT)}
        previous = signal.set_wakeup_fd(wake.fileno())
        self._listening.setblocking(False)
        self._selector.register(woken, selectors.EVENT_READ, lambda: woken.recv(64))
        try:
            for number in range(self._serving.workers):
                self._begin(number)
            self._serve()
        finally:
            signal.set_wakeup_fd(previous)
            for number, handler in before.items():
                signal.signal(number, handler)
            self._stop()
            self._selector.close()
            wake.close()
            woken.close()

    def _end(self, *_: Any) -> None:
        self._ending = True

    def _serve(self) -> None:
        while not self._ending:
            timeout = None
            if self._replacing:
                timeout = max(0.0, min(self._replacing)[0] - time.monotonic())
            for key, _ in self._selector.select(timeout):
                key.data()
            now = time.monotonic()
            for due in [one for one in self._replacing if one[0] <= now]:
                self._replacing.remove(due)
                self._begin(due[1])

    def _begin(self, worker: int) -> None:
        """Start a worker."""
        mine, its = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            mine.close()
            self._become_worker(its, worker)
        its.close()
        child = self._children[pid] = _Child(pid, worker, mine)
        self._join_changes()
        for number, content in enumerate(self._made):
            mine.sendall(_message(_CHANGE, (1 << 63) + number, content))  # nobody waits for these
        for number, change in self._under_way.items():
            change.missing.add(pid)
            mine.sendall(_message(_CHANGE, number, change.content))
        mine.sendall(_message(_SENT))
        self._selector.register(mine, selectors.EVENT_READ, lambda: self._hear(child))

    def _join_changes(self) -> None:
        self._made = self._join(self._made)
        self._made_bytes = sum(map(len, self._made))
        self._join_at = 2 * self._made_bytes + _JOIN_BYTES

    def _become_worker(self, channel: socket.socket, number: int) -> NoReturn:
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all; the first process tells workers
            for child in self._children.values():
                child.channel.close()
            self._selector.close()
            self._listening.close()
            channel.setblocking(False)
            run_loop(_Worker(channel, self._make, self._serving, number).run())
            status = 0
        except BaseException as error:
            _log.error("a worker failed: %r", error)
        finally:
            os._exit(status)  # nothing of the first process's is to be closed here

    def _accept(self) -> None:
        while True:
            try:
                door, _ = self._listening.accept()
            except BlockingIOError:
                return
            except OSError as error:  # too many open files, or the client has gone away
                _log.warning("a connection was not accepted: %s", error)
                return
            with door:
                able = [child for child in self._children.values() if child.is_ready and child.connections < self._most]
                able.sort(key=lambda child: child.connections)
                total = sum(child.connections for child in self._children.values())
                if total >= self._serving.connections or not any(self._hand_over(door, one) for one in able):
                    with suppress(OSError):
                        door.setblocking(False)
                        door.send(_BUSY)

    @staticmethod
    def _hand_over(door: socket.socket, child: _Child) -> bool:
        """Hand a connection to a worker; return False if the worker has just died."""
        with suppress(OSError):
            socket.send_fds(child.channel, [_message(_CONNECTION)], [door.fileno()])
            child.connections += 1
            return True
        return False

    def _hear(self, child: _Child) -> None:
        try:
            data = child.channel.recv(1 << 16)
        except OSError:
            data = b""
        if not data:
            self._bury(child)
            return
        for kind, number, content in child.messages.feed(data):
            if kind == _READY:
                child.is_ready = True
                if not self._told and all(one.is_ready for one in self._children.values()):
                    self._told = True  # until now clients wait
                    self._selector.register(self._listening, selectors.EVENT_READ, self._accept)
                    self._ready()
            elif kind == _ENDED:
                child.connections -= 1
            elif kind == _ASK:
                self._number += 1
                change = _Change(child, number, content, set(self._children))
                self._under_way[self._number] = change
                for one in list(self._children.values()):
                    self._tell(one, _message(_CHANGE, self._number, content))
            elif kind in (_MADE, _UNMADE) and number in self._under_way:
                change = self._under_way[number]
                if not change.failed:
                    change.told, change.failed = content, kind == _UNMADE
                change.missing.discard(child.pid)
                self._complete()

    def _complete(self) -> None:
        """End the changes that all workers have made, in their order."""
        for number in sorted(self._under_way):
            change = self._under_way[number]
            if change.missing:
                return
            del self._under_way[number]
            if not change.failed:
                self._made.append(change.content)
                self._made_bytes += len(change.content)
                if self._made_bytes > self._join_at:
                    self._join_changes()
            self._tell(change.asker, _message(_FAILED if change.failed else _COMPLETE, change.number, change.told))

    def _tell(self, child: _Child, message: bytes) -> None:
        with suppress(OSError):  # a worker that has just died
            child.channel.sendall(message)

    def _bury(self, child: _Child) -> None:
        """Forget a worker that has ended, and replace it unless all are to end."""
        self._selector.unregister(child.channel)
        child.channel.close()
        del self._children[child.pid]
        _, status = os.waitpid(child.pid, 0)
        for change in self._under_way.values():
            change.missing.discard(child.pid)
        self._complete()
        if not self._ending:
            _log.error(
                "worker %d ended with status %d; another one starts", child.pid, os.waitstatus_to_exitcode(status)
            )
            early = time.monotonic() - child.began < _PAUSE_S
            self._replacing.append((time.monotonic() + (_PAUSE_S if early else 0.0), child.number))

    def _stop(self) -> None:
        """End all workers: let them finish what they have begun, then kill them."""
        self._listening.close()
        for child in self._children.values():
            self._tell(child, _message(_END))
        end = time.monotonic() + self._serving.graceful_s + _KILL_S
        while self._children:
            for pid in list(self._children):
                if time.monotonic() > end:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                if os.waitpid(pid, os.WNOHANG)[0] or time.monotonic() > end + 1.0:
                    self._children.pop(pid).channel.close()
            time.sleep(0.01)


def in_child(work: Callable[[], object]) -> None:
    """Do a work in a child process, which ends then.

    Raises
    ------
    QueryError
        If the work raises an error, with its text.
    """
    told, tells = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(told)
            work()
        except BaseException as error:
            os.write(tells, (str(error) or repr(error)).encode()[:_ERROR_BYTES])
        finally:
            os._exit(0)
    os.close(tells)
    with open(told, "rb") as file:
        text = file.read().decode(errors="replace")
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if text or status:
        raise QueryError(text or f"a process that tried the device ended with status {status}")


def run_loop(main: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine in an event loop of uvloop if it is installed, which is faster, or else of asyncio."""
    try:
        import uvloop
    except ImportError:
        asyncio.run(main)
    else:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(main)


def allow_files(count: int) -> int:
    """Allow this process, and those that it starts, a number of open files, or as many as the system lets it."""
    import resource  # which not all systems have

    soft, hard = (
        count if limit == resource.RLIM_INFINITY else limit for limit in resource.getrlimit(resource.RLIMIT_NOFILE)
    )
    allowed = min(count, hard)
    if soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    return max(soft, allowed)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address.

    Raises
    ------
    OSError
        If the address is in use, or not of this machine.
    """
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(1024)
    except BaseException:
        listening.close()
        raise
    return listening


def serve(
    listening: socket.socket,
    make: MakeApp,
    serving: Serving,
    ready: Callable[[], None],
    join: Join = lambda changes: changes,
) -> None:
    """Serve an application by several processes until SIGTERM or SIGINT.

    Parameters
    ----------
    listening : socket.socket
        Socket that listens; it is closed at the end.
    make : callable
        Makes the application in each worker; see `MakeApp`.
    serving : Serving
        How it is served.
    ready : callable
        Called once when all workers are ready.
    join : callable, optional
        Joins changes; by default all of them are kept, for workers that start later.
    """
    _Supervisor(listening, make, serving, ready, join).run()
