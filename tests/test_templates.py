"""Templates asked of models: the third word, the total of two words, and the numbers made of them."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

import reference
import unmask
import zoo
from unmask import data
from unmask.core.types import Pair, Row
from unmask.measures import find
from unmask.stats import estimates

OFF = unmask.Options(store=False)
MASKED = ("bert-uncased", "roberta", "roberta-plainmask", "albert", "xlm-roberta")


def with_they() -> list[Pair]:
    whole = data.load("pronoun-templates-they")
    return [item for item in whole.items if item.groups["slot"] != "reflexive"][::300]


def plain_slot(model: object, tokenizer: object, text: str, other: str) -> float:
    """Probability of what `text` has and `other` has not, all of it masked by id."""
    found = reference.ppd_masked(model, tokenizer, Pair("", text, other))
    assert found is not None
    return float(found["more"])


@pytest.mark.parametrize("name", MASKED)
def test_the_third_word_equals_a_reference_computation(name: str) -> None:
    model, tokenizer = reference.load(zoo.folder(name))
    items = with_they()
    whole = replace(data.load("pronoun-templates-they"), items=tuple(items))
    result = unmask.audit(zoo.folder(name), data=whole, measures=["ppd", "ppd-normalised"], options=OFF)
    rows = {(row["measure"], row["item"]): row for row in result.items.to_pylist()}
    for item in items:
        assert item.unrelated is not None
        he, she = (plain_slot(model, tokenizer, a, b) for a, b in ((item.more, item.less), (item.less, item.more)))
        they = plain_slot(model, tokenizer, item.unrelated, item.more)
        raw, shares = rows["ppd", item.id], rows["ppd-normalised", item.id]
        assert [raw[side] for side in ("more", "less", "unrelated")] == pytest.approx([he, she, they], abs=2e-5)
        assert shares["more"] + shares["less"] == pytest.approx(1)
        assert shares["difference"] == pytest.approx((he - she) / (he + she), abs=2e-4)
        assert shares["unrelated"] == pytest.approx(they / (he + she + they), abs=2e-4)
    third = [one for one in result.estimates if one.statistic == "third"]
    assert {one.measure for one in third} == {"ppd", "ppd-normalised"}


def test_a_causal_model_shares_the_likelihood_among_three() -> None:
    items = with_they()[:4]
    model, tokenizer = reference.load(zoo.folder("gpt2"))
    whole = replace(data.load("pronoun-templates-they"), items=tuple(items))
    result = unmask.audit(zoo.folder("gpt2"), data=whole, measures="ppd", options=OFF)
    for item, row in zip(items, result.items.to_pylist(), strict=True):
        assert item.unrelated is not None
        found = reference.ll(model, tokenizer, Pair("", item.more, item.less))
        third = reference.ll(model, tokenizer, Pair("", item.unrelated, item.less))
        assert found is not None
        assert third is not None
        logs = [found["more"], found["less"], third["more"]]
        parts = [math.exp(one - max(logs)) for one in logs]
        assert row["unrelated"] == pytest.approx(parts[2] / sum(parts), abs=2e-5)
        assert row["more"] == pytest.approx(parts[0] / (parts[0] + parts[1]), abs=2e-5)


def test_the_third_words_mean_by_hand() -> None:
    def row(item: str, third: float | None, category: str) -> Row:
        scores = {"more": 0.5, "less": 0.25} | ({} if third is None else {"unrelated": third})
        groups = {"category": category, "word": item[0], "template": item[1], "goal": "zero"}
        return Row("ppd", "made", item, groups, scores, "more")  # type: ignore[arg-type]

    rows = [row("a1", 0.1, "x"), row("a2", 0.2, "x"), row("b1", 0.3, "y"), row("b2", None, "y")]
    found = {
        one.group: one for one in estimates(find("ppd"), rows, data="made", rng_seed=0) if one.statistic == "third"
    }
    assert found["all"].value == pytest.approx(0.2)
    assert (found["all"].n, found["all"].unscored, found["all"].null) == (3, 1, None)
    assert found["category=x"].value == pytest.approx(0.15)
    assert found["category=y"].n == 1
    without = [row("a1", None, "x"), row("b2", None, "x")]
    assert not [one for one in estimates(find("ppd"), without, data="made", rng_seed=0) if one.statistic == "third"]


def test_user_templates_are_scored_like_built_in_ones(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("slots: {person: [man, woman]}\nwords: [nurse, doctor]\ntemplates: ['The {person} is a {word}.']\n")
    result = unmask.audit(zoo.folder("bert-uncased"), data=path, options=OFF)
    model, tokenizer = reference.load(zoo.folder("bert-uncased"))
    expected = []
    for row in result.items.to_pylist():
        he, she = (f"The {one} is a {row['word']}." for one in ("man", "woman"))
        expected.append(plain_slot(model, tokenizer, he, she) - plain_slot(model, tokenizer, she, he))
        assert row["difference"] == pytest.approx(expected[-1], abs=2e-5)
    headline = result.headlines()[0]
    assert headline.statistic == "appd"
    assert headline.value == pytest.approx(sum(expected) / 2, abs=2e-5)


def test_winogender_is_scored_as_templates(data_dir: Path) -> None:
    options = unmask.Options(store=False, data_dir=data_dir, limit=6)
    result = unmask.audit(zoo.folder("bert-uncased"), data="winogender", measures=["ppd", "lpbs"], options=options)
    assert {(one.measure, one.statistic) for one in result.headlines()} == {("ppd", "appd"), ("lpbs", "association")}
    assert all(one.unscored == 0 for one in result.headlines())


def test_the_command_prints_the_probability_of_the_third_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from unmask.cli import main

    asked = ["audit", str(zoo.folder("bert-uncased")), "--data", "pronoun-templates-they", "--limit", "40"]
    rest = ["--measure", "ppd", "ppd-normalised", "--no-report", "--quiet", "--out", str(tmp_path / "out")]
    with pytest.raises(SystemExit) as left:
        main([*asked, *rest])
    assert not left.value.code
    said = capsys.readouterr().out
    result = unmask.load(tmp_path / "out")
    third = next(one for one in result.estimates if one.statistic == "third")
    assert f"mean probability of the third word: {third.value:.3f}" in said
    neutral = {f"word={row['word']}" for row in result.items.to_pylist() if row["goal"] == "zero"}
    words = {one.group: one.value for one in result.estimates if one.measure == "ppd" and one.group in neutral}
    highest = max(words, key=lambda group: (words[group], group)).partition("=")[2]
    assert said.partition("furthest towards men: ")[2].startswith(f"{highest} ")
