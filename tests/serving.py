"""Run a real HTTP server on loopback in a thread of the tests."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from socketserver import BaseServer
from typing import TypeVar

Served = TypeVar("Served", bound=BaseServer)


@contextlib.contextmanager
def running(server: Served) -> Iterator[Served]:
    """Serve until the block ends."""
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
