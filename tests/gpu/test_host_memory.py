"""Memory of results: kept for later results, written by the device from its second use on, and given back."""

from __future__ import annotations

import numpy as np
import pytest

import vkssp
from tests.conftest import open_device
from tests.support.submissions import noted_submissions
from vkssp import DistanceOverflowError, Graph, MemoryShortageError, Solver, memory
from vkssp.generate import road_grid
from vkssp.gpu import host_memory
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.download import Download
from vkssp.gpu.host_memory import LEAST_BYTES, HostBlock, HostBlocks, host_blocks

SIZE = LEAST_BYTES + 12_345  # no whole page


@pytest.fixture
def filled(device: Device) -> tuple[Buffer, np.ndarray]:
    """Return a buffer of random bytes, and the bytes."""
    values = np.random.default_rng(1).integers(0, 256, 4 * LEAST_BYTES, np.uint8)
    buffer = Buffer(device, len(values), shared=True)
    buffer.write(values)
    return buffer, values


def address(array: np.ndarray) -> int:
    """Return the address of an array's first item."""
    return array.ctypes.data


def test_a_block_serves_one_array_after_the_other() -> None:
    """Memory is used again when an array and its views have ended, not before, and by arrays of about its size."""
    blocks = HostBlocks()
    first = blocks.array(SIZE)
    view, where = first[10:20].view(np.uint8), address(first)
    del first
    second = blocks.array(SIZE)
    assert address(second) != where, "a view of the first array still lies there"
    del view
    assert address(blocks.array(2 * SIZE)) != where
    again = blocks.array(SIZE - 100)
    assert address(again) == where
    assert again.shape == (SIZE - 100,)
    assert blocks.array(LEAST_BYTES - 1).flags.owndata


def test_memory_is_not_kept_beyond_its_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks without arrays are given up beyond a part of the free memory, and all of them where memory is short."""
    made = list[int]()

    def make(size: int) -> HostBlock:
        made.append(size)
        return HostBlock(size)

    monkeypatch.setattr(host_memory, "free_bytes", lambda: 40 * LEAST_BYTES)
    monkeypatch.setattr(host_memory, "HostBlock", make)
    blocks = HostBlocks()
    arrays = [blocks.array(2 * LEAST_BYTES) for _ in range(4)]
    assert len(made) == 4
    arrays.clear()
    arrays = [blocks.array(2 * LEAST_BYTES) for _ in range(4)]
    assert len(made) == 6, "an eighth of 40 units are 5: two blocks of 2 were kept"
    arrays.clear()
    monkeypatch.setattr(memory, "givers", [blocks.forget])
    monkeypatch.setattr(memory, "free_bytes", lambda: memory.SMALL - 1)
    with pytest.raises(MemoryShortageError):
        memory.require(memory.SMALL, "something else")
    arrays.append(blocks.array(2 * LEAST_BYTES))
    assert len(made) == 7, "the kept blocks were given up"


@pytest.mark.parametrize("spans", [[(0, SIZE)], [(5, LEAST_BYTES), (0, 0), (LEAST_BYTES + 3, 2 * LEAST_BYTES + 1)]])
def test_the_device_writes_to_memory_that_was_used_before(
    device: Device, filled: tuple[Buffer, np.ndarray], spans: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Downloads by pieces, into memory used again, and into it in several parts have the bytes of the buffer."""
    monkeypatch.setattr(host_memory, "IMPORT_BYTES", 2 << 20)
    host_blocks.forget()
    buffer, values = filled
    want = np.concatenate([values[begin:end] for begin, end in spans])
    with Download(device, len(values), device) as download:
        for number in range(3):
            found = download.read(buffer, spans)
            place = host_blocks.place_of(found, device)
            assert (place is None) == (number == 0 or "host_memory" not in device.info.features)
            assert place is None or len(place.buffers) > 1
            np.testing.assert_array_equal(found, want)
            into = found[: 3 << 20]
            if len(spans) == 1:  # a part of an array
                download.read(buffer, [(1, 1 + len(into))], into)
                np.testing.assert_array_equal(into, values[1 : 1 + len(into)])
            del found, into


def test_arrays_outlive_their_device_and_others_import_them(may_use_vulkan: None) -> None:
    """An array stays as it is when the device that wrote to it is closed, and its memory serves the next device."""
    host_blocks.forget()
    values = np.arange(SIZE // 4, dtype=np.uint32)
    for _ in range(2):
        with open_device() as device:
            buffer = Buffer(device, values.nbytes, shared=True)
            buffer.write(values)
            download = Download(device, values.nbytes, device)
            download.read(buffer, [(0, values.nbytes)])
            found = download.read(buffer, [(0, values.nbytes)])
        np.testing.assert_array_equal(found.view(np.uint32), values)
        found[:] = 0
        del found


def test_tables_are_written_in_place(device: Device) -> None:
    """Rows go to the array of the whole table, whose memory is used again; wrong copies would be seen."""
    rng = np.random.default_rng(7)
    count, arcs = 200, 800
    graph = Graph.from_edges(
        rng.integers(0, count, arcs), rng.integers(0, count, arcs), rng.integers(1, 100, arcs), num_nodes=count
    )
    sources, targets = rng.integers(0, count, 1200), rng.integers(0, count, 1000)
    want = Solver(graph, "dijkstra", "cpu").table(sources, targets)
    with Solver(graph, "block_resident", device=device) as solver:
        for _ in range(3):
            found = solver.table(sources, targets)
            np.testing.assert_array_equal(found, want)
            del found


@pytest.mark.parametrize(
    ("algorithm", "least_bytes"), [("near_far", 0), ("phast", 0), ("phast", LEAST_BYTES), ("block_resident", 0)]
)
def test_many_distances_are_sorted_on_the_device(
    algorithm: str, least_bytes: int, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Distances of all nodes come by the caller's ids, with and without a limit, and where sums do not fit."""
    for module in ("vkssp.engine.gather", "vkssp.gpu.download"):
        monkeypatch.setattr(f"{module}.LEAST_BYTES", least_bytes)
    monkeypatch.setitem(device.tuned, "distances.fewest_sorted", 0)
    graph = road_grid(20, seed=3)
    order = np.random.default_rng(5).permutation(graph.num_nodes)
    heavy = graph.weight.astype(np.int64)
    heavy[graph.tail == 7] = 2**32 - 2
    for weights in (graph.weight, heavy):
        mixed = Graph.from_edges(order[graph.tail], order[graph.head], weights, num_nodes=graph.num_nodes)
        mixed = vkssp.prepare(mixed) if algorithm == "phast" else mixed
        with Solver(mixed, algorithm, device) as solver, Solver(mixed, "dijkstra", "cpu") as reference:
            for source in (0, int(order[7]), 0):
                for limit in (None, 500):
                    try:
                        want = reference.distances(source, limit=limit)
                    except DistanceOverflowError:
                        with pytest.raises(DistanceOverflowError):
                            solver.distances(source, limit=limit)
                    else:
                        np.testing.assert_array_equal(solver.distances(source, limit=limit), want)


def test_a_tree_that_is_read_takes_one_submission(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(device.tuned, "distances.fewest_sorted", 0)
    with Solver(vkssp.prepare(road_grid(9)), "phast", device) as solver:
        solver.distances(0)
        submitted = noted_submissions(monkeypatch)
        solver.distances(3)
        assert len(submitted) == 1


def test_a_download_that_fails_waits_for_all_its_copies(
    device: Device, filled: tuple[Buffer, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the buffer could be freed while the device still copies from it."""
    settled: list[Device] = []
    settle = Device.settle
    host_blocks.forget()
    with Download(device, len(filled[1]), device) as download:
        with monkeypatch.context() as patch:
            patch.setattr(Device, "settle", lambda self: settled.append(self) or settle(self))
            patch.setattr(download, "take", lambda slot, where: 1 // 0)
            with pytest.raises(ZeroDivisionError):
                download.read(filled[0], [(0, len(filled[1]))])
        assert settled == [device]
        np.testing.assert_array_equal(download.read(filled[0], [(0, len(filled[1]))]), filled[1])
