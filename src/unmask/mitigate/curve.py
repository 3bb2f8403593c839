"""Training text a mitigation needs: ASLD by number of training sentences (Barza 2023, Figure 13)."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from unmask import data
from unmask.core.errors import DataError, ResultError
from unmask.core.estimate import Estimate, Value
from unmask.core.progress import Progress, with_label
from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.data.texts import TrainingCorpus
from unmask.findings import Finding, Plot, Section, Table
from unmask.findings.envelope import RESULT, Result
from unmask.findings.folder import ResultFolder
from unmask.mitigate.checkpoint import WORK, build_meta, finished_details, request_of
from unmask.mitigate.evaluation import score_rows
from unmask.mitigate.spec import Method, MitigationContext, MitigationOptions
from unmask.mitigate.training_pairs import check_overlap
from unmask.models import Engine, Lm
from unmask.models.network import Network
from unmask.stats.intervals import mean_interval
from unmask.training import TrainSettings

DATA, ALL = "triple-gender", "all"
TITLE_AND_LEAD = ("How much text it takes", "ASLD after training on random samples of increasing size.")


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


def measure_curve(  # noqa: PLR0913 - everything that determines a curve
    method: Method,
    open_model: Callable[[], Lm],
    corpus: TrainingCorpus,
    sizes: Sequence[int],
    draws: int,
    folder: ResultFolder,
    *,
    settings: TrainSettings,
    choices: MitigationOptions,
    progress: Progress | None = None,
) -> Result:
    """Train from the original model for every size and draw; draws that the folder has already are reused."""
    out = folder.path
    assert out is not None
    available = len(corpus.sentences)
    if draws < 1 or min(sizes) < 1:
        raise DataError("a curve needs sizes of at least 1 sentence, and at least one draw")
    if max(sizes) > available:
        raise DataError(
            f"a sample of {max(sizes):,} sentences was asked for, but the corpus has {available:,}: "
            "give more text or smaller sizes"
        )
    lm = open_model()
    check_overlap(method, choices, [data.load(DATA)])
    request = {**request_of(method, lm, corpus, settings, choices), "curve": DATA}
    known = finished_details(out, request) if (out / RESULT).exists() else {"asld": {}}
    if known is None:
        raise ResultError(f"{out} was made with another model, corpus or settings: give another folder")
    asld_by_size: dict[str, dict[str, float]] = dict(known["asld"])
    categories: dict[str, dict[str, dict[str, float]]] = dict(known.get("categories", {}))  # earlier versions had none
    details = {"request": request, "asld": asld_by_size, "categories": categories}
    sizes = sorted(set(sizes))

    def note(size: int, draw: int, found: Mapping[str, float]) -> None:
        asld_by_size.setdefault(str(size), {})[str(draw)] = found[ALL]
        categories.setdefault(str(size), {})[str(draw)] = {name: found[name] for name in found if name != ALL}

    if "0" not in asld_by_size:
        note(0, 0, asld(Engine(lm)))
    for size in sizes:
        for draw in range(draws):
            if str(draw) in asld_by_size.setdefault(str(size), {}):
                continue
            step = with_label(progress, f"{size:,} sentences, draw {draw + 1} of {draws}")
            context = MitigationContext(Engine(open_model()), out / WORK, settings, choices, step)
            outcome = method.apply(context, sample_corpus(corpus, size, draw, settings.seed))
            changed = replace(context.lm, network=Network(outcome.model.eval()), _encoded={})
            note(size, draw, asld(Engine(changed)))
            shutil.rmtree(out / WORK, ignore_errors=True)
            folder.finish(build_meta(method, lm, corpus, details))
    values = {size: np.array(list(asld_by_size[str(size)].values())) for size in (0, *sizes)}
    means = {
        size: mean_interval(each, rng=generator(settings.seed, "curve"), unit="draws") for size, each in values.items()
    }
    about: dict[str, Any] = {"measure": "sld", "data": DATA, "statistic": "asld", "null": 0.0}
    estimates = [
        Estimate.of(means[size], **about, group=f"sentences={size}", n=values[size].size)
        for size in reversed(means)  # the headline is that of the most text
    ]
    finding = curve_finding(method.name, values, means, category_means(categories, means, settings.seed))
    section = Section(method.name, *TITLE_AND_LEAD, finding)
    return folder.finish(build_meta(method, lm, corpus, details, estimates=estimates, findings=[section]))


def category_means(
    categories: Mapping[str, Mapping[str, Mapping[str, float]]], sizes: Iterable[int], seed: int
) -> dict[tuple[int, str], tuple[Value, int]]:
    """By size and category: the mean over draws with its interval, and the number of draws."""
    found = {}
    for size in sizes:
        draws = list(categories.get(str(size), {}).values())
        for name in draws[0] if draws else ():
            values = np.array([draw[name] for draw in draws])
            mean = mean_interval(values, rng=generator(seed, f"curve {name}"), unit="draws")
            found[size, name] = (mean, values.size)
    return found


def curve_finding(
    method: str,
    values: Mapping[int, Floats],
    means: Mapping[int, Value],
    by_category: Mapping[tuple[int, str], tuple[Value, int]],
) -> Finding:
    """The curve as a sentence, tables and a plot."""
    from unmask.findings import charts

    most = max(values)
    answer = (
        f"ASLD is {means[0].value:.3f} before and {means[most].value:.3f} after {most:,} sentences "
        f"(mean of {values[most].size} draws)."
    )
    table = Table(
        "ASLD by number of sentences",
        ("sentences", "draws", "ASLD", "least", "most"),
        tuple(
            (size, draws.size, means[size], float(draws.min()), float(draws.max())) for size, draws in values.items()
        ),
        f"{DATA}; each draw samples other sentences; Student's interval over draws",
        digits=3,
    )
    rows = tuple((size, name, draws, mean) for (size, name), (mean, draws) in by_category.items())
    parts = Table("ASLD by category", ("sentences", "category", "draws", "ASLD"), rows, digits=3)
    curves = {(size, f"{method}, combined"): mean for size, mean in means.items()}
    curves |= {key: mean for key, (mean, _) in by_category.items()}
    points = [
        {"x": size, "y": mean.value, "low": mean.low, "high": mean.high, "series": name}
        for (size, name), mean in curves.items()
    ]
    chart = charts.curves(points, x="sentences", y="ASLD", band=True)
    plot = Plot("mitigation-curve", "ASLD against the number of sentences", "Mean ASLD with its band.", chart)
    return Finding((answer,), (table, parts) if rows else (table,), (plot,))
