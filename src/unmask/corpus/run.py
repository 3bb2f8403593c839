"""Count the words of two groups in a corpus, flag its sentences, train vectors on it, and measure its effect."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from unmask.core.errors import DataError
from unmask.core.estimate import Estimate
from unmask.core.files import file_name
from unmask.core.options import Opening, Options, TextLayout, fill_groups
from unmask.core.progress import steps_of
from unmask.core.request import with_request
from unmask.corpus.count_findings import count_estimates, count_finding, summarize
from unmask.corpus.counting import CorpusCounts, TermCounter, count_files
from unmask.corpus.flag_findings import EXAMPLES, flag_estimates, flag_finding, summarize_flags
from unmask.corpus.flags import FlaggedSentence, Flagger, sentence_writer
from unmask.corpus.per_document import document_writer
from unmask.corpus.spec import CountSettings, EffectSettings, EmbeddingSettings, FlagSettings, TermSettings
from unmask.corpus.terms import TermSets, builtin_terms, read_lists, read_terms, with_lexicon
from unmask.data.documents import Document, Problems, existing_files, read_file
from unmask.data.texts import file_facts, load_corpus
from unmask.findings import Section
from unmask.findings.envelope import Result, build
from unmask.findings.folder import result_folder
from unmask.vectors.spec import VectorSettings

if TYPE_CHECKING:
    from unmask.corpus.embeddings import CorpusText

PathLike = str | Path
Files = PathLike | Sequence[PathLike]
SENTENCES = "sentences.csv"


@with_request("corpus count", "files")
def count(
    files: Files, *, out: PathLike | None = None, count_with: Callable[..., CorpusCounts] = count_files, **options: Any
) -> Result:
    """Count the words of two sets in a corpus: ILPS = ln(P_f / P_m) with its interval.

    Args:
        files: text, JSON lines, CSV, TSV or Parquet, also compressed; memory does not grow with their size.
        out: the result folder; None: nothing is written.
        count_with: the function that counts, such as one that counts on a cluster.
        options: fields of `CountSettings`, `TextLayout` and `Options` (of these `seed` and `progress`), or
            these groups themselves as `settings`, `layout` and `options`.
    """
    settings, layout, run = fill_groups(options, settings=CountSettings, layout=TextLayout, options=Options)
    with result_folder(out, "corpus") as folder:
        return folder.finish(_count(existing_files(_as_list(files)), count_with, settings, layout, run))


def _count(
    paths: Sequence[Path],
    count_with: Callable[..., CorpusCounts],
    settings: CountSettings,
    layout: TextLayout,
    run: Options,
) -> dict[str, Any]:
    """The content of `result.json` of a count."""
    counter = TermCounter(_terms(settings), layout, settings.per_document is not None, settings.whitespace)
    table = (
        document_writer(settings.per_document, counter.terms.names, whole_files=layout.unit == "file")
        if settings.per_document
        else nullcontext()
    )
    size = sum(path.stat().st_size for path in paths)
    step = steps_of(run.progress, "megabytes", max(1, round(size / 1e6)))
    with table as on_part:
        counts = count_with(paths, counter, processes=settings.processes, step=step, on_part=on_part)
    summary = summarize(counts, counter, seed=run.seed)
    finding = count_finding(summary, [file_name(path) for path in paths])
    section = Section("corpus", "Words of two groups in a corpus", f"Counted: {_first_names(paths)}.", finding)
    found = zip(counter.forms, counts.terms.tolist(), counter.set_of_form.tolist(), strict=True)
    return _of_files(
        *(paths, section, asdict(settings) | asdict(layout) | {"seed": run.seed}),
        estimates=count_estimates(summary),
        details={
            "sets": counter.terms.source,
            "documents": counts.documents,
            "words": counts.words,
            "counts": {name: counts.set_total(side) for side, name in enumerate(summary.names)},
            "terms": {term: n for term, n, side in found if n and side < 2},
            "professions": summary.professions,
            "problems": counts.problems,
        },
    )


@with_request("corpus flag", "files")
def flag(files: Files, *, out: PathLike | None = None, **options: Any) -> Result:
    """Write the sentences of a corpus that have a word of a group and an attribute of a lexicon.

    Args:
        files: text, JSON lines, CSV, TSV or Parquet, also compressed; memory does not grow with their size.
        out: the result folder, where the sentences are written to `sentences.csv`; None: sentences are written only
            to `table`, if it is given.
        options: fields of `FlagSettings`, `TextLayout` and `Options` (of these `seed` and `progress`), or
            these groups themselves as `settings`, `layout` and `options`.
    """
    settings, layout, run = fill_groups(options, settings=FlagSettings, layout=TextLayout, options=Options)
    with result_folder(out, "corpus", also=(SENTENCES,)) as folder:
        table = settings.table or (None if folder.path is None else folder.path / SENTENCES)
        return folder.finish(_flag(existing_files(_as_list(files)), table, settings, layout, run))


def _flag(
    paths: Sequence[Path], table: Path | None, settings: FlagSettings, layout: TextLayout, run: Options
) -> dict[str, Any]:
    """The content of `result.json` of flagged sentences, which are written to `table`."""
    terms, expected = with_lexicon(_terms(settings), settings.lexicon)
    flagger = Flagger(TermCounter(terms, layout, whitespace_only=settings.whitespace), expected)
    counts, problems = flagger.empty(), Problems()
    step = steps_of(run.progress, "files", len(paths))
    examples, written = list[FlaggedSentence](), 0
    with nullcontext() if table is None else sentence_writer(table, terms.names) as write:
        for flagged in flagger.flag(_documents(paths, layout, problems, step), counts):
            if len(examples) < EXAMPLES:
                examples.append(flagged)
            if write is not None and (settings.most is None or written < settings.most):
                write(flagged)
                written += 1
    summary = summarize_flags(flagger, counts, examples, problems, seed=run.seed)
    finding = flag_finding(summary, "" if table is None else f"; {written:,} are in {file_name(table)}")
    section = Section("corpus", "Flagged sentences of a corpus", f"Read: {_first_names(paths)}.", finding)
    return _of_files(
        *(paths, section, asdict(settings) | asdict(layout) | {"seed": run.seed}),
        estimates=flag_estimates(summary),
        details={
            "sets": terms.source,
            "documents": counts.documents,
            "counts": dict(zip(("stereotype", "counter", "flagged", "words"), counts.totals, strict=True)),
            "written": written,
            "attributes": summary.attributes,
            "problems": problems,
        },
    )


def _of_files(
    paths: Sequence[Path],
    section: Section,
    options: Mapping[str, Any],
    *,
    estimates: Iterable[Estimate],
    details: Mapping[str, Any],
) -> dict[str, Any]:
    """The content of `result.json` of a corpus that was read once, with the size of every file."""
    return build(
        "corpus",
        title=section.title,
        lead=section.lead,
        data=[{"name": file_name(path), "bytes": path.stat().st_size} for path in paths],
        options=options,
        estimates=estimates,
        findings=[section],
        details=details,
    )


def _documents(
    paths: Sequence[Path], layout: TextLayout, problems: Problems, step: Callable[[float], None]
) -> Iterator[Document]:
    """The documents of all files."""
    for number, path in enumerate(paths):
        yield from read_file(path, layout, problems)
        step((number + 1) / len(paths))


@with_request("corpus vectors", "files")
def vectors(
    files: Files,
    *,
    measures: str | Sequence[str] = (),
    questions: str | Sequence[str] = (),
    out: PathLike | None = None,
    **options: Any,
) -> Result:
    """Train word vectors on a corpus, several times, and run vector measures on them.

    Args:
        files: text, JSON lines, CSV, TSV or Parquet, also compressed.
        measures: vector measures of words; default: weat.
        questions: names such as weat-6, or files; default: those of the measure.
        out: the result folder, where the vectors stay (`vectors-SEED.bin`) and are used again; None: nothing is kept.
        options: fields of `EmbeddingSettings`, `VectorSettings`, `TextLayout` and `Options` (of these `limit`,
            which counts documents, `seed` and `progress`), or these groups themselves as `training`, `settings`,
            `layout` and `options`.
    """
    training, settings, layout, run = fill_groups(
        options, training=EmbeddingSettings, settings=VectorSettings, layout=TextLayout, options=Options
    )
    from unmask.corpus import embeddings

    kept = embeddings.vector_files(training, settings.seed)
    with result_folder(out, "corpus", also=kept) as folder:
        chosen, asked = ([each] if isinstance(each, str) else list(each) for each in (measures, questions))
        paths = tuple(existing_files(_as_list(files)))
        text = embeddings.CorpusText(paths, layout, settings.lower, run.limit, Problems())
        return folder.finish(_train_and_measure(text, chosen, asked, training, settings, folder.path, run))


def _train_and_measure(  # noqa: PLR0913, PLR0917 - the parts of a run
    text: CorpusText,
    measures: list[str],
    questions: list[str],
    training: EmbeddingSettings,
    settings: VectorSettings,
    folder: Path | None,
    run: Options,
) -> dict[str, Any]:
    """The content of `result.json` of vectors trained on a corpus; the vectors are kept in `folder`."""
    from unmask.corpus import embedding_findings, embeddings
    from unmask.vectors import VECTOR_MEASURES
    from unmask.vectors.evaluation import run_measure
    from unmask.vectors.run import questions_of, word_sets

    chosen = VECTOR_MEASURES.find_all(measures or ("weat",))
    if unfit := [measure.name for measure in chosen if measure.models_only]:
        raise DataError(f"{', '.join(unfit)} needs a model; of trained vectors only measures of words can be computed")
    asked = [questions_of(measure, questions, settings) for measure in chosen]
    sets = word_sets(settings.words, settings.pairs)
    step = steps_of(run.progress, "trainings", training.seeds)
    trained = embeddings.train_all(text, training, settings.seed, folder, step)
    measured = [
        embedding_findings.MeasureOverTrainings(
            measure, {each.seed: run_measure(measure, each.vectors, own, sets, settings) for each in trained}
        )
        for measure, own in zip(chosen, asked, strict=True)
    ]
    first, times = trained[0], "once" if training.seeds == 1 else f"{training.seeds} times"
    lead = (
        f"{training.algorithm} vectors of {training.size} dimensions, trained {times} on "
        f"{first.words:,} words of {first.documents:,} documents ({_first_names(text.paths)}); "
        f"{len(first.vectors.words):,} words have a vector."
    )
    return build(
        "corpus",
        title="Vectors trained on a corpus",
        lead=lead,
        data=[file_facts(path) for path in text.paths],
        options=asdict(training)
        | asdict(settings)
        | asdict(text.layout)
        | {"limit": run.limit, "measures": [measure.name for measure in chosen]},
        estimates=embedding_findings.training_estimates(measured),
        findings=embedding_findings.training_sections(measured),
        details={
            "trainings": [
                {
                    "seed": each.seed,
                    "documents": each.documents,
                    "words": each.words,
                    "vocabulary": len(each.vectors.words),
                }
                for each in trained
            ],
            "citations": {measure.name: measure.citation for measure in chosen},
            "problems": text.problems,
        },
    )


@with_request("corpus bias", "files")
def bias(
    files: Files, model: PathLike | None = None, *, placebo: Files = (), out: PathLike | None = None, **options: Any
) -> Result:
    """Measure how training on a corpus changes the bias of a model, compared with training on a placebo.

    With one training of each (`seeds=1`) there is an interval over items and no p-value: another seed alone may move
    the scores. `seeds=5` trains five times, and intervals and p-values cover items and trainings.

    Args:
        files: the corpus: text, JSON lines, CSV, TSV or Parquet, also compressed.
        model: hub name or folder of the model to train further, preferably mitigated; None: built-in.
        placebo: files of your own placebo text; default: the corpus with gender swapped at random.
        out: the result folder, where the checkpoints stay, an interrupted run resumes and more seeds can be added;
            None: nothing is kept.
        options: fields of `EffectSettings`, `TextLayout`, `Opening` and `Options` (`limit` counts
            documents), or these groups themselves as `settings`, `layout`, `opening` and `options`.
    """
    settings, layout, opening, run = fill_groups(
        options, settings=EffectSettings, layout=TextLayout, opening=Opening, options=Options
    )
    from unmask.corpus.training_effect import kept_names

    kept = kept_names(None if out is None else Path(out), settings)
    with (
        TemporaryDirectory() if out is None else nullcontext(str(out)) as work,
        result_folder(out, "corpus", also=kept) as folder,
    ):
        paths = existing_files(_as_list(files))
        return folder.finish(_measure(paths, model, _as_list(placebo), Path(work), settings, layout, opening, run))


def _measure(  # noqa: PLR0913, PLR0917 - the parts of a run
    paths: Sequence[Path],
    model: PathLike | None,
    placebo: Sequence[PathLike],
    work: Path,
    settings: EffectSettings,
    layout: TextLayout,
    opening: Opening,
    run: Options,
) -> dict[str, Any]:
    """The content of `result.json` of an effect; the checkpoints are written to `work`."""
    from unmask.corpus import effect_findings, training_effect

    text = load_corpus(paths, layout, limit=run.limit)
    sentences = text.sentences
    if placebo:
        other = load_corpus(placebo, layout).sentences
        given = training_effect.placebo_from_sentences(other, len(sentences), file_name(Path(placebo[0])))

    def placebo_of(seed: int) -> training_effect.Placebo:
        return given if placebo else training_effect.shuffle_gender(sentences, seed=seed)

    plan = training_effect.TrainingPlan(model, opening, settings, run)
    effect = training_effect.measure_effect(plan, sentences, placebo_of, text.held_out_sentences, work)
    summary = effect_findings.summarize_effect(effect, seed=settings.seed)
    title = "Effect of a corpus on a model"
    lead = f"{effect.model['id']} trained further on {_first_names(paths)}."
    return build(
        "corpus",
        title=title,
        lead=lead,
        models=[effect.model],
        data=text.files,
        options=asdict(settings) | asdict(layout) | {"limit": run.limit},
        estimates=effect_findings.effect_estimates(summary),
        findings=[Section("corpus", title, lead, effect_findings.effect_finding(summary))],
        details={
            "documents": len(text.documents),
            "held_out": len(text.held_out),
            "placebo": effect.placebo_about,
            "trainings": effect.trainings,
        },
    )


def _as_list(files: Files) -> list[PathLike]:
    return [files] if isinstance(files, PathLike) else list(files)


def _first_names(paths: Sequence[Path]) -> str:
    return ", ".join(file_name(path) for path in paths[:5])


def _terms(settings: TermSettings) -> TermSets:
    """The two sets of words, under the names asked for."""
    professions = not isinstance(settings, CountSettings) or settings.professions
    if settings.terms is not None:
        terms = read_terms(Path(settings.terms), professions=professions)
    elif settings.lists is not None:
        terms = read_lists(*map(Path, settings.lists), professions=professions)
    else:
        terms = builtin_terms(professions=professions)
    return terms if settings.names is None else replace(terms, names=settings.names)
