"""`unmask vectors`: association tests on the word vectors of a file or the embeddings of a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmask.cli import options
from unmask.cli.console import new_folder, split_names, stderr_printer
from unmask.core.errors import DataError
from unmask.findings import terminal

if TYPE_CHECKING:
    from unmask.core.options import Opening
    from unmask.vectors.run import Source, VectorMeasure, VectorResult, VectorSettings, WordSets

RESULT = "vectors.json"


def vectors(  # noqa: PLR0913, PLR0917 - one parameter an option
    source: Annotated[
        str | None,
        typer.Argument(
            help="File of vectors (word2vec, GloVe, fastText) or a model; default: built-in.",
            show_default=False,
        ),
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            help="Measure (see `unmask list vectors`); can be repeated.",
            show_default="weat for a file, seat for a model",
        ),
    ] = None,
    questions: Annotated[
        list[str] | None,
        typer.Option(help="weat-6, seat-6, weat-6-sentences, religion-islam, … or a file; can be repeated."),
    ] = None,
    layer: Annotated[
        int, typer.Option(help="Hidden layer of a model: 0 is the embedding layer, -1 the last.")
    ] = -1,
    pooling: Annotated[
        str | None,
        typer.Option(help="first, last, mean or mean-all.", show_default="as published"),
    ] = None,
    population: Annotated[
        bool,
        typer.Option("--population", help="Use the population standard deviation instead of the sample one."),
    ] = False,
    lower: Annotated[bool, typer.Option("--lower", help="Look words up in lower case (GloVe 6B).")] = False,
    words: Annotated[
        Path | None,
        typer.Option(help="Words that should be neutral, one per line.", show_default="165 occupations"),
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(help="CSV of word pairs, masculine word first.", show_default="Bolukbasi's ten pairs"),
    ] = None,
    k: Annotated[int, typer.Option("--neighbours", min=1, help="Neighbours per word (knn-bias).")] = 100,
    vocabulary: Annotated[
        int, typer.Option(min=2, help="Only the first N words of the file can be neighbours (knn-bias).")
    ] = 50_000,
    corpus: Annotated[Path | None, typer.Option(help="Text with one sentence per line (ceat).")] = None,
    each: Annotated[int, typer.Option(min=1, help="Sentences per word (ceat).")] = 100,
    draws: Annotated[int, typer.Option(min=2, help="Samples of one context per word (ceat).")] = 10_000,
    variance: Annotated[
        str, typer.Option(help="Variance of a sample (ceat): published or sampling.")
    ] = "published",
    out: Annotated[
        Path | None, typer.Option(help="Result folder.", show_default="unmask-runs/vectors-SOURCE-TIME")
    ] = None,
    device: options.Device = None,
    dtype: options.Dtype = "fp32",
    kind: options.KindOf = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed (samples, partitions, bootstrap).")] = 0,
    data_dir: options.DataDir = None,
    offline: options.Offline = False,
    allow_pickle: options.AllowPickle = False,
    trust_remote_code: options.TrustRemoteCode = False,
    no_report: options.NoReport = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Test whether word vectors are associated more with one set of words than with another.

    WEAT, SEAT, C-SEAT, CEAT, direct bias, RIPA and nearest-neighbour bias, with intervals.
    """
    from unmask.core.options import Opening
    from unmask.vectors.run import VectorSettings, find

    _refuse(pooling, ("first", "last", "mean", "mean-all"), "--pooling")
    _refuse(variance, ("published", "sampling"), "--variance")
    chosen = [find(name) for name in split_names(measure) or ["weat" if _is_file(source) else "seat"]]
    spread = "population" if population else "sample"
    settings = VectorSettings(
        layer,
        pooling,  # type: ignore[arg-type]
        spread,  # type: ignore[arg-type]
        lower,
        seed,
        corpus,
        each,
        draws,
        variance,  # type: ignore[arg-type]
        k,
        vocabulary,
    )
    questions_by_measure = {
        measure_spec.name: _questions(measure_spec, split_names(questions), data_dir)
        for measure_spec in chosen
    }
    sets = _sets(words, pairs)
    folder = out or new_folder(f"vectors-{Path(source or 'builtin').name}")
    how = Opening(kind, device, dtype, False, offline, allow_pickle, trust_remote_code)  # type: ignore[arg-type]
    found = _run(source, how, chosen, questions_by_measure, sets, settings, folder, quiet=quiet)
    content = found[1]
    if as_json:
        typer.echo(json.dumps(content, indent=2, ensure_ascii=False))
    else:
        for finding in found[0]:
            terminal.show(finding)
    if not no_report:
        _page(found[0], chosen, content, folder)
    stderr_printer(quiet)(
        f"result in {folder}" + ("" if no_report else f"; open {folder / 'report.html'} in a browser")
    )


def _run(  # noqa: PLR0913, PLR0917 - what a run is made of
    named: str | None,
    how: Opening,
    chosen: list[VectorMeasure],
    questions_by_measure: dict[str, Any],
    sets: WordSets,
    settings: VectorSettings,
    folder: Path,
    *,
    quiet: bool,
) -> tuple[list[Any], dict[str, Any]]:
    """Compute every measure; returns the findings and the content of vectors.json."""
    from unmask.core.files import write_json
    from unmask.findings.envelope import refuse_foreign
    from unmask.vectors.findings import conclude
    from unmask.vectors.run import run_measure

    refuse_foreign(folder, (RESULT,))
    source, facts = _source(named, how)
    answers = []
    for measure in chosen:
        stderr_printer(quiet)(f"{measure.name}: {facts['id']}")
        answers.append(run_measure(measure, source, questions_by_measure[measure.name], sets, settings))
    findings = [conclude(result, str(facts["id"])) for result in answers]
    folder.mkdir(parents=True, exist_ok=True)
    return findings, write_json(folder / RESULT, _meta(facts, answers, findings, settings))


def _source(named: str | None, how: Opening) -> tuple[Source, dict[str, Any]]:
    """The file of vectors or the loaded model, and the facts about it for the result."""
    from dataclasses import asdict

    if _is_file(named):
        from unmask.data.files import sha256_of
        from unmask.vectors.static import format_of

        path = Path(str(named))
        return path, {"id": path.name, "kind": "file", "format": format_of(path), "sha256": sha256_of(path)}
    from unmask.models import open_lm

    lm = open_lm(named, how)
    return lm, asdict(lm.facts)


def _is_file(named: str | None) -> bool:
    return named is not None and Path(named).is_file()


def _questions(measure: VectorMeasure, given: list[str], data_dir: Path | None) -> Any:
    from unmask.vectors.named_questions import default_question_names, load_questions

    if measure.asks == "words":
        return ()
    return load_questions(given or default_question_names(measure.name, data_dir), data_dir)


def _sets(words: Path | None, pairs: Path | None) -> WordSets:
    """Neutral words and gender pairs: the built-in occupations and Bolukbasi's pairs, or those of files."""
    from unmask import data
    from unmask.data.formats import decode, table
    from unmask.vectors.directions import GENDER
    from unmask.vectors.questions import weat_questions
    from unmask.vectors.run import WordSets

    neutral = (
        tuple(dict.fromkeys(_lines(words)))
        if words
        else tuple(occupation.name for occupation in data.read("occupations"))
    )
    both = list(GENDER)
    if pairs is not None:
        if not pairs.is_file():
            raise DataError(
                f"{pairs} does not exist; expected a CSV of two columns, the masculine word first"
            )
        rows = [list(row.values()) for row in table(decode(pairs.read_bytes(), pairs.name), pairs.name)]
        if not rows or len(rows[0]) < 2:
            raise DataError(
                f"{pairs.name}: expected a header and two columns of words, the masculine word first"
            )
        both = [(row[0].strip(), row[1].strip()) for row in rows]
    known = data.read("word-pairs")
    more = [word for pair in known.pairs for word in (pair.masculine, pair.feminine)]
    others = dict.fromkeys([*more, *(text for question in weat_questions() for text in question.texts())])
    return WordSets(neutral, tuple(both), tuple(word for word in others if word not in neutral))


def _lines(path: Path) -> list[str]:
    from unmask.data.formats import decode

    try:
        text = decode(path.read_bytes(), path.name)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); expected one word per line") from None
    return [line.strip() for line in text.splitlines() if line.strip()]


def _refuse(value: str | None, known: tuple[str, ...], option: str) -> None:
    if value is not None and value not in known:
        raise DataError(f"{option} {value}: give {', '.join(known)}")


def _meta(
    facts: dict[str, Any], answers: list[VectorResult], findings: list[Any], settings: VectorSettings
) -> dict[str, Any]:
    from dataclasses import asdict
    from importlib.metadata import version

    from unmask.core.files import plain
    from unmask.findings import as_json
    from unmask.findings.envelope import versions

    options = asdict(settings) | {"corpus": None if settings.corpus is None else settings.corpus.name}
    records = [
        {"measure": result.measure.name, "citation": result.measure.citation, **as_json(finding)}
        for result, finding in zip(answers, findings, strict=True)
    ]
    content = {
        "schema": 1,
        "unmask": version("unmask"),
        "source": facts,
        "settings": options,
        "versions": versions(),
        "findings": records,
    }
    return dict(plain(content))


def _page(findings: list[Any], chosen: list[VectorMeasure], content: dict[str, Any], folder: Path) -> None:
    from unmask.findings import Section
    from unmask.findings.html import write

    sections = [
        Section(measure.name, measure.title, f"{measure.reads[:1].upper()}{measure.reads[1:]}.", finding)
        for measure, finding in zip(chosen, findings, strict=True)
    ]
    source = content["source"]["id"]
    lead = (
        f"Are some words associated with others in the vectors of {source}? These numbers describe the "
        "geometry of vectors; they are poor predictors of what a model does in use, and depend on the words, "
        "the layer and the pooling."
    )
    write(f"Vectors of {source}", lead, sections, content, folder, RESULT)
