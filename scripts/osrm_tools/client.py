"""Door of an executable named as one of OSRM's: hands its command line to the resident process, and its output back.

It imports only what starts quickly, since a run of OSRM's features starts thousands of these. The first one starts the
resident process, which ends by itself when nothing asked it for a while.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time

_START_S = 120.0


def _connected(folder: str) -> socket.socket:
    """Return a connection to the resident process, which is started if there is none."""
    path, end, started = os.path.join(folder, "socket"), time.monotonic() + _START_S, None
    while True:
        door = socket.socket(socket.AF_UNIX)
        try:
            door.connect(path)
            return door
        except OSError:
            door.close()
        if started is None:
            with open(os.path.join(folder, "python")) as file:
                python = file.read()
            with open(os.path.join(folder, "resident.log"), "ab") as log:
                started = subprocess.Popen(
                    [python, os.path.join(os.path.dirname(os.path.realpath(__file__)), "resident.py"), folder],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
        if time.monotonic() > end:
            sys.exit(f"the resident process does not answer; see {os.path.join(folder, 'resident.log')}")
        time.sleep(0.02)


def main(tool: str, folder: str) -> int:
    """Run a tool in the resident process and return its exit status."""
    with _connected(folder) as door:
        # The resident process stops a server when its client goes away.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: door.shutdown(socket.SHUT_WR))
        environment = {name: value for name, value in os.environ.items() if name.startswith("OSRM_")}
        request = {"tool": tool, "arguments": sys.argv[1:], "folder": os.getcwd(), "environment": environment}
        door.sendall(json.dumps(request).encode() + b"\n")
        for line in door.makefile("rb"):
            said = json.loads(line)
            if "status" in said:
                return int(said["status"])
            stream = sys.stdout if said["stream"] == "stdout" else sys.stderr
            stream.write(said["text"])
            stream.flush()
    print("the resident process has ended", file=sys.stderr)
    return 1
