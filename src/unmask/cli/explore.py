"""`unmask explore`: explore runs in the browser."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unmask.cli import options
from unmask.cli.console import RUNS, new_folder
from unmask.core.errors import ModelError
from unmask.core.options import Opening
from unmask.core.signals import keep
from unmask.findings.terminal import console, print_json, say

if TYPE_CHECKING:
    from unmask.models import Lm


@options.with_groups
def explore(  # noqa: PLR0913, PLR0917 - the parts of the command
    runs: Annotated[
        list[Path] | None,
        typer.Argument(help="Result folders, or a folder of answers to annotate.", show_default=f"those in {RUNS}"),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="Model for the live input box: hub name or folder.", show_default="the built-in model"),
    ] = None,
    no_live: Annotated[bool, typer.Option("--no-live", help="No live input box; do not load a model.")] = False,
    port: Annotated[
        int | None, typer.Option(help="Port on this machine; 0 for any.", show_default="8632, else any")
    ] = None,
    bundle: Annotated[
        Path | None,
        typer.Option(help="Write a static copy of the page to this folder instead of serving it.", show_default="none"),
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the URL.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the URL, or the page of the copy, as JSON.")] = False,
    *,
    opening: Annotated[Opening, options.Without("kind", "dtype", "tf32")],
) -> None:
    """Serve a local page: pairs, tokens, models side by side, a live input box, annotation.

    A static copy (--bundle) opens from a file, without a server: to send, or to keep.
    """
    require_extra()
    from secrets import token_urlsafe

    from unmask.explorer.live import LiveModel
    from unmask.explorer.server import create_server, find_folders, open_folders, open_socket, page_url
    from unmask.models.builtin import BUILT_IN

    def load_model() -> Lm:  # in the background: importing torch takes seconds
        from unmask.models import open_lm

        return open_lm(model, opening)

    token = token_urlsafe(24)
    site = open_folders(runs, token) if runs else open_folders(find_folders(RUNS), token, skip=_say_skipped)
    if bundle is not None:
        from unmask.explorer.bundle import write_bundle

        page = write_bundle(site, bundle, progress=say)
        print_json({"page": str(page)}) if as_json else say(f"copy in {page}: open it in a browser")
        return
    count = len(site.runs.results) + len(site.others)
    socket = open_socket(port)
    url = page_url(socket, token)
    if not no_live:
        site = replace(site, live=LiveModel.start(model or BUILT_IN, load_model), new_folder=new_folder)
    listed = f"{count} {'run' if count == 1 else 'runs'}" if count else f"no runs named, none in {RUNS}"
    screen = console()
    if as_json:
        print_json({"url": url, "runs": count})
    else:
        screen.print(f"{listed}{'' if site.desk is None else ', answers to annotate'}")
        screen.print(f"open {url}", soft_wrap=True)
        screen.print("reachable from this machine only; stop with Ctrl+C")
    keep("all annotations", again="the explorer is closed")
    server = create_server(site, lambda: None if no_browser else typer.launch(url))
    with socket:
        server.run([socket])
    if server.should_exit:  # asyncio can lose the interrupt when the server ends at the same moment
        raise KeyboardInterrupt


def _say_skipped(reason: str) -> None:
    """Say why a folder is not shown."""
    say(f"skipped: {reason}")


def require_extra() -> None:
    """Raise an error with the install command if the web server packages are missing."""
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in ("starlette", "uvicorn")):
        raise ModelError("the explorer needs starlette and uvicorn: pip install 'unmask[explore]'")
