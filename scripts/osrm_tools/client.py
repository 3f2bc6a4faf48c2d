"""Door of an executable named as one of OSRM's: hands its command line to the resident process, and its output back.

Features of OSRM start thousands of these, so that it imports only what starts at once. The first one starts the
resident process, which ends by itself when nothing asked it for a while.
"""

import os
import sys

# Without the modules above them, which take longer to import than everything else here.
from _signal import SIGINT, SIGTERM, signal
from _socket import AF_UNIX, SHUT_WR, SOCK_STREAM, socket
from time import monotonic, sleep

_START_S = 120.0


def _connected(folder: str) -> socket:
    """Return a connection to the resident process, which is started if there is none."""
    path, end, is_started = os.path.join(folder, "socket"), monotonic() + _START_S, False
    while True:
        door = socket(AF_UNIX, SOCK_STREAM)
        try:
            door.connect(path)
            return door
        except OSError:
            door.close()
        if not is_started:
            is_started = True
            _start(folder)
        if monotonic() > end:
            sys.exit(f"the resident process does not answer; see {os.path.join(folder, 'resident.log')}")
        sleep(0.02)


def _start(folder: str) -> None:
    import subprocess

    with open(os.path.join(folder, "python")) as file:
        python = file.read()
    program = os.path.join(os.path.dirname(os.path.realpath(__file__)), "resident.py")
    with open(os.path.join(folder, "resident.log"), "ab") as log:
        quiet = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
        subprocess.Popen([python, program, folder], start_new_session=True, **quiet)


def main(tool: str, folder: str) -> int:
    """Run a tool in the resident process and return its exit status."""
    door = _connected(folder)
    # The resident process stops a server when its client closes its side.
    for number in (SIGTERM, SIGINT):
        signal(number, lambda *_: door.shutdown(SHUT_WR))
    environment = [f"{name}={value}" for name, value in os.environ.items() if name.startswith("OSRM_")]
    fields = [tool, os.getcwd(), str(len(environment)), *environment, *sys.argv[1:]]
    request = "\0".join(fields).encode(errors="surrogateescape")
    door.sendall(len(request).to_bytes(4, "big") + request)
    data = b""
    while True:
        # A letter for the stream or the status, the length, and what is said.
        while len(data) < 5 or len(data) < 5 + int.from_bytes(data[1:5], "big"):
            more = door.recv(1 << 16)
            if not more:
                sys.stderr.write("the resident process has ended\n")
                return 1
            data += more
        end = 5 + int.from_bytes(data[1:5], "big")
        kind, said, data = data[:1], data[5:end], data[end:]
        if kind == b"S":
            return int(said)
        os.write(2 if kind == b"E" else 1, said)
