"""Count the words of two groups in a corpus, and measure its effect on a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from unmask.core.options import Opening, Options, TextLayout, fill_groups
from unmask.core.progress import steps_of
from unmask.corpus.count_findings import count_estimates, count_finding, summarize
from unmask.corpus.counting import CorpusCounts, TermCounter, count_files
from unmask.corpus.per_document import document_writer
from unmask.corpus.spec import CountSettings, EffectSettings
from unmask.corpus.terms import TermSets, builtin_terms, read_lists, read_terms
from unmask.data.documents import existing_files
from unmask.data.texts import load_corpus
from unmask.findings import Section
from unmask.findings.envelope import Result, build, create, refuse_foreign

PathLike = str | Path
Files = PathLike | Sequence[PathLike]


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
    if out is not None:
        refuse_foreign(Path(out))
    paths = existing_files(_listed(files))
    counter = TermCounter(_terms(settings), layout, settings.per_document is not None, settings.whitespace)
    table = (
        document_writer(settings.per_document, counter.terms.names, whole_files=layout.unit == "file")
        if settings.per_document
        else nullcontext()
    )
    sizes = [path.stat().st_size for path in paths]
    step = steps_of(run.progress, "megabytes", max(1, round(sum(sizes) / 1e6)))
    with table as on_part:
        counts = count_with(paths, counter, processes=settings.processes, step=step, on_part=on_part)
    summary = summarize(counts, counter, seed=run.seed)
    title, lead = "Words of two groups in a corpus", f"Counted: {_first_names(paths)}."
    finding = count_finding(summary, [path.name for path in paths])
    found = zip(counter.forms, counts.terms.tolist(), counter.set_of_form.tolist(), strict=True)
    meta = build(
        "corpus",
        title=title,
        lead=lead,
        data=[{"name": path.name, "bytes": size} for path, size in zip(paths, sizes, strict=True)],
        options=asdict(settings) | asdict(layout) | {"seed": run.seed},
        estimates=count_estimates(summary),
        findings=[Section("corpus", title, lead, finding)],
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
    return create(meta, out)


def bias(
    files: Files, model: PathLike | None = None, *, placebo: Files = (), out: PathLike | None = None, **options: Any
) -> Result:
    """Measure how training on a corpus changes the bias of a model, compared with training on a placebo.

    Args:
        files: the corpus: text, JSON lines, CSV, TSV or Parquet, also compressed.
        model: hub name or folder of the model to train further, preferably mitigated; None: built-in.
        placebo: files of your own placebo text; default: the corpus with gender swapped at random.
        out: the result folder, where both checkpoints stay and an interrupted run resumes; None: nothing is
            kept.
        options: fields of `EffectSettings`, `TextLayout`, `Opening` and `Options` (`limit` counts
            documents), or these groups themselves as `settings`, `layout`, `opening` and `options`.
    """
    from unmask.corpus import training_effect

    settings, layout, opening, run = fill_groups(
        options, settings=EffectSettings, layout=TextLayout, opening=Opening, options=Options
    )
    if out is not None:
        refuse_foreign(Path(out), ("corpus", "corpus-unfinished"))
    paths = existing_files(_listed(files))
    text = load_corpus(paths, layout, limit=run.limit)
    sentences = text.sentences
    if given := _listed(placebo):
        other = load_corpus(given, layout).sentences
        control = training_effect.placebo_from_sentences(other, len(sentences), Path(given[0]).name)
    else:
        control = training_effect.shuffle_gender(sentences, seed=settings.seed)
    plan = training_effect.TrainingPlan(model, opening, settings, run)
    with TemporaryDirectory() if out is None else nullcontext(out) as folder:
        effect = training_effect.measure_effect(plan, sentences, control, text.held_out_sentences, Path(folder))
    summary = training_effect.summarize_effect(effect, seed=settings.seed)
    title = "Effect of a corpus on a model"
    lead = f"{effect.model['id']} trained further on {_first_names(paths)}."
    meta = build(
        "corpus",
        title=title,
        lead=lead,
        models=[effect.model],
        data=text.files,
        options=asdict(settings) | asdict(layout) | {"limit": run.limit},
        estimates=training_effect.effect_estimates(summary),
        findings=[Section("corpus", title, lead, training_effect.effect_finding(summary))],
        details={
            "documents": len(text.documents),
            "held_out": len(text.held_out),
            "placebo": effect.placebo_about,
            "trainings": effect.trainings,
        },
    )
    return create(meta, out)


def _listed(files: Files) -> list[PathLike]:
    return [files] if isinstance(files, PathLike) else list(files)


def _first_names(paths: Sequence[Path]) -> str:
    return ", ".join(path.name for path in paths[:5])


def _terms(settings: CountSettings) -> TermSets:
    """The two sets of words, under the names asked for."""
    if settings.terms is not None:
        terms = read_terms(Path(settings.terms), professions=settings.professions)
    elif settings.lists is not None:
        terms = read_lists(*map(Path, settings.lists), professions=settings.professions)
    else:
        terms = builtin_terms(professions=settings.professions)
    return terms if settings.names is None else replace(terms, names=settings.names)
