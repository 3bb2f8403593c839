"""Connections of the server: time limits, a bound on their number, and the security headers on its own refusals."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from unmask.explorer.security import HEADERS

REQUEST_SECONDS = 15.0  # for a whole request to arrive
WRITE_SECONDS = 30.0  # for a client to take what waits to be sent
IDLE_SECONDS = 5  # between two requests of a connection
MAX_CONNECTIONS = 256


class GuardedProtocol(H11Protocol):
    """One connection: a request that does not arrive in time, or a response that is not taken, ends it."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._deadline: asyncio.TimerHandle | None = None  # of the request
        self._write_deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the time limit; if there are too many connections, end the one that waits longest."""
        super().connection_made(transport)
        self._start_deadline()
        if len(self.connections) > MAX_CONNECTIONS:
            waiting = [each for each in self.connections if isinstance(each, GuardedProtocol) and each.is_waiting()]
            oldest = min(waiting, key=lambda each: each._deadline.when() if each._deadline else 0.0)
            if oldest._deadline is None:  # between two requests: nothing to answer
                oldest.transport.close()
            else:
                oldest.refuse(HTTPStatus.SERVICE_UNAVAILABLE, "too many connections")

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the time limits."""
        self._stop_deadline()
        self._stop_write_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read what arrived; the time limit ends with the request."""
        super().data_received(data)
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY) or self.transport.is_closing():
            self._stop_deadline()
        elif self._deadline is None:
            self._start_deadline()

    def pause_writing(self) -> None:
        """The client does not take the response: give it some time."""
        super().pause_writing()
        self._stop_write_deadline()
        self._write_deadline = self.loop.call_later(WRITE_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """The client takes the response again."""
        super().resume_writing()
        self._stop_write_deadline()

    def is_waiting(self) -> bool:
        """Whether the client has a request to finish or to begin."""
        return self.cycle is None or self.cycle.response_complete or self._deadline is not None

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP request."""
        self.refuse(HTTPStatus.BAD_REQUEST, msg)

    def refuse(self, status: HTTPStatus, message: str) -> None:
        """Answer with the security headers if nothing was answered yet, and close."""
        self._stop_deadline()
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # the application has nothing to answer any more
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE) and not self.transport.is_closing():
            content = {"content-type": "text/plain; charset=utf-8", "connection": "close"}
            named = [(name.encode(), value.encode()) for name, value in (HEADERS | content).items()]
            answer = h11.Response(status_code=status, headers=named, reason=status.phrase.encode())
            for event in (answer, h11.Data(data=message.encode()), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _start_deadline(self) -> None:
        late = HTTPStatus.REQUEST_TIMEOUT, "the request did not arrive in time"
        self._deadline = self.loop.call_later(REQUEST_SECONDS, self.refuse, *late)

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _stop_write_deadline(self) -> None:
        if self._write_deadline is not None:
            self._write_deadline.cancel()
            self._write_deadline = None
