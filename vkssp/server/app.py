"""The server as an ASGI application."""

from __future__ import annotations

import asyncio
import hmac
import logging
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
from vkssp.routing.tiles import Tiles
from vkssp.server.answers import answer
from vkssp.server.dataset import Dataset, Datasets
from vkssp.server.errors import RequestError
from vkssp.server.fbresult import CONTENT_TYPE, encoded, encoded_error, is_installed
from vkssp.server.limits import Limits
from vkssp.server.live_map import LiveMap
from vkssp.server.metrics import Metrics
from vkssp.server.openapi import description
from vkssp.server.own import (
    parsed_accessibility,
    parsed_isochrone,
    parsed_opportunities,
    parsed_speeds,
    parsed_valhalla,
)
from vkssp.server.parsing import parsed_body, parsed_query, parsed_target
from vkssp.server.processes import ChangeRefusedError
from vkssp.server.requests import REQUESTS, OwnRequest, Request, TileRequest
from vkssp.server.speed_changes import speed_change
from vkssp.server.workers import Workers

_log = logger(__name__)
#: Name of the logger of requests.
ACCESS = f"{__name__}.access"
_access = logger(ACCESS)
_JSON = "application/json; charset=UTF-8"
_METHODS = "GET, HEAD, POST, OPTIONS"
_OPTIONS = orjson.OPT_SERIALIZE_NUMPY
#: Headers of an answer of 503, and of one of 405.
_LATER, _ALLOWED, _NO_HEADERS = {"Retry-After": "1"}, {"Allow": _METHODS}, dict[str, str]()
#: How the paths of OSRM's services begin.
_OSRM = tuple(f"/{name}/v" for name in (*REQUESTS, "tile"))
_OSRM_BYTES = tuple(path.encode() for path in _OSRM)

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Change = Callable[[bytes], Awaitable[bytes]]


class _Server:
    """What the services share: datasets, threads, limits, figures; and the services themselves."""

    def __init__(
        self,
        datasets: Datasets,
        limits: Limits,
        workers: Workers,
        origin: str,
        token: str,
        metrics: Metrics,
        ask_all: Change | None,
        *,
        has_live_map: bool,
    ) -> None:
        self.datasets, self._limits, self._token, self._has_live_map = datasets, limits, token, has_live_map
        self.workers, self.metrics, self._ask_all = workers, metrics, ask_all or self.change
        self.is_ready = True
        self._changing = asyncio.Lock()
        self._shared = {"Content-Disposition": 'inline; filename="response.json"'}
        if origin:
            self._shared |= {
                "Access-Control-Allow-Origin": origin,
                "Access-Control-Allow-Methods": _METHODS,
                "Access-Control-Allow-Headers": "X-Requested-With, Content-Type, Authorization",
            }
        named = {**self._shared, "Content-Type": _JSON}
        self._headers = [(name.lower().encode(), value.encode()) for name, value in named.items()]
        # What follows the length in heads of answers.
        self._rest_of_head = b"".join(b"\r\n%b: %b" % header for header in self._headers) + b"\r\n"
        of_json = (b"content-type", b"content-disposition")
        others = [header for header in self._headers if header[0] not in of_json]
        #: Headers of answers of other formats.
        self._of_format = {
            name: [*others, (b"content-type", kind.encode())]
            for name, kind in (("mvt", "application/x-protobuf"), ("flatbuffers", CONTENT_TYPE))
        }

    def answering(self, body_of: Callable[[HttpRequest], Awaitable[bytes]]) -> Callable[[HttpRequest], Any]:
        """Return an endpoint that answers with a body, or with the error that is raised instead."""

        async def respond(http: HttpRequest) -> Response:
            if http.method == "OPTIONS":
                return Response(status_code=204, headers=self._shared)
            status, extra, body = await self._settled(http.scope, body_of(http))
            return Response(body, status, {**self._shared, **extra}, _JSON)

        return respond

    def at_once(self, url: bytes, client: str) -> tuple[bytes, bytes] | None:
        """Return head and body of an answer, if it is short work; see `vkssp.server.protocol`."""
        if not self.workers.in_loop or len(url) > self._limits.url_bytes:
            return None
        if b"#" in url or url.endswith(b"?"):  # parts that the usual way drops
            return None
        began, service, code, status = time.perf_counter(), "none", "Ok", b"200 OK"
        try:
            target = parsed_target(url)
            service = target.service
            request = parsed_query(target)
            if not request.is_short() or getattr(request, "format", "json") != "json":
                return None
            request.check(self._limits)
            dataset = self.datasets.find(target.profile)
            if not dataset.is_quick:
                return None
            body = orjson.dumps(answer(dataset, request), option=_OPTIONS)
        except RequestError as error:
            if error.status != 400:  # others have headers of their own
                return None
            code, status, body = error.code, b"400 Bad Request", _told(error)
        except Exception:  # the usual way logs it
            return None
        seconds = time.perf_counter() - began
        self.metrics.begin()
        self.metrics.add(service, code, seconds)
        if _access.isEnabledFor(logging.INFO):
            path = url.partition(b"?")[0].decode("ascii", "backslashreplace")
            _access.info("%s GET %s %s %s %.1f ms", client, path, status[:3].decode(), code, 1e3 * seconds)
        return b"HTTP/1.1 %b\r\ncontent-length: %d%b" % (status, len(body), self._rest_of_head), body

    async def _settled(self, scope: Scope, working: Awaitable[bytes]) -> tuple[int, dict[str, str], bytes]:
        """Return status, further headers and body of an answer, or of the error that is raised instead."""
        began, code, status, extra = time.perf_counter(), "Ok", 200, _NO_HEADERS
        self.metrics.begin()
        try:
            body = await working
        except RequestError as error:
            code, status = error.code, error.status
            if scope.get("vkssp.format") == "flatbuffers":
                body = encoded_error(code, error.message)
            else:
                scope.pop("vkssp.format", None)
                body = _told(error)
            extra = {503: _LATER, 405: _ALLOWED}.get(status, extra)
        except asyncio.CancelledError:
            self.metrics.add("none", "Cancelled", time.perf_counter() - began)
            raise
        except Exception:
            _log.exception("a request failed: %s", scope["path"])
            code, status = "InternalError", 500
            scope.pop("vkssp.format", None)
            body = orjson.dumps({"code": code, "message": "Internal error"})
        seconds = time.perf_counter() - began
        # Of a path that is no service, no text of the client's becomes a name.
        self.metrics.add(scope.get("vkssp.service", "none"), code, seconds)
        if _access.isEnabledFor(logging.INFO):
            client = (scope.get("client") or "-")[0]
            path = bytes(scope["raw_path"]).decode("ascii", "backslashreplace")
            _access.info("%s %s %s %d %s %.1f ms", client, scope["method"], path, status, code, 1e3 * seconds)
        return status, extra, body

    async def services(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer requests to OSRM's services: the ASGI application of all paths that no other has.

        It does without objects for requests and responses, which take longer than the search of a route.
        """
        if scope["method"] == "OPTIONS":
            await Response(status_code=204, headers=self._shared)(scope, receive, send)
            return
        status, extra, body = await self._settled(scope, self._osrm(scope, receive))
        of_format = self._of_format.get(scope.get("vkssp.format", ""), self._headers)
        headers = [(b"content-length", b"%d" % len(body)), *of_format]
        if extra:
            headers += [(name.lower().encode(), value.encode()) for name, value in extra.items()]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})

    async def _osrm(self, scope: Scope, receive: Receive) -> bytes:
        method, raw, query = scope["method"], scope["raw_path"], scope["query_string"]
        url = raw + b"?" + query if query else raw
        if len(url) > self._limits.url_bytes:
            raise RequestError("TooBig", f"The URL has more than {self._limits.url_bytes} bytes.", 414)
        request: Request | TileRequest
        if method in ("GET", "HEAD"):
            target = parsed_target(url)
            scope["vkssp.service"] = target.service
            request = parsed_query(target)
        elif method == "POST":
            target = parsed_target(url, has_body=True)
            scope["vkssp.service"] = target.service
            request = parsed_body(target.service, await self._json(HttpRequest(scope, receive)))
        else:
            told = "Method not allowed. Use GET, HEAD, POST, or OPTIONS."
            raise RequestError("InvalidMethod", told, 405)
        if isinstance(request, TileRequest):
            scope["vkssp.format"] = "mvt"
        elif request.format == "flatbuffers":
            if not is_installed():
                raise RequestError("NotImplemented", "Answers in flatbuffers need pip install 'vkssp[server]'.")
            scope["vkssp.format"] = request.format
        return await self._answer(target.profile, request, scope)

    async def _answer(
        self, profile: str, request: Request | TileRequest | OwnRequest, scope: Scope | None = None
    ) -> bytes:
        try:
            request.check(self._limits)
        except RequestError as error:
            if scope is not None and error.code == "InvalidOptions":
                scope.pop("vkssp.format", None)  # as OSRM, which checks these before it thinks of formats
            raise
        dataset = self.datasets.find(profile)

        def work() -> bytes:
            if isinstance(request, TileRequest):
                return dataset.tiles.tile(request)
            if isinstance(request, Request) and request.format == "flatbuffers":
                return encoded(answer(dataset, request))
            return orjson.dumps(answer(dataset, request), option=_OPTIONS)

        if self.workers.in_loop and dataset.is_quick and request.is_short():
            return work()
        return await self.workers.run(work)

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

    async def accessibility(self, http: HttpRequest) -> bytes:
        """Answer a request for sums over opportunities."""
        http.scope["vkssp.service"] = "accessibility"
        request = parsed_accessibility(await self._json(http))
        return await self._answer(http.path_params["profile"], request)

    async def opportunities(self, http: HttpRequest) -> bytes:
        """Answer a request for the nearest opportunities."""
        http.scope["vkssp.service"] = "opportunities"
        request = parsed_opportunities(await self._json(http))
        return await self._answer(http.path_params["profile"], request)

    async def speeds(self, http: HttpRequest) -> bytes:
        """Change speeds of streets."""
        http.scope["vkssp.service"] = "speeds"
        given = http.headers.get("authorization", "").encode()
        if not self._token or not hmac.compare_digest(given, f"Bearer {self._token}".encode()):
            raise RequestError("Unauthorized", "Changes need the header 'Authorization: Bearer TOKEN'.", 401)
        profile, speeds = parsed_speeds(await self._json(http))
        try:
            return await self._ask_all(speed_change(self.datasets.name_of(profile), speeds))
        except ChangeRefusedError as refused:
            raise RequestError("InvalidValue", str(refused)) from None

    async def change(self, content: bytes) -> bytes:
        """Change speeds as `speed_change` tells; return the answer.

        Raises
        ------
        ChangeRefusedError
            If the speeds cannot be set.
        """
        profile, speeds = parsed_speeds(orjson.loads(content))
        router = self.datasets.find(profile).router
        async with self._changing:
            try:
                # Not among the requests that wait, and however long it takes: no process may lack what others have.
                change = await asyncio.to_thread(router.set_speeds, speeds)
            except QueryError as error:
                raise ChangeRefusedError(str(error)) from None
        return orjson.dumps({"code": "Ok", **asdict(change)})

    async def openapi(self, http: HttpRequest) -> bytes:
        """Return the description of the services."""
        return orjson.dumps(description(tuple(self.datasets), has_live_map=self._has_live_map))

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


def _told(error: RequestError) -> bytes:
    return orjson.dumps({"code": error.code, "message": error.message})


class Application:
    """The server as an ASGI application; see `application`."""

    def __init__(self, server: _Server, live_map: LiveMap | None) -> None:
        self._server, self.change = server, server.change

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
            route("/accessibility/v1/{profile}", server.accessibility, "POST"),
            route("/opportunities/v1/{profile}", server.opportunities, "POST"),
            route("/speeds", server.speeds, "POST"),
            *(() if live_map is None else live_map.routes),
            Mount("/", server.services),
        ]
        self._others = Starlette(routes=routes, lifespan=lifespan)

    def at_once(self, url: bytes, client: str) -> tuple[bytes, bytes] | None:
        """Return head and body of the answer to a GET request that is short work, or None; see `Answering`."""
        return self._server.at_once(url, client) if url.startswith(_OSRM_BYTES) else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or take part in the server's start and end."""
        if scope["type"] == "http" and scope["path"].startswith(_OSRM):
            await self._server.services(scope, receive, send)
        else:
            await self._others(scope, receive, send)


def application(
    datasets: Datasets | Mapping[str, Dataset],
    limits: Limits | None = None,
    *,
    threads: int = 0,
    in_loop: bool = False,
    origin: str = "*",
    token: str = "",
    live_map: bool = True,
    tiles: Tiles | None = None,
    metrics: Metrics | None = None,
    ask_all: Change | None = None,
) -> Application:
    """Return the server as an ASGI application.

    Parameters
    ----------
    datasets : Datasets or mapping of str to Dataset
        Datasets by the names that profiles have in URLs.
    limits : Limits, optional
        Limits of requests; OSRM's by default.
    threads : int
        Number of threads that answer requests; 0 for the number of cores.
    in_loop : bool
        Whether requests that take a millisecond or so are answered in the event loop, not by a thread, which takes less
        time in all. Meant for several processes.
    origin : str
        Origin of web pages that may use the server, ``"*"`` for all, empty for none.
    token : str
        Secret of those who may change weights; empty if nobody may.
    live_map : bool
        Whether ``/`` is a map for browsers; otherwise no service has this path, as in OSRM.
    tiles : Tiles, optional
        Raster tiles behind the streets of the live map.
    metrics : Metrics, optional
        Where requests are counted.
    ask_all : callable, optional
        Asks all processes for a change, which each makes by `Application.change`, and returns what one of them tells.
    """
    found = datasets if isinstance(datasets, Datasets) else Datasets(datasets)
    limits = limits or Limits()
    workers = Workers(threads or num_cores(), limits.waiting, limits.seconds, in_loop=in_loop)
    page = LiveMap(found, workers.run, tiles) if live_map else None
    metrics = metrics or Metrics()
    server = _Server(found, limits, workers, origin, token, metrics, ask_all, has_live_map=live_map)
    return Application(server, page)
