"""The server as an ASGI application."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import Mount, Route

from vkssp.cores import num_cores
from vkssp.log import logger
from vkssp.server.answers import answer
from vkssp.server.dataset import Dataset, Datasets
from vkssp.server.errors import RequestError
from vkssp.server.limits import Limits
from vkssp.server.parsing import parsed_body, parsed_query, parsed_target
from vkssp.server.requests import Request, TileRequest
from vkssp.server.workers import Workers

_log = logger(__name__)
_JSON = "application/json; charset=UTF-8"
_METHODS = "GET, HEAD, POST, OPTIONS"
_OPTIONS = orjson.OPT_SERIALIZE_NUMPY

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


def _headers(origin: str) -> dict[str, str]:
    shared = {
        "Access-Control-Allow-Origin": origin,
        "Access-Control-Allow-Methods": _METHODS,
        "Access-Control-Allow-Headers": "X-Requested-With, Content-Type",
    }
    return shared if origin else {}


class _Services:
    """OSRM's services: the ASGI application of all paths that no other has."""

    def __init__(self, datasets: Datasets, limits: Limits, workers: Workers, origin: str) -> None:
        self._datasets, self._limits, self._workers, self._shared = datasets, limits, workers, _headers(origin)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._response(HttpRequest(scope, receive))
        await response(scope, receive, send)

    async def _response(self, http: HttpRequest) -> Response:
        if http.method == "OPTIONS":
            return Response(status_code=204, headers=self._shared)
        extra = {"Content-Disposition": 'inline; filename="response.json"', **self._shared}
        try:
            body, status = await self._body(http), 200
        except RequestError as error:
            body, status = orjson.dumps({"code": error.code, "message": error.message}), error.status
            if status == 503:
                extra["Retry-After"] = "1"
            if status == 405:
                extra["Allow"] = _METHODS
        except Exception:
            _log.exception("a request failed: %s", http.url)
            body, status = orjson.dumps({"code": "InternalError", "message": "Internal error"}), 500
        return Response(body, status, extra, _JSON)

    async def _body(self, http: HttpRequest) -> bytes:
        """Return the body of the answer to a request."""
        raw, query = bytes(http.scope["raw_path"]), bytes(http.scope["query_string"])
        url = raw + b"?" + query if query else raw
        if len(url) > self._limits.url_bytes:
            raise RequestError("TooBig", f"The URL has more than {self._limits.url_bytes} bytes.", 414)
        request: Request | TileRequest
        if http.method in ("GET", "HEAD"):
            target = parsed_target(url)
            request = parsed_query(target)
        elif http.method == "POST":
            target = parsed_target(url, has_body=True)
            request = parsed_body(target.service, await self._json(http))
        else:
            told = "Method not allowed. Use GET, HEAD, POST, or OPTIONS."
            raise RequestError("InvalidMethod", told, 405)
        request.check(self._limits)
        dataset = self._datasets.find(target.profile)
        return await self._workers.run(lambda: orjson.dumps(answer(dataset, request), option=_OPTIONS))

    async def _json(self, http: HttpRequest) -> object:
        if http.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            told = "POST requests require a Content-Type of application/json."
            raise RequestError("InvalidContentType", told, 415)
        data = bytearray()
        async for chunk in http.stream():
            data += chunk
            if len(data) > self._limits.body_bytes:
                raise RequestError("TooBig", f"The body has more than {self._limits.body_bytes} bytes.", 413)
        try:
            return orjson.loads(data)
        except orjson.JSONDecodeError as error:
            raise RequestError("InvalidQuery", f"invalid JSON: {error}") from None


def application(
    datasets: Datasets | dict[str, Dataset], limits: Limits | None = None, *, threads: int = 0, origin: str = "*"
) -> Starlette:
    """Return the server as an ASGI application.

    Parameters
    ----------
    datasets : Datasets or mapping of str to Dataset
        Datasets by the names that profiles have in URLs.
    limits : Limits, optional
        Limits of requests; OSRM's by default.
    threads : int
        Number of threads that answer requests; 0 for the number of cores.
    origin : str
        Origin of web pages that may use the server, ``"*"`` for all, empty for none.
    """
    limits = limits or Limits()
    found = datasets if isinstance(datasets, Datasets) else Datasets(datasets)
    workers = Workers(threads or num_cores(), limits.waiting, limits.seconds)

    async def health(_: HttpRequest) -> Response:
        return Response(b'{"status":"ok"}', media_type=_JSON)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        workers.close()

    routes = [Route("/health", health), Route("/ready", health), Mount("/", _Services(found, limits, workers, origin))]
    return Starlette(routes=routes, lifespan=lifespan)
