"""`unmask corpus`: count the words of two groups in a corpus, and measure its effect on a model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmask.cli import options
from unmask.cli.console import new_folder, split_names, stderr_printer
from unmask.core.errors import DataError
from unmask.core.progress import progress_bar
from unmask.findings import terminal

if TYPE_CHECKING:
    from collections.abc import Callable

    from unmask.corpus.counting import CorpusCounts, TermCounter
    from unmask.corpus.terms import TermSets
    from unmask.corpus.training_effect import TrainingEffect
    from unmask.data.texts import TrainingCorpus
    from unmask.findings import Finding

app = typer.Typer(
    help="Count the words of two groups in a corpus, and measure its effect on a model.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
RESULT = "corpus.json"

Files = Annotated[
    list[str], typer.Argument(help="Text, JSON lines, CSV, TSV or Parquet; .gz, .xz, .bz2, .zst too.")
]
Column = Annotated[
    list[str] | None,
    typer.Option(
        help="Column or key with the text; several are joined into one document.",
        show_default="text, sentence, …",
    ),
]
NoHeader = Annotated[
    bool, typer.Option("--no-header", help="Tables have no header: columns are numbered from 1.")
]
Documents = Annotated[
    str, typer.Option(help="Unit of a document in text files: line, block (up to an empty line) or file.")
]


@app.command("count")
def count(  # noqa: PLR0913, PLR0917 - one parameter an option
    files: Files,
    terms: Annotated[
        Path | None,
        typer.Option(help="CSV with two columns of words to count.", show_default="built-in word pairs"),
    ] = None,
    lists: Annotated[
        tuple[Path, Path] | None,
        typer.Option(help="Two files with one word per line, instead of --terms."),
    ] = None,
    called: Annotated[
        tuple[str, str] | None,
        typer.Option("--names", help="Names of the two sets.", show_default="their columns or files"),
    ] = None,
    column: Column = None,
    no_header: NoHeader = False,
    documents: Documents = "line",
    no_professions: Annotated[
        bool, typer.Option("--no-professions", help="Do not count professions in the same sentence.")
    ] = False,
    whitespace: Annotated[
        bool,
        typer.Option(
            "--whitespace",
            help="Split words at white space only, not at punctuation; close to Kaneko et al. (2022).",
        ),
    ] = False,
    per_document: Annotated[
        Path | None, typer.Option(help="Also write the counts per document to this .csv or .parquet file.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Result folder for page, plots and JSON.", show_default="not written")
    ] = None,
    processes: Annotated[
        int | None, typer.Option(min=1, help="Number of processes.", show_default="one per core")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the bootstrap over documents.")] = 0,
    no_report: options.NoReport = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Count feminine and masculine words (or any two sets): ILPS = ln(P_f / P_m) with its interval.

    A number above 0 means more feminine words, below 0 more masculine ones.
    """
    from unmask.corpus.count_findings import count_finding
    from unmask.corpus.counting import TermCounter
    from unmask.corpus.counting import count as count_terms
    from unmask.corpus.per_document import document_writer
    from unmask.data.text_files import TextLayout

    layout = TextLayout(tuple(split_names(column)), not no_header, documents)  # type: ignore[arg-type]
    sets = _terms(terms, lists, professions=not no_professions)
    sets = sets if called is None else replace(sets, names=called)
    counter = TermCounter(sets, layout, per_document is not None, whitespace)
    rows = (
        document_writer(per_document, counter.terms.names, whole_files=documents == "file")
        if per_document
        else nullcontext()
    )
    with _bytes_bar(files, quiet=quiet) as tell, rows as on_part:
        counts = count_terms(files, counter, processes=processes, progress=tell, on_part=on_part)
    finding = count_finding(counts, counter, [Path(file).name for file in files], seed=seed)
    content = _counts_json(finding, counts, counter, files, seed)
    if as_json:
        typer.echo(json.dumps(content, indent=2, ensure_ascii=False))
    else:
        terminal.show(finding)
    for line in counts.problems.first[1:]:
        stderr_printer(quiet)(f"problem: {line}")
    if out is not None:
        title = "Words of two groups in a corpus"
        lead = f"Counted: {', '.join(Path(file).name for file in files[:5])}."
        _write(out, title, lead, finding, content, report=not no_report)
        stderr_printer(quiet)(f"result in {out}")
    if per_document is not None:
        stderr_printer(quiet)(f"counts of {counts.documents:,} documents in {per_document}")


@app.command("bias")
def bias(  # noqa: PLR0913, PLR0917 - one parameter an option
    files: Files,
    model: Annotated[
        str | None,
        typer.Option(
            help="Model to train further: hub name or folder, preferably mitigated.", show_default="built-in"
        ),
    ] = None,
    placebo: Annotated[
        list[str] | None,
        typer.Option(help="Your own placebo text.", show_default="the corpus with gender swapped at random"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Result folder.", show_default="unmask-runs/corpus-TIME")
    ] = None,
    column: Column = None,
    no_header: NoHeader = False,
    documents: Documents = "line",
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N documents.")] = None,
    epochs: Annotated[float, typer.Option(help="Number of epochs.")] = 1.0,
    lr: Annotated[float, typer.Option(help="Initial learning rate; it decays to zero.")] = 5e-5,
    batch: Annotated[int, typer.Option(help="Batch size per device.")] = 32,
    length: Annotated[int, typer.Option(help="Tokens per training sequence.")] = 128,
    seed: Annotated[int, typer.Option(help="Random seed (data order, masking, dropout, placebo).")] = 0,
    device: options.Device = None,
    kind: options.KindOf = None,
    tokens: options.Tokens = None,
    offline: options.Offline = False,
    no_store: options.NoStore = False,
    no_report: options.NoReport = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Measure how training on a corpus changes the bias of a model, compared with training on a placebo.

    Both checkpoints stay in the result folder. Run the same command again to resume an interrupted run.
    """
    from unmask.cli.training_progress import training_bar
    from unmask.core.options import Opening, Options
    from unmask.corpus.effect_findings import effect_finding
    from unmask.corpus.placebo import placebo_from_sentences, shuffle_gender
    from unmask.corpus.training_effect import TrainingPlan, measure_effect
    from unmask.data.text_files import TextLayout
    from unmask.data.texts import load_corpus
    from unmask.training import TrainSettings

    layout = TextLayout(tuple(split_names(column)), not no_header, documents)  # type: ignore[arg-type]
    settings = TrainSettings(epochs=epochs, rate=lr, batch=batch, seed=seed)
    text = load_corpus(files, layout, limit=limit)
    learnt = text.sentences
    other = split_names(placebo)
    control = (
        placebo_from_sentences(load_corpus(other, layout).sentences, len(learnt), Path(other[0]).name)
        if other
        else shuffle_gender(learnt, seed=seed)
    )
    folder = out or new_folder("corpus")
    how = Opening(kind, device, offline=offline)  # type: ignore[arg-type]
    with progress_bar(quiet=quiet) as progress, training_bar(quiet=quiet) as bar:
        plan = TrainingPlan(
            model, how, settings, Options(None, seed, tokens, not no_store, None, offline, progress), length
        )
        effect = measure_effect(plan, learnt, control, text.held_out_sentences, folder, progress=bar)
    finding = effect_finding(effect, seed=seed)
    content = _effect_json(finding, effect, text)
    if as_json:
        typer.echo(json.dumps(content, indent=2, ensure_ascii=False))
    else:
        terminal.show(finding)
    lead = f"{effect.model['id']} trained further on {', '.join(Path(file).name for file in files[:5])}."
    _write(folder, "Effect of a corpus on a model", lead, finding, content, report=not no_report)
    stderr_printer(quiet)(f"result and both checkpoints in {folder}")


def _effect_json(finding: Finding, effect: TrainingEffect, text: TrainingCorpus) -> dict[str, Any]:
    from importlib.metadata import version

    from unmask.findings import as_json
    from unmask.findings.envelope import versions

    return {
        "schema": 1,
        "unmask": version("unmask"),
        "model": effect.model,
        "data": {
            "files": [dict(file) for file in text.files],
            "documents": len(text.documents),
            "held_out": len(text.held_out),
            "placebo": effect.placebo_about,
        },
        "trainings": effect.trainings,
        "versions": versions(),
        **as_json(finding),
    }


def _terms(terms: Path | None, lists: tuple[Path, Path] | None, *, professions: bool) -> TermSets:
    from unmask.corpus.terms import builtin_terms, read_lists, read_terms

    if terms is not None and lists is not None:
        raise DataError("--terms and --lists exclude each other: give one of them")
    if terms is not None:
        return read_terms(terms, professions=professions)
    return (
        builtin_terms(professions=professions)
        if lists is None
        else read_lists(*lists, professions=professions)
    )


def _counts_json(
    finding: Finding, counts: CorpusCounts, counter: TermCounter, files: list[str], seed: int
) -> dict[str, Any]:
    from importlib.metadata import version

    from unmask.corpus.count_findings import professions_json
    from unmask.findings import as_json

    by_set = zip(counter.terms.names, (0, 1), strict=True)
    return {
        "schema": 1,
        "unmask": version("unmask"),
        "files": [Path(file).name for file in files],
        "sets": counter.terms.source,
        "seed": seed,
        "documents": counts.documents,
        "words": counts.words,
        "counts": {name: counts.set_total(side) for name, side in by_set},
        "terms": {
            term: int(n)
            for term, n, side in zip(counter.forms, counts.terms, counter.set_of_form, strict=True)
            if n and side < 2
        },
        "professions": professions_json(counts, counter),
        "versions": {name: version(name) for name in ("unmask", "numpy", "scipy", "statsmodels")},
        "problems": {"count": counts.problems.count, "first": counts.problems.first},
        **as_json(finding),
    }


def _write(
    out: Path, title: str, lead: str, finding: Finding, content: dict[str, Any], *, report: bool
) -> None:
    """Write the result object, and the page if `report`."""
    from unmask.core.files import write_json
    from unmask.findings.envelope import refuse_foreign

    refuse_foreign(out, (RESULT, "corpus"))
    out.mkdir(parents=True, exist_ok=True)
    written = write_json(out / RESULT, content)
    if report:
        from unmask.findings import Section
        from unmask.findings.html import write

        write(title, lead, [Section("corpus", title, lead, finding)], written, out, download=RESULT)


@contextmanager
def _bytes_bar(files: list[str], *, quiet: bool) -> Iterator[Callable[[int], None]]:
    """A progress bar over the megabytes of the files."""
    with progress_bar(quiet=quiet) as step:
        total = sum(Path(file).stat().st_size for file in files if Path(file).is_file())
        done = 0

        def tell(size: int) -> None:
            nonlocal done
            done += size
            step("megabytes", done / max(1, total), max(1, round(total / 1e6)))

        yield tell
