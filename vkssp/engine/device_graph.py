"""Arrays of a renumbered graph on a device."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.engine.arrays import PAIR_BYTES, Array, can_split, make_array, require_numbers
from vkssp.engine.reweigh import Reweigher
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.split_buffer import SplitBuffer
from vkssp.graph import UNREACHABLE, Graph, Uint32s
from vkssp.graph.csr import places_of
from vkssp.locks import ReentrantLock
from vkssp.prepared.blocks import RECORD, make_blocks, place_bits, words_in_blocks
from vkssp.prepared.renumbered import RenumberedGraph
from vkssp.prepared.tree_arcs import arcs_by_head, pieces_of
from vkssp.resource import Resource

#: Arcs of a piece, and maximum number of arcs of a node that is not split into pieces.
PIECE = 4096
#: Arcs into a node that one invocation looks at, see `DeviceGraph.by_head`.
PIECE_IN = 64
# Names of shared data that is independent of the weights or can be updated when weights change.
_REWEIGHTED = {
    *("first_out", "rows", "arcs", "incoming", "incoming ids", "by head", "hierarchy", "labels", "lower arcs")
}


def has_pieces(graph: Graph) -> bool:
    """Return whether nodes of a graph have so many arcs that these are cut into pieces."""
    return int(np.diff(graph.first_out).max(initial=0)) > PIECE


class DeviceGraph(Resource):
    """Arrays of a renumbered graph on a device, shared by all searches there; each is uploaded on its first use.

    Attributes
    ----------
    renumbered : RenumberedGraph
        The renumbered graph.
    has_weights_of : RenumberedGraph or None
        The renumbered graph whose weights the device has; None if they are unknown, as after a change that failed.
    num_pieces : int
        Number of pieces of split nodes, see `rows`.
    """

    def __init__(self, device: Device, renumbered: RenumberedGraph, owner: Resource | None = None) -> None:
        self._to_pieces = renumbered.arcs_to_pieces(PIECE)
        self.num_pieces = len(self._to_pieces)
        require_numbers(device, renumbered.num_arcs + self.num_pieces)
        super().__init__(owner or device)
        self.device, self.renumbered = device, renumbered
        self.has_weights_of: RenumberedGraph | None = renumbered
        # Made before all algorithms on the graph, and so closed after them, although its buffers are made later.
        self._arrays = Resource(self)
        self._lock = ReentrantLock()
        self._things: dict[str | tuple[int, int], Any] = {}
        # Places of the arcs in blocks, by the sizes of a block and of a record.
        self._words: dict[tuple[int, int], npt.NDArray[np.int64]] = {}
        self._reweigher: Reweigher | None = None
        self._place_in: dict[str, npt.NDArray[np.int64]] = {}  # places of the arcs by head

    @property
    def arrays(self) -> Resource:
        """Owner of the data that all searches share; it is closed after the searches."""
        return self._arrays

    @property
    def num_nodes(self) -> int:
        """Number of nodes on the device."""
        return self.renumbered.num_nodes

    @property
    def first_out(self) -> Buffer:
        """Offset of each node's first arc."""

        def make() -> Buffer:
            (first_out,) = self.upload({"first_out": self.renumbered.first_out})
            return first_out

        first_out: Buffer = self.shared("first_out", make)
        return first_out

    @property
    def arcs(self) -> Array:
        """Head and weight of each arc; after the graph's arcs follow those to the pieces of split nodes."""
        arcs: Array = self.shared("arcs", lambda: self._with_pieces(self.renumbered.arcs))
        return arcs

    def arcs_light_first(self, found: Uint32s | None = None) -> Array:
        """Return the array like `arcs` with the arcs of each node sorted by weight; `found` is that of the host."""

        def make() -> Array:
            return self._with_pieces(self.renumbered.arcs_light_first() if found is None else found)

        arcs: Array = self.shared("arcs light first", make)
        return arcs

    def _with_pieces(self, arcs: npt.NDArray[np.uint32]) -> Array:
        array = self._array("the arcs", arcs.nbytes + self._to_pieces.nbytes, split=self.splits_arcs)
        for values, offset in ((arcs, 0), (self._to_pieces, arcs.nbytes)):
            if len(values):
                array.write(values, offset)
        return array

    @property
    def splits_arcs(self) -> bool:
        """Whether `arcs` and `rows` are in several buffers, because one of them does not fit into one."""
        limit = self.device.limits.buffer
        arcs, rows = (8 * (count + self.num_pieces) for count in (self.renumbered.num_arcs, self.num_nodes))
        return arcs > limit or (rows > limit and can_split(self.device))

    def rows(self) -> Array:
        """Return rows of arcs with nodes of more than `PIECE` arcs split, see `RenumberedGraph.split_rows`."""

        def make() -> Array:
            name, values = "the rows", self.renumbered.split_rows(PIECE)[0]
            (rows,) = self.upload_arrays({name: values}, (name,), split=self.splits_arcs)
            return rows

        rows: Array = self.shared("rows", make)
        return rows

    def blocks(self, block: int, record: int = RECORD) -> list[Buffer]:
        """Return records of `record` arcs, other arcs and their ranges for blocks of `block` nodes, see `Blocks`."""

        def make() -> list[Buffer]:
            renumbered = self.renumbered
            found = make_blocks(renumbered.first_out, renumbered.arcs, block, record)
            names = {"the records": found.records, "the other arcs": found.others, "the ranges of blocks": found.ranges}
            return self.upload(names)

        buffers: list[Buffer] = self.shared((block, record), make)
        return buffers

    def incoming(self) -> tuple[Buffer, Array, Any]:
        """Return rows of the arcs by head, their tails and weights, and their ids; see `RenumberedGraph.reverse`."""

        def make() -> Any:
            first_in, arcs_in, arc_in = self.renumbered.reverse()
            name = "the incoming arcs"
            return *self.upload_arrays({"first_in": first_in, name: arcs_in}, (name,)), arc_in

        first_in, arcs_in, arc_in = self.shared("incoming", make)
        return first_in, arcs_in, arc_in

    def incoming_ids(self) -> Array:
        """Return the ids of the arcs of `incoming`, uint32, in one buffer or in several as these are."""

        def make() -> Any:
            _, arcs_in, arc_in = self.incoming()
            name = "the ids of the incoming arcs"
            ids = {name: arc_in.astype(np.uint32)}
            return self.upload_arrays(ids, (name,), split=isinstance(arcs_in, SplitBuffer))[0]

        ids: Array = self.shared("incoming ids", make)
        return ids

    def by_head(self) -> tuple[Array, Array, Array]:
        """Return pieces of at most `PIECE_IN` arcs into a node, tails and weights of the arcs, and their ids.

        All of them have the caller's ids, see `vkssp.prepared.tree_arcs`.
        """

        def make() -> Any:
            first, arcs, ids = arcs_by_head(self.renumbered)
            arrays = {"the pieces by head": pieces_of(first, PIECE_IN), "the arcs by head": arcs, "their ids": ids}
            return *self.upload_arrays(arrays, arrays.keys()), ids

        pieces, arcs, ids, _ = self.shared("by head", make)
        return pieces, arcs, ids

    def reweight(self, renumbered: RenumberedGraph, changed: npt.NDArray[np.int64] | None) -> bool:
        """Replace the weights on the device, if nothing else has to change.

        No search may run in the meantime. The caller checks `is_current` of the existing algorithms afterwards. Until
        all weights are on the device, `has_weights_of` is None.

        Parameters
        ----------
        renumbered : RenumberedGraph
            The result of `RenumberedGraph.reweighted` for `self.renumbered`.
        changed : numpy.ndarray, optional
            The caller's ids of the arcs whose weights may differ, shape (k,), int64; by default all.

        Returns
        -------
        bool
            Whether the weights were replaced. If not, the caller has to make another `DeviceGraph`. This is so if nodes
            or arcs differ, if the weights on the device are unknown, if a weight does not fit into its record of a
            block, or if an algorithm shares data here that may depend on weights in an unknown manner.
        """
        with self._lock.held():
            blocks = {name for name in self._things if isinstance(name, tuple)}
            is_same = self.has_weights_of is not None and renumbered.arc is self.renumbered.arc
            if not is_same or not self._things.keys() - blocks <= _REWEIGHTED:
                return False
            self.has_weights_of = None
            if self._reweigher is None or self._reweigher.closed:
                self._reweigher = Reweigher(self.device, self._arrays)
            weight = renumbered.graph.weight
            given = changed
            if changed is not None:
                changed = renumbered.kept(changed)
            for sizes in blocks:
                if not self._reweight_blocks(sizes, renumbered, changed):
                    return False
            if "arcs" in self._things:
                if changed is None:
                    self._reweigher.put(self._things["arcs"], renumbered.arcs[:, 1])
                else:
                    self._reweigher.put(self._things["arcs"], weight[changed], renumbered.places(changed))
            for name in ("incoming", "by head"):
                if name not in self._things:
                    continue
                _, arcs_in, *_, arc_in = self._things[name]
                if changed is None:
                    self._reweigher.put(arcs_in, weight[arc_in])
                else:
                    if name not in self._place_in:
                        self._place_in[name] = places_of(arc_in, renumbered.graph.num_arcs)
                    self._reweigher.put(arcs_in, weight[changed], self._place_in[name][changed])
            if "hierarchy" in self._things:
                self._things["hierarchy"].customize(renumbered.graph, given)
            self.renumbered = renumbered
            self.has_weights_of = renumbered
            return True

    def _reweight_blocks(
        self, sizes: tuple[int, int], renumbered: RenumberedGraph, changed: npt.NDArray[np.int64] | None
    ) -> bool:
        """Replace the weights in blocks, given the sizes of block and record; return whether all fit into records."""
        block, record = sizes
        if sizes not in self._words:
            self._words[sizes] = words_in_blocks(self.renumbered.first_out, self.renumbered.arcs, block, record)
        place = slice(None) if changed is None else renumbered.places(changed)
        word, arcs = self._words[sizes][place], renumbered.arcs[place]
        end, bits = record * renumbered.num_nodes, place_bits(block)
        in_record, other = np.flatnonzero((word >= 0) & (word < end)), np.flatnonzero(word >= end)
        head, weight = arcs[in_record].T
        if (weight >= UNREACHABLE >> bits).any():
            return False
        assert self._reweigher is not None
        records, others, _ = self._things[sizes]
        values = (weight << np.uint32(bits)) | (head & np.uint32(block - 1))
        self._reweigher.put(records, values, word[in_record], stride=1, offset=0)
        self._reweigher.put(others, arcs[other, 1], word[other] - end, stride=3, offset=2)
        return True

    def missing(self, name: str | tuple[int, int], nbytes: int) -> int:
        """Return `nbytes`, or 0 if the device has the array of this name already."""
        return 0 if name in self._things else nbytes

    def shared(self, name: str | tuple[int, int], make: Callable[[], Any]) -> Any:
        """Return the result of `make`, or the earlier result under this name if there is one."""
        with self._lock.held():
            if name not in self._things:
                self._things[name] = make()
            return self._things[name]

    def upload(self, arrays: Mapping[str, npt.NDArray[Any]]) -> list[Buffer]:
        """Return buffers that hold some arrays; after an error none is left. The names are for error messages."""
        return [buffer for buffer in self.upload_arrays(arrays, ()) if isinstance(buffer, Buffer)]

    def upload_arrays(
        self, arrays: Mapping[str, npt.NDArray[Any]], of_arcs: Collection[str], *, split: bool | None = None
    ) -> list[Array]:
        """Return what `upload` does, but the arrays `of_arcs` in several buffers if they are split.

        By default they are if one buffer is too small for one of them.
        """
        limit = self.device.limits.buffer
        is_split = any(arrays[name].nbytes > limit for name in of_arcs) if split is None else split
        made: list[Array] = []
        try:
            for name, values in arrays.items():
                item_bytes = values[:1].nbytes or 4
                made.append(self._array(name, values.nbytes, item_bytes, split=is_split and name in of_arcs))
            for array, values in zip(made, arrays.values(), strict=True):
                if values.nbytes:
                    array.write(values)
        except BaseException:
            for array in made:
                array.close()
            raise
        return made

    def _array(self, name: str, nbytes: int, item_bytes: int = PAIR_BYTES, *, split: bool) -> Array:
        return make_array(self.device, nbytes, name, self._arrays, item_bytes=item_bytes, split=split)
