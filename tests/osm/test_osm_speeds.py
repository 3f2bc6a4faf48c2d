"""How fast the three kinds of travellers are on a real map."""

from __future__ import annotations

import numpy as np
import osmium

from tests.support.osm_maps import ANDORRA, import_plain, streets_of


def test_andorra_for_all_three() -> None:
    """Mean speeds by class are what the profiles say, and who may use more ways has more of them."""
    highway = {item.id: dict(item.tags) for item in osmium.FileProcessor(str(ANDORRA), osmium.osm.WAY)}
    kilometres = {}
    #: By class the lowest and the highest mean speed, as limits, surfaces and one-way streets allow.
    expected = {
        "car": {"primary": (45, 70), "secondary": (35, 60), "residential": (15, 35), "service": (8, 20)},
        "bike": {"primary": (11, 15), "residential": (11, 15), "footway": (3.9, 4.1), "steps": (1.9, 2.1)},
        "foot": {"primary": (4.9, 5.1), "residential": (4.9, 5.1), "footway": (4.9, 5.1), "steps": (4.9, 5.1)},
    }
    for profile, classes in expected.items():
        graph, report = import_plain(ANDORRA, profile=profile)
        streets = streets_of(graph)
        kilometres[profile] = report.kilometres
        kind = np.array([highway[way].get("highway", "") for way in streets.way.tolist()])
        seconds = graph.weight * streets.seconds_per_weight
        assert graph.num_arcs > 3000
        for name, (low, high) in classes.items():
            arcs_of_kind = (kind == name) & ~streets.carried
            speed = 3.6 * streets.length[arcs_of_kind].sum() / seconds[arcs_of_kind].sum()
            assert arcs_of_kind.sum() > 10 and low <= speed <= high, (profile, name, speed)
        if profile != "car":
            assert not np.isin(kind, ["motorway", "trunk"]).any()
            assert np.all(3.6 * streets.length <= 21.5 * seconds)
    assert kilometres["car"] < kilometres["foot"] and kilometres["car"] < kilometres["bike"]
