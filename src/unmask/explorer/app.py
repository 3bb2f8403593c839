"""The Starlette application: routes and endpoints."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar, cast

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from unmask.core.boundary import parse_json, validate
from unmask.core.errors import DataError, ResultError, UnmaskError, quote
from unmask.core.files import plain
from unmask.explorer import live
from unmask.explorer.annotation import AnnotationDesk, NewVerdict
from unmask.explorer.pairs import Runs, compare_runs, measure_notes, run_summaries, token_breakdown
from unmask.explorer.security import POLICY, RequestGuard
from unmask.explorer.upload import MAX_UPLOAD, Upload, audit_upload, read_upload
from unmask.findings import html
from unmask.findings.envelope import Result

STATIC = Path(str(resources.files("unmask.explorer") / "static"))
STYLESHEET = Path(str(resources.files("unmask.findings") / "templates" / "page.css"))
PROTECTED = ("/api/live", "/api/judge", "/api/audit")


@dataclass(slots=True)
class Site:
    """What the page serves: runs to browse, other results, a live model, answers to annotate.

    Runs are added when a file is audited; the numbers of earlier runs and pairs stay.
    """

    runs: Runs
    token: str
    live: live.LiveModel | None = None
    desk: AnnotationDesk | None = None
    others: tuple[Result, ...] = ()  # results of other commands: their pages
    new_folder: Callable[[str], Path] | None = None  # for the result of a file that is dropped on the page


def create_app(site: Site) -> RequestGuard:
    """The application that serves the page and its API."""
    if len(site.token) < 16:
        raise ValueError("the token is shorter than 16 characters and could be guessed")
    api: tuple[tuple[str, Handler, str], ...] = (
        ("runs", _overview, "GET"),
        ("pairs", _pairs, "GET"),
        ("pair/{row}", _pair, "GET"),
        ("compare/{first}/{second}", _compare, "GET"),
        ("live/{kind}", _live, "POST"),
        ("audit", _audit, "POST"),
        ("judge", _annotations, "GET"),
        ("judge", _annotate, "POST"),
    )
    app = Starlette(
        routes=[
            Route("/", partial(_file, STATIC / "index.html")),
            Route("/look.css", partial(_file, STYLESHEET)),
            Mount("/static", StaticFiles(directory=STATIC)),
            Route("/result/{number}", partial(_result_page, site)),
            *(Route(f"/api/{path}", partial(_json, site, handler), methods=[m]) for path, handler, m in api),
        ],
        exception_handlers={UnmaskError: _error_response},
        lifespan=partial(_lifespan, site),
    )
    return RequestGuard(app, site.token, PROTECTED, {"/api/audit": MAX_UPLOAD})


T = TypeVar("T")
Handler = Callable[[Site, Request], Awaitable[Any]]


async def _json(site: Site, handler: Handler, request: Request) -> Response:
    return JSONResponse(await handler(site, request))


async def _file(path: Path, _: Request) -> Response:
    return FileResponse(path)


async def _result_page(site: Site, request: Request) -> Response:
    """The page of a result of another command, under the policy that the page itself states."""
    result = site.others[_index(request, "number", "result", len(site.others))]
    return HTMLResponse(await run_in_threadpool(html.page, result), headers={POLICY: html.page_policy()})


def _index(request: Request, name: str, what: str, count: int) -> int:
    """A number of the address; ResultError if there are not so many."""
    text = str(request.path_params[name])
    if not text.isascii() or not text.isdigit() or len(text) > 9 or int(text) >= count:
        raise ResultError(f"no {what} {quote(text)}: there are {count}")
    return int(text)


@asynccontextmanager
async def _lifespan(site: Site, _: Starlette) -> AsyncIterator[None]:
    yield
    if site.live is not None:
        site.live.close()


async def _error_response(_: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, status_code=400)


async def _overview(site: Site, _: Request) -> dict[str, Any]:
    return await run_in_threadpool(overview, site)


def overview(site: Site) -> dict[str, Any]:
    """What the page shows first: the runs, the other results, and what else it can do."""
    return {
        "runs": run_summaries(site.runs),
        "others": [{"title": other.meta["title"] or other.kind, "kind": other.kind} for other in site.others],
        "live": None if site.live is None else site.live.name,
        "judging": None if site.desk is None else site.desk.model,
        "uploads": site.live is not None and site.new_folder is not None,
        "measures": measure_notes(site.runs),
    }


async def _pairs(site: Site, _: Request) -> dict[str, Any]:
    return await run_in_threadpool(lambda: site.runs.columns)  # computed once


async def _pair(site: Site, request: Request) -> dict[str, Any]:
    row = _index(request, "row", "pair", len(site.runs.pairs))
    return await run_in_threadpool(pair_details, site.runs, row)


def pair_details(runs: Runs, row: int) -> dict[str, Any]:
    """One pair in every run that has it with the same texts."""
    data, item, more, less = runs.pairs[row]
    have = [(number, run) for number, run in enumerate(runs.results) if row in runs.rows_by_run[number]]
    by_run = [{"run": number, "measures": token_breakdown(run.items, run.tokens, item)} for number, run in have]
    return {"item": item, "data": data, "texts": [more, less], "runs": by_run}


async def _compare(site: Site, request: Request) -> list[dict[str, Any]]:
    runs = site.runs.results
    first, second = (runs[_index(request, name, "run", len(runs))] for name in ("first", "second"))
    return await run_in_threadpool(compare_runs, first, second)


async def _live(site: Site, request: Request) -> dict[str, Any]:
    if site.live is None:
        raise ResultError("no live model: start `unmask explore` without --no-live")
    kind = str(request.path_params["kind"])
    if kind not in live.KINDS:
        raise DataError(f"no live query {quote(kind)}: give one of {', '.join(live.KINDS)}")
    body = await _body(request, live.Query)
    try:
        answer = await asyncio.wrap_future(site.live.submit(live.parse_query(kind, body)))
        return cast(dict[str, Any], plain(answer))
    except UnmaskError as error:  # unfinished input is no failure: the page shows what is missing
        return {"error": str(error)}


async def _audit(site: Site, request: Request) -> dict[str, Any]:
    if site.live is None or site.new_folder is None:
        raise ResultError("no live model: start `unmask explore` without --no-live")
    make, body = site.new_folder, await _body(request, Upload)
    data = await run_in_threadpool(read_upload, body)
    result = await asyncio.wrap_future(site.live.submit(lambda lm: audit_upload(lm, data, make)))
    site.runs = Runs((*site.runs.results, result))
    return {"run": len(site.runs.results) - 1, "folder": result.folder.name, "n": len(data.items)}


async def _annotations(site: Site, request: Request) -> dict[str, Any]:
    return await run_in_threadpool(_desk_of(site).state, request.query_params.get("judge", ""))


async def _annotate(site: Site, request: Request) -> dict[str, Any]:
    body = await _body(request, NewVerdict)
    return await run_in_threadpool(_desk_of(site).annotate, body.prompt, body.judge, body.verdict)


def _desk_of(site: Site) -> AnnotationDesk:
    if site.desk is None:
        raise ResultError("no answers to annotate: start `unmask explore` with a folder of answers")
    return site.desk


async def _body(request: Request, kind: type[T]) -> T:
    """The body of a request as a value of this kind; the guard has checked its size."""
    return validate(kind, parse_json(await request.body(), "the request"), "the request")
