"""Protocol of HTTP under uvicorn that writes short answers at once.

A request that takes less than a millisecond takes as long again as a task of the event loop, with the messages of ASGI.
So the protocol first asks the application whether it has an answer at once. All other requests go the usual way.

It also bounds what a client may send before a request's headers are complete; uvicorn keeps any amount in memory.
"""

from __future__ import annotations

from typing import Any, Protocol

#: Bytes after which a connection ends whose request line and headers are not complete.
MOST_HEAD_BYTES = 262_144


class Answering(Protocol):
    """Application that may answer requests at once."""

    def at_once(self, url: bytes, client: str) -> tuple[bytes, bytes] | None:
        """Return status line with headers, and body, of the answer to GET; None if the usual way has to be gone.

        The headers end with a line break, but without the empty line after them.

        Parameters
        ----------
        url : bytes
            Path and query, as they came.
        client : str
            Address of the client.
        """


class _Written:
    """Exchange that ended when it began, in place of uvicorn's."""

    response_complete, disconnected, keep_alive = True, False, True

    class message_event:  # noqa: N801, an attribute of uvicorn's
        """Event for which nobody waits."""

        @staticmethod
        def set() -> None:
            """Do nothing."""


def at_once(kind: type[Any], app: Answering | Any) -> type[Any]:
    """Return a protocol of uvicorn which answers at once what an application answers so.

    Parameters
    ----------
    kind : type
        The protocol; only one that parses by httptools can be made so, any other is returned as it is.
    app : Answering
        The application; of any other one all answers go the usual way.
    """
    if kind.__name__ != "HttpToolsProtocol" or not hasattr(app, "at_once"):
        return kind

    class AtOnce(kind):  # type: ignore[misc]
        cycle: Any
        _may = False
        # Bytes that came since the last request whose headers are complete; None while a body comes.
        _head: int | None = 0

        def data_received(self, data: bytes) -> None:
            # Of requests that come together only one is answered at once, so that other connections have their turn.
            self._may = True
            super().data_received(data)
            if self._head is not None:
                self._head += len(data)
                if self._head > MOST_HEAD_BYTES and not self.transport.is_closing():
                    self.send_400_response(f"The headers have more than {MOST_HEAD_BYTES} bytes.")

        def on_message_begin(self) -> None:
            self._head = 0
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self._head = None
            parser, cycle = self.parser, self.cycle
            if (
                self._may
                and (cycle is None or cycle.response_complete)
                and parser.get_method() == b"GET"
                and parser.get_http_version() == "1.1"
                and parser.should_keep_alive()
                and not parser.should_upgrade()
                and not self.flow.write_paused
            ):
                self._may = False
                answer = app.at_once(self.url, self.client[0] if self.client else "-")
                if answer is not None:
                    head, body = answer
                    more = [b"%b: %b\r\n" % header for header in self.server_state.default_headers]
                    self.cycle = _Written
                    self.transport.write(b"".join((head, *more, b"\r\n", body)))
                    self.on_response_complete()
                    return
            super().on_headers_complete()

    return AtOnce
