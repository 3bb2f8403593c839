"""The server: on this machine only, until it is told to stop."""

from __future__ import annotations

import socket
from collections.abc import Callable

import uvicorn

from unmask.core.errors import DataError
from unmask.explorer.app import Site, create_app

HOST, PORT = "127.0.0.1", 8632


def open_socket(port: int | None = None) -> socket.socket:
    """A socket on the loopback address; without a number the usual port, or any when that is taken."""
    if port is not None and not 0 <= port < 65536:
        raise DataError(f"--port {port}: give a number from 0 (any free port) to 65535")
    for wanted in (PORT, 0) if port is None else (port,):
        place = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            place.bind((HOST, wanted))
        except OSError as error:
            place.close()
            trouble = error
        else:
            return place
    raise DataError(f"port {port} cannot be used ({trouble.strerror}): give another, or none")


def page_url(place: socket.socket, token: str) -> str:
    """What to open in a browser."""
    return f"http://{HOST}:{place.getsockname()[1]}/?token={token}"


def create_server(site: Site, started: Callable[[], None] = lambda: None) -> uvicorn.Server:
    """A server for this page; `started` is called when it answers."""
    quiet = uvicorn.Config(
        create_app(site),
        log_level="warning",
        access_log=False,
        lifespan="on",
        server_header=False,
        ws="none",
    )
    return NotifyingServer(quiet, started)


class NotifyingServer(uvicorn.Server):
    """Says when it has started."""

    def __init__(self, config: uvicorn.Config, told: Callable[[], None]) -> None:
        super().__init__(config)
        self._told = told

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As always; then tell."""
        await super().startup(sockets)
        self._told()
