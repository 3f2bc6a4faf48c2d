"""Submissions of a batch: two are queued on the device while the host reads the results of the one before them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.errors import DeviceError
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.recording import Recording, Timestamps
from vkssp.resource import Resource

#: Turnovers of slots in a submission; milliseconds that a submission should take: many times those of the host's part.
TURNS, SUBMISSION_MS = (1, 2, 4, 8, 16), 2.0
# Submissions of each length: two are on the device, and the host reads the third.
_IN_TURN = 3


class Submission:
    """Command buffer of some iterations with turnovers between them, and the host's copy of the state after them.

    Parameters
    ----------
    device : Device
        The device.
    state, written : Buffer
        The state of the searches, and the rows that have been written.
    dtype : numpy.dtype
        Layout of the state; its field ``room`` is given with each submission.
    record : callable
        Records some iterations and a turnover.
    turns : int
        Number of calls of `record`.
    owner : Resource
        The resource that closes this one.
    """

    def __init__(
        self,
        device: Device,
        state: Buffer,
        written: Buffer,
        dtype: np.dtype[Any],
        record: Callable[[Recording], None],
        turns: int,
        owner: Resource,
    ) -> None:
        self._dtype = dtype
        self._room = Buffer(device, 4, mapped=True, name="the room", owner=owner)
        self._state = Buffer(device, state.nbytes, mapped=True, name="the mapped state", owner=owner)
        self._written = Buffer(device, written.nbytes, mapped=True, name="the mapped rows written", owner=owner)
        self._timestamps = Timestamps(device, 2, owner=owner)
        self._recording = Recording(device, owner=owner)
        fields: Any = dtype.fields
        with self._recording.record() as recording:
            recording.barrier("all", "all")
            recording.timestamp(self._timestamps, 0)
            recording.copy(self._room, state, 4, 0, fields["room"][1])
            recording.barrier("transfer", "compute")
            for _ in range(turns):
                record(recording)
            recording.timestamp(self._timestamps, 1)
            recording.barrier("compute", "transfer")
            recording.copy(state, self._state, state.nbytes)
            recording.copy(written, self._written, written.nbytes)
            recording.barrier("all", "all")

    def submit(self, room: int) -> None:
        """Submit to the device, which may begin rows below `room`."""
        self._recording.wait()
        self._room.view()[0] = room
        self._recording.submit()

    def wait(self) -> None:
        """Wait until the device has finished."""
        self._recording.wait()

    @property
    def state(self) -> Any:
        """State of the searches at the end of the submission."""
        return self._state.view(self._dtype)[0]

    @property
    def written(self) -> npt.NDArray[np.uint32]:
        """Rows written until the end of the submission, shape (places in the ring, 2), uint32."""
        return self._written.view().reshape(-1, 2)

    @property
    def milliseconds(self) -> tuple[float, float]:
        """Begin and end of the submission, by the device's clock."""
        begin, end = self._timestamps.read_all(0, 2)
        return begin, end


class SubmissionQueue:
    """Queue of submissions, whose length follows from the time that they take.

    Parameters
    ----------
    make : callable
        Returns a submission with a given number of turnovers.
    """

    def __init__(self, make: Callable[[int], Submission]) -> None:
        self._make = make
        self._made: dict[tuple[int, int], Submission] = {}
        self._running: deque[Submission] = deque()
        self._size = self._turn = 0

    def next(self, room: int) -> Submission:
        """Return the next finished submission, valid until the next call; two more have been submitted."""
        while len(self._running) < 2:
            self._submit(room)
        done = self._running.popleft()
        done.wait()
        begin, end = done.milliseconds
        if end - begin > SUBMISSION_MS:
            self._size = max(0, self._size - 1)
        elif 2 * (end - begin) <= SUBMISSION_MS and self._size + 1 < len(TURNS):
            self._size += 1
        self._submit(room)
        return done

    def _submit(self, room: int) -> None:
        key = (self._size, self._turn)
        if key not in self._made:
            self._made[key] = self._make(TURNS[self._size])
        self._turn = (self._turn + 1) % _IN_TURN
        self._made[key].submit(room)
        self._running.append(self._made[key])

    def finish(self) -> None:
        """Wait for all submissions on the device.

        A lost device is no error here: its error has ended the work already, or the results are not needed.
        """
        while self._running:
            with suppress(DeviceError):
                self._running.popleft().wait()
        self._size = 0
