"""Training text a mitigation needs: ASLD by number of training sentences (Barza 2023, Figure 13)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from unmask import data
from unmask.audit.checks import Evidence
from unmask.audit.scoring import score_items
from unmask.core.errors import DataError, ResultError
from unmask.core.seeds import generator
from unmask.data.texts import TrainingCorpus
from unmask.findings import Finding, Plot, Table, Value
from unmask.measures import find
from unmask.mitigate.spec import Method, MitigationContext, MitigationOptions
from unmask.models import Engine, Lm
from unmask.stats.means import mean_interval
from unmask.training import ProgressCallback, TrainSettings

CURVE = "curve.json"
DATA = "triple-gender"


def asld(engine: Engine) -> float:
    """Mean absolute difference in log-likelihood between the sentences of a pair."""
    items = data.load(DATA).items
    chunks = score_items(DATA, items, [find("sld")], engine, evidence=Evidence(), progress=lambda _: None)
    return float(
        np.mean([abs(scored.row.difference) for chunk in chunks for scored in chunk if scored.row.scores])
    )


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
    out: Path,
    *,
    settings: TrainSettings,
    options: MitigationOptions,
    progress: Callable[[int, int], ProgressCallback | None] = lambda *_: None,
) -> dict[str, Any]:
    """Train from the original model for every size and draw; results in `out` are reused."""
    _check_sizes(sizes, draws, corpus)
    lm = open_model()
    request = _request(method, lm, corpus, settings, options)
    results = _load_results(out, request)
    if "0" not in results:
        results["0"] = {"0": asld(Engine(lm))}
    for size in sizes:
        for draw in range(draws):
            if str(draw) in results.setdefault(str(size), {}):
                continue
            context = MitigationContext(
                Engine(open_model()), out / "unfinished", settings, options, progress(size, draw)
            )
            outcome = method.apply(context, sample_corpus(corpus, size, draw, settings.seed))
            results[str(size)][str(draw)] = asld(Engine(_with_model(context.lm, outcome.model)))
            shutil.rmtree(out / "unfinished", ignore_errors=True)
            _save_results(out, request, results)
    _save_results(out, request, results)
    return {**request, "asld": {size: results[str(size)] for size in ("0", *map(str, sizes))}}


def curve_finding(curve: Mapping[str, Any], seed: int, *, plots: bool = True) -> Finding:
    """The curve as a sentence, a table and a plot."""
    values = {int(size): np.array(list(by_draw.values())) for size, by_draw in curve["asld"].items()}
    rows = [
        (size, draws.size, _mean(draws, seed), float(draws.min()), float(draws.max()))
        for size, draws in values.items()
    ]
    start, last = values[0].mean(), values[max(values)].mean()
    answer = (
        f"ASLD is {start:.3f} before and {last:.3f} after {max(values):,} sentences "
        f"(mean of {values[max(values)].size} draws)."
    )
    note = f"{DATA}; each draw samples other sentences; Student's interval over draws"
    table = Table(
        "ASLD by number of sentences", ("sentences", "draws", "ASLD", "least", "most"), tuple(rows), note, 3
    )
    return Finding((answer,), (table,), _plot(rows, curve["method"]) if plots else ())


def _plot(rows: Sequence[tuple[Any, ...]], method: str) -> tuple[Plot, ...]:
    from unmask.findings import charts as plots

    points = [
        {"x": size, "y": mean.value, "low": mean.low, "high": mean.high, "series": method}
        for size, _, mean, _, _ in rows
    ]
    chart = plots.curves(points, x="sentences", y="ASLD", band=True)
    return (
        Plot("mitigation-curve", "ASLD against the number of sentences", "Mean ASLD with its band.", chart),
    )


def _mean(values: Any, seed: int) -> Value:
    interval = mean_interval(values, rng=generator(seed, "curve"), unit="draws")
    return Value(float(values.mean()), interval.low, interval.high, interval.method)


def _check_sizes(sizes: Sequence[int], draws: int, corpus: TrainingCorpus) -> None:
    available = len(corpus.sentences)
    if draws < 1 or not sizes or min(sizes) < 1:
        raise DataError("a curve needs sizes of at least 1 sentence, and at least one draw")
    if max(sizes) > available:
        raise DataError(
            f"sizes has {max(sizes):,}, the corpus {available:,} sentences; give more text or smaller sizes"
        )


def _request(
    method: Method, lm: Lm, corpus: TrainingCorpus, settings: TrainSettings, options: MitigationOptions
) -> dict[str, Any]:
    """Everything that determines the numbers; results of another request are not reused."""
    request = {
        "method": method.name,
        "model": lm.facts.fingerprint,
        "files": [dict(file) for file in corpus.files],
        "documents": len(corpus.documents),
        "settings": asdict(settings),
        "choices": {**asdict(options), "pairs": str(options.pairs) if options.pairs else None},
        "data": DATA,
    }
    return dict(json.loads(json.dumps(request)))


def _load_results(out: Path, request: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    path = out / CURVE
    if not path.exists():
        return {}
    stored = json.loads(path.read_text(encoding="utf-8"))
    if {name: value for name, value in stored.items() if name != "asld"} != request:
        raise ResultError(f"{path} was made with another model, corpus or settings: give another folder")
    return dict(stored["asld"])


def _save_results(out: Path, request: Mapping[str, Any], results: Mapping[str, Any]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    partial = out / f"{CURVE}.partial"
    partial.write_text(json.dumps({**request, "asld": results}, indent=2) + "\n", encoding="utf-8")
    partial.replace(out / CURVE)


def _with_model(lm: Lm, model: Any) -> Lm:
    """The same model with the changed weights and an empty cache of encodings."""
    from unmask.models.network import Network

    return replace(lm, network=Network(model.eval()), _encoded={})
