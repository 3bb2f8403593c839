"""Access control: only this server's pages, only from this machine; computing or writing needs the token."""

from __future__ import annotations

import hmac
import logging
import traceback
from collections.abc import Mapping
from http import HTTPStatus

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from unmask.core.errors import one_line, shorten

TOKEN = "x-unmask-token"
NAMES = ("127.0.0.1", "localhost", "[::1]")
METHODS = ("GET", "HEAD", "POST")
SITES = ("same-origin", "none")  # Sec-Fetch-Site of requests that no other site caused
OPEN_PAGES = ("/",)  # may be linked from another site, which learns nothing
MAX_BODY = 64 * 1024  # bytes
MAX_HEAD = 32 * 1024  # bytes of a request line with its headers
POLICY = "content-security-policy"
HEADERS = {
    POLICY: (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
Refusal = tuple[HTTPStatus, str]
logger = logging.getLogger(__name__)


class RequestGuard:
    """The outermost application: refuses foreign requests, adds security headers to every response.

    An error that nobody expected becomes one line in the terminal and a response like the others.
    """

    def __init__(
        self, app: ASGIApp, token: str, protected: tuple[str, ...], sizes: Mapping[str, int] | None = None
    ) -> None:
        self.app, self.token, self.protected, self.sizes = app, token, protected, sizes or {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        response = SecuredResponse(send)
        refusal = self.check(scope)
        app = self.app if refusal is None else _refusal_response(*refusal)
        try:
            await app(scope, receive, response)
        except ClientDisconnect:
            pass
        except Exception as error:
            logger.error(_describe(error, str(scope["path"])))
            if not response.started:
                failure = HTTPStatus.INTERNAL_SERVER_ERROR, "the explorer failed: see the terminal"
                await _refusal_response(*failure)(scope, receive, response)

    def check(self, scope: Scope) -> Refusal | None:
        """Why the request is refused, if it is."""
        headers, path, method = Headers(scope=scope), str(scope["path"]), str(scope["method"])
        return (
            check_target(headers, path, method)
            or check_origin(headers, path, (scope.get("server") or ("", None))[1])
            or check_body(headers, method, self.sizes.get(path, MAX_BODY))
            or (check_token(headers, self.token) if method == "POST" or path.startswith(self.protected) else None)
        )


def _refusal_response(status: HTTPStatus, message: str) -> JSONResponse:
    allowed = {"allow": ", ".join(METHODS)} if status == HTTPStatus.METHOD_NOT_ALLOWED else None
    return JSONResponse({"error": message}, status_code=status, headers=allowed)


def _describe(error: Exception, path: str) -> str:
    """An unexpected error in one line: where it was raised, and what it says."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    said = f"{path}: {type(error).__name__}: {error} ({place.name}, line {place.lineno})"
    return f"unmask explore: {shorten(one_line(said), 500)}"


def check_target(headers: Headers, path: str, method: str) -> Refusal | None:
    """Refuse other methods, addresses that are no path of this server, and other protocols."""
    if method not in METHODS:
        return HTTPStatus.METHOD_NOT_ALLOWED, f"refused: expected {', '.join(METHODS)}"
    if not path.startswith("/") or not path.isprintable():
        return HTTPStatus.BAD_REQUEST, "refused: expected a path of this server"
    if len(path) + sum(len(name) + len(value) for name, value in headers.raw) > MAX_HEAD:
        return HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"refused: expected at most {MAX_HEAD:,} bytes of headers"
    if "upgrade" in headers:
        return HTTPStatus.BAD_REQUEST, "refused: no other protocol is spoken here"
    return None


def check_origin(headers: Headers, path: str, port: int | None) -> Refusal | None:
    """Refuse another machine or port in Host, another site in Origin, or a cross-site Sec-Fetch-Site."""
    hosts = headers.getlist("host")
    own = [f"{name}:{port}" for name in NAMES] + (list(NAMES) if port == 80 else [])
    if len(hosts) != 1 or hosts[0] not in own:
        return HTTPStatus.FORBIDDEN, f"refused: this page is served on {', '.join(own)} only"
    if any(origin != f"http://{hosts[0]}" for origin in headers.getlist("origin")):
        return HTTPStatus.FORBIDDEN, "refused: cross-site request"
    if path not in OPEN_PAGES and any(site not in SITES for site in headers.getlist("sec-fetch-site")):
        return HTTPStatus.FORBIDDEN, "refused: cross-site request"
    return None


def check_body(headers: Headers, method: str, most: int = MAX_BODY) -> Refusal | None:
    """Refuse a body that is not JSON, whose size is not stated, or that is too large; only POST has one.

    The server reads no more than the stated size.
    """
    size, stated = headers.get("content-length", ""), "transfer-encoding" not in headers
    if method != "POST":
        return None if stated and size in ("", "0") else (HTTPStatus.BAD_REQUEST, f"refused: {method} has no body")
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        return HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "refused: expected application/json"
    if not stated or not size.isascii() or not size.isdigit():
        return HTTPStatus.LENGTH_REQUIRED, "refused: expected a content-length"
    if len(size) > 9 or int(size) > most:
        return HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"refused: {shorten(size, 12)} bytes, at most {most:,}"
    return None


def check_token(headers: Headers, token: str) -> Refusal | None:
    """Refuse a request without the token of the URL that `unmask explore` printed."""
    if hmac.compare_digest(headers.get(TOKEN, "").encode(), token.encode()):
        return None
    return HTTPStatus.UNAUTHORIZED, "the token is missing or outdated: open the URL that unmask explore printed"


class SecuredResponse:
    """Sends a response with the security headers."""

    def __init__(self, send: Send) -> None:
        self.send, self.started = send, False

    async def __call__(self, message: Message) -> None:
        """Send a part of the response."""
        if message["type"] == "http.response.start":
            self.started = True
            headers = MutableHeaders(scope=message)
            own = headers.get(POLICY)  # the page of a result allows its own scripts, by their hashes
            headers.update(HEADERS | ({POLICY: own} if own else {}))
        await self.send(message)
