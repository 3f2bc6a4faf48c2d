"""Errors that vkssp raises on purpose; each message names the problem and the cure."""


class VksspError(Exception):
    """Base class of all errors that vkssp raises on purpose; the command line prints such an error as one line.

    Attributes
    ----------
    place : str or None
        What the message calls the place, or the pair of places, that it is about, such as ``"origin 4"``; None if it is
        about none.
    """

    place: str | None = None


class GraphError(VksspError, ValueError):
    """A graph, or an argument that describes one, is not valid."""


class FormatError(VksspError, ValueError):
    """A file is not what its reader expects: missing, of another kind, truncated or damaged."""


class QueryError(VksspError, ValueError):
    """A query cannot be asked: a node id out of range, coordinates off the map, an unknown algorithm."""


class NoStreetError(QueryError):
    """There is no street near a place that a trip may begin on, or none that meets the place's conditions."""


class NoRouteError(VksspError):
    """There is no path between the two places asked for."""


class DistanceOverflowError(VksspError, OverflowError):
    """A shortest distance does not fit into 32 bits."""


class MemoryShortageError(VksspError, MemoryError):
    """A graph takes more memory than there is."""


class ClusterError(VksspError, RuntimeError):
    """A cluster does not answer, or has lost the work that it was asked for."""


class DeviceError(VksspError, RuntimeError):
    """No usable Vulkan device, or the device failed.

    Attributes
    ----------
    is_lost : bool
        Whether the device is lost or does not answer, and cannot be used any more.
    """

    is_lost = False
