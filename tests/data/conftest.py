"""Fixtures: a clean environment, and a server on the loopback interface."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from unmask import data


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variable of the machine reaches a test; the cache is empty."""
    for name in ("UNMASK_DATA_DIR", "UNMASK_DATA_MIRROR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("UNMASK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setattr("unmask.data.files.RETRIES", 0)


def replace_file(monkeypatch: pytest.MonkeyPatch, dataset: str, **changes: str) -> None:
    """The dataset with another name, address or checksum of its only file."""
    source = data.SOURCES[dataset]
    (file,) = source.card.files
    changed = replace(source, card=replace(source.card, files=(replace(file, **changes),)))
    monkeypatch.setitem(data.SOURCES._things, dataset, changed)  # type: ignore[index]


class Server(ThreadingHTTPServer):
    """Serves `pages` by path; `failures` answers 503 first."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.pages: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.failures = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        body = self.server.pages.get(self.path)
        if self.server.failures:
            self.server.failures -= 1
            self.send_error(503)
        elif body is None:
            self.send_error(404)
        else:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """The mirror downloads are taken from."""
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        monkeypatch.setenv("UNMASK_DATA_MIRROR", running.url + "/")
        yield running
        running.shutdown()
        thread.join()
