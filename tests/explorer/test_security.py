"""Access control of the explorer, and its security headers."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx
import pytest

from unmask.audit.result import load
from unmask.core.errors import DataError
from unmask.explorer.annotation import AnnotationDesk
from unmask.explorer.app import STATIC, Site, create_app
from unmask.explorer.pairs import Runs
from unmask.explorer.server import open_socket, page_url

from . import samples

JUDGED = {"prompt": "prompts/0001", "judge": "anna", "verdict": "biased"}
OPEN = ("/", "/look.css", "/static/app.js", "/api/runs", "/api/pairs", "/api/pair/0")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("runs")
    desk = AnnotationDesk(samples.answers(folder / "answers"))
    site = Site(Runs((load(samples.run(folder / "one", "one")),)), samples.TOKEN, desk=desk)
    with samples.served(site) as url:
        yield url.partition("/?")[0]


def get(url: str, **headers: str) -> httpx.Response:
    return httpx.get(url, headers=headers, trust_env=False)


@pytest.mark.parametrize("path", OPEN)
def test_read_only_routes_need_no_token(base: str, path: str) -> None:
    assert get(base + path).status_code == 200


@pytest.mark.parametrize("path", OPEN)
def test_a_foreign_host_is_refused(base: str, path: str) -> None:
    port = base.rpartition(":")[2]
    wrong = ["attack.test", f"attack.test:{port}", f"127.0.0.1.attack.test:{port}", "10.0.0.1", "", "localhost.x"]
    wrong += ["localhost", "[::1]", "127.0.0.1", "127.0.0.1:", "127.0.0.1:80", f"127.0.0.1:0{port}", "127.0.0.1:x"]
    wrong += [f"a@127.0.0.1:{port}", f"127.0.0.1:{port}@attack.test", f"127.0.0.1:{port}.attack.test"]
    wrong += [f"127.0.0.1:{port}, attack.test", f"localhost.:{port}", f"127.1:{port}", f"2130706433:{port}"]
    for name in wrong:
        assert get(base + path, host=name).status_code == 403, name
    for name in (f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}"):
        assert get(base + path, host=name).status_code == 200, name


@pytest.mark.parametrize("path", OPEN)
def test_a_foreign_origin_is_refused(base: str, path: str) -> None:
    port = int(base.rpartition(":")[2])
    wrong = ["http://attack.test", "null", f"https://127.0.0.1:{port}", f"http://127.0.0.1:{port + 1}", "", "file://"]
    wrong += [
        f"http://127.0.0.1:{port}.attack.test",
        f"http://127.0.0.1:{port}@attack.test",
        f"http://localhost:{port}",
    ]
    wrong += [f"http://a@127.0.0.1:{port}", f"http://127.0.0.1:{port}/", f"{base} http://attack.test"]
    for origin in wrong:
        assert get(base + path, origin=origin).status_code == 403, origin
    assert get(base + path, origin=base).status_code == 200


def test_cross_site_embedding_is_refused_but_links_work(base: str) -> None:
    foreign = {"sec-fetch-site": "cross-site"}
    assert get(base + "/", **foreign).status_code == 200
    assert get(base + "/api/pairs", **foreign).status_code == 403
    assert get(base + "/static/app.js", **foreign).status_code == 403
    assert get(base + "/api/pairs", **{"sec-fetch-site": "same-origin"}).status_code == 200


def test_annotation_and_live_routes_need_the_token(base: str) -> None:
    for headers in ({}, {"x-unmask-token": "another"}, {"x-unmask-token": ""}):
        assert get(f"{base}/api/judge?judge=anna", **headers).status_code == 401
        for path in ("/api/judge", "/api/live/pair"):
            assert httpx.post(base + path, json=JUDGED, headers=headers, trust_env=False).status_code == 401
    assert get(f"{base}/api/judge?judge=anna", **{"x-unmask-token": samples.TOKEN}).status_code == 200


@pytest.mark.parametrize(
    ("content", "headers", "status"),
    [
        (b"{}", {"content-type": "text/plain"}, 415),
        (b"{}", {}, 415),
        (b"x" * 70_000, {"content-type": "application/json"}, 413),
        (b"[1]", {"content-type": "application/json"}, 400),
        (b"{", {"content-type": "application/json"}, 400),
        (b"{}", {"content-type": "application/json"}, 400),
        (b"[" * 30_000 + b"]" * 30_000, {"content-type": "application/json"}, 400),
        (b'{"prompt": ' + b"9" * 5000 + b"}", {"content-type": "application/json"}, 400),
        (b'{"prompt": "\\ud800", "judge": "a", "verdict": "biased"}', {"content-type": "application/json"}, 400),
        (b'{"prompt": NaN, "judge": "a", "verdict": "biased"}', {"content-type": "application/json"}, 400),
        (b'{"prompt": ["x"], "judge": 7, "verdict": null}', {"content-type": "application/json"}, 400),
        (
            b'{"prompt": "prompts/0001", "judge": "a\\u001b[31m", "verdict": "biased"}',
            {"content-type": "application/json"},
            400,
        ),
        (b"\xff\xfe", {"content-type": "application/json"}, 400),
    ],
)
def test_invalid_bodies_are_refused(base: str, content: bytes, headers: dict[str, str], status: int) -> None:
    sent = {"x-unmask-token": samples.TOKEN, **headers}
    answer = httpx.post(f"{base}/api/judge", content=content, headers=sent, trust_env=False)
    assert answer.status_code == status
    assert answer.json()["error"]


def test_a_body_of_unknown_length_is_refused(base: str) -> None:
    sent = {"x-unmask-token": samples.TOKEN, "content-type": "application/json"}
    answer = httpx.post(f"{base}/api/judge", content=iter([b"{}"]), headers=sent, trust_env=False)
    assert answer.status_code == 411


@pytest.mark.parametrize("number", ["9" * 5000, "99", "-1", "1.0", "%D9%A3", "0x1", "%00", "%ED%A0%80"])
def test_a_number_that_is_none_is_refused(base: str, number: str) -> None:
    for path in ("api/pair", "api/compare/0", "result"):
        answer = get(f"{base}/{path}/{number}")
        assert answer.status_code == 400
        check_headers(answer.headers)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "X"])
def test_other_methods_are_refused(base: str, method: str) -> None:
    answer = httpx.request(method, f"{base}/api/runs", headers={"x-unmask-token": samples.TOKEN}, trust_env=False)
    assert answer.status_code == 405
    check_headers(answer.headers)


@pytest.mark.parametrize("path", [*OPEN, "/nowhere", "/api/pair/99", "/static/nowhere.js", "/result/0"])
def test_every_response_has_security_headers(base: str, path: str) -> None:
    check_headers(get(base + path).headers)


def test_an_unexpected_error_is_a_response_and_one_line(caplog: pytest.LogCaptureFixture) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("a\nb\x1b[31m")

    class Broken:
        names = results = ()
        columns = property(fail)

    with samples.served(Site(Broken(), samples.TOKEN)) as url:  # type: ignore[arg-type]
        answer = get(url.partition("/?")[0] + "/api/pairs")
    assert answer.status_code == 500
    check_headers(answer.headers)
    (record,) = caplog.records
    assert record.getMessage().startswith("unmask explore: /api/pairs: ZeroDivisionError: a b")
    assert record.exc_info is None
    assert record.getMessage().isprintable()


def check_headers(headers: Mapping[str, str]) -> None:
    policy = dict(part.strip().partition(" ")[::2] for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in headers
    assert "server" not in headers


@pytest.mark.parametrize("path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/app.py"])
def test_no_file_outside_static_is_served(base: str, path: str) -> None:
    host, _, port = base.removeprefix("http://").rpartition(":")
    with socket.create_connection((host, int(port))) as line:
        line.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode())
        said = b""
        while part := line.recv(4096):
            said += part
    assert b" 404 " in said.splitlines()[0]


def test_socket_is_bound_to_loopback(base: str) -> None:
    with open_socket(0) as place:
        assert place.getsockname()[0] == "127.0.0.1"
        assert page_url(place, "t") == f"http://127.0.0.1:{place.getsockname()[1]}/?token=t"
        taken = place.getsockname()[1]
        place.listen()
        with pytest.raises(DataError, match=f"port {taken} cannot be used"):
            open_socket(taken)
    with pytest.raises(DataError, match="port 70000"):
        open_socket(70000)


def test_a_token_must_be_long() -> None:
    with pytest.raises(ValueError, match="guessed"):
        create_app(Site(Runs(()), "short"))


def test_the_page_loads_only_its_own_files_and_has_no_inline_script() -> None:
    static = Path(str(STATIC))
    page = (static / "index.html").read_text(encoding="utf-8")
    assert "<style" not in page
    assert "style=" not in page
    assert " on" not in "".join(part.split(">")[0] for part in page.split("<")[1:])
    assert page.count("<script") > 0
    for script in page.split("<script")[1:]:
        assert ' src="/static/' in script.split(">")[0]
    scripts = list(static.glob("*.js"))
    assert scripts
    for path in scripts:
        text = path.read_text(encoding="utf-8")
        for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "http"):
            assert way not in text, f"{path.name} has {way}"
