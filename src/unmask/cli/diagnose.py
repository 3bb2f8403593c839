"""`unmask diagnose`: test what the measures themselves depend on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmask.cli import options
from unmask.cli.console import new_folder, split_names, stderr_printer
from unmask.core.errors import DataError
from unmask.core.progress import progress_bar
from unmask.findings import terminal
from unmask.findings.terminal import console

if TYPE_CHECKING:
    from unmask.core.options import Opening, Options
    from unmask.diagnose import DiagnosisResult

EVERYTHING = "all"


def diagnose(  # noqa: PLR0913, PLR0917 - one parameter an option
    name: Annotated[str, typer.Argument(help="Diagnosis (see `unmask list diagnoses`), or `all`.")],
    models: Annotated[
        list[str] | None,
        typer.Argument(help="Hub names or folders; default: the built-in model.", show_default=False),
    ] = None,
    data: options.Data = None,
    measure: options.Measures = None,
    out: Annotated[
        Path | None, typer.Option(help="Result folder.", show_default="unmask-runs/NAME-TIME")
    ] = None,
    draws: Annotated[int, typer.Option(help="Shuffles per sentence; samples per sample size.")] = 10,
    votes: Annotated[
        int, typer.Option(help="A pair counts as biased if more than this many of six annotators say so.")
    ] = 3,
    band: Annotated[float, typer.Option(help="Differences up to this size count as nearly equal.")] = 0.25,
    counts: Annotated[
        Path | None, typer.Option(help="Word counts (word, count) to use instead of wordfreq.")
    ] = None,
    effect: Annotated[
        float, typer.Option(help="Difference of bias scores (in points) that a study should detect.")
    ] = 5.0,
    generate: Annotated[
        Path | None,
        typer.Option(
            help="With `paraphrase`: write candidate paraphrases of the data to this CSV, for review."
        ),
    ] = None,
    wordnet: Annotated[
        Path | None,
        typer.Option(help="With --generate: WordNet folder.", show_default="the usual places"),
    ] = None,
    device: options.Device = None,
    dtype: options.Dtype = "fp32",
    tf32: options.Tf32 = False,
    kind: options.KindOf = None,
    limit: options.Limit = None,
    seed: Annotated[int, typer.Option(help="Random seed (shuffles, samples, bootstrap).")] = 0,
    tokens: options.Tokens = None,
    data_dir: options.DataDir = None,
    offline: options.Offline = False,
    allow_pickle: options.AllowPickle = False,
    trust_remote_code: options.TrustRemoteCode = False,
    no_store: options.NoStore = False,
    no_report: options.NoReport = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Test what the scores of a measure depend on besides bias: tables, a page with plots, and JSON.

    Cached model outputs are shared with `unmask audit`: only new inputs are run through the model.
    """
    from unmask.core.options import Opening, Options
    from unmask.diagnose import DIAGNOSES, DiagnosisSettings, find, run
    from unmask.diagnose.run import as_json as whole_of

    chosen = list(DIAGNOSES.values()) if name == EVERYTHING else [find(part) for part in split_names([name])]
    how = Opening(kind, device, dtype, tf32, offline, allow_pickle, trust_remote_code)  # type: ignore[arg-type]
    if generate is not None:
        with progress_bar(quiet=quiet) as progress:
            limits = Options(limit, seed, tokens, not no_store, data_dir, offline, progress)
            _generate(name, models or [], split_names(data), generate, wordnet, how, limits)
        return
    settings = DiagnosisSettings(tuple(split_names(measure)), seed, draws, votes, band, counts, effect)
    folder = out or new_folder(name)
    with progress_bar(quiet=quiet) as progress:
        limits = Options(limit, seed, tokens, not no_store, data_dir, offline, progress)
        results = run(
            chosen,
            models or [],
            data=split_names(data),
            settings=settings,
            out=folder,
            opening=how,
            options=limits,
        )
    content = whole_of(results, settings, limits)
    if as_json:
        typer.echo(json.dumps(content, indent=2, ensure_ascii=False))
    else:
        for result in results:
            show(result)
    if not no_report:
        _page(results, content, folder)
    stderr_printer(quiet)(
        f"result in {folder}" + ("" if no_report else f"; open {folder / 'report.html'} in a browser")
    )


def _generate(  # noqa: PLR0913, PLR0917 - the options it needs
    name: str,
    models: list[str],
    data: list[str],
    path: Path,
    wordnet: Path | None,
    opening: Opening,
    limits: Options,
) -> None:
    """Write candidate paraphrases for review and print how many."""
    from unmask.diagnose.generate import generate_file
    from unmask.models.builtin import BUILT_IN

    if name != "paraphrase" or len(models) > 1 or len(data) > 1:
        raise DataError("--generate works with `paraphrase` only, with one model and one dataset")
    dataset = data[0] if data else "nine-axes"
    model = models[0] if models else BUILT_IN
    generated = generate_file(model, dataset, path, folder=wordnet, opening=opening, options=limits)
    for note in generated.notes:
        typer.echo(f"note: {note}", err=True)
    typer.echo(
        f"{generated.paraphrases:,} paraphrases of {generated.originals:,} pairs in {path}; "
        f"{generated.n_without:,} have none"
    )
    typer.echo(
        f"mark those to keep in its column `keep`, then: unmask diagnose paraphrase MODEL --data {path}"
    )


def show(result: DiagnosisResult) -> None:
    """Print the finding of one diagnosis, and how many sentences were run through each model."""
    screen = console()
    screen.print(f"{result.diagnosis.name}: {result.diagnosis.question}", style="bold")
    terminal.show(result.finding)
    for model, rows in result.asked.items():
        screen.print(f"  {model}: {rows:,} new sentences run")
    screen.print()


def _page(results: Sequence[DiagnosisResult], content: Mapping[str, Any], folder: Path) -> None:
    from unmask.findings import Section
    from unmask.findings.html import write

    models = ", ".join(model["id"] for model in content["models"])
    sections = [
        Section(
            result.diagnosis.name,
            result.diagnosis.title,
            result.diagnosis.question,
            result.finding,
            _foot(result),
        )
        for result in results
    ]
    lead = (
        "This page tests the measures, not the models: what do their scores depend on besides bias? "
        f"Models: {models}."
    )
    write("Diagnosis of bias measures", lead, sections, content, folder, "diagnosis.json")


def _foot(result: DiagnosisResult) -> str:
    counts = " ".join(f"{model}: {rows:,} new sentences run." for model, rows in result.asked.items())
    return f"Data: {', '.join(data.card.title for data in result.data)}. {counts}"
