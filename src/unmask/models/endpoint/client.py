"""The address of an endpoint and requests to it: repeated, slowed down by rate limits, logged without texts and key."""

from __future__ import annotations

import ipaddress
import json
import threading
import weakref
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

import httpx

from unmask.core.environment import api_key
from unmask.core.errors import ModelError, one_line, quote, shorten
from unmask.core.files import KIND_FILES, RESULT_FILES, cache_dir, refuse_result_file, writing
from unmask.core.options import Serving

EXAMPLE = "https://host/v1"
FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0  # seconds before a request is repeated; twice as long each time
LONGEST_LIMIT = 900.0  # seconds that a server may ask to wait
LARGEST_ANSWER = 1 << 28  # bytes
LARGEST_LOG = 10 << 20  # bytes after which the log of the cache is started anew
FIRST_CONTACT = 1  # how often a connection is tried again that was never made before
REPEATED = {408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529}


@dataclass(frozen=True, slots=True)
class Address:
    """The base URL of an endpoint, without a slash at its end."""

    url: str
    host: str  # with its port, if the URL has one

    @property
    def is_loopback(self) -> bool:
        """Whether it is on this machine."""
        name = urlsplit(self.url).hostname or ""
        try:
            return ipaddress.ip_address(name).is_loopback
        except ValueError:
            return name == "localhost"


def parse_address(text: str, *, offline: bool = False, allow_http: bool = False) -> Address:
    """The address of an endpoint; ModelError if nothing may be sent there."""
    try:
        parts = urlsplit(text.strip())
        good = bool(parts.hostname) and parts.port != 0
    except ValueError:  # such as a port that is no number
        good = False
    if not good:
        raise ModelError(f"{quote(text)} is no URL of an endpoint, expected one like {EXAMPLE}")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise ModelError(
            f"the URL of the endpoint at {parts.hostname} holds more than an address (a user, a password or a query): "
            f"give it like {EXAMPLE}, and the key in $UNMASK_API_KEY"
        )
    host = parts.netloc.lower()
    path = parts.path.rstrip("/").removesuffix("/completions").rstrip("/")
    address = Address(f"{parts.scheme.lower()}://{host}{path}", host)
    if offline and not address.is_loopback:
        raise ModelError(f"{address.url} is an endpoint, but offline is set: leave it out, or give a local model")
    if parts.scheme.lower() == "http" and not address.is_loopback and not allow_http:
        raise ModelError(
            f"{address.url} is not encrypted: sentences and key could be read on the way; give an https URL, or set "
            "allow_http for a network that you trust"
        )
    return address


class Refused(Exception):  # noqa: N818 - concerns one request
    """The server refuses a request for what it asks; others may be answered."""


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One request: the status, the JSON it was answered with, or what went wrong and how long to wait."""

    status: int
    payload: Any = None
    problem: str = ""
    wait: float | None = None  # as the server asks
    is_connected: bool = True

    @property
    def is_repeated(self) -> bool:
        """Whether the same request may succeed later."""
        return bool(self.problem) and (self.status < 300 or self.status in REPEATED)


class Client:
    """Sends requests to one endpoint; may be used by several threads."""

    def __init__(self, address: Address, serving: Serving) -> None:
        self.address, self.serving = address, serving
        self._key = api_key()
        headers = {"authorization": f"Bearer {self._key}"} if self._key else {}
        self._http = httpx.Client(
            headers={**headers, "user-agent": "unmask"},
            timeout=serving.timeout,
            limits=httpx.Limits(max_connections=serving.parallel),
            trust_env=not address.is_loopback,  # no proxy for what is on this machine
        )
        weakref.finalize(self, self._http.close)
        self._log = RequestLog(serving.request_log)
        self._closed = threading.Event()
        self._not_before = 0.0  # of a rate limit, which holds for all threads
        self._was_connected = False

    def close(self) -> None:
        """End all requests, those of other threads too."""
        self._closed.set()
        self._http.close()

    def ask(self, path: str, body: dict[str, Any] | None = None, *, retries: int | None = None) -> Any:
        """The JSON that the server answers with at a path, to a body if one is posted; Refused or ModelError if none.

        With `retries` it is asked no more often than that again.
        """
        retries = self.serving.retries if retries is None else min(retries, self.serving.retries)
        last = _Attempt(0)
        for number in range(retries + 1):
            self._wait(self._not_before - monotonic())
            begin = monotonic()
            last = self._attempt(path, body)
            self._log.add(path, body, last.status, last.problem, seconds=monotonic() - begin, attempt=number + 1)
            if not last.problem:
                self._was_connected = True
                return last.payload
            if not last.is_repeated:
                raise self._refusal(last)
            self._was_connected |= last.is_connected
            if number == min(FIRST_CONTACT, retries) and not self._was_connected:
                raise ModelError(
                    f"no server at {self.address.url} ({last.problem}): check the URL, the network and that it runs"
                )
            if number < retries:
                self._back_off(last, number)
        times = f"{retries + 1} times" if retries else "once"
        raise ModelError(
            f"{self.address.url} was asked {times}, the last time it failed: {last.problem}; try again later"
        )

    def _attempt(self, path: str, body: dict[str, Any] | None) -> _Attempt:
        method = "GET" if body is None else "POST"
        try:
            with self._http.stream(method, f"{self.address.url}{path}", json=body) as response:
                return self._read(response)
        except httpx.TimeoutException:
            return _Attempt(0, problem=f"no answer within {self.serving.timeout:g} s (timeout)")
        except (httpx.HTTPError, httpx.StreamError, OSError) as error:
            problem = self._clean(f"no connection ({type(error).__name__} {error})")
            return _Attempt(0, problem=problem, is_connected=not isinstance(error, httpx.ConnectError))

    def _read(self, response: httpx.Response) -> _Attempt:
        """The answer, read to its end."""
        content = bytearray()
        for part in response.iter_bytes():
            content += part
            if len(content) > LARGEST_ANSWER:
                return _Attempt(413, problem=f"an answer of more than {LARGEST_ANSWER >> 20} MiB")
        status = response.status_code
        if status != HTTPStatus.OK:
            said = _said(bytes(content))
            problem = self._clean(f"HTTP {status}{': ' if said else ''}{said}")
            return _Attempt(status, problem=problem, wait=_retry_after(response.headers.get("retry-after")))
        try:
            return _Attempt(status, json.loads(bytes(content)))
        except (ValueError, RecursionError):
            return _Attempt(status, problem=f"an answer of {len(content):,} bytes that is no JSON, or cut off")

    def _back_off(self, last: _Attempt, number: int) -> None:
        """Wait before the next attempt: as long as the server asks, else twice as long as the last time."""
        wait = last.wait
        if wait is None:
            wait = min(LONGEST_WAIT, FIRST_WAIT * 2**number)
        if wait > LONGEST_LIMIT:
            raise ModelError(
                f"{self.address.url} asks to wait {wait:,.0f} s ({last.problem}): run the same command again later, "
                "what was answered is kept"
            )
        if last.status in (429, 503):
            self._not_before = max(self._not_before, monotonic() + wait)
        self._wait(wait)

    def _wait(self, seconds: float) -> None:
        if self._closed.wait(max(0.0, seconds)):
            raise ModelError(f"{self.address.url}: the connection was closed")

    def _refusal(self, last: _Attempt) -> Exception:
        url = self.address.url
        if last.status in (401, 403):
            found = "the key in $UNMASK_API_KEY is not accepted" if self._key else "it wants a key: set $UNMASK_API_KEY"
            return ModelError(f"{url} refuses access: {found} ({last.problem})")
        if last.status in (404, 405):
            return ModelError(
                f"{url} has no completions, or no such model ({last.problem}): check URL and served_model"
            )
        if 300 <= last.status < 400:
            return ModelError(f"{url} redirects ({last.problem}), which is not followed: give the URL it redirects to")
        return Refused(last.problem)

    def _clean(self, text: str) -> str:
        """A text of the server or a library in one short line, without the key."""
        return shorten(one_line(text.replace(self._key, "…") if self._key else text), 300)


class RequestLog:
    """A line of JSON for every request: when, how large, how it ended and how long it took; no text and no key."""

    def __init__(self, path: Path | None) -> None:
        self.path = path or cache_dir() / "endpoints" / "requests.jsonl"
        self._lock = threading.Lock()
        refuse_result_file(self.path, (*RESULT_FILES, *KIND_FILES))
        with writing(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if path is None and self.path.is_file() and self.path.stat().st_size > LARGEST_LOG:
                self.path.replace(self.path.with_suffix(".old.jsonl"))
            self.path.touch()

    def add(
        self, path: str, body: dict[str, Any] | None, status: int, problem: str, *, seconds: float, attempt: int
    ) -> None:
        """Append a line."""
        asked = (body or {}).get("prompt", [])
        prompts = [asked] if isinstance(asked, str) else asked
        line = {
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "path": path,
            "model": (body or {}).get("model"),
            "prompts": len(prompts),
            "characters": sum(map(len, prompts)),
            "attempt": attempt,
            "status": status,
            "seconds": round(seconds, 3),
            **({"problem": problem.partition(":")[0]} if problem else {}),
        }
        with self._lock, writing(self.path), self.path.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(line)}\n")


def _said(content: bytes) -> str:
    """The message in the body of an error, as servers write it."""
    text = content[:2000].decode("utf-8", "replace")
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return text
    while isinstance(found, dict):
        found = next((found[name] for name in ("error", "message", "detail", "object") if found.get(name)), text)
    return found if isinstance(found, str) else text


def _retry_after(given: str | None) -> float | None:
    """Seconds of a Retry-After header: a number, or a date."""
    with suppress(ValueError):
        return max(0.0, float(given or ""))
    with suppress(ValueError, TypeError):
        return max(0.0, (parsedate_to_datetime(given or "") - datetime.now(UTC)).total_seconds())
    return None
