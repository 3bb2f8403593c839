"""The application: which address gives what."""

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
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from unmask.core.errors import DataError, ResultError, UnmaskError
from unmask.explorer import live
from unmask.explorer.annotation import AnnotationDesk
from unmask.explorer.comparison import compare_runs
from unmask.explorer.pairs import Runs, run_summaries
from unmask.explorer.security import RequestGuard
from unmask.explorer.tokens import token_breakdown

STATIC = Path(str(resources.files("unmask.explorer") / "static"))
LOOK = Path(str(resources.files("unmask.findings") / "templates" / "page.css"))
PROTECTED = ("/api/live", "/api/judge")


@dataclass(frozen=True, slots=True)
class Site:
    """What one page is of: runs to look at, a model to ask, answers to judge."""

    runs: Runs
    token: str
    live: live.LiveModel | None = None
    desk: AnnotationDesk | None = None


def create_app(site: Site) -> Starlette:
    """The page and what it asks for."""
    if len(site.token) < 16:
        raise ValueError("a token that can be guessed protects nothing")
    return Starlette(
        routes=[
            Route("/", _file(STATIC / "index.html")),
            Route("/look.css", _file(LOOK)),
            Mount("/static", StaticFiles(directory=STATIC)),
            Route("/api/runs", _answering(site, _overview)),
            Route("/api/pairs", _answering(site, _pairs)),
            Route("/api/pair/{line:int}", _answering(site, _pair)),
            Route("/api/compare/{first:int}/{second:int}", _answering(site, _compare)),
            Route("/api/live/{kind}", _answering(site, _live), methods=["POST"]),
            Route("/api/judge", _answering(site, _desk), methods=["GET"]),
            Route("/api/judge", _answering(site, _judge), methods=["POST"]),
        ],
        middleware=[Middleware(RequestGuard, token=site.token, protected=PROTECTED)],
        exception_handlers={UnmaskError: _sorry},
        lifespan=_closing(site),
    )


Answering = Callable[[Site, Request], Awaitable[Any]]


def _answering(site: Site, answer: Answering) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        return JSONResponse(await answer(site, request))

    return endpoint


def _file(path: Path) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(_: Request) -> Response:
        return FileResponse(path)

    return endpoint


def _closing(site: Site) -> Callable[[Starlette], Any]:
    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        if site.live is not None:
            await run_in_threadpool(site.live.close)

    return lifespan


async def _sorry(_: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, status_code=400)


async def _overview(site: Site, _: Request) -> dict[str, Any]:
    runs = await run_in_threadpool(run_summaries, site.runs)
    model = None if site.live is None else site.live.name
    return {"runs": runs, "live": model, "judging": None if site.desk is None else site.desk.model}


async def _pairs(site: Site, _: Request) -> dict[str, Any]:
    return await run_in_threadpool(lambda: site.runs.columns)  # made once, then kept


async def _pair(site: Site, request: Request) -> dict[str, Any]:
    line = int(request.path_params["line"])
    if line >= len(site.runs.pairs):
        raise ResultError(f"no pair {line}: there are {len(site.runs.pairs)}")
    return await run_in_threadpool(_explained, site.runs, line)


def _explained(runs: Runs, line: int) -> dict[str, Any]:
    """One pair in every run that has it with these texts."""
    data, item, more, less = runs.pairs[line]
    found = [
        {"run": number, "measures": token_breakdown(result.items, result.tokens, item)}
        for number, result in enumerate(runs.results)
        if line in runs.rows_by_run[number]
    ]
    return {"item": item, "data": data, "texts": [more, less], "runs": found}


async def _compare(site: Site, request: Request) -> list[dict[str, Any]]:
    first, second = (int(request.path_params[name]) for name in ("first", "second"))
    for one in (first, second):
        if one >= len(site.runs.results):
            raise ResultError(f"no run {one}: there are {len(site.runs.results)}")
    return await run_in_threadpool(compare_runs, site.runs.results[first], site.runs.results[second])


async def _live(site: Site, request: Request) -> dict[str, Any]:
    if site.live is None:
        raise ResultError("no model to ask: start unmask explore without --no-live")
    kind = str(request.path_params["kind"])
    if kind not in live.KINDS:
        raise DataError(f"no question named {kind!r}; there are {', '.join(live.KINDS)}")
    body = await _body(request)
    try:
        return await asyncio.wrap_future(site.live.submit(live.parse_question(kind, body)))
    except UnmaskError as error:  # half a sentence is no mistake: the page says what is missing
        return {"error": str(error)}


async def _desk(site: Site, request: Request) -> dict[str, Any]:
    return await run_in_threadpool(_at(site).state, request.query_params.get("judge", ""))


async def _judge(site: Site, request: Request) -> dict[str, Any]:
    said = await _body(request)
    fields = [said.get(name) for name in ("prompt", "judge", "verdict")]
    prompt, judge, verdict = (one if isinstance(one, str) else "" for one in fields)
    return await run_in_threadpool(_at(site).annotate, prompt, judge, verdict)


def _at(site: Site) -> AnnotationDesk:
    if site.desk is None:
        raise ResultError("nothing to judge: name a folder of answers, unmask explore ANSWERS")
    return site.desk


async def _body(request: Request) -> Mapping[str, Any]:
    try:
        found = json.loads(await request.body())
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise DataError("expected a JSON object")
    return found
