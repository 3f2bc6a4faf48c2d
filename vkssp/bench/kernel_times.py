"""Time on the device of each kernel of a call: timestamps where another kernel is bound, in whatever is recorded.

Each timestamp lets the device wait for all that comes before it. There is one for each change of kernels, not for each
dispatch, so that some levels of a sweep, say, are one span and overlap as they do without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from vkssp.gpu.device import Device
from vkssp.gpu.kernel import Bindings
from vkssp.gpu.recording import Recording, Timestamps
from vkssp.resource import Resource

#: Name of the span before the first kernel: fills and copies.
BEGINNING = "fills and copies"
# Spans of a recording that are told apart, and recordings: more are left out.
_SPANS, _RECORDINGS = 64, 256


class KernelTimes(Resource):
    """Times of the kernels that a device runs, by their names.

    Only recordings that are recorded within `watch` are looked at, so solvers have to be made there.

    Parameters
    ----------
    device : Device
        The device.

    Attributes
    ----------
    milliseconds : dict of str to float
        Time of each kernel since the last call of `begin`, in the order of the first submission.
    """

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self.milliseconds: dict[str, float] = {}
        self._timestamps = Timestamps(device, _SPANS * _RECORDINGS, owner=self)
        # The names of the spans of each recording; its slots begin at the place of the recording in this dict.
        self._spans: dict[Recording, list[str]] = {}
        self._first: dict[Recording, int] = {}
        self._running: dict[Recording, list[Recording]] = {}

    def begin(self) -> None:
        """Forget the times so far."""
        self.milliseconds.clear()

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Look at what is recorded and submitted in a block."""
        record, bind, timestamp = Recording.record, Recording.bind, Recording.timestamp
        submit, wait = Recording.submit, Recording.wait

        def mark(recording: Recording, name: str) -> None:
            spans = self._spans.get(recording)
            if spans is None or len(spans) == _SPANS:
                return
            timestamp(recording, self._timestamps, self._first[recording] + len(spans))
            spans.append(name)

        def recorded(recording: Recording, key: object = None) -> AbstractContextManager[Recording]:
            if recording not in self._first and len(self._first) < _RECORDINGS:
                self._first[recording] = _SPANS * len(self._first)
            if recording in self._first:
                self._spans[recording] = []
            return record(recording, key)

        def bound(recording: Recording, bindings: Bindings) -> None:
            if (self._spans.get(recording) or [""])[-1] != bindings.kernel.name:
                mark(recording, bindings.kernel.name)
            bind(recording, bindings)

        def timed(recording: Recording, timestamps: Timestamps, slot: int) -> None:
            timestamp(recording, timestamps, slot)
            mark(recording, "" if self._spans.get(recording) else BEGINNING)

        def submitted(recording: Recording, first: Recording | None = None) -> None:
            submit(recording, first)
            self._running[recording] = [recording] if first is None else [first, recording]

        def waited(recording: Recording, expected_us: float = 0.0) -> None:
            wait(recording, expected_us)
            for ended in self._running.pop(recording, ()):
                self._add(ended)

        with ExitStack() as stack:
            patches: dict[str, Callable[..., Any]] = {
                "record": recorded,
                "bind": bound,
                "timestamp": timed,
                "submit": submitted,
                "wait": waited,
            }
            for name, function in patches.items():
                stack.enter_context(patch.object(Recording, name, function))
            yield

    def _add(self, recording: Recording) -> None:
        """Add the times of a recording that has been executed."""
        spans = self._spans.get(recording, [])
        if len(spans) < 2:
            return
        times = self._timestamps.read_all(self._first[recording], len(spans))
        for name, begin, end in zip(spans, times, times[1:], strict=False):
            if name:  # what follows the recording's own last timestamp is not counted there, either
                self.milliseconds[name] = self.milliseconds.get(name, 0.0) + end - begin
