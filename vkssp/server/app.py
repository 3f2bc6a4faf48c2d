"""The server as an ASGI application."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import Mount, Route

from vkssp.cores import num_cores
from vkssp.errors import QueryError
from vkssp.log import logger
from vkssp.server.answers import answer
from vkssp.server.answers.isochrone import IsochroneRequest
from vkssp.server.dataset import Dataset, Datasets
from vkssp.server.errors import RequestError
from vkssp.server.limits import Limits
from vkssp.server.live_map import LiveMap
from vkssp.server.metrics import Metrics
from vkssp.server.openapi import description
from vkssp.server.own import parsed_isochrone, parsed_speeds, parsed_valhalla
from vkssp.server.parsing import parsed_body, parsed_query, parsed_target
from vkssp.server.requests import Request, TileRequest
from vkssp.server.workers import Workers

_log = logger(__name__)
#: Name of the logger of requests.
ACCESS = f"{__name__}.access"
_access = logger(ACCESS)
_JSON = "application/json; charset=UTF-8"
_METHODS = "GET, HEAD, POST, OPTIONS"
_OPTIONS = orjson.OPT_SERIALIZE_NUMPY
#: Headers of an answer of 503, and of one of 405.
_LATER, _ALLOWED = {"Retry-After": "1"}, {"Allow": _METHODS}

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class _Server:
    """What the services share: datasets, threads, limits, figures; and the services themselves."""

    def __init__(self, datasets: Datasets, limits: Limits, threads: int, origin: str, token: str) -> None:
        self.datasets, self._limits, self._token = datasets, limits, token
        self.workers = Workers(threads, limits.waiting, limits.seconds)
        self.metrics = Metrics(lambda: self.workers.busy)
        self.is_ready = True
        self._changing = asyncio.Lock()
        self._shared = {"Content-Disposition": 'inline; filename="response.json"'}
        if origin:
            self._shared |= {
                "Access-Control-Allow-Origin": origin,
                "Access-Control-Allow-Methods": _METHODS,
                "Access-Control-Allow-Headers": "X-Requested-With, Content-Type, Authorization",
            }

    def answering(self, body_of: Callable[[HttpRequest], Awaitable[bytes]]) -> Callable[[HttpRequest], Any]:
        """Return an endpoint that answers with a body, or with the error that is raised instead."""

        async def respond(http: HttpRequest) -> Response:
            if http.method == "OPTIONS":
                return Response(status_code=204, headers=self._shared)
            began, code, status, extra = time.perf_counter(), "Ok", 200, dict[str, str]()
            try:
                body = await body_of(http)
            except RequestError as error:
                code, status = error.code, error.status
                body = orjson.dumps({"code": code, "message": error.message})
                extra = {503: _LATER, 405: _ALLOWED}.get(status, extra)
            except Exception:
                _log.exception("a request failed: %s", http.url.path)
                code, status = "InternalError", 500
                body = orjson.dumps({"code": code, "message": "Internal error"})
            seconds = time.perf_counter() - began
            # Of a path that is no service, no text of the client's becomes a name.
            service = http.scope.get("vkssp.service", "none")
            self.metrics.add(service, code, seconds)
            client = "-" if http.client is None else http.client.host
            path = bytes(http.scope["raw_path"]).decode("ascii", "backslashreplace")
            _access.info("%s %s %s %d %s %.1f ms", client, http.method, path, status, code, 1e3 * seconds)
            return Response(body, status, {**self._shared, **extra}, _JSON)

        return respond

    async def services(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer requests to OSRM's services: the ASGI application of all paths that no other has."""
        response = await self.answering(self._osrm)(HttpRequest(scope, receive))
        await response(scope, receive, send)

    async def _osrm(self, http: HttpRequest) -> bytes:
        raw, query = bytes(http.scope["raw_path"]), bytes(http.scope["query_string"])
        url = raw + b"?" + query if query else raw
        if len(url) > self._limits.url_bytes:
            raise RequestError("TooBig", f"The URL has more than {self._limits.url_bytes} bytes.", 414)
        request: Request | TileRequest
        if http.method in ("GET", "HEAD"):
            target = parsed_target(url)
            http.scope["vkssp.service"] = target.service
            request = parsed_query(target)
        elif http.method == "POST":
            target = parsed_target(url, has_body=True)
            http.scope["vkssp.service"] = target.service
            request = parsed_body(target.service, await self._json(http))
        else:
            told = "Method not allowed. Use GET, HEAD, POST, or OPTIONS."
            raise RequestError("InvalidMethod", told, 405)
        return await self._answer(target.profile, request)

    async def _answer(self, profile: str, request: Request | TileRequest | IsochroneRequest) -> bytes:
        request.check(self._limits)
        dataset = self.datasets.find(profile)
        return await self.workers.run(lambda: orjson.dumps(answer(dataset, request), option=_OPTIONS))

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

    async def isochrone(self, http: HttpRequest) -> bytes:
        """Answer a request for isochrones."""
        http.scope["vkssp.service"] = "isochrone"
        return await self._answer(
            http.path_params["profile"], parsed_isochrone(http.path_params["place"], http.query_params)
        )

    async def valhalla(self, http: HttpRequest) -> bytes:
        """Answer a request for isochrones that is written as Valhalla's."""
        http.scope["vkssp.service"] = "isochrone"
        profile, request = parsed_valhalla(await self._json(http))
        return await self._answer(profile, request)

    async def speeds(self, http: HttpRequest) -> bytes:
        """Change speeds of streets."""
        http.scope["vkssp.service"] = "speeds"
        given = http.headers.get("authorization", "").encode()
        if not self._token or not hmac.compare_digest(given, f"Bearer {self._token}".encode()):
            raise RequestError("Unauthorized", "Changes need the header 'Authorization: Bearer TOKEN'.", 401)
        profile, speeds = parsed_speeds(await self._json(http))
        router = self.datasets.find(profile).router
        async with self._changing:
            try:
                change = await self.workers.run(lambda: router.set_speeds(speeds))
            except QueryError as error:
                raise RequestError("InvalidValue", str(error)) from error
        return orjson.dumps({"code": "Ok", **asdict(change)})

    async def openapi(self, http: HttpRequest) -> bytes:
        """Return the description of the services."""
        return orjson.dumps(description(tuple(self.datasets)))

    async def health(self, http: HttpRequest) -> bytes:
        """Tell that the process answers."""
        return b'{"status":"ok"}'

    async def ready(self, http: HttpRequest) -> bytes:
        """Tell whether requests are taken."""
        if not self.is_ready:
            raise RequestError("Ending", "The server ends.", 503)
        return b'{"status":"ready"}'

    async def figures(self, _: HttpRequest) -> Response:
        """Return the figures of the server."""
        return Response(self.metrics.text(), media_type="text/plain; version=0.0.4")


def application(
    datasets: Datasets | Mapping[str, Dataset],
    limits: Limits | None = None,
    *,
    threads: int = 0,
    origin: str = "*",
    token: str = "",
    raster: str = "",
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
    token : str
        Secret of those who may change weights; empty if nobody may.
    raster : str
        URL of raster tiles behind the streets of the live map, with ``{z}``, ``{x}`` and ``{y}``; empty for none.
    """
    found = datasets if isinstance(datasets, Datasets) else Datasets(datasets)
    server = _Server(found, limits or Limits(), threads or num_cores(), origin, token)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        server.is_ready = False
        server.workers.close()

    def route(path: str, body_of: Callable[[HttpRequest], Awaitable[bytes]], *methods: str) -> Route:
        return Route(path, server.answering(body_of), methods=[*methods, "OPTIONS"])

    routes = [
        route("/health", server.health, "GET"),
        route("/ready", server.ready, "GET"),
        Route("/metrics", server.figures),
        route("/openapi.json", server.openapi, "GET"),
        route("/isochrone/v1/{profile}/{place}", server.isochrone, "GET"),
        route("/isochrone", server.valhalla, "POST"),
        route("/speeds", server.speeds, "POST"),
        *LiveMap(found, server.workers.run, raster).routes,
        Mount("/", server.services),
    ]
    return Starlette(routes=routes, lifespan=lifespan)
