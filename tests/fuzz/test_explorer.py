"""Requests to the explorer: raw bytes to a real server, and the JSON of every body within the process."""

from __future__ import annotations

import asyncio
import atexit
import base64
import json
import logging
import os
import re
import shutil
import socket
import tempfile
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from tests.fuzz.harness import BUDGET, Boundary, Files, fuzz

import zoo
from explorer import samples
from unmask.audit.result import load
from unmask.core.boundary import parse_json, validate
from unmask.core.errors import DataError
from unmask.explorer import connections
from unmask.explorer.annotation import AnnotationDesk
from unmask.explorer.app import Site, create_app
from unmask.explorer.live import LiveModel, Query, parse_query
from unmask.explorer.pairs import Runs
from unmask.explorer.security import HEADERS
from unmask.explorer.upload import Upload, read_upload
from unmask.models import open_lm

CONTINUE = b"HTTP/1.1 100 \r\n\r\n"
SERVER = "127.0.0.1", 8632
BODIES: dict[str, dict[str, str]] = {
    "judge": {"prompt": "prompts/0001", "judge": "anna", "verdict": "biased"},
    "live/pair": {"more": "He ran home.", "less": "She ran home."},
    "live/template": {"text": "The {word} lost {possessive} hat.", "words": "cook, nurse"},
    "live/prompt": {"text": "The cook is ___."},
}
PATHS = ("/", "/look.css", "/static/app.js", "/api/runs", "/api/pairs", "/api/pair/0", "/api/compare/0/0")


@cache
def site() -> Site:
    """One run, answers to annotate and a tiny model."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-explorer-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ.setdefault("UNMASK_TEST_ZOO", str(folder / "zoo"))
    runs = Runs((load(samples.run(folder / "one", "one")),))
    live = LiveModel.start("tiny", lambda: open_lm(zoo.folder("bert-uncased")))
    live.submit(parse_query("pair", Query("He ran.", "She ran."))).result()  # what is slow once
    return Site(runs, samples.TOKEN, live, AnnotationDesk(samples.answers(folder / "answers")))


@cache
def address() -> tuple[str, int]:
    """A server that runs until the process ends."""
    stack = ExitStack()
    url = stack.enter_context(samples.served(site()))
    atexit.register(stack.close)
    found = re.match(r"http://([\d.]+):(\d+)/", url)
    assert found is not None
    return found[1], int(found[2])


def requests() -> list[Files]:
    """A valid request for every address; the port stands for that of the server."""
    host = "Host: 127.0.0.1:8632", "Connection: close"
    made = ["\r\n".join((f"GET {path} HTTP/1.1", *host, "Origin: http://127.0.0.1:8632")) for path in PATHS]
    made += ["\r\n".join(("GET /api/judge?judge=anna HTTP/1.1", *host, f"X-Unmask-Token: {samples.TOKEN}"))]
    sent = [(head + "\r\n\r\n").encode() for head in made]
    for path, body in BODIES.items():
        content = json.dumps(body).encode()
        known = f"X-Unmask-Token: {samples.TOKEN}", "Content-Type: application/json", f"Content-Length: {len(content)}"
        sent.append("\r\n".join((f"POST /api/{path} HTTP/1.1", *host, *known)).encode() + b"\r\n\r\n" + content)
    return [{"request": each} for each in sent]


def send(folder: Path) -> None:
    """Send the bytes; every answer has the headers, and none is an error of the server."""
    host, port = address()
    content = (folder / "request").read_bytes().replace(b":8632", b":%d" % port)
    said = b""
    with patch.object(connections, "REQUEST_SECONDS", 0.1), socket.create_connection((host, port), timeout=18) as line:
        try:
            line.sendall(content)
            while b"\r\n\r\n" not in said.removeprefix(CONTINUE) and (part := line.recv(65536)):
                said += part
        except (ConnectionResetError, BrokenPipeError):  # refused before all was read
            pass
    head = said.removeprefix(CONTINUE).partition(b"\r\n\r\n")[0].decode("latin-1").lower()
    if not head:
        raise DataError("closed without an answer")
    status = int(head.split()[1])
    assert status < 500, said[:300]
    assert all(f"\r\n{name}: " in head for name in HEADERS), said[:300]
    if status >= 400:
        raise DataError(f"status {status}")


def bodies() -> list[Files]:
    """A valid body for every address that takes one."""
    return [{f"{path}.json": json.dumps(body).encode()} for path, body in BODIES.items()]


def post(folder: Path) -> None:
    """Give the body to the application."""
    (path,) = folder.rglob("*.json")
    content = path.read_bytes()
    answer = asyncio.run(_ask(path.relative_to(folder).with_suffix("").as_posix(), content))
    assert answer["status"] < 500, answer
    if answer["status"] >= 400 or b'"error"' in answer["body"][:10]:
        raise DataError(f"status {answer['status']}: {json.loads(answer['body'])['error']}")


async def _ask(path: str, body: bytes) -> dict[str, Any]:
    """The application's answer to a POST."""
    host = f"{SERVER[0]}:{SERVER[1]}".encode()
    headers = [(b"host", host), (b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    headers.append((b"x-unmask-token", samples.TOKEN.encode()))
    scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "server": SERVER, "scheme": "http"}
    scope |= {"method": "POST", "path": f"/api/{path}", "query_string": b"", "root_path": "", "headers": headers}
    answer: dict[str, Any] = {"status": 0, "body": b""}

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def collect(message: Any) -> None:
        answer["status"] = message.get("status", answer["status"])
        answer["body"] += message.get("body", b"")

    await create_app(site())(scope, receive, collect)
    return answer


def uploads() -> list[Files]:
    """A dropped file of pairs, and one of templates, as the page sends them."""
    contents = {"own.csv": b"more,less\nHe ran.,She ran.\n", "own.yaml": b"templates: ['{Subject} ran.']\n"}
    bodies = [{"name": name, "content": base64.b64encode(content).decode()} for name, content in contents.items()]
    return [{"upload.json": json.dumps(body).encode()} for body in bodies]


def read_body(folder: Path) -> None:
    """Read the body of a request that brings a file."""
    read_upload(validate(Upload, parse_json((folder / "upload.json").read_bytes(), "the request"), "the request"))


BOUNDARIES = [
    Boundary("explorer, dropped files", uploads, read_body),
    Boundary("explorer, raw requests", requests, send, share=2),
    Boundary("explorer, JSON bodies", bodies, post, share=2),
]


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=lambda each: each.name)
def test_damaged_input_is_accepted_or_refused(boundary: Boundary, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        fuzz(boundary, BUDGET)
    assert [record.getMessage() for record in caplog.records] == []  # nothing in the terminal
