"""Stored answers: the same bytes for all requests, compressed once, and not sent again to clients that have them."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from hashlib import blake2b

from starlette.requests import Request
from starlette.responses import Response


class StoredAnswer:
    """Body of answers that stays the same.

    Parameters
    ----------
    body : bytes
        The body.
    media_type : str
        Its type.
    headers : mapping of str to str
        Further headers of answers.
    digest : str
        Digest of what the body is made from; by default that of the body.
    """

    def __init__(self, body: bytes, media_type: str, headers: Mapping[str, str], digest: str = "") -> None:
        self._compressed, self._media_type = gzip.compress(body, mtime=0), media_type
        self._tag = f'W/"{digest or digest_of(body)}"'
        self._headers = {**headers, "ETag": self._tag, "Vary": "Accept-Encoding"}

    def response(self, request: Request) -> Response:
        """Return the answer to a request: status 304 without the body if the client has it."""
        known = [tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")]
        if self._tag.removeprefix("W/") in known or "*" in known:
            return Response(status_code=304, headers=self._headers)
        if _takes_gzip(request.headers.get("accept-encoding", "")):
            return Response(
                self._compressed, headers={**self._headers, "Content-Encoding": "gzip"}, media_type=self._media_type
            )
        return Response(gzip.decompress(self._compressed), headers=self._headers, media_type=self._media_type)


def digest_of(*parts: bytes) -> str:
    """Return a digest of some bytes as text."""
    found = blake2b(digest_size=12)
    for part in parts:
        found.update(part)
    return found.hexdigest()


def _takes_gzip(accepted: str) -> bool:
    for part in accepted.lower().split(","):
        name, _, quality = part.replace(" ", "").partition(";")
        if name == "gzip":
            return quality.removeprefix("q=").strip("0.") != "" or not quality
    return False
