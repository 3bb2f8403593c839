"""Who may ask: only pages of this server, only on this machine; what computes or writes needs the token."""

from __future__ import annotations

import hmac
from http import HTTPStatus

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN = "x-unmask-token"
NAMES = ("127.0.0.1", "localhost", "[::1]")
SITES = ("same-origin", "none", "")  # what a browser says of a request that no other site caused
OPEN_PAGES = ("/",)  # may be reached by a link on another site: it tells that site nothing
BODY = 64 * 1024  # bytes of a question, at most
HEADERS = {
    "content-security-policy": (
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
    """Stands before the application: refuses foreign requests, adds the headers every answer has."""

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
        app = self.app if refusal is None else _saying(refusal)
        await app(scope, receive, _adding(send))


def check_origin(headers: Headers, path: str) -> Refusal | None:
    """Another machine's name in Host, another site's in Origin, or a browser that says another site asks."""
    host = headers.get("host", "")
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    if len(headers.getlist("host")) != 1 or name not in NAMES:
        return HTTPStatus.FORBIDDEN, f"refused: this page is served to {', '.join(NAMES)} only"
    if any(origin != f"http://{host}" for origin in headers.getlist("origin")):
        return HTTPStatus.FORBIDDEN, "refused: another site asks"
    if path not in OPEN_PAGES and headers.get("sec-fetch-site", "") not in SITES:
        return HTTPStatus.FORBIDDEN, "refused: another site asks"
    return None


def check_body(headers: Headers, method: str) -> Refusal | None:
    """A body must be JSON, say its length, and be of a size that someone could have typed."""
    if method in ("GET", "HEAD"):
        return None
    if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        return HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "refused: expected application/json"
    size = headers.get("content-length", "")
    if not size.isascii() or not size.isdigit():
        return HTTPStatus.LENGTH_REQUIRED, "refused: expected a content-length"
    if int(size) > BODY:
        return HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"refused: {int(size):,} bytes, at most {BODY:,}"
    return None


def check_token(headers: Headers, token: str) -> Refusal | None:
    """The token of the address that `unmask explore` printed is missing or another."""
    if hmac.compare_digest(headers.get(TOKEN, "").encode(), token.encode()):
        return None
    return (
        HTTPStatus.UNAUTHORIZED,
        "the token is missing or old: open the address that unmask explore printed",
    )


def _saying(refusal: Refusal) -> ASGIApp:
    return JSONResponse({"error": refusal[1]}, status_code=refusal[0])


def _adding(send: Send) -> Send:
    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(HEADERS)
        await send(message)

    return with_headers
