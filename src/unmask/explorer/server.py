"""Open the folders named on the command line, and serve them on the loopback interface only."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import uvicorn

from unmask.audit.result import AuditResult, load
from unmask.core.errors import DataError, ResultError, UnmaskError, one_line, shorten
from unmask.explorer.annotation import AnnotationDesk
from unmask.explorer.app import Site, create_app
from unmask.explorer.connections import IDLE_SECONDS, GuardedProtocol
from unmask.explorer.pairs import Runs
from unmask.explorer.security import MAX_HEAD
from unmask.findings.envelope import RESULT, Result
from unmask.prompts.annotations import ANSWERS, open_folder

HOST, PORT = "127.0.0.1", 8632
logger = logging.getLogger(__name__)


def open_folders(folders: Sequence[Path], token: str = "", *, skip: Callable[[str], object] | None = None) -> Site:
    """Open results, in the order named, and the answers of at most one model.

    With `skip` a folder that cannot be read is left out, and the reason is passed to it.
    """
    answers = [folder for folder in folders if (folder / ANSWERS).is_file()]
    if len(answers) > 1:
        raise ResultError(f"answers of {len(answers)} models: name one folder with {ANSWERS} at a time")
    results, desk = list[Result](), None
    for folder in folders:
        try:
            if folder in answers:
                desk = AnnotationDesk(open_folder(folder))
            else:
                results.append(_open(folder))
        except UnmaskError as error:
            if skip is None:
                raise
            skip(str(error))
    runs = tuple(result for result in results if isinstance(result, AuditResult))
    others = tuple(result for result in results if not isinstance(result, AuditResult))
    return Site(Runs(runs), token, desk=desk, others=others)


def _open(folder: Path) -> Result:
    """Open a result; what cannot be read fails now and not in the page."""
    result = load(folder)
    if isinstance(result, AuditResult):
        _ = result.items, result.tokens
    return result


def find_folders(folder: Path) -> list[Path]:
    """Find all finished runs in a folder, the oldest first, and the newest answers."""
    answers = [path.parent for path in folder.glob(f"*/{ANSWERS}")]
    runs = [path.parent for path in folder.glob(f"*/{RESULT}") if path.parent not in answers]
    runs, answers = (sorted(each, key=lambda f: (f.stat().st_mtime, f.name)) for each in (runs, answers))
    return runs + answers[-1:]


def open_socket(port: int | None = None) -> socket.socket:
    """Bind a socket on the loopback interface: to `port`, by default 8632 or any free port."""
    if port is not None and not 0 <= port < 65536:
        raise DataError(f"port {port}: give a number from 0 (any free port) to 65535")
    for candidate in (PORT, 0) if port is None else (port,):
        bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((HOST, candidate))
        except OSError as error:
            bound.close()
            failure = error
        else:
            return bound
    raise DataError(f"port {port} cannot be used ({failure.strerror}): give another port, or none")


def page_url(bound: socket.socket, token: str) -> str:
    """The URL to open in a browser."""
    return f"http://{HOST}:{bound.getsockname()[1]}/?token={token}"


def create_server(site: Site, on_start: Callable[[], object] = lambda: None) -> uvicorn.Server:
    """Create the server; `on_start` is called when it accepts requests."""
    config = uvicorn.Config(
        create_app(site),
        http=GuardedProtocol,
        ws="none",
        lifespan="on",
        log_level="critical",
        access_log=False,
        server_header=False,
        h11_max_incomplete_event_size=MAX_HEAD,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=1,
    )
    return NotifyingServer(config, on_start)


class NotifyingServer(uvicorn.Server):
    """Calls back when it has started."""

    def __init__(self, config: uvicorn.Config, on_start: Callable[[], object]) -> None:
        super().__init__(config)
        self._on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then call back."""
        asyncio.get_running_loop().set_exception_handler(_log_failure)
        await super().startup(sockets)
        self._on_start()


def _log_failure(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log an error of a connection in one line; asyncio would print its traceback."""
    logger.error("unmask explore: %s", shorten(one_line(f"{context['message']} {context.get('exception', '')}"), 500))
