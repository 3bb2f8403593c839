"""What clients can do to the server below HTTP: damaged, slow, unfinished and many requests."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from unmask.audit.result import load
from unmask.explorer import connections
from unmask.explorer.annotation import AnnotationDesk
from unmask.explorer.app import Site
from unmask.explorer.pairs import Runs

from . import samples
from .test_security import check_headers

Address = tuple[str, int]
BODY = b'{"prompt": "prompts/0001", "judge": "anna", "verdict": "biased"}'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def site(folder: Path) -> Site:
    desk = AnnotationDesk(samples.answers(folder / "answers"))
    return Site(Runs((load(samples.run(folder / "one", "one")),)), samples.TOKEN, desk=desk)


def parse_url(url: str) -> Address:
    host, _, port = url.partition("/?")[0].removeprefix("http://").partition(":")
    return host, int(port)


@pytest.fixture(scope="module")
def server(site: Site) -> Iterator[Address]:
    with samples.served(site) as url:
        yield parse_url(url)


@pytest.fixture
def new_server(site: Site) -> Iterator[Address]:
    """A server that no other test has connections to."""
    with samples.served(site) as url:
        yield parse_url(url)


@pytest.fixture(autouse=True)
def _nothing_is_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    yield
    assert [record.getMessage() for record in caplog.records] == []


def request(server: Address, path: str = "/api/runs", *more: str, method: str = "GET", body: bytes = b"") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", f"Host: {server[0]}:{server[1]}", *more]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def post(server: Address, *more: str, body: bytes = BODY) -> bytes:
    known = f"X-Unmask-Token: {samples.TOKEN}", "Content-Type: application/json"
    return request(server, "/api/judge", *known, *more, method="POST", body=body)


def connect(server: Address) -> socket.socket:
    line = socket.create_connection(server, timeout=20)
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return line


def answer(line: socket.socket) -> bytes:
    """Everything until the server closes the connection."""
    content = b""
    try:
        while part := line.recv(65536):
            content += part
    except ConnectionResetError:
        pass
    return content


def exchange(server: Address, sent: bytes) -> bytes:
    with connect(server) as line:
        line.sendall(sent)
        return answer(line)


def status(said: bytes) -> int:
    """The status of an answer, whose headers are checked."""
    head, *fields = said.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
    check_headers({name.lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)})
    return int(head.split()[1])


def test_what_is_no_request_is_refused_with_the_security_headers(server: Address) -> None:
    host = f"Host: {server[0]}:{server[1]}"
    wrong = [
        b"\r\n" * 5 + b"x\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\n\r\n",
        b"GET / HTTP/9.9\r\nConnection: close\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200) + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",  # no Host
        request(server, "/", host),  # two
        request(server, "/", "no colon"),
        request(server, "/", "Content-Length: x"),
        request(server, "/", "Content-Length: " + "9" * 5000),
        request(server, "/", "A: " + "a" * 100_000, "Connection: close"),
        request(server, "/" + "a" * 100_000, "Connection: close"),
        request(server, f"http://{server[0]}:{server[1]}/", "Connection: close"),  # absolute form
        request(server, "*", "Connection: close"),
        request(server, "/%00", "Connection: close"),
        request(server, "/", "Connection: Upgrade", "Upgrade: websocket", "Connection: close"),
        request(server, "/", "Connection: Upgrade", "Upgrade: h2c", "Connection: close"),
        request(server, "/", "Content-Length: 5", "Connection: close", body=b"12345"),
    ]
    for sent in wrong:
        assert status(exchange(server, sent)) in (400, 403, 405, 431), sent[:80]
    assert status(exchange(server, request(server, "*", "Connection: close", method="OPTIONS"))) == 405
    assert status(exchange(server, request(server, "a.test:80", "Connection: close", method="CONNECT"))) == 405
    assert status(exchange(server, request(server, "/", "Connection: close", method="TRACE"))) == 405


def test_a_body_is_read_as_far_as_its_stated_size(server: Address) -> None:
    chunked = b"4\r\nabcd\r\n" * 20_000 + b"0\r\n\r\n"
    both = "Content-Length: 4", "Transfer-Encoding: chunked"
    assert (
        status(exchange(server, post(server, "Connection: close", "Transfer-Encoding: chunked", body=chunked))) == 411
    )
    assert status(exchange(server, post(server, "Connection: close", *both, body=chunked))) == 411
    large = post(server, "Connection: close", "Content-Length: 70000", body=b" " * 70_000)
    assert status(exchange(server, large)) == 413


def test_a_damaged_chunk_after_the_answer_closes_the_connection(server: Address) -> None:
    with connect(server) as line:
        line.sendall(post(server, "Transfer-Encoding: chunked", body=b"4\r\nabcd\r\n"))
        time.sleep(0.2)
        line.sendall(b"zz\r\n")
        assert status(answer(line)) == 411


def test_requests_that_do_not_arrive_end(server: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.5)
    length = f"Content-Length: {len(BODY)}"
    for sent in (b"", b"GET / HT", request(server)[:-2], post(server, length, body=BODY[:-1])):
        assert status(exchange(server, sent)) == 408  # or `connect` gives up
    with connect(server) as line:  # a byte now and then does not help
        for byte in request(server, "/api/runs", f"Padding: {'x' * 600}"):
            try:
                line.sendall(bytes([byte]))
            except OSError:
                break
            time.sleep(0.03)
        else:
            pytest.fail("the server waited for all of it")
    with connect(server) as line:  # the second request of a connection
        line.sendall(request(server))
        assert line.recv(65536).startswith(b"HTTP/1.1 200")
        line.sendall(b"GET / HT")
        assert b"HTTP/1.1 408" in answer(line)


def test_a_slow_body_is_read(server: Address) -> None:
    with connect(server) as line:
        line.sendall(post(server, "Connection: close", f"Content-Length: {len(BODY)}", body=b""))
        for at in range(0, len(BODY), 16):
            time.sleep(0.05)
            line.sendall(BODY[at : at + 16])
        assert status(answer(line)) == 200


class LargeRuns:
    results = names = ()
    columns = {"text": "a" * 30_000_000}  # noqa: RUF012


def test_a_response_that_is_not_taken_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    ended, lost = threading.Event(), connections.GuardedProtocol.connection_lost
    monkeypatch.setattr(connections, "WRITE_SECONDS", 0.3)
    monkeypatch.setattr(connections.GuardedProtocol, "connection_lost", lambda *given: (lost(*given), ended.set()))
    with samples.served(Site(LargeRuns(), samples.TOKEN)) as url, socket.socket() as line:  # type: ignore[arg-type]
        server = parse_url(url)
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.settimeout(20)
        line.connect(server)
        line.sendall(request(server, "/api/pairs"))
        assert ended.wait(20)
        assert len(answer(line)) < 20_000_000


def test_an_idle_connection_makes_room_without_an_answer(new_server: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 1)
    with connect(new_server) as idle:
        idle.sendall(request(new_server, "/api/pair/99"))
        received = b""
        while not received.endswith(b"}"):  # head and body may come apart
            received += idle.recv(65536)
        assert received.startswith(b"HTTP/1.1 400")
        assert status(exchange(new_server, request(new_server, "/", "Connection: close"))) == 200
        assert answer(idle) == b""


def test_many_clients_are_served_beside_unfinished_requests(server: Address) -> None:
    with ExitStack() as stack:
        for number in range(300):
            line = stack.enter_context(connect(server))
            line.sendall(request(server)[: 10 + number % 20])
        assert status(exchange(server, request(server, "/api/runs", "Connection: close"))) == 200
        slow = stack.enter_context(connect(server))
        slow.sendall(post(server, "Connection: close", f"Content-Length: {len(BODY)}", body=BODY[:5]))
        with ThreadPoolExecutor(200) as pool:
            paths = ("/", "/api/runs", "/api/pairs", "/api/pair/0", "/static/app.js")
            sent = [request(server, paths[number % len(paths)], "Connection: close") for number in range(200)]
            assert {status(said) for said in pool.map(lambda one: exchange(server, one), sent)} == {200}
