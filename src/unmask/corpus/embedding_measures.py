"""`corpus vectors`: train word vectors on a corpus several times, and run vector measures on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from unmask.core.errors import DataError
from unmask.core.estimate import Estimate
from unmask.core.files import file_name
from unmask.core.options import Options, TextLayout, fill_groups
from unmask.core.progress import steps_of
from unmask.core.request import with_request
from unmask.core.statistic import LEVEL
from unmask.corpus.embeddings import CorpusText, train_all, vector_files
from unmask.corpus.spec import EmbeddingSettings, Files
from unmask.data.documents import Problems, existing_files
from unmask.data.texts import file_facts
from unmask.findings import Cell, Finding, Plot, Section, Table, charts
from unmask.findings.envelope import Result, build
from unmask.findings.folder import result_folder
from unmask.findings.sentences import size
from unmask.stats.trainings import pool_repeats
from unmask.vectors import VECTOR_MEASURES
from unmask.vectors.evaluation import run_measure
from unmask.vectors.findings import estimates_of
from unmask.vectors.run import questions_of, word_sets
from unmask.vectors.spec import VectorMeasure, VectorResult, VectorSettings

NOTE = (
    "Mean: its 95% interval covers the choice of words and what differs from training to training (Rubin's rules), "
    "with bootstrap also the choice of documents. SD: between trainings. Each training: its own interval, over words."
)


@with_request("corpus vectors", "files")
def vectors(
    files: Files,
    *,
    measures: str | Sequence[str] = (),
    questions: str | Sequence[str] = (),
    out: str | Path | None = None,
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
    chosen = VECTOR_MEASURES.find_all(measures or "weat")
    if unfit := [measure.name for measure in chosen if measure.models_only]:
        raise DataError(f"{', '.join(unfit)} needs a model; of trained vectors only measures of words can be computed")
    names = [questions] if isinstance(questions, str) else list(questions)
    asked = [questions_of(measure, names, settings) for measure in chosen]
    sets = word_sets(settings.words, settings.pairs)
    with result_folder(out, "corpus", also=vector_files(training, settings.seed)) as folder:
        text = CorpusText(tuple(existing_files(files)), layout, settings.lower, run.limit, Problems())
        step = steps_of(run.progress, "trainings", training.seeds)
        trained = train_all(text, training, settings.seed, folder.path, step)
        measured = [
            MeasureOverTrainings(
                measure, {each.seed: run_measure(measure, each.vectors, group, sets, settings) for each in trained}
            )
            for measure, group in zip(chosen, asked, strict=True)
        ]
        first, times = trained[0], "once" if training.seeds == 1 else f"{training.seeds} times"
        return folder.finish(
            build(
                "corpus",
                title="Vectors trained on a corpus",
                lead=f"{training.algorithm} vectors of {training.size} dimensions, trained {times} on "
                f"{first.words:,} words of {first.documents:,} documents "
                f"({', '.join(map(file_name, text.paths[:5]))}); {len(first.vectors.words):,} words have a vector.",
                data=[file_facts(path) for path in text.paths],
                options=asdict(training)
                | asdict(settings)
                | asdict(layout)
                | {"limit": run.limit, "measures": [measure.name for measure in chosen]},
                estimates=[estimate for results in measured for estimate in results.estimates()],
                findings=[results.section() for results in measured],
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
        )


@dataclass(frozen=True)
class MeasureOverTrainings:
    """The results of one measure by seed."""

    measure: VectorMeasure
    results: Mapping[int, VectorResult]

    @cached_property
    def by_key(self) -> list[dict[int, Estimate]]:
        """The estimates by seed, of each statistic."""
        grouped: dict[tuple[str, str, str, str], dict[int, Estimate]] = {}
        for seed, result in self.results.items():
            for estimate in estimates_of(result):
                grouped.setdefault(estimate.key, {})[seed] = estimate
        return list(grouped.values())

    @cached_property
    def means(self) -> list[Estimate]:
        """The mean of each number over the trainings; of one training the number itself."""
        return [_mean(list(estimates.values())) for estimates in self.by_key]

    def estimates(self) -> Iterator[Estimate]:
        """The means over trainings, then those of each training with their intervals over words."""
        yield from self.means
        for estimates in self.by_key:
            if len(estimates) > 1:
                yield from (replace(estimate, group=f"seed={seed}") for seed, estimate in estimates.items())

    def section(self) -> Section:
        """The means and every training in a table, a plot and sentences."""
        name, title, reads = self.measure.name, self.measure.title, self.measure.reads
        columns = ("data", "statistic", "mean", "SD", f"p < {LEVEL}", *(f"seed {seed}" for seed in self.results))
        rows = tuple(map(self._row, self.means, self.by_key))
        over = f"over {len(self.results)} trainings" if len(self.results) > 1 else "over one training"
        described = [(f"{mean.data} {mean.statistic}", mean) for mean in self.means]
        chart = charts.intervals([charts.interval_row(*each) for each in described], axis=name, null=0.0)
        answers = tuple(f"{size(f'{name}, {label}:', mean)} {over}." for label, mean in described)
        plot = Plot(f"{name}-trainings", f"{name}, mean over trainings", " ".join(answers), chart)
        table = Table(f"{title} ({name}), by training", columns, rows, NOTE)
        return Section(
            name, title, f"{reads[:1].upper()}{reads[1:]}.", Finding(answers, (table,), (plot,), tuple(self._notes()))
        )

    def _row(self, mean: Estimate, estimates: Mapping[int, Estimate]) -> tuple[Cell, ...]:
        values = [estimate.value for estimate in estimates.values()]
        spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
        tested = [estimate.p for estimate in estimates.values() if estimate.p is not None]
        below = f"{sum(p < LEVEL for p in tested)} of {len(tested)}" if tested else None
        return mean.data, mean.statistic, mean, spread, below, *(estimates.get(seed) for seed in self.results)

    def _notes(self) -> Iterator[str]:
        result = next(iter(self.results.values()))
        for question, words in result.left_out:
            yield f"{question}: {len(words)} words without a vector left out: {', '.join(words[:12])}"
        for question, why in result.unanswered:
            yield f"{question} was not answered: {why}"
        if len(self.results) == 1:
            yield "one training: another seed gives other vectors and another number; train several times (seeds)"


def _mean(estimates: Sequence[Estimate]) -> Estimate:
    first = estimates[0]
    if len(estimates) == 1:
        return first
    about = {"measure": first.measure, "data": first.data, "statistic": first.statistic, "null": first.null}
    return Estimate.of(pool_repeats(estimates, "trainings"), **about, n=first.n)
