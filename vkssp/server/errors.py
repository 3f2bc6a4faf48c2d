"""Errors that the server answers with."""

from __future__ import annotations

from vkssp.errors import VksspError


class RequestError(VksspError):
    """A request cannot be answered.

    Parameters
    ----------
    code : str
        OSRM's word for the kind of error, such as ``"InvalidQuery"``.
    message : str
        What is wrong.
    status : int
        Status of HTTP.

    Attributes
    ----------
    code, message, status
        As given.
    """

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.code, self.message, self.status = code, message, status
