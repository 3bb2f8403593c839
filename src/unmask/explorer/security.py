"""Access control: only this server's pages, only from this machine; computing or writing needs the token."""

from __future__ import annotations

import hmac
from http import HTTPStatus

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN = "x-unmask-token"
NAMES = ("127.0.0.1", "localhost", "[::1]")
SITES = ("same-origin", "none", "")  # Sec-Fetch-Site of requests that no other site caused
OPEN_PAGES = ("/",)  # may be linked from another site, which learns nothing
MAX_BODY = 64 * 1024  # bytes
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


class RequestGuard:
    """Middleware that refuses foreign requests and adds security headers to every response."""

    def __init__(self, app: ASGIApp, token: str, protected: tuple[str, ...]) -> None:
        self.app, self.token, self.protected = app, token, protected

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers, path = Headers(scope=scope), str(scope["path"])
        refusal = check_origin(headers, path) or check_body(headers, str(scope["method"]))
        if refusal is None and path.startswith(self.protected):
            refusal = check_token(headers, self.token)
        app = self.app if refusal is None else JSONResponse({"error": refusal[1]}, status_code=refusal[0])
        await app(scope, receive, _with_headers(send))


def check_origin(headers: Headers, path: str) -> Refusal | None:
    """Refuse another machine in Host, another site in Origin, or a cross-site Sec-Fetch-Site."""
    host = headers.get("host", "")
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    if len(headers.getlist("host")) != 1 or name not in NAMES:
        return HTTPStatus.FORBIDDEN, f"refused: this page is served on {', '.join(NAMES)} only"
    if any(origin != f"http://{host}" for origin in headers.getlist("origin")):
        return HTTPStatus.FORBIDDEN, "refused: cross-site request"
    if path not in OPEN_PAGES and headers.get("sec-fetch-site", "") not in SITES:
        return HTTPStatus.FORBIDDEN, "refused: cross-site request"
    return None


def check_body(headers: Headers, method: str) -> Refusal | None:
    """Refuse a body that is not JSON, has no content-length, or is too large."""
    if method in ("GET", "HEAD"):
        return None
    if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        return HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "refused: expected application/json"
    size = headers.get("content-length", "")
    if not size.isascii() or not size.isdigit():
        return HTTPStatus.LENGTH_REQUIRED, "refused: expected a content-length"
    if int(size) > MAX_BODY:
        return HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"refused: {int(size):,} bytes, at most {MAX_BODY:,}"
    return None


def check_token(headers: Headers, token: str) -> Refusal | None:
    """Refuse a request without the token of the URL that `unmask explore` printed."""
    if hmac.compare_digest(headers.get(TOKEN, "").encode(), token.encode()):
        return None
    return HTTPStatus.UNAUTHORIZED, "the token is missing or outdated: open the URL that unmask explore printed"


def _with_headers(send: Send) -> Send:
    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            own = headers.get(POLICY)  # the page of a result allows its own scripts, by their hashes
            headers.update(HEADERS | ({POLICY: own} if own else {}))
        await send(message)

    return with_headers
