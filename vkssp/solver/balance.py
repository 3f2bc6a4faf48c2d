"""Choice between the CPU and a device for queries, learned from the queries before."""

from __future__ import annotations

import math

from vkssp.algorithm import Outcome
from vkssp.solver.costs import SearchCosts

# A search goes to the device if it is predicted to take so many times longer on the CPU, and gives up there if it takes
# this many times as long as on the device.
_DOUBT, _TOO_LONG = 1.2, 2.0
# A search without a prediction gives up after a part of the time on the device between these: at first the larger one,
# less by a factor for each search that was given up, and more again for each that ended.
_BLIND, _SHARE = (1 / 8, 1.0), 1.2
# Least time of a node, and most nodes of a search, whatever is measured.
_LEAST_US, _MOST_NODES = 1e-6, 2.0**62
#: Nodes of a search whose time tells the time of a node.
MANY = 1024
# Predictions, as multiples of that with which searches go to the device, up to which searches on the device are alike.
_NEAR = 2.0
# Factor by which the time of the device falls to the measured one with each search on the CPU that took longer: one
# that was slow, since it had been idle, is tried again.
_FORGET = 0.997
# Weights of a new value in a mean, if it is greater or less, since other work on the machine makes values greater; and
# most by which one value may be wrong.
_NEW, _LESS, _WRONG = 0.1, 0.3, 2.0
# Queries by which a place is tried, and most by which its predicted time may exceed that of the other place.
_TRIALS, _CURIOUS = 3, 4.0


def _mean(old: float, new: float) -> float:
    """Return a geometric mean that forgets old values, and does not trust an extreme one."""
    return old * math.pow(min(max(new / old, 1 / _WRONG), _WRONG), _NEW if new > old else _LESS)


class Balance:
    """Times of a kind of query in both places, predicted from costs and corrected by the queries before."""

    def __init__(self) -> None:
        # By whether the place is the CPU.
        self._factor = {False: 1.0, True: 1.0}
        self._first: dict[bool, list[float]] = {False: [], True: []}
        self._trials = {False: _TRIALS, True: _TRIALS}

    def learn(self, is_cpu: bool, predicted_us: float, us: float) -> None:
        """Learn from a query, for whose time there was a prediction without corrections."""
        factor, first = max(us, 1e-3) / max(predicted_us, 1e-3), self._first[is_cpu]
        if len(first) < _TRIALS:
            # Buffers may be made in the first one, so that only the fastest counts.
            first.append(factor)
            self._factor[is_cpu] = min(first)
        else:
            self._factor[is_cpu] = _mean(self._factor[is_cpu], factor)

    def gain_us(self, cpu_us: float, device_us: float) -> float:
        """Return the time that the CPU should save, given predictions; negative if the device should answer.

        A place that seems to be slower, but not by much, gets some queries to show how fast it is: the sign then says
        that it answers.
        """
        times = {True: cpu_us * self._factor[True], False: device_us * self._factor[False]}
        gain = times[False] - times[True]
        slower = gain <= 0
        if self._trials[slower] and times[slower] < _CURIOUS * times[not slower]:
            self._trials[slower] -= 1
            return abs(gain) if slower else -abs(gain)
        return gain


class SearchBalance:
    """Choice between the CPU and the device for searches of some kind.

    Parameters
    ----------
    costs : SearchCosts
        Costs of searches.
    can_predict : bool
        Whether the number of nodes that a search will settle can be predicted.

    Attributes
    ----------
    far : float
        Number of nodes from which the device is faster.
    most : int
        Number of nodes after which a search on the CPU gives up.
    """

    def __init__(self, costs: SearchCosts, can_predict: bool) -> None:
        self._node_us = max(_LEAST_US, costs.cpu_node_us)
        self._device_us = self._measured_us = max(1.0, costs.device.fixed_us)
        self._can_predict, self._blind = can_predict, _BLIND[1]
        self._set()

    def _set(self) -> None:
        nodes = self._device_us / self._node_us
        self.far = _DOUBT * nodes
        self.most = int(min(max(1.0, nodes * (_TOO_LONG if self._can_predict else self._blind)), _MOST_NODES))

    def end(self, outcome: Outcome) -> None:
        """Learn from a search that the CPU has ended, after `MANY` nodes at least."""
        node_us = 1e3 * outcome.device_ms / outcome.counters["iterations"]
        self._node_us = _mean(self._node_us, max(_LEAST_US, node_us))
        self._blind = min(self._blind * _SHARE, _BLIND[1])
        if 1e3 * outcome.device_ms > self._measured_us:
            self._device_us = max(self._measured_us, self._device_us * _FORGET)
        self._set()

    def on_device(self, predicted: float, us: float) -> None:
        """Learn from a search of some predicted size on the device; 0 if nothing was known."""
        # A far larger one says nothing about those that might go either way, unless it should not have gone there.
        if predicted < _NEAR * self.far or us > predicted * self._node_us:
            self._device_us = _mean(self._device_us, max(1.0, us))
        if not predicted:
            self._blind = max(self._blind / _SHARE, _BLIND[0])
        self._set()
