"""Labels by gender: equal to counts by hand, found where planted, and shown by every task that trains."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2_contingency, fisher_exact

import unmask
from unmask.data import nli, stsb
from unmask.data.examples import Example, published_sources, user_source
from unmask.tasks.label_bias import MEAN, gender_of, label_bias, label_table

from .tiny_models import biographies, untrained_model


def examples(counts: dict[tuple[str, str], int]) -> list[Example]:
    """Examples with this gender and label."""
    return [
        Example("text", None, label, {"gender": gender})
        for (gender, label), count in counts.items()
        for _ in range(count)
    ]


def test_the_gender_of_an_example() -> None:
    assert gender_of(Example("A man and his dog.", None, "x")) == "male"
    assert gender_of(Example("The dog sleeps.", "Her mother sings.", "x")) == "female"
    assert gender_of(Example("A man sings to a woman.", None, "x")) is None
    assert gender_of(Example("The dog sleeps.", "It barks.", "x")) is None
    assert gender_of(Example("Women sing.", None, "x")) == "female"
    assert gender_of(Example("She mentions a man.", None, "x", {"gender": "female"})) == "female"  # as recorded
    assert gender_of(Example("Ashe showed the human manual.", None, "x")) is None  # no part of a word


def test_shares_and_tests_by_hand() -> None:
    # women: 30 of 40 nurses, men: 20 of 60
    counts = {("female", "nurse"): 30, ("female", "surgeon"): 10, ("male", "nurse"): 20, ("male", "surgeon"): 40}
    found = label_bias(examples(counts), ("nurse", "surgeon"))
    assert found is not None
    by_label = {each.label: each for each in found.gaps}
    nurse = by_label["nurse"]
    assert (nurse.female, nurse.male) == pytest.approx((75.0, 100 / 3))
    assert nurse.gap.value == pytest.approx(75 - 100 / 3)
    assert nurse.gap.low < nurse.gap.value < nurse.gap.high
    assert nurse.gap.p == pytest.approx(fisher_exact([[30, 10], [20, 40]]).pvalue)
    assert nurse.p_holm == pytest.approx(2 * nurse.gap.p)
    assert by_label["surgeon"].gap.value == pytest.approx(-nurse.gap.value)
    table = np.array([[30, 10], [20, 40]])
    assert found.p == pytest.approx(chi2_contingency(table).pvalue)
    n, chi = 100, chi2_contingency(table, correction=False).statistic
    assert found.association == pytest.approx((chi / n) ** 0.5)
    assert (found.counts, found.left_out) == ({"female": 40, "male": 60}, 0)


def test_a_regression_compares_means() -> None:
    rows = [Example("She sings.", None, 4.0), Example("Her car.", None, 5.0), Example("He sings.", None, 1.0)]
    rows += [Example("His car.", None, 2.0), Example("It rains.", None, 0.0)]
    found = label_bias(rows, ())
    assert found is not None
    assert (found.gaps[0].label, found.gaps[0].female, found.gaps[0].male) == (MEAN, 4.5, 1.5)
    assert found.gaps[0].gap.value == 3.0
    assert (found.association, found.left_out) == (None, 1)
    assert label_table(found).columns[1] == "female"


def test_data_about_one_gender_has_no_contrast() -> None:
    assert label_bias(examples({("female", "nurse"): 3}), ("nurse", "surgeon")) is None
    one_label = label_bias(examples({("female", "nurse"): 3, ("male", "nurse"): 2}), ("nurse", "surgeon"))
    assert one_label is not None
    assert (one_label.association, one_label.p) == (None, None)


@pytest.mark.parametrize("planted", [True, False])
def test_a_planted_association_is_found_and_its_absence_covers_zero(planted: bool, tmp_path: Path) -> None:
    from unmask.data import biasbios

    rows = biasbios.load([user_source(biographies(tmp_path / "bios.jsonl", planted=planted, n=400))])
    found = label_bias(rows, ("nurse", "surgeon"))
    assert found is not None
    nurse = next(each for each in found.gaps if each.label == "nurse")
    assert (nurse.gap.low > 30) == planted
    if not planted:
        assert nurse.gap.low < 0 < nurse.gap.high


def test_published_training_data(published: Path) -> None:
    """The figures of docs/tasks/README.md."""
    similar = label_bias(stsb.load(published_sources(stsb.CARD, data_dir=published)[0]), ())
    assert similar is not None
    assert sum(similar.counts.values()) + similar.left_out == 5749
    inferred = label_bias(nli.load(published_sources(nli.CARD, data_dir=published)[0]), nli.LABELS)
    assert inferred is not None
    assert sum(inferred.counts.values()) + inferred.left_out == 8330


@pytest.mark.thorough
def test_a_task_that_trains_shows_the_labels_of_its_data(tmp_path: Path) -> None:
    train = biographies(tmp_path / "bios.jsonl", planted=True, n=120)
    result = unmask.task(
        *("biasbios", untrained_model()),
        **{
            "train": train,
            "grid": "batch=16 rate=1e-3 epochs=1",
            "length": 16,
            "out": tmp_path / "out",
            "offline": True,
        },
    )
    table = result.findings[0].finding.tables[-1]
    assert table.title == "Labels of the training data, by gender"
    assert {row[0] for row in table.rows} == {"nurse", "surgeon"}
    assert {each["label"] for each in result.meta["details"]["labels"]["gaps"]} == {"nurse", "surgeon"}
    assert unmask.load(tmp_path / "out").meta == result.meta
