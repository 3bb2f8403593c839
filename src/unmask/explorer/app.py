"""The Starlette application: routes and endpoints."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from unmask.core.errors import DataError, ResultError, UnmaskError
from unmask.explorer import live
from unmask.explorer.annotation import AnnotationDesk
from unmask.explorer.pairs import Runs, compare_runs, run_summaries
from unmask.explorer.security import POLICY, RequestGuard
from unmask.explorer.tokens import token_breakdown
from unmask.findings import html
from unmask.findings.envelope import Result

STATIC = Path(str(resources.files("unmask.explorer") / "static"))
STYLESHEET = Path(str(resources.files("unmask.findings") / "templates" / "page.css"))
PROTECTED = ("/api/live", "/api/judge")


@dataclass(frozen=True, slots=True)
class Site:
    """What the page serves: runs to browse, other results, a live model, answers to annotate."""

    runs: Runs
    token: str
    live: live.LiveModel | None = None
    desk: AnnotationDesk | None = None
    others: tuple[Result, ...] = ()  # results of other commands: their pages


def create_app(site: Site) -> Starlette:
    """The application that serves the page and its API."""
    if len(site.token) < 16:
        raise ValueError("the token is shorter than 16 characters and could be guessed")
    return Starlette(
        routes=[
            Route("/", _file(STATIC / "index.html")),
            Route("/look.css", _file(STYLESHEET)),
            Mount("/static", StaticFiles(directory=STATIC)),
            Route("/result/{number:int}", _result_page(site)),
            Route("/api/runs", _endpoint(site, _overview)),
            Route("/api/pairs", _endpoint(site, _pairs)),
            Route("/api/pair/{row:int}", _endpoint(site, _pair)),
            Route("/api/compare/{first:int}/{second:int}", _endpoint(site, _compare)),
            Route("/api/live/{kind}", _endpoint(site, _live), methods=["POST"]),
            Route("/api/judge", _endpoint(site, _annotations), methods=["GET"]),
            Route("/api/judge", _endpoint(site, _annotate), methods=["POST"]),
        ],
        middleware=[Middleware(RequestGuard, token=site.token, protected=PROTECTED)],
        exception_handlers={UnmaskError: _error_response},
        lifespan=_lifespan(site),
    )


Handler = Callable[[Site, Request], Awaitable[Any]]


def _endpoint(site: Site, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        return JSONResponse(await handler(site, request))

    return endpoint


def _file(path: Path) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(_: Request) -> Response:
        return FileResponse(path)

    return endpoint


def _result_page(site: Site) -> Callable[[Request], Awaitable[Response]]:
    """The page of a result of another command, under the policy that the page itself states."""

    async def endpoint(request: Request) -> Response:
        number = int(request.path_params["number"])
        if number >= len(site.others):
            raise ResultError(f"no result {number}: there are {len(site.others)}")
        page = await run_in_threadpool(html.page, site.others[number])
        return HTMLResponse(page, headers={POLICY: html.page_policy()})

    return endpoint


def _lifespan(site: Site) -> Callable[[Starlette], Any]:
    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        if site.live is not None:
            await run_in_threadpool(site.live.close)

    return lifespan


async def _error_response(_: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, status_code=400)


async def _overview(site: Site, _: Request) -> dict[str, Any]:
    runs = await run_in_threadpool(run_summaries, site.runs)
    model = None if site.live is None else site.live.name
    others = [{"title": other.meta["title"] or other.kind, "kind": other.kind} for other in site.others]
    return {
        "runs": runs,
        "others": others,
        "live": model,
        "judging": None if site.desk is None else site.desk.model,
    }


async def _pairs(site: Site, _: Request) -> dict[str, Any]:
    return await run_in_threadpool(lambda: site.runs.columns)  # computed once


async def _pair(site: Site, request: Request) -> dict[str, Any]:
    row = int(request.path_params["row"])
    if row >= len(site.runs.pairs):
        raise ResultError(f"no pair {row}: there are {len(site.runs.pairs)}")
    return await run_in_threadpool(_pair_details, site.runs, row)


def _pair_details(runs: Runs, row: int) -> dict[str, Any]:
    """One pair in every run that has it with the same texts."""
    data, item, more, less = runs.pairs[row]
    by_run = [
        {"run": number, "measures": token_breakdown(result.items, result.tokens, item)}
        for number, result in enumerate(runs.results)
        if row in runs.rows_by_run[number]
    ]
    return {"item": item, "data": data, "texts": [more, less], "runs": by_run}


async def _compare(site: Site, request: Request) -> list[dict[str, Any]]:
    first, second = (int(request.path_params[name]) for name in ("first", "second"))
    for number in (first, second):
        if number >= len(site.runs.results):
            raise ResultError(f"no run {number}: there are {len(site.runs.results)}")
    return await run_in_threadpool(compare_runs, site.runs.results[first], site.runs.results[second])


async def _live(site: Site, request: Request) -> dict[str, Any]:
    if site.live is None:
        raise ResultError("no live model: start `unmask explore` without --no-live")
    kind = str(request.path_params["kind"])
    if kind not in live.KINDS:
        raise DataError(f"no live query {kind!r}: give one of {', '.join(live.KINDS)}")
    body = await _body(request)
    try:
        return await asyncio.wrap_future(site.live.submit(live.parse_query(kind, body)))
    except UnmaskError as error:  # unfinished input is no failure: the page shows what is missing
        return {"error": str(error)}


async def _annotations(site: Site, request: Request) -> dict[str, Any]:
    return await run_in_threadpool(_desk_of(site).state, request.query_params.get("judge", ""))


async def _annotate(site: Site, request: Request) -> dict[str, Any]:
    body = await _body(request)
    fields = [body.get(name) for name in ("prompt", "judge", "verdict")]
    prompt, annotator, verdict = (value if isinstance(value, str) else "" for value in fields)
    return await run_in_threadpool(_desk_of(site).annotate, prompt, annotator, verdict)


def _desk_of(site: Site) -> AnnotationDesk:
    if site.desk is None:
        raise ResultError("no answers to annotate: start `unmask explore` with a folder of answers")
    return site.desk


async def _body(request: Request) -> Mapping[str, Any]:
    try:
        body = json.loads(await request.body())
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise DataError("expected a JSON object")
    return body
