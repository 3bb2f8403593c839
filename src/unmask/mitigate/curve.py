"""Training text a mitigation needs: ASLD by number of training sentences (Barza 2023, Figure 13)."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unmask import data
from unmask.core.errors import DataError, ResultError
from unmask.core.estimate import Estimate, Value
from unmask.core.progress import with_label
from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.data.texts import TrainingCorpus
from unmask.findings import Finding, Plot, Section, Table
from unmask.findings.envelope import RESULT, Result
from unmask.findings.sentences import quantity
from unmask.mitigate.checkpoint import WORK, build_meta, finished_details, request_of, trains_adapter
from unmask.mitigate.evaluation import check_overlap, score_rows
from unmask.mitigate.spec import MitigationContext, MitigationJob
from unmask.models import Engine
from unmask.models.network import Network
from unmask.stats.intervals import mean_interval
from unmask.training.distributed import world_size

DATA, ALL = "triple-gender", "all"
HEADLINE: dict[str, Any] = {"measure": "sld", "data": DATA, "statistic": "asld", "null": 0.0}
LEAD = "ASLD after training on random samples of increasing size."
Draws = Mapping[str, Mapping[str, Mapping[str, float]]]  # ASLD by sentences, draw, and category


@dataclass(frozen=True, slots=True)
class AsldAtSize:
    """ASLD after a number of training sentences: of every draw, and their mean."""

    sentences: int
    category: str  # or `all`
    draws: Floats
    mean: Value


def asld(engine: Engine) -> dict[str, float]:
    """Mean absolute difference in log-likelihood between the sentences of a pair: of all pairs, and by category."""
    rows = [row for row in score_rows(engine, "sld", data.load(DATA)) if row.scores]
    groups = {ALL: rows}
    for row in rows:
        groups.setdefault(row.groups["category"], []).append(row)
    return {name: float(np.mean([abs(row.difference) for row in group])) for name, group in groups.items()}


def sample_corpus(corpus: TrainingCorpus, size: int, draw: int, seed: int) -> TrainingCorpus:
    """Sample documents until they have `size` sentences; the last document is cut."""
    sampled: list[tuple[str, ...]] = []
    remaining = size
    for number in generator(seed, draw, 4).permutation(len(corpus.documents)):
        if remaining <= 0:
            break
        sampled.append(corpus.documents[number][:remaining])
        remaining -= len(sampled[-1])
    return replace(corpus, documents=tuple(sampled))


def measure_curve(job: MitigationJob[Any], sizes: Sequence[int], draws: int) -> Result:
    """Train from the original model for every size and draw; draws that the folder has already are reused."""
    _check(job, sizes, draws)
    lm, sizes = job.open_model(), sorted(set(sizes))
    request = {**request_of(job.method, lm, job.text, job.choices), "curve": DATA}
    known = finished_details(job.path, request) if (job.path / RESULT).exists() else {"draws": {}}
    if known is None:
        raise ResultError(f"{job.path} was made with another model, corpus or settings: give another folder")
    values: dict[str, dict[str, dict[str, float]]] = {size: dict(of_size) for size, of_size in known["draws"].items()}
    details = {"request": request, "draws": values}
    if "0" not in values:
        values["0"] = {"0": asld(Engine(lm))}
    for size in sizes:
        of_size = values.setdefault(str(size), {})
        for draw in range(draws):
            if str(draw) not in of_size:
                of_size[str(draw)] = _train_draw(job, size, draw, draws)
                job.folder.finish(build_meta(job.method, lm, job.text, details))
    points = curve_points(values, (0, *sizes), job.choices.seed)
    estimates = [
        Estimate.of(point.mean, **HEADLINE, group=f"sentences={point.sentences}", n=point.draws.size)
        for point in reversed(points)  # the headline is that of the most text
        if point.category == ALL
    ]
    section = Section(job.method.name, "How much text it takes", LEAD, curve_finding(job.method.name, points))
    return job.folder.finish(build_meta(job.method, lm, job.text, details, estimates=estimates, findings=[section]))


def _check(job: MitigationJob[Any], sizes: Sequence[int], draws: int) -> None:
    """Refuse a curve that cannot be measured."""
    available = len(job.text.sentences)
    if trains_adapter(job.choices):
        raise DataError("a curve writes no checkpoint, and so no adapter: leave lora out")
    if world_size() > 1:
        raise DataError("a curve trains models one after the other: start it without accelerate launch")
    if draws < 1 or min(sizes) < 1:
        raise DataError("a curve needs sizes of at least 1 sentence, and at least one draw")
    if max(sizes) > available:
        raise DataError(
            f"a sample of {max(sizes):,} sentences was asked for, but the corpus has {available:,}: "
            "give more text or smaller sizes"
        )
    check_overlap(job.choices, [data.load(DATA)])


def _train_draw(job: MitigationJob[Any], size: int, draw: int, draws: int) -> dict[str, float]:
    """ASLD after training on one sample."""
    progress = with_label(job.options.progress, f"{size:,} sentences, draw {draw + 1} of {draws}")
    context = MitigationContext(Engine(job.open_model()), job.path / WORK, job.choices, progress)
    outcome = job.method.apply(context, sample_corpus(job.text, size, draw, job.choices.seed))
    changed = replace(context.lm, network=Network(outcome.model.eval()), _encoded={})
    shutil.rmtree(job.path / WORK, ignore_errors=True)
    return asld(Engine(changed))


def curve_points(values: Draws, sizes: Sequence[int], seed: int) -> list[AsldAtSize]:
    """The mean ASLD over draws by number of sentences, of all pairs and of each category."""
    points = []
    for size in sizes:
        samples = list(values[str(size)].values())
        for name in samples[0]:
            draws = np.array([sample[name] for sample in samples])
            rng = generator(seed, "curve" if name == ALL else f"curve {name}")
            points.append(AsldAtSize(size, name, draws, mean_interval(draws, rng=rng, unit="draws")))
    return points


def curve_finding(method: str, points: Sequence[AsldAtSize]) -> Finding:
    """The curve as a sentence, tables and a plot."""
    from unmask.findings import charts

    whole = [point for point in points if point.category == ALL]
    parts = [point for point in points if point.category != ALL]
    first, last = whole[0], whole[-1]
    tables = [
        Table(
            "ASLD by number of sentences",
            ("sentences", "draws", "ASLD", "least", "most"),
            tuple(
                (point.sentences, point.draws.size, point.mean, float(point.draws.min()), float(point.draws.max()))
                for point in whole
            ),
            f"{DATA}; each draw samples other sentences; Student's interval over draws",
            digits=3,
        ),
        Table(
            "ASLD by category",
            ("sentences", "category", "draws", "ASLD"),
            tuple((point.sentences, point.category, point.draws.size, point.mean) for point in parts),
            digits=3,
        ),
    ]
    rows = [
        {"x": point.sentences, "y": point.mean.value, "low": point.mean.low, "high": point.mean.high, "series": name}
        for point in points
        for name in [f"{method}, combined" if point.category == ALL else point.category]
    ]
    chart = charts.curves(rows, x="sentences", y="ASLD", band=True)
    plot = Plot("mitigation-curve", "ASLD against the number of sentences", "Mean ASLD with its band.", chart)
    answer = (
        f"ASLD is {quantity(first.mean, digits=3)} before and {quantity(last.mean, digits=3)} after "
        f"{last.sentences:,} sentences (mean of {last.draws.size} draws)."
    )
    return Finding((answer,), tuple(table for table in tables if table.rows), (plot,))
