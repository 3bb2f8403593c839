"""Where the parts meet: `audit` a model, `compare` two results, `gate` one against a baseline."""

from __future__ import annotations

import json
import platform
import shutil
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from unmask import data as datasets
from unmask.errors import DataError, ResultError, StatsError
from unmask.evidence import Evidence, checks
from unmask.measures import DEFAULTS, TEMPLATE_DEFAULTS, TRIPLE_DEFAULTS, chosen, find
from unmask.measures.stereoset import BLANK
from unmask.models import Engine, Lm, Store, open_lm
from unmask.models.opening import Opening
from unmask.result import ITEMS, RESULT, SCHEMA, TOKENS, Result, as_json, load
from unmask.scoring import scored
from unmask.stats import Comparison, Verdict, comparisons, corrected, estimates
from unmask.stats import gate as judged
from unmask.tables import Tables, group_columns
from unmask.types import Check, Dataset, Estimate, Kind, Measure, Row, Side

Progress = Callable[[str, float, int], None]  # dataset, share done, items in all
PACKAGES = ("unmask", "torch", "transformers", "tokenizers", "numpy", "scipy", "statsmodels")
DEFAULT_DATA = ("nine-axes", "triple-gender", "pronoun-templates")


@dataclass(frozen=True, slots=True)
class Options:
    """Everything about an audit that is neither the model, the data nor the measures."""

    limit: int | None = None  # only the first items of every dataset
    seed: int = 0  # of the bootstrap
    tokens: int | None = None  # padded tokens in a batch; None: what suits the device
    store: bool = True  # remember readings on disk
    data_dir: Path | None = None
    offline: bool = False
    progress: Progress | None = None


def audit(
    model: str | Path | Lm | None = None,
    *,
    data: str | Path | Dataset | Sequence[str | Path | Dataset] = DEFAULT_DATA,
    measures: str | Sequence[str] = (),
    out: str | Path | None = None,
    opening: Opening | None = None,
    options: Options | None = None,
) -> Result:
    """Ask a model about data by measures; the built-in ones where nothing is named.

    Args:
        model: a hub name (`name@revision`), a folder, an opened `Lm`, or None for the built-in model.
        data: names of datasets, files of pairs, or loaded `Dataset`s.
        measures: names; none means those that suit the model and the data.
        out: the result folder; None keeps the result only as long as it is used.
        opening: device, dtype and safety of the model.
        options: limit, seed, batch size, store, data folder, progress.
    """
    options = options or Options()
    if options.seed < 0:
        raise StatsError(f"--seed {options.seed}: give a number of at least 0")
    if out is not None:
        _refuse_foreign(Path(out))
    loaded = _loaded(data, options)
    names = [measures] if isinstance(measures, str) else list(measures)
    for name in names:
        find(name)
    lm = model if isinstance(model, Lm) else open_lm(model, _offline(opening, options))
    plan = [(one, _measures_for(one, chosen(names, lm.kind), lm.kind)) for one in loaded]
    if data is DEFAULT_DATA:  # of what nobody named, only what the measures can read
        plan = [(one, some) for one, some in plan if some] or plan
    _refuse_unused(names, plan)
    folder = Path(mkdtemp(prefix="unmask-")) if out is None else Path(out)
    found = _run(lm, plan, folder, options)
    meta = _written(folder / RESULT, _meta(lm, [one for one, _ in plan], found, names, options))
    result = Result(meta, folder)
    if out is None:
        weakref.finalize(result, shutil.rmtree, folder, True)
    return result


def compare(
    first: Result | str | Path, *others: Result | str | Path, categories: bool = False, seed: int = 0
) -> tuple[Comparison, ...]:
    """Every statistic each of the others shares with the first, item by item; by category too, if asked.

    P-values are corrected for the number of comparisons made; `run` says which of the others one is of.
    """
    a, *rest = (one if isinstance(one, Result) else load(one) for one in (first, *others))
    return corrected(
        [
            replace(one, run=number)
            for number, b in enumerate(rest, start=1)
            for measure, data, rows_a, rows_b in _shared_rows(a, b)
            for one in comparisons(measure, rows_a, rows_b, data=data, rng_seed=seed)
            if categories or one.group == "all"
        ]
    )


def gate(
    candidate: Result,
    baseline: Result,
    *,
    measures: Sequence[str] = (),
    tolerance: float = 0.0,
    seed: int = 0,
) -> tuple[Verdict, ...]:
    """Is the candidate worse than the baseline beyond noise, by each measure both have?"""
    return tuple(
        judged(measure, rows_a, rows_b, data=data, rng_seed=seed, tolerance=tolerance)
        for measure, data, rows_a, rows_b in _shared_rows(baseline, candidate)
        if not measures or measure.name in measures
    )


@dataclass(frozen=True, slots=True)
class _Found:
    estimates: list[Estimate]
    checks: list[Check]


def _run(lm: Lm, plan: Sequence[tuple[Dataset, Sequence[Measure]]], folder: Path, options: Options) -> _Found:
    found = _Found([], [])
    with _store(lm, options) as store:
        engine = Engine(lm, store, tokens=options.tokens)
        (folder / RESULT).unlink(missing_ok=True)
        tables = Tables(folder, group_columns(item for data, _ in plan for item in data.items))
        for data, measures in plan:
            evidence, rows = Evidence(), {measure.name: list[Row]() for measure in measures}
            for chunk in scored(
                data.card.name,
                data.items,
                measures,
                engine,
                evidence=evidence,
                progress=_step(options, data),
            ):
                tables.add(chunk, lm)
                for one in chunk:
                    rows[one.row.measure].append(one.row)
            for measure in measures:
                mine = rows[measure.name]
                found.estimates.extend(estimates(measure, mine, data=data.card.name, rng_seed=options.seed))
            found.checks.extend(_labelled(checks(evidence, measures, rows, lm), data, several=len(plan) > 1))
        tables.close()
    return found


def _labelled(made: Sequence[Check], data: Dataset, *, several: bool) -> list[Check]:
    """With several datasets a check's name says which it is of."""
    return [
        Check(f"{data.card.name}/{one.name}" if several else one.name, one.ok, one.detail) for one in made
    ]


def _loaded(data: str | Path | Dataset | Sequence[str | Path | Dataset], options: Options) -> list[Dataset]:
    wanted = [data] if isinstance(data, str | Path | Dataset) else list(data)
    if not wanted:
        raise DataError(f"no data named: give one of {', '.join(datasets.names())}, or a file of pairs")
    loaded = [
        one
        if isinstance(one, Dataset)
        else datasets.load(one, data_dir=options.data_dir, offline=options.offline)
        for one in wanted
    ]
    names = [one.card.name for one in loaded]
    if len(set(names)) < len(names):
        raise DataError(f"two of the datasets have one name ({', '.join(names)}): rename a file")
    return [_limited(one, options.limit) for one in loaded]


def _limited(data: Dataset, limit: int | None) -> Dataset:
    if limit is None:
        return data
    if limit < 1:
        raise DataError(f"--limit {limit}: give a number of items of at least 1")
    return Dataset(data.card, data.items[:limit], data.sha256, data.verified, data.warnings)


def _measures_for(data: Dataset, named: Sequence[Measure], kind: Kind) -> tuple[Measure, ...]:
    """The named measures that this data can bear; none named: the usual ones for it.

    Of a template neither sentence is the stereotyping one, so only measures made for templates read it.
    """
    if named:
        fit = [one for one in named if all(_bears(data, need) for need in one.needs)]
        return tuple(one for one in fit if ("slot" in one.needs) == _bears(data, "slot"))
    if _bears(data, "slot"):
        return tuple(find(name) for name in TEMPLATE_DEFAULTS)
    usual = DEFAULTS[kind]
    if _bears(data, "unrelated"):
        filled = BLANK in (data.items[0].context or "")
        usual = (*TRIPLE_DEFAULTS, *usual) if filled else TRIPLE_DEFAULTS
    return tuple(find(name) for name in usual)


def _bears(data: Dataset, need: str) -> bool:
    return any(getattr(item, need, None) or item.groups.get(need) for item in data.items)


def _refuse_unused(names: Sequence[str], plan: Sequence[tuple[Dataset, Sequence[Measure]]]) -> None:
    used = {measure.name for _, measures in plan for measure in measures}
    unused = [name for name in names if name not in used]
    if unused:
        needs = f"must have {', '.join(find(unused[0]).needs)}" if find(unused[0]).needs else "must be pairs"
        listed = ", ".join(data.card.name for data, _ in plan)
        raise DataError(f"{', '.join(unused)} cannot be computed on {listed}: the items {needs}")
    bare = [data.card.name for data, measures in plan if not measures]
    if bare:
        raise DataError(
            f"no measure named can be computed on {', '.join(bare)}: leave it out or name another"
        )


def _refuse_foreign(folder: Path) -> None:
    """A folder with files that are not a result of ours is never written to."""
    if folder.exists() and not folder.is_dir():
        raise ResultError(f"{folder} is a file: give a new folder for the result")
    ours = {name for whole in (RESULT, ITEMS, TOKENS) for name in (whole, f"{whole}.partial")}
    if folder.is_dir() and any(folder.iterdir()) and not any((folder / name).exists() for name in ours):
        raise ResultError(f"{folder} holds other files: give a new or empty folder for the result")


@contextmanager
def _store(lm: Lm, options: Options) -> Iterator[Store]:
    store = Store.of(lm.namespace) if options.store else Store(None)
    try:
        yield store
    finally:
        store.close()


def _step(options: Options, data: Dataset) -> Callable[[float], None]:
    report = options.progress
    if report is None:
        return lambda _: None
    return lambda share: report(data.card.name, share, len(data.items))


def _offline(opening: Opening | None, options: Options) -> Opening:
    return opening or Opening(offline=options.offline)


def _meta(
    lm: Lm, loaded: Sequence[Dataset], found: _Found, names: Sequence[str], options: Options
) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "unmask": version("unmask"),
        "model": asdict(lm.facts),
        "data": [_data_facts(one) for one in loaded],
        "options": {
            "measures": list(names),
            "limit": options.limit,
            "seed": options.seed,
            "tokens": options.tokens,
        },
        "versions": {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}},
        "estimates": [as_json(one) for one in found.estimates],
        "checks": [as_json(one) for one in found.checks],
    }


def _data_facts(data: Dataset) -> dict[str, Any]:
    card = data.card
    return {
        "name": card.name,
        "title": card.title,
        "licence": card.licence,
        "languages": list(card.languages),
        "citation": card.citation,
        "source": card.source,
        "problems": card.problems,
        "n": len(data.items),
        "size": card.size,
        "sha256": data.sha256,
        "verified": data.verified
        if card.folder
        else None,  # your own pairs: there is nothing to verify against
        "warnings": list(data.warnings),
    }


def _written(path: Path, meta: Mapping[str, Any]) -> dict[str, Any]:
    """Write the result object, whole or not at all, and give it back as it will be read."""
    text = json.dumps(meta, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
    return dict(json.loads(text))


def _shared_rows(a: Result, b: Result) -> Iterator[tuple[Measure, str, list[Row], list[Row]]]:
    """The rows of every measure and dataset that both results have."""
    ours, theirs = _rows(a), _rows(b)
    shared = [key for key in ours if key in theirs]
    if not shared:
        raise ResultError("the results share no measure on the same data: audit both models alike")
    for measure, data in shared:
        yield find(measure), data, ours[measure, data], theirs[measure, data]


def _rows(result: Result) -> dict[tuple[str, str], list[Row]]:
    rows: dict[tuple[str, str], list[Row]] = {}
    sides: tuple[Side, ...] = ("more", "less", "unrelated")
    fixed = {"measure", "data", "item", "more", "less", "unrelated", "difference", "outcome", "reason"}
    for one in result.items.to_pylist():
        groups = {key: value for key, value in one.items() if key not in fixed and isinstance(value, str)}
        scores = {side: one[side] for side in sides if one[side] is not None}
        row = Row(one["measure"], one["data"], one["item"], groups, scores, one["outcome"], one["reason"])
        rows.setdefault((row.measure, row.data), []).append(row)
    return rows
