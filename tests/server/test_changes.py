"""Changes of speeds: joined into few, and tables that are made while they come."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from starlette.testclient import TestClient

from tests.support.streetmaps import street_map
from vkssp import Router
from vkssp.server.app import application
from vkssp.server.dataset import Dataset
from vkssp.server.own import parsed_speeds
from vkssp.server.speed_changes import joined_changes, speed_change
from vkssp.solver.table import Table


def test_joined_changes_do_the_same() -> None:
    changes = [speed_change(*of) for of in (("car", {1: 5.0, 2: 6.0}), ("bike", {1: 7.0}), ("car", {2: 8.0, 3: 9.0}))]
    joined = dict(parsed_speeds(orjson.loads(change)) for change in joined_changes(changes))
    assert joined == {"car": {1: 5.0, 2: 8.0, 3: 9.0}, "bike": {1: 7.0}}
    assert joined_changes(joined_changes(changes)) == joined_changes(changes) and joined_changes([]) == []


def test_a_table_is_made_again_if_weights_change_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    router = Router(street_map([(0, 0), (0, 1)], [(0, 1, 100)]), device="cpu")
    client, read = TestClient(application({"car": Dataset(router)})), Table.read

    def change_and_read(table: Table) -> dict[str, Any]:
        monkeypatch.undo()
        router.set_weights([200, 200], [0, 1])
        return read(table)

    monkeypatch.setattr(Table, "read", change_and_read)
    got = client.get("/table/v1/car/0,0;0.001,0")
    assert (got.status_code, got.json()["durations"]) == (200, [[0.0, 20.0], [20.0, 0.0]])
