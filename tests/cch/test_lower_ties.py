"""Choice among very many paths that one arc of a hierarchy stands for."""

from __future__ import annotations

import numpy as np
import pytest

from vkssp.cch.lower_arcs import CHOOSE, LINK, WRITE
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.kernel import Kernel
from vkssp.gpu.recording import Recording
from vkssp.resource import Resource

# The twins in shaders/include/lower_arcs.glsl.
_IS_ARC, _HAS_SEVERAL, _NONE = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFF


@pytest.mark.parametrize("count", [2, 1000, 70_000])
def test_no_path_is_chosen_before_it_is_compared_with_all(device: Device, count: int) -> None:
    ties = np.full((count, 5), _NONE, np.uint32)
    ties[:, 0], ties[:, 2] = 0, _IS_ARC
    ties[:, 1] = np.roll(np.arange(count), 1)  # the second tie, which is linked first and so compared last, is the best
    with Resource(device) as owner:
        lower = Buffer(device, 8, mapped=True, owner=owner)
        listed = Buffer(device, 4 + ties.nbytes, mapped=True, owner=owner)
        lower.view()[:] = 0, _HAS_SEVERAL
        listed.view()[0], listed.view()[1:] = count, ties.reshape(-1)
        kernel = Kernel(device, "lower_ties", bindings=2, push_constants=2, workgroup_size=64, owner=owner)
        bound, recording = kernel.on(lower, listed), Recording(device, owner=owner)
        with recording.record():
            recording.bind(bound)
            for stage in (LINK, CHOOSE, WRITE, CHOOSE, WRITE):
                recording.barrier()
                recording.push(bound, stage, count)
                recording.dispatch(256)
            recording.barrier("all", "all")
        recording.submit()
        recording.wait()
        found = lower.view().tolist()
    assert found in ([[0, _IS_ARC]] if count < 10_000 else [[0, _IS_ARC], [0, _HAS_SEVERAL]])
