"""TNTP and GMNS files of networks, demands and flows, and the command that goes from one to the other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vkssp import FormatError, MemoryShortageError, QueryError
from vkssp.assignment import BPR, Conical, TrafficNetwork, UserClass, equilibrium, gmns, tntp
from vkssp.assignment.flows_file import SavedFlows, read_flows, write_flows
from vkssp.cli import main

NET = """<NUMBER OF ZONES> 2
<NUMBER OF NODES> 4
<FIRST THRU NODE> 3
<NUMBER OF LINKS> 5
<ORIGINAL HEADER>~ anything
<END OF METADATA>


~\tinit_node\tterm_node\tcapacity\tlength\tfree_flow_time\tb\tpower\tspeed\ttoll\tlink_type\t;
\t1\t3\t100\t2\t6\t0.15\t4\t0\t50\t1\t;
\t3\t2\t1e2\t3\t4.5\t0.15\t4\t0\t0\t1\t;
\t3\t4\t0\t1\t1\t0\t0\t0\t0\t1\t;
\t4\t2\t80\t1\t2\t1\t1\t0\t0\t1 ;
\t2\t1\t80\t1\t2\t1\t1\t0\t0\t1\t;
"""
TRIPS = """<NUMBER OF ZONES> 2
<TOTAL OD FLOW> 210.5
<END OF METADATA>

Origin  1
    1 :   10.0;    2 :  150.5;
Origin 2
    1 : 50;
"""


def saved(folder: Path, net: str = NET, trips: str = TRIPS) -> tuple[Path, Path]:
    (folder / "a_net.tntp").write_text(net)
    (folder / "a_trips.tntp").write_text(trips)
    return folder / "a_net.tntp", folder / "a_trips.tntp"


def are_equal(one: TrafficNetwork, other: TrafficNetwork) -> bool:
    arrays = ("tail", "head", "zones", "fixed", "closed", "node_names", "zone_names", "length")
    delays = ("free_time", "capacity", "b", "power")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in arrays) and all(
        np.array_equal(getattr(one.delay, name), getattr(other.delay, name)) for name in delays
    )


def test_tntp_there_and_back(tmp_path: Path) -> None:
    net, trips = saved(tmp_path)
    network = tntp.read_network(net, toll_weight=0.02, length_weight=1)
    assert (network.num_nodes, network.num_zones, network.closed.tolist()) == (4, 2, [0, 1])
    assert network.fixed.tolist() == [3.0, 3.0, 1.0, 1.0, 1.0]
    assert network.delay.time(np.full(5, 100.0)).tolist() == pytest.approx([6.9, 5.175, 1, 4.5, 4.5])
    demand = tntp.read_trips(trips, network)
    assert demand.toarray().tolist() == [[10, 150.5], [50, 0]]
    tntp.write_network(tmp_path / "b_net.tntp", network)
    tntp.write_trips(tmp_path / "b_trips.tntp", demand)
    assert are_equal(tntp.read_network(tmp_path / "b_net.tntp", toll_weight=1), network)
    assert np.array_equal(tntp.read_trips(tmp_path / "b_trips.tntp").toarray(), demand.toarray())
    (tmp_path / "node.tntp").write_text("Node X Y ;\n4 1 2 ;\n1 -3.5 0 ;\n2 0 0;\n3 1e3 7\n")
    placed = tntp.read_network(net, nodes=tmp_path / "node.tntp")
    assert placed.coordinates.tolist() == [[-3.5, 0], [0, 0], [1000, 7], [1, 2]]


def test_gmns_there_and_back(tmp_path: Path) -> None:
    net, trips = saved(tmp_path)
    network = tntp.read_network(net)
    gmns.write(tmp_path / "g", network, tntp.read_trips(trips))
    again = gmns.read_network(tmp_path / "g", through_zones=False)
    assert are_equal(again, network)
    assert gmns.read_demand(tmp_path / "g" / gmns.DEMAND, again).toarray().tolist() == [[10, 150.5], [50, 0]]
    gmns.write(tmp_path / "g", network)  # replaces the folder
    assert not (tmp_path / "g" / gmns.DEMAND).exists()
    with pytest.raises(FormatError, match="something else"):
        gmns.write(tmp_path, network)
    ends: dict[str, Any] = {"tail": [0], "head": [1], "delay": BPR([1.0], [1.0]), "zones": [0, 1]}
    for same in ({"node_names": ["a", "a"]}, {"zone_names": [7, 7]}):
        with pytest.raises(QueryError, match="have the same name"):
            gmns.write(tmp_path / "h", TrafficNetwork(2, **ends, **same))
    odd = ["a\rb", 'c"\n,d']
    gmns.write(tmp_path / "h", TrafficNetwork(2, **ends, node_names=odd, zone_names=odd), [[0, 1], [2, 0]])
    again = gmns.read_network(tmp_path / "h")
    assert again.node_names.tolist() == again.zone_names.tolist() == odd
    assert gmns.read_demand(tmp_path / "h" / gmns.DEMAND, again).toarray().tolist() == [[0, 1], [2, 0]]
    curved = TrafficNetwork(2, [0], [1], Conical([1.0], [1.0]), zones=[0])
    for write in (lambda: gmns.write(tmp_path / "h", curved), lambda: tntp.write_network(tmp_path / "h", curved)):
        with pytest.raises(QueryError, match="Conical"):
            write()
    with pytest.raises(QueryError, match="renumber"):
        tntp.write_network(tmp_path / "h", TrafficNetwork(2, [0], [1], BPR([1.0], [1.0]), zones=[1]))


def test_gmns_columns(tmp_path: Path) -> None:
    (tmp_path / "node.csv").write_text("node_id,zone_id,x_coord,y_coord,name\nA,z1,1,2,x\nB,,3,4,\nC,z2,5,6,\n")
    (tmp_path / "link.csv").write_text(
        "link_id,from_node_id,to_node_id,directed,length,lanes,capacity,free_speed,VDF_alpha1,VDF_fftt1,VDF_cap1,toll\n"
        "1,A,B,1,2,3,600,60,,,,\n2,B,C,false,1,,500,,0.5,4,750,2\n"
    )
    with pytest.raises(FormatError, match=r"line 2 has no vdf_fftt, and no config.csv"):
        gmns.read_network(tmp_path)
    (tmp_path / "config.csv").write_text("dataset_name,long_length,speed\nx,Mile,mph\n")
    network = gmns.read_network(tmp_path, toll_weight=3)
    assert (network.tail.tolist(), network.head.tolist()) == ([0, 1, 2], [1, 2, 1])
    assert network.node_names.tolist() == ["A", "B", "C"] and network.zone_names.tolist() == ["z1", "z2"]
    assert network.coordinates.tolist() == [[1, 2], [3, 4], [5, 6]] and not len(network.closed)
    assert network.delay.free_time.tolist() == pytest.approx([2, 4, 4])
    assert network.delay.capacity.tolist() == [1800, 750, 750] and network.delay.b.tolist() == [0.15, 0.5, 0.5]
    assert network.fixed.tolist() == [0, 6, 6]
    (tmp_path / "demand.csv").write_text("o_zone_id,d_zone_id,volume\nz1,z2,4\nz1,z2,3.5\n")
    assert gmns.read_demand(tmp_path / "demand.csv", network).toarray().tolist() == [[0, 7.5], [0, 0]]


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("<END OF METADATA>", "", "END OF METADATA"),
        ("<NUMBER OF ZONES> 2\n", "", "NUMBER OF ZONES"),
        ("<NUMBER OF NODES> 4", "<NUMBER OF NODES> four", "line 2: NUMBER OF NODES is 'four'"),
        ("<NUMBER OF LINKS> 5", "<NUMBER OF LINKS> 6", "5 links, and its head says 6"),
        ("<NUMBER OF NODES> 4", "<NUMBER OF NODES> " + 5000 * "9", "line 2: NUMBER OF NODES is"),
        ("<FIRST THRU NODE> 3", "<FIRST THRU NODE> 9", "first thru node 9"),
        ("\t1\t3\t100", "\t1\t3\t1_00", "line 10.*numbers"),
        ("\t1\t3\t100", "\t1\t5\t100", "line 10: there is no node 5"),
        ("\t1\t3\t100", "\t1\tx\t100", "line 10.*numbers"),
        ("\t1\t3\t100", "\t1\t3\t-1", "line 10 has a number that is negative"),
        ("\t1\t3\t100", "\t1\t3\t0", "line 10 has a capacity of 0"),
        ("\t1\t3\t100\t2\t6\t0.15\t4\t0\t50\t1\t;", "\t1\t3\t;", "line 10 has 2 numbers"),
    ],
)
def test_broken_networks(tmp_path: Path, old: str, new: str, text: str) -> None:
    assert old in NET
    net, _ = saved(tmp_path, NET.replace(old, new, 1))
    with pytest.raises(FormatError, match=text):
        tntp.read_network(net)


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("Origin  1", "", "before the first line"),
        ("Origin  1", "Origin 3", "no zone '3'"),
        ("Origin  1", "Origin " + 5000 * "1", "no zone"),
        ("150.5;", "3_0;", "line 6.*zone : trips"),
        ("2 :  150.5", "7 :  150.5", "line 6 has a zone"),
        ("150.5;", "many;", "line 6.*zone : trips"),
        ("150.5;", ";", "line 6.*zone : trips"),
        ("150.5;", "-3;", "negative"),
    ],
)
def test_broken_trips(tmp_path: Path, old: str, new: str, text: str) -> None:
    assert old in TRIPS
    _, trips = saved(tmp_path, trips=TRIPS.replace(old, new, 1))
    with pytest.raises(FormatError, match=text):
        tntp.read_trips(trips)


def test_names_of_files_that_are_no_text(tmp_path: Path) -> None:
    net, trips = saved(tmp_path)
    odd = tmp_path / "a\udcff\n.tntp"
    trips.rename(odd)
    more = ["--device", "cpu", "--gap", "1e-2", "--output"]
    for output in (tmp_path / "f.npz", tmp_path / "f.csv"):
        assert main(["equilibrium", str(net), str(odd), *more, str(output)]) == 0
    network = tntp.read_network(net)
    assert list(read_flows(tmp_path / "f.npz", network).class_flows) == [r"a\udcff\n"]
    with pytest.raises(QueryError, match="name"):
        equilibrium(network, UserClass(tntp.read_trips(odd), name="a\udcff"), device="cpu")


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file whose reading fails")
def test_files_whose_reading_fails(tmp_path: Path) -> None:
    network = tntp.read_network(saved(tmp_path)[0])
    for read in (tntp.read_network, tntp.read_trips, lambda path: read_flows(path, network)):
        with pytest.raises(FormatError, match="cannot read /proc/self/mem"):
            read("/proc/self/mem")


def test_what_files_may_have_and_may_not(tmp_path: Path) -> None:
    net, trips = saved(tmp_path)
    plain = tntp.read_network(net)
    marked, many = tmp_path / "marked.tntp", tmp_path / "many.tntp"
    marked.write_text("\ufeff" + NET.replace("\t1\t3\t100\t2\t6", "\t1\t3\t0\t2\t0"))
    assert tntp.read_network(marked).delay.time(np.ones(5))[0] == 0
    many.write_text(NET.replace("<NUMBER OF NODES> 4", "<NUMBER OF NODES> 1000000000000"))
    with pytest.raises(MemoryShortageError, match="correct the number"):
        tntp.read_network(many)
    many.write_text(TRIPS.replace("<NUMBER OF ZONES> 2", "<NUMBER OF ZONES> 1000000000000"))
    with pytest.raises(MemoryShortageError, match="correct the number"):
        tntp.read_trips(many)
    places = tmp_path / "a_node.tntp"
    places.write_text("node x y ;\n;\n" + "".join(f"{node} {node} 0 ;\n" for node in range(1, 5)))
    assert tntp.read_network(net, nodes=places).coordinates[:, 0].tolist() == [1, 2, 3, 4]
    for wrong in ("abc", [1, 2], None, [[1, 2, 3]], [[np.nan]], [[-1]]):
        with pytest.raises(QueryError, match="demand"):
            tntp.write_trips(tmp_path / "w.tntp", wrong)
    with pytest.raises(QueryError, match="network"):
        tntp.write_network(tmp_path / "w.tntp", 5)  # type: ignore[arg-type]
    for read in (tntp.read_trips, gmns.read_demand, read_flows):
        with pytest.raises(QueryError, match="network is 5; make a TrafficNetwork"):
            read(trips, 5)  # type: ignore[arg-type]
    with pytest.raises(QueryError, match="found"):
        write_flows(tmp_path / "w.csv", [1.0])  # type: ignore[arg-type]
    assert not (tmp_path / "w.tntp").exists()
    np.save(tmp_path / "a.npy", np.zeros(3))
    (tmp_path / "a.npy").rename(tmp_path / "a.npz")
    with pytest.raises(FormatError, match="not a zip file"):
        read_flows(tmp_path / "a.npz", plain)
    found = equilibrium(plain, tntp.read_trips(trips), device="cpu")
    flow, bad = found.flow, np.full(5, np.nan)
    cases = ({"flow": flow, "class_all": bad}, {"flow": bad, "class_all": flow}, {"flow": flow})
    for arrays, error in zip(cases, (FormatError, FormatError, QueryError), strict=True):
        np.savez(tmp_path / "b.npz", digest=np.frombuffer(bytes.fromhex(found.digest), np.uint8), **arrays)
        with pytest.raises(error, match=r"not finite|no flow of the user class 'all'"):
            equilibrium(plain, tntp.read_trips(trips), start=read_flows(tmp_path / "b.npz", plain), device="cpu")
    broken = SavedFlows(flow, {"all": bad}, found.digest)
    with pytest.raises(QueryError, match="class_flows"):
        equilibrium(plain, tntp.read_trips(trips), start=broken, device="cpu")


@pytest.mark.parametrize(
    ("file", "old", "new", "text"),
    [
        ("node.csv", "node_id", "nodes", "no columns node_id"),
        ("node.csv", "3,,", "1,,", "line 4: node_id is '1'"),
        ("node.csv", "2,,,2", "2,,,1", "line 3: a second node has zone_id 1"),
        ("link.csv", "1,1,3", "1,1,9", "line 2: from_node_id|line 2: to_node_id is '9'"),
        ("link.csv", "1,1,3,1", "1,1,3,x", "line 2: directed is 'x'"),
        ("link.csv", "100.0", "many", "line 2: capacity is 'many'"),
        ("link.csv", "100.0", "", "line 2 has no capacity"),
        ("link.csv", "1,1,3,1", "1,1,3", "line 2 has 10 fields for 11 columns"),
        ("demand.csv", "1,2,150.5", "1,8,150.5", "d_zone_id is '8'"),
        ("demand.csv", "1,2,150.5", "1,2,-1", "volume is '-1'"),
        ("demand.csv", "1,2,150.5", "1,2,1_5", "volume is '1_5'"),
    ],
)
def test_broken_folders(tmp_path: Path, file: str, old: str, new: str, text: str) -> None:
    net, trips = saved(tmp_path)
    network = tntp.read_network(net)
    gmns.write(tmp_path / "g", network, tntp.read_trips(trips))
    path = tmp_path / "g" / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(FormatError, match=text):
        gmns.read_demand(tmp_path / "g" / gmns.DEMAND, gmns.read_network(tmp_path / "g"))


def test_flows_there_and_back(tmp_path: Path) -> None:
    net, trips = saved(tmp_path)
    network = tntp.read_network(net)
    demand = tntp.read_trips(trips, network)
    found = equilibrium(
        network, [UserClass(demand, name="cars"), UserClass(demand, name="lorries", pce=2)], device="cpu"
    )
    frame = found.to_dataframe()
    assert list(frame) == ["tail", "head", "flow", "time", "cost", "flow_cars", "flow_lorries"]
    assert frame[["tail", "head"]].to_numpy().tolist() == [[1, 3], [3, 2], [3, 4], [4, 2], [2, 1]]
    assert np.array_equal(frame["flow_lorries"], found.class_flows["lorries"])
    for ending in (".csv", ".tntp"):
        write_flows(tmp_path / f"f{ending}", found)
        assert np.array_equal(read_flows(tmp_path / f"f{ending}", network), found.flow)
    assert (tmp_path / "f.csv").read_text().splitlines()[0] == "tail,head,flow,cost,flow_cars,flow_lorries"
    write_flows(tmp_path / "f.npz", found)
    again = read_flows(tmp_path / "f.npz", network)
    assert again.digest == found.digest and np.array_equal(again.class_flows["lorries"], found.class_flows["lorries"])
    for name, text, told in (
        ("a.csv", "tail,head,flow,cost\n1,3,4,5\n", "no flow of 4 arcs"),
        ("b.csv", "tail,head,flow,cost\n1,2,4,5\n", "line 2"),
        ("c.csv", "tail,head,flow,cost\n1,3,4,5\n1,3,4,5\n", "line 3"),
        ("d.tntp", "From To Volume Cost\n1 3 x 4\n", "line 2"),
        ("e.npz", "PK", "no flows that can be read"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(FormatError, match=told):
            read_flows(tmp_path / name, network)
    with pytest.raises(FormatError, match="must end in"):
        write_flows(tmp_path / "f.xls", found)
    larger = TrafficNetwork(2, [0], [1], BPR([1.0], [1.0]), zones=[0])
    with pytest.raises(FormatError, match="another network"):
        read_flows(tmp_path / "f.npz", larger)


def test_damaged_and_packed_runs(tmp_path: Path) -> None:
    net, trips = saved(tmp_path)
    network = tntp.read_network(net)
    found = equilibrium(network, tntp.read_trips(trips, network), device="cpu")
    path = tmp_path / "f.npz"
    write_flows(path, found)
    good, arrays = path.read_bytes(), dict(np.load(path))
    rng = np.random.default_rng(1)
    for at in [*rng.integers(0, len(good), 300), *rng.integers(1, len(good), 50)]:
        damaged = bytearray(good)
        damaged[at] ^= 1 << rng.integers(8)
        path.write_bytes(damaged if rng.random() < 0.8 else good[:at])
        try:
            again = read_flows(path, network)
        except FormatError as error:
            assert "\n" not in str(error) and len(str(error)) < 400
        else:
            assert np.array_equal(again.flow, found.flow)
    np.savez_compressed(path, **{name: np.zeros((1000, *one.shape), one.dtype) for name, one in arrays.items()})
    with pytest.raises(FormatError, match="is compressed"):
        read_flows(path, network)
    for arrays, told in (({"flow": found.flow}, "no array 'digest'"), ({"flow": np.array([None])}, "no array of num")):
        np.savez(path, **arrays)
        with pytest.raises(FormatError, match=told):
            read_flows(path, network)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    net, trips = saved(tmp_path)
    output = tmp_path / "flows.csv"
    options = ["--device", "cpu", "--gap", "1e-6"]
    assert main(["equilibrium", str(net), str(trips), "--output", str(output), "--json", *options]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["converged"] and result["gap"] <= 1e-6 and result["iterations"][-1]["gap"] == result["gap"]
    network = tntp.read_network(net)
    expected = equilibrium(network, tntp.read_trips(trips), gap=1e-6, device="cpu")
    assert np.array_equal(read_flows(output, network), expected.flow)
    assert result["total_cost"] == pytest.approx(float(expected.flow @ expected.cost))
    gmns.write(tmp_path / "g", network, tntp.read_trips(trips))
    assert main(["equilibrium", str(tmp_path / "g"), "--closed-zones", "--json", *options]) == 0
    assert json.loads(capsys.readouterr().out)["objective"] == result["objective"]
    run = str(tmp_path / "run.npz")
    classes = [str(net), str(trips), str(tmp_path / "g" / "demand.csv"), "--pce", "1,2", *options]
    assert main(["equilibrium", *classes, "--output", run]) == 0
    assert main(["equilibrium", *classes, "--start", run, "--method", "fw"]) == 0
    assert "after 1 iterations" in capsys.readouterr().out
    for arguments, text in (
        ([str(net)], "no trips"),
        ([str(net), str(trips), "--pce", "1,2"], "--pce has 2"),
        ([str(net), str(trips), "--closed-zones"], "FIRST THRU NODE"),
        ([str(net), str(trips), "--output", str(trips)], "trips"),
        ([str(net), str(trips), "--output", "x.txt"], "must end in"),
        ([str(trips), str(trips)], "NUMBER OF NODES> before <END OF METADATA>; give a network"),
        ([str(tmp_path / "g"), "--output", str(tmp_path / "g" / "demand.csv")], "needed for something else"),
        ([str(tmp_path / "g"), str(trips), "--output", str(tmp_path / "g" / "link.csv")], "needed for something else"),
    ):
        assert main(["equilibrium", *arguments, *options]) == 2
        assert text in capsys.readouterr().err
