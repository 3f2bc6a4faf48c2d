"""Resident process behind executables named as OSRM's, so that each of them does not start Python and vkssp anew."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from tools import Call, run

#: Seconds without a caller after which the process ends.
_IDLE_S = 120.0


class _Callers:
    """Number of callers, and when the last one left."""

    def __init__(self) -> None:
        self.number, self.since, self.lock = 0, time.monotonic(), threading.Lock()

    def add(self, change: int) -> None:
        with self.lock:
            self.number, self.since = self.number + change, time.monotonic()

    @property
    def gone(self) -> bool:
        with self.lock:
            return self.number == 0 and time.monotonic() - self.since > _IDLE_S


def _answer(door: socket.socket, callers: _Callers) -> None:
    """Run the tool that a caller asks for, and send its output and its status; see `client`."""
    writing = threading.Lock()

    def send(kind: bytes, said: str) -> None:
        content = said.encode()
        with writing, suppress(OSError):  # the caller may have gone away
            door.sendall(kind + len(content).to_bytes(4, "big") + content)

    with door, door.makefile("rb") as stream:
        try:
            length = int.from_bytes(stream.read(4), "big")
            fields = stream.read(length).decode(errors="surrogateescape").split("\0")
            if len(fields) < 3:
                return
            tool, folder, count = fields[0], Path(fields[1]), int(fields[2])
            environment = dict(pair.split("=", 1) for pair in fields[3 : 3 + count])
            kinds = {"stdout": b"O", "stderr": b"E"}
            call = Call(fields[3 + count :], folder, environment, lambda where, text: send(kinds[where], text))

            def watch() -> None:
                stream.read(1)  # ends when the caller closes its side, which is how it asks the tool to end
                call.ended.set()

            threading.Thread(target=watch, daemon=True).start()
            send(b"S", str(run(tool, call)))
        finally:
            callers.add(-1)


def main(folder: Path) -> None:
    """Answer callers at a socket in a folder until there were none for a while."""
    path, callers = folder / "socket", _Callers()
    listening = socket.socket(socket.AF_UNIX)
    own = folder / f"socket.{os.getpid()}"
    listening.bind(str(own))
    listening.listen(64)
    listening.settimeout(5.0)
    try:
        os.link(own, path)  # fails if another process was faster
    except FileExistsError:
        probe = socket.socket(socket.AF_UNIX)
        try:
            probe.connect(str(path))
            return
        except OSError:  # left over from a process that was killed
            os.replace(own, path)
        finally:
            probe.close()
    finally:
        own.unlink(missing_ok=True)
    identity = os.stat(path).st_ino
    while not callers.gone:
        try:
            door, _ = listening.accept()
        except TimeoutError:
            if not path.exists() or os.stat(path).st_ino != identity:
                return
            continue
        door.settimeout(None)
        callers.add(1)
        threading.Thread(target=_answer, args=(door, callers), daemon=True).start()
    path.unlink(missing_ok=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
