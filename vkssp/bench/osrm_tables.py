"""Program that makes OSRM's tables for `vkssp.bench.osrm.OsrmTables`, run by the Python that has osrm-bindings.

Its argument is the common part of the names of the files that osrm-contract wrote. Each line of its input asks for a
table, as JSON: ``places``, latitude and longitude in degrees, and whether the ``answer`` is wanted. Each line of its
output is the reply: milliseconds of the call, and seconds of the table, null where no route leads. Neither the making
of the parameters nor the conversion of OSRM's answer to Python's numbers is timed.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import sys
import time


def main() -> None:
    """Answer until the input ends."""
    osrm = importlib.import_module("osrm")
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # OSRM prints its log
    engine = osrm.OSRM(
        storage_config=sys.argv[1], algorithm="CH", use_shared_memory=False, max_locations_distance_table=-1
    )

    def reply(**values: object) -> None:
        replies.write(json.dumps(values) + "\n")
        replies.flush()

    reply(version=importlib.metadata.version("osrm-bindings"))
    for line in sys.stdin:
        request = json.loads(line)
        coordinates = [(lon, lat) for lat, lon in request["places"]]
        asked = osrm.TableParameters(coordinates=coordinates, annotations=["duration"], generate_hints=False)
        began = time.perf_counter()
        found = engine.Table(asked)
        milliseconds = 1e3 * (time.perf_counter() - began)
        rows = [list(row) for row in found["durations"]] if request["answer"] else []
        reply(ms=milliseconds, seconds=rows)


if __name__ == "__main__":
    main()
