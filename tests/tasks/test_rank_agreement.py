"""Agreement of measures over models: τ, p, Holm and the bootstrap equal slow computations."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import kendalltau

from unmask.core.errors import StatsError
from unmask.core.seeds import generator
from unmask.stats.bootstrap import RESAMPLES
from unmask.tasks import agreement

SCORES = {
    "a": {"cps": 8.0, "aula": 3.0, "sts": 0.40},
    "b": {"cps": 6.0, "aula": 4.0, "sts": 0.10},
    "c": {"cps": 2.0, "aula": 1.0, "sts": 0.30},
    "d": {"cps": 1.0, "aula": 0.0, "sts": 0.20},
    "e": {"cps": 4.0, "aula": 2.0, "sts": 0.15},
}


def tau(x: list[float], y: list[float]) -> float:
    """Concordant − discordant pairs over all pairs; there are no ties here."""
    n = len(x)
    signs = [np.sign(x[i] - x[j]) * np.sign(y[i] - y[j]) for i in range(n) for j in range(i)]
    return float(sum(signs) / len(signs))


def rows() -> dict[tuple[str, str], dict[str, object]]:
    (table,) = agreement(SCORES).finding.tables
    made = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    return {(str(row["measure"]), str(row["other"])): row for row in made}


def column(name: str) -> list[float]:
    return [by[name] for by in SCORES.values()]


@pytest.mark.parametrize("couple", [("cps", "aula"), ("cps", "sts"), ("aula", "sts")])
def test_tau_and_p_by_all_permutations(couple: tuple[str, str]) -> None:
    a, b = (column(name) for name in couple)
    row = rows()[couple]
    assert row["τ"].value == pytest.approx(tau(a, b))  # type: ignore[attr-defined]
    extreme = [abs(tau(a, list(other))) >= abs(tau(a, b)) - 1e-12 for other in permutations(b)]
    assert row["p"] == pytest.approx(sum(extreme) / len(extreme))
    assert row["models"] == 5


@pytest.mark.thorough
def test_the_bootstrap_resamples_models() -> None:
    a, b = np.array(column("cps")), np.array(column("aula"))
    drawn = generator(0, "cps/aula").integers(0, 5, size=(RESAMPLES, 5))
    values = [kendalltau(a[sample], b[sample]).statistic for sample in drawn if len(set(sample.tolist())) > 1]
    low, high = np.nanquantile(values, [0.025, 0.975])
    found = rows()["cps", "aula"]["τ"]
    assert (found.low, found.high) == pytest.approx((low, high))  # type: ignore[attr-defined]


def test_holm_is_over_all_rows() -> None:
    made = sorted(rows().values(), key=lambda row: row["p"])  # type: ignore[arg-type,return-value]
    stepped = 0.0
    for place, row in enumerate(made):
        stepped = max(stepped, min(1.0, row["p"] * (3 - place)))  # type: ignore[operator]
        assert row["p Holm"] == pytest.approx(stepped)


def test_against_compares_every_other_measure_with_the_named_ones() -> None:
    found = agreement(SCORES, against=["sts"])
    assert [(pair.a, pair.b) for pair in found.pairs] == [("cps", "sts"), ("aula", "sts")]
    assert found.finding.plots[0].id == "agreement"


def test_the_numbers_are_given_beside_the_table() -> None:
    """Otherwise studies would have to read them out of a rendered table."""
    found = agreement(SCORES)
    rows = [
        (pair.a, pair.b, pair.tau, pair.n, pair.test.p, p, pair.test.method)
        for pair, p in zip(found.pairs, found.p_holm, strict=True)
    ]
    assert tuple(rows) == found.finding.tables[0].rows


def test_a_measure_may_lack_models() -> None:
    scores = {name: dict(by) for name, by in SCORES.items()}
    del scores["a"]["sts"]
    assert agreement(scores, against=["sts"]).pairs[0].n == 4


def test_too_few_models_and_unknown_names_are_refused() -> None:
    with pytest.raises(StatsError, match="have 3 models in common"):
        agreement({name: SCORES[name] for name in "ab"})
    with pytest.raises(StatsError, match="no measure 'nli'"):
        agreement(SCORES, against=["nli"])


@pytest.mark.thorough
def test_families_are_resampled_whole() -> None:
    scores = {
        f"{name}{version}": {
            measure: value + version * (place - 1) for place, (measure, value) in enumerate(by.items())
        }
        for name, by in SCORES.items()
        for version in (0, 1)
    }
    families = {name: name[0] for name in scores}
    found = agreement(scores, against=["sts"], families=families).pairs[0].tau
    x, y = (np.array([by[measure] for by in scores.values()]) for measure in ("cps", "sts"))
    drawn = generator(0, "cps/sts").integers(0, 5, size=(RESAMPLES, 5))
    places = [np.concatenate([[2 * family, 2 * family + 1] for family in some]) for some in drawn]
    values = [kendalltau(x[some], y[some]).statistic for some in places]
    assert (found.low, found.high) == pytest.approx(tuple(np.nanquantile(values, [0.025, 0.975])))
    assert "families" in found.method


def test_two_families_are_too_few_for_an_interval() -> None:
    families = {name: "one" if name in "abc" else "two" for name in SCORES}
    assert np.isnan(agreement(SCORES, against=["sts"], families=families).pairs[0].tau.low)
