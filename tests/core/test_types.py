"""What a dataset records about itself, and what a measure is unless it says otherwise."""

from __future__ import annotations

import numpy as np
import pytest

from unmask.core.types import Card, Dataset, Measure, Pair, Reading


def card(folder: str) -> Card:
    return Card(
        name="crows",
        title="Crows",
        folder=folder,
        files=(),
        licence="CC-BY-4.0",
        languages=("en", "fr"),
        citation="@misc{crows}",
        source="crows.csv",
        size=7,
        problems="few pairs",
    )


@pytest.mark.parametrize(("folder", "verified"), [("crows", True), ("", None)])
def test_a_result_records_where_its_data_comes_from(folder: str, verified: bool | None) -> None:
    """Data of the user has no published checksum, so it is neither verified nor not."""
    loaded = Dataset(card(folder), (Pair("crows/0", "a", "b"),), "abc", verified=True, warnings=("row 3 left out",))
    assert loaded.facts() == {
        "name": "crows",
        "title": "Crows",
        "licence": "CC-BY-4.0",
        "languages": ["en", "fr"],
        "citation": "@misc{crows}",
        "source": "crows.csv",
        "problems": "few pairs",
        "n": 1,
        "size": 7,
        "sha256": "abc",
        "verified": verified,
        "warnings": ["row 3 left out"],
    }


def test_a_measure_is_a_share_held_against_one_half_unless_it_says_otherwise() -> None:
    found = Measure("m", "M", "reads", ("masked",), probes=lambda *_: {}, score=lambda *_: None, citation="c")  # type: ignore[arg-type,return-value]
    assert (found.summary, found.null, found.needs, found.in_nats) == ("share", 50.0, (), False)
    assert not any((found.one_at_a_time, found.reads_spans, found.empty_span_loses))
    assert found.decimals is None


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_reading_with_one_number_that_is_not_finite_is_not_finite(bad: float) -> None:
    ranks = np.zeros(2, dtype=np.int64)
    fine, broken = np.array([-0.5, -1.0]), np.array([-0.5, bad])
    assert Reading(fine, ranks, np.array([0.5, 0.5])).is_finite is True
    assert Reading(fine, ranks, known_finite=True).is_finite is True
    assert Reading(broken, ranks).is_finite is False
    assert Reading(fine, ranks, np.array([0.5, bad])).is_finite is False
