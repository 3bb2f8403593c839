"""HTTP servers on loopback: one that speaks as the Hugging Face hub does, and one that never answers."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import socket
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from serving import running

COMMIT = "0123456789abcdef0123456789abcdef01234567"
REVISIONS = ("main", "v1", COMMIT)
GATED = "team/gated"
Files = Path | Mapping[str, bytes]  # a folder, or the content of each file

_NAME = r"(?P<name>\w+/\w+)"
_ABOUT = re.compile(rf"/api/(?:models|datasets)/{_NAME}(?:/revision/(?P<revision>[^/]+))?")
_TREE = re.compile(rf"/api/(?:models|datasets)/{_NAME}/tree/(?P<revision>[^/]+).*")
_FILE = re.compile(rf"/(?:datasets/)?{_NAME}/resolve/(?P<revision>[^/]+)/(?P<file>.+)")


class Hub(ThreadingHTTPServer):
    """Repositories by name; `asked` are the paths of all requests, `delay` the seconds before each answer."""

    daemon_threads = True

    def __init__(self, repositories: Mapping[str, Files]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repositories = repositories
        self.asked: list[str] = []
        self.delay = 0.0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def names(self, repository: str) -> list[str]:
        files = self.repositories[repository]
        return sorted(path.name for path in files.iterdir()) if isinstance(files, Path) else list(files)

    def content(self, repository: str, name: str) -> bytes | None:
        files = self.repositories[repository]
        if not isinstance(files, Path):
            return files.get(name)
        return (files / name).read_bytes() if (files / name).is_file() else None


class _Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        server, path = self.server, self.path.partition("?")[0]
        server.asked.append(self.path)
        threading.Event().wait(server.delay)
        found = _ABOUT.fullmatch(path) or _TREE.fullmatch(path) or _FILE.fullmatch(path)
        name = found["name"] if found else ""
        if name == GATED:
            message = f"Access to {name} is restricted."
            return self._send(403, b"", {"X-Error-Code": "GatedRepo", "X-Error-Message": message})
        if found is None or name not in server.repositories:
            return self._send(404, b"", {"X-Error-Code": "RepoNotFound"})
        if (found["revision"] or "main") not in REVISIONS:
            return self._send(404, b"", {"X-Error-Code": "RevisionNotFound"})
        if found.re is not _FILE:
            listed = [{"rfilename": each} for each in server.names(name)]
            about = {"id": name, "sha": COMMIT, "siblings": listed, "tags": []}
            return self._send(200, json.dumps(about if found.re is _ABOUT else []).encode(), {})
        content = server.content(name, found["file"])
        if content is None:
            return self._send(404, b"", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT})
        known = {"ETag": f'"{hashlib.sha256(content).hexdigest()}"', "X-Repo-Commit": COMMIT}
        return self._send(200, content, known)

    def _send(self, code: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(code)
        kind = "application/json" if self.path.startswith("/api/") else "application/octet-stream"
        for name, value in {**headers, "Content-Type": kind, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def serve(repositories: Mapping[str, Files]) -> Iterator[Hub]:
    """Run a hub in a thread."""
    server = Hub(repositories)
    with running(server):
        yield server


@contextlib.contextmanager
def serve_nothing() -> Iterator[str]:
    """The URL of a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
