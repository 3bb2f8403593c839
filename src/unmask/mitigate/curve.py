"""How much text it takes: ASLD against the number of sentences trained on (Barza 2023, Figure 13)."""

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
from unmask.findings import Finding, Plot, Table, Value
from unmask.measures import find
from unmask.mitigate.spec import Method, MitigationContext, MitigationOptions, TrainingCorpus
from unmask.models import Engine, Lm
from unmask.stats.bootstrap import generator
from unmask.stats.means import mean_interval
from unmask.training import ProgressCallback, TrainSettings

CURVE = "curve.json"
DATA = "triple-gender"


def asld(engine: Engine) -> float:
    """Mean size of the difference in log-likelihood between the sentences of a pair."""
    items = data.load(DATA).items
    chunks = score_items(DATA, items, [find("sld")], engine, evidence=Evidence(), progress=lambda _: None)
    return float(np.mean([abs(one.row.difference) for chunk in chunks for one in chunk if one.row.scores]))


def sample_corpus(corpus: TrainingCorpus, size: int, draw: int, seed: int) -> TrainingCorpus:
    """Documents drawn at random until so many sentences are there; the last is cut."""
    chosen: list[tuple[str, ...]] = []
    left = size
    for place in np.random.default_rng((seed, draw, 4)).permutation(len(corpus.documents)):
        if left <= 0:
            break
        chosen.append(corpus.documents[place][:left])
        left -= len(chosen[-1])
    return replace(corpus, documents=tuple(chosen))


def measure_curve(  # noqa: PLR0913 - what a curve is made of
    method: Method,
    fresh: Callable[[], Lm],
    corpus: TrainingCorpus,
    sizes: Sequence[int],
    draws: int,
    out: Path,
    *,
    settings: TrainSettings,
    options: MitigationOptions,
    progress: Callable[[int, int], ProgressCallback | None] = lambda *_: None,
) -> dict[str, Any]:
    """Train anew for every size and draw; what was measured is kept in `out` and not measured again."""
    _refuse(sizes, draws, corpus)
    lm = fresh()
    asked = _asked(method, lm, corpus, settings, options)
    known = _known(out, asked)
    if "0" not in known:
        known["0"] = {"0": asld(Engine(lm))}
    for size in sizes:
        for draw in range(draws):
            if str(draw) in known.setdefault(str(size), {}):
                continue
            context = MitigationContext(
                Engine(fresh()), out / "unfinished", settings, options, progress(size, draw)
            )
            done = method.apply(context, sample_corpus(corpus, size, draw, settings.seed))
            known[str(size)][str(draw)] = asld(Engine(_asking(context.lm, done.model)))
            shutil.rmtree(out / "unfinished", ignore_errors=True)
            _keep(out, asked, known)
    _keep(out, asked, known)
    return {**asked, "asld": {size: known[str(size)] for size in ("0", *map(str, sizes))}}


def curve_finding(found: Mapping[str, Any], seed: int, *, plots: bool = True) -> Finding:
    """The curve as a table and a plot."""
    values = {int(size): np.array(list(some.values())) for size, some in found["asld"].items()}
    rows = [
        (size, some.size, _mean(some, seed), float(some.min()), float(some.max()))
        for size, some in values.items()
    ]
    start, last = values[0].mean(), values[max(values)].mean()
    answer = (
        f"ASLD is {start:.3f} before and {last:.3f} after {max(values):,} sentences "
        f"(mean of {values[max(values)].size} draws)."
    )
    note = f"{DATA}; draws of other sentences, each trained anew; interval: Student's, over draws"
    table = Table(
        "ASLD by number of sentences", ("sentences", "draws", "ASLD", "least", "most"), tuple(rows), note, 3
    )
    return Finding((answer,), (table,), _plot(rows, found["method"]) if plots else ())


def _plot(rows: Sequence[tuple[Any, ...]], method: str) -> tuple[Plot, ...]:
    from unmask.findings import charts as plots

    points = [
        {"x": size, "y": one.value, "low": one.low, "high": one.high, "series": method}
        for size, _, one, _, _ in rows
    ]
    chart = plots.curves(points, x="sentences", y="ASLD", band=True)
    return (
        Plot("mitigation-curve", "ASLD against the number of sentences", "Mean ASLD with its band.", chart),
    )


def _mean(values: Any, seed: int) -> Value:
    found = mean_interval(values, rng=generator(seed, "curve"), unit="draws")
    return Value(float(values.mean()), found.low, found.high, found.method)


def _refuse(sizes: Sequence[int], draws: int, corpus: TrainingCorpus) -> None:
    there = len(corpus.sentences)
    if draws < 1 or not sizes or min(sizes) < 1:
        raise DataError("a curve needs numbers of sentences of at least 1, and at least one draw")
    if max(sizes) > there:
        raise DataError(
            f"--curve {max(sizes):,}: the corpus has {there:,} sentences; give more text or a smaller number"
        )


def _asked(
    method: Method, lm: Lm, corpus: TrainingCorpus, settings: TrainSettings, options: MitigationOptions
) -> dict[str, Any]:
    """What decides the numbers; a file made under another is not gone on with."""
    made = {
        "method": method.name,
        "model": lm.facts.fingerprint,
        "files": [dict(one) for one in corpus.files],
        "documents": len(corpus.documents),
        "settings": asdict(settings),
        "choices": {**asdict(options), "pairs": str(options.pairs) if options.pairs else None},
        "data": DATA,
    }
    return dict(json.loads(json.dumps(made)))


def _known(out: Path, asked: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    path = out / CURVE
    if not path.exists():
        return {}
    kept = json.loads(path.read_text(encoding="utf-8"))
    if {name: value for name, value in kept.items() if name != "asld"} != asked:
        raise ResultError(f"{path} is of another model, corpus or settings: give another folder")
    return dict(kept["asld"])


def _keep(out: Path, asked: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    partial = out / f"{CURVE}.partial"
    partial.write_text(json.dumps({**asked, "asld": known}, indent=2) + "\n", encoding="utf-8")
    partial.replace(out / CURVE)


def _asking(lm: Lm, model: Any) -> Lm:
    """The changed weights, asked as the model was; its readings are nobody else's."""
    from unmask.models.network import Network

    return replace(lm, network=Network(model.eval()), _encoded={})
