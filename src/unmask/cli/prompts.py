"""`unmask prompts`: which words a model fills into prompts, classified by rules where they are clear."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmask.cli import options
from unmask.cli.console import new_folder, stderr_printer
from unmask.findings import terminal

if TYPE_CHECKING:
    from unmask.data.prompts import Prompt
    from unmask.prompts.findings import PromptsResult
    from unmask.prompts.folder import AnnotationFolder

Pll = Annotated[
    Path | None,
    typer.Option(help="Result folder of `unmask audit`: correlate its ranking of bias types with this one."),
]
Judgements = Annotated[
    Path | None, typer.Option(help="CSV of annotations to import (prompt, judge, verdict, when).")
]
Seed = Annotated[int, typer.Option(min=0, help="Random seed of the bootstrap.")]


def prompts(  # noqa: PLR0913, PLR0917 - one parameter an option
    model: Annotated[
        str | None,
        typer.Argument(help="Hub name or folder; default: the built-in model.", show_default=False),
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--prompts", help="Your own prompts.", show_default="the 100 built in")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Number of likeliest words per prompt.")] = 2,
    counting: Annotated[
        str, typer.Option(help="likelier: the likeliest word decides; any: one biased word suffices.")
    ] = "likelier",
    judgements: Judgements = None,
    pll: Pll = None,
    out: Annotated[
        Path | None, typer.Option(help="Result folder.", show_default="unmask-runs/prompts-MODEL-TIME")
    ] = None,
    device: options.Device = None,
    dtype: options.Dtype = "fp32",
    kind: options.KindOf = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N prompts.")] = None,
    seed: Seed = 0,
    offline: options.Offline = False,
    allow_pickle: options.AllowPickle = False,
    trust_remote_code: options.TrustRemoteCode = False,
    no_report: options.NoReport = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Human-level diagnosis: the likeliest words for every prompt, classified by rules and annotators.

    Undecided answers are written to undecided.csv; annotate them with `unmask judge RUN`.
    """
    from dataclasses import asdict

    from unmask.core.options import Opening
    from unmask.findings.envelope import refuse_foreign, versions
    from unmask.models import open_lm
    from unmask.models.builtin import BUILT_IN
    from unmask.prompts import fill_prompts
    from unmask.prompts.folder import FILES, create_folder, import_annotations

    folder = out or new_folder(f"prompts-{Path(model or BUILT_IN).name}")
    refuse_foreign(folder, FILES)
    questions, about = _prompts(file)
    taken = () if judgements is None else import_annotations(judgements, "")
    other = ranking_of(pll)
    how = Opening(kind, device, dtype, False, offline, allow_pickle, trust_remote_code)  # type: ignore[arg-type]
    lm = open_lm(model, how)
    stderr_printer(quiet)(f"running {lm.facts.id} on {len(questions[:limit])} prompts")
    opened = create_folder(folder, fill_prompts(lm, questions[:limit], top, counting=counting))  # type: ignore[arg-type]
    opened.add(taken)
    meta = {
        "model": asdict(lm.facts),
        "data": about | {"n": len(questions[:limit])},
        "options": {"top": top, "counting": counting, "limit": limit, "seed": seed},
        "versions": versions(),
    }
    finish(opened, meta, other, seed=seed, no_report=no_report, as_json=as_json, quiet=quiet)


def finish(  # noqa: PLR0913 - what the two commands end with
    folder: AnnotationFolder,
    meta: dict[str, Any],
    other: Any,
    *,
    seed: int,
    no_report: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Compute the scores, write hld.json, undecided.csv and the page, and print the finding."""
    from unmask.core.files import write_json
    from unmask.prompts.findings import conclude
    from unmask.prompts.folder import RESULT, UNDECIDED

    result = conclude(
        folder.model_answers, folder.read_annotations(), data=meta["data"]["name"], seed=seed, other=other
    )
    content = write_json(folder.path / RESULT, _meta(meta, result))
    left = folder.export()
    if not no_report:
        _page(folder, result, content)
    if as_json:
        typer.echo(json.dumps(content, indent=2, ensure_ascii=False))
    else:
        terminal.show(result.finding)
    echo = stderr_printer(quiet)
    echo(
        f"result in {folder.path}"
        + ("" if no_report else f"; open {folder.path / 'report.html'} in a browser")
    )
    if left:
        echo(
            f"{left} undecided prompts in {folder.path / UNDECIDED}; "
            f"annotate them: unmask judge {folder.path}"
        )


def _prompts(file: Path | None) -> tuple[tuple[Prompt, ...], dict[str, Any]]:
    """The prompts, and the facts about them for the result."""
    from unmask import data
    from unmask.data.files import sha256_of

    if file is None:
        card = data.card("prompts")
        return data.read("prompts"), {
            "name": card.name,
            "title": card.title,
            "licence": card.licence,
            "problems": card.problems,
            "sha256": card.files[0].sha256,
        }
    from unmask.data.pairs import slug
    from unmask.prompts.user_prompts import read_prompts

    read = read_prompts(file)
    title = f"Prompts of {file.name}"
    return read, {"name": slug(file.stem), "title": title, "sha256": sha256_of(file)}


def ranking_of(pll: Path | None) -> Any:
    """The ranking of bias types of an audit, if one was given."""
    if pll is None:
        return None
    from unmask.audit.result import load
    from unmask.prompts.findings import ranking_from_audit

    return ranking_from_audit(load(pll).estimates)


def _meta(meta: dict[str, Any], result: PromptsResult) -> dict[str, Any]:
    from dataclasses import asdict
    from importlib.metadata import version

    from unmask.core.files import plain
    from unmask.core.files import plain as as_plain
    from unmask.findings import as_json

    run_facts = {key: meta[key] for key in ("model", "data", "options", "versions")}
    content = {
        "schema": 1,
        "unmask": version("unmask"),
        **run_facts,
        "estimates": [as_plain(estimate) for estimate in result.estimates],
        "agreement": [asdict(agreement) for agreement in result.agreement],
        "ranking": [{"category": name, "value": value} for name, value in result.ranking],
        "rank_correlation": None if result.ranks is None else asdict(result.ranks),
        "finding": as_json(result.finding),
    }
    return dict(plain(content))


def _page(folder: AnnotationFolder, result: PromptsResult, content: dict[str, Any]) -> None:
    from unmask.findings import Section
    from unmask.findings.html import write
    from unmask.prompts.folder import RESULT

    sections = [
        Section("hld", "Share of biased answers", "How many answers are biased?", result.finding),
        Section("answers", "Every answer", "The likeliest words and their labels.", result.answers),
    ]
    lead = (
        f"The words that {folder.model_answers.model} fills into {len(folder.model_answers.answers)} "
        "prompts, classified by the word lists of each prompt where they apply, and by annotators otherwise."
    )
    write(
        f"Human-level diagnosis of {folder.model_answers.model}", lead, sections, content, folder.path, RESULT
    )
