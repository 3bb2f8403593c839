"""`invariance`: do items measure the same in two groups of models? (differential item functioning)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from unmask.core.errors import StatsError
from unmask.core.estimate import Estimate, Value
from unmask.core.options import option
from unmask.core.statistic import LEVEL
from unmask.diagnose.psychometrics.reliability import MIN_CATEGORIES, MatrixOptions
from unmask.diagnose.scores import score_rows, template_reason
from unmask.diagnose.spec import Diagnosis, Observations
from unmask.findings import Cell, Conclusion, Finding, Plot, Table

if TYPE_CHECKING:
    from unmask.core.types import Floats
    from unmask.data.matrices import ScoreMatrix
    from unmask.diagnose.psychometrics.matrices import MeasuredScores
    from unmask.stats.dif import Flags, ItemAgreement, ItemDif, MantelHaenszel

SHOWN = 20  # items listed
LARGE = 1.5  # on the ETS delta scale
TESTS = (
    "Level: the item is higher in one group at the same mean of the others. Slope: it follows the mean more in one "
    "group. Decisions: the odds of a positive score, within {} strata of the mean share of the others; "
    f"{{:.0f}}% of the items have a large odds ratio (above {LARGE} on the ETS scale), of which few models give "
    "many by chance. The mean is of {:,} items after purification ({} rounds)."
)
CATEGORIES = (
    "How much higher {} score on the items of a category at the same mean of the other categories, "
    "in standard deviations within groups; interval and p over models. Differences are relative: about 0 on "
    "average."
)
ITEMS = (
    "Effect: how much higher {} score at the same mean of the others, in standard deviations within "
    "groups. p FDR: false discovery rate (Benjamini–Hochberg). ETS delta: −2.35 × the log of the Mantel–Haenszel "
    "odds ratio of decisions; a dash if a group decides all alike."
)


@dataclass(frozen=True)
class InvarianceOptions(MatrixOptions):
    """Options of `invariance`."""

    focal: tuple[str, ...] = option((), "Models of the one group, as patterns (*-chat*,*Instruct*).")
    reference: tuple[str, ...] = option((), "Models of the other group.", shown="all others")


@dataclass(frozen=True, slots=True)
class InvarianceResult:
    """How two groups of models compare on the same items."""

    scores: MeasuredScores
    focal: Flags
    names: tuple[str, str]  # of the focal group and the other
    items: ItemDif
    decisions: MantelHaenszel
    overall: tuple[float, float]  # the mean squared t, and its p-value
    agreement: ItemAgreement
    categories: tuple[Estimate, ...]  # the effect by category, matched by the mean of the others

    @property
    def where(self) -> str:
        """The groups and the data in a sentence or a title."""
        return f"{self.names[0]} against {self.names[1]}, {self.scores.where}"

    @property
    def below(self) -> float:
        """Percent of items with p < 0.05, of which 5 are expected by chance."""
        return 100 * float((self.items.p < LEVEL).mean())


def conclude(observations: Observations, options: InvarianceOptions) -> Conclusion:
    """Differential item functioning as a whole, by category and by item."""
    every, notes = _results(observations, options)
    return Conclusion(
        Finding(
            tuple(line for each in every for line in _answers(each)),
            tuple(table for each in every for table in _tables(each)),
            tuple(
                plot
                for number, each in enumerate(every, start=1)
                for plot in _plots(each, f"-{number}" if len(every) > 1 else "")
            ),
            tuple(notes),
        ),
        tuple(estimate for each in every for estimate in _estimates(each)),
        {
            "items": {
                each.where: [
                    name
                    for name, has_dif in zip(each.scores.matrix.items, each.items.has_dif.tolist(), strict=True)
                    if has_dif
                ]
                for each in every
            }
        },
    )


def _results(observations: Observations, options: InvarianceOptions) -> tuple[list[InvarianceResult], list[str]]:
    """The result of every matrix with two groups of models, and why others have none."""
    from unmask.diagnose.psychometrics.matrices import matrices

    every, notes = [], list[str]()
    for scores in _tables_joined(matrices(observations, centre=options.centre)):
        notes += scores.notes
        try:
            every.append(_result(scores, options))
        except StatsError as error:
            notes.append(f"{scores.where}: {error}")
    if not every:
        raise StatsError("; ".join(notes) or "no scores of the same items by two groups of models")
    return every, notes


def _tables_joined(scores: Sequence[MeasuredScores]) -> Iterator[MeasuredScores]:
    """Tables of scores as one, as their models are compared with each other; matrices of audits as they are."""
    from unmask.diagnose.psychometrics.matrices import join_matrices

    tables = [each for each in scores if not each.measure]
    if tables:
        notes = tuple(note for each in tables for note in each.notes)
        matrix = join_matrices([each.matrix for each in tables])
        if len(tables) > 1:
            notes += (f"the {len(matrix.items):,} items that {matrix.name} have in common; means over wordings",)
        yield replace(tables[0], matrix=matrix, notes=notes)
    for each in scores:
        if each.measure:
            yield replace(each, matrix=join_matrices([each.matrix]))


def _result(scores: MeasuredScores, options: InvarianceOptions) -> InvarianceResult:
    from unmask.core.seeds import generator
    from unmask.stats.dif import invariance_test, item_agreement, mantel_haenszel, regression_dif

    matrix, focal, names = _grouped(scores.matrix, options)
    grouped, values = replace(scores, matrix=matrix), matrix.scores[:, :, 0]
    items = regression_dif(values, focal)
    return InvarianceResult(
        grouped,
        focal,
        names,
        items,
        mantel_haenszel(values, focal, items.anchors),
        invariance_test(values, focal, rng=generator(options.seed, "permutations")),
        item_agreement(values, focal),
        tuple(_by_category(grouped, focal)),
    )


def _grouped(matrix: ScoreMatrix, options: InvarianceOptions) -> tuple[ScoreMatrix, Flags, tuple[str, str]]:
    """The models of the two groups, which of them are focal, and the names of the groups."""
    import numpy as np

    from unmask.diagnose.psychometrics.matrices import take

    if options.focal:
        inside = [_matches(model, options.focal) for model in matrix.models]
        others = [not options.reference or _matches(model, options.reference) for model in matrix.models]
        names = ",".join(options.focal), ",".join(options.reference) or "others"
    else:
        known = list(dict.fromkeys(matrix.groups))
        if len(known) != 2 or options.reference:
            what = f"groups {', '.join(known)}" if any(known) else "no groups of models"
            raise StatsError(f"{what}: expected two, or the models of one of them in focal (--focal)")
        inside, others = ([group == name for group in matrix.groups] for name in known)
        names = known[0], known[1]
    kept = [place for place, either in enumerate(zip(inside, others, strict=True)) if any(either)]
    return take(matrix, kept, range(len(matrix.items))), np.array([inside[place] for place in kept]), names


def _matches(model: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(model, pattern) for pattern in patterns)


def _named(scores: MeasuredScores) -> dict[str, Any]:
    """What the estimates of a matrix are of."""
    return {"measure": f"invariance/{scores.measure or 'scores'}", "data": scores.matrix.name}


def _by_category(scores: MeasuredScores, focal: Flags) -> Iterator[Estimate]:
    """The effect on every category, matched by the mean of the others."""
    from unmask.stats.corrections import holm
    from unmask.stats.dif import regression_dif

    categories = scores.matrix.categories
    names = sorted(set(categories))
    if len(names) < MIN_CATEGORIES:
        return
    dif = regression_dif(scores.category_means()[:, :, 0], focal, purify=False)
    ps = [None if math.isnan(p) else p for p in dif.p.tolist()]
    for place, (name, p, corrected) in enumerate(zip(names, ps, holm(ps), strict=True)):
        numbers = {"null": 0.0, "n": categories.count(name), "p": p, "p_holm": corrected}
        yield Estimate.of(dif.value(place), **_named(scores), statistic="dif", group=f"category={name}", **numbers)


def _estimates(each: InvarianceResult) -> Iterator[Estimate]:
    """The mean squared t with its p-value, the correlation of the items, and the effect by category."""
    what, (square, p) = {**_named(each.scores), "n": len(each.scores.matrix.items)}, each.overall
    yield Estimate.of(Value(square, method="permutation"), **what, statistic="mean-squared-t", null=1.0, p=p)
    yield Estimate.of(each.agreement.r, **what, statistic="item-correlation")
    yield Estimate.of(Value(each.below, method="none"), **what, statistic="items-below-0.05", null=5.0)
    yield from each.categories


def _answers(each: InvarianceResult) -> Iterator[str]:
    """The test of all items together, how alike the groups order them, and the categories that differ."""
    from unmask.findings import sentences
    from unmask.findings.numbers import p_value

    square, p = each.overall
    flagged, n = int(each.items.has_dif.sum()), len(each.scores.matrix.items)
    yield (
        f"{each.where}: mean squared t {square:.2f} over all items, 1 without a difference between the groups, "
        f"p {p_value(p)}; {flagged:,} of {n:,} items differ after correction, {each.below:.0f}% before (5% by chance)"
    )
    corrected = each.agreement.corrected_r
    without_noise = f" (without the noise of few models {corrected:.2f})" if math.isfinite(corrected) else ""
    yield sentences.correlation(f"{each.where}: items in the two groups{without_noise}", each.agreement.r)
    for estimate in each.categories:
        if sentences.verdict(estimate) in ("above", "below"):
            what = f"{each.where}, {estimate.group.partition('=')[2]}: difference of {each.names[0]} at the same mean"
            yield sentences.size(what, estimate, "standard deviations")


def _tables(each: InvarianceResult) -> Iterator[Table]:
    from unmask.findings.table import table

    yield Table.of(f"The groups: {each.where}", _group_records(each), digits=3)
    yield _test_table(each)
    yield table(
        f"By category: {each.where}",
        each.categories,
        rows=("category",),
        columns={"items": "n", "effect": "value", "p": "p", "p Holm": "p_holm"},
        note=CATEGORIES.format(each.names[0]),
    )
    yield Table.of(f"Items that differ most: {each.where}", _item_records(each), ITEMS.format(each.names[0]))


def _group_records(each: InvarianceResult) -> Iterator[dict[str, Cell]]:
    matrix = each.scores.matrix
    means = matrix.scores[:, :, 0].mean(axis=1)
    for name, members in zip(each.names, (each.focal, ~each.focal), strict=True):
        listed = [model for model, inside in zip(matrix.models, members, strict=True) if inside]
        yield {
            "group": name,
            "n": len(listed),
            f"mean {each.scores.statistic}": float(means[members].mean()),
            "SD": float(means[members].std(ddof=1)) if len(listed) > 1 else None,
            "models": ", ".join(listed),
        }


def _test_table(each: InvarianceResult) -> Table:
    import numpy as np

    from unmask.stats.dif import STRATA

    dif, odds = each.items, each.decisions

    def record(name: str, p: Floats, q: Floats, family: Floats | None = None) -> dict[str, Cell]:
        known = np.isfinite(p)
        return {
            "test": name,
            "items tested": int(known.sum()),
            "p < 0.05, %": 100 * float((p[known] < LEVEL).mean()) if known.any() else None,
            "FDR 5%": int((q[known] < LEVEL).sum()),
            "Holm 5%": None if family is None else int((family[known] < LEVEL).sum()),
        }

    large = 100 * float((np.abs(odds.delta[np.isfinite(odds.delta)]) > LARGE).mean())
    return Table.of(
        f"Items that do not function alike: {each.where}",
        (
            record("regression: level", dif.p, dif.q, dif.p_holm),
            record("regression: slope", dif.p_slopes, dif.q_slopes),
            record("Mantel–Haenszel: decisions", odds.p, odds.q),
        ),
        TESTS.format(STRATA, large, int(dif.anchors.sum()), dif.rounds),
    )


def _item_records(each: InvarianceResult) -> Iterator[dict[str, Cell]]:
    import numpy as np

    dif = each.items
    columns = {
        "effect": dif.effect,
        "p": dif.p,
        "p FDR": dif.q,
        "p Holm": dif.p_holm,
        "ETS delta": each.decisions.delta,
    }
    for place in np.argsort(np.nan_to_num(dif.p, nan=2.0), kind="stable")[:SHOWN]:
        numbers = {name: float(values[place]) for name, values in columns.items()}
        known = {name: None if math.isnan(number) else number for name, number in numbers.items()}
        yield {**each.scores.item_key(place), **known}


def _plots(each: InvarianceResult, number: str) -> tuple[Plot, ...]:
    from unmask.findings import charts

    rows = ((estimate.group.partition("=")[2], estimate, "") for estimate in each.categories)
    alt = "Mean difference of the items of each category between the groups at the same total score, with intervals."
    title, axis = f"Difference by category: {each.where}", "effect, standard deviations"
    return charts.interval_plots(f"invariance{number}", title, alt, rows, axis=axis, null=0.0)


INVARIANCE = Diagnosis(
    name="invariance",
    title="Invariance between groups of models",
    question="Do the items measure the same in two groups of models, or in two languages?",
    observe=score_rows,
    conclude=conclude,
    options=InvarianceOptions,
    order=13,
    unfit_reason=template_reason,
    citation="holland-wainer-1993-differential",
    takes_scores=True,
)
