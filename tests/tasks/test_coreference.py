"""`winobias` and `winogender`: answers equal a slow reference, gaps equal plain counts."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import binomtest, ttest_1samp

import reference
import zoo
from unmask.audit.session import Session
from unmask.data import examples
from unmask.data.riddles import WINOBIAS as FILES
from unmask.data.riddles import CoreferenceItem, load_winobias
from unmask.models import Engine, open_lm
from unmask.tasks import TaskOptions, find
from unmask.tasks.coreference import (
    CoreferenceAnswer,
    PronounPreference,
    accuracy_gap,
    preference_rate,
    pro_anti_pairs,
    pronoun_preferences,
    resolve_pronouns,
)
from unmask.tasks.run import TaskResult
from unmask.tasks.winogender import WinogenderOptions, load_items

from .tiny_models import evaluate

MODELS = ("bert-uncased", "roberta", "gpt2", "qwen2")


@cache
def some(data_dir: Path) -> tuple[CoreferenceItem, ...]:
    """A few pairs of either type, among them odd capitals and two-word occupations."""
    found, _ = load_winobias(examples.published_sources(FILES, data_dir=data_dir))
    both = pro_anti_pairs(found)
    chosen = [one for one in both if "CEO" in one[0].text][:2]
    chosen += [one for one in both if "construction worker" in one[0].text][:2]
    chosen += [one for one in both if one[0].groups["pronouns"] == "2"][:1] + both[:3] + both[-3:]
    return tuple(riddle for couple in chosen for riddle in couple)


@cache
def open_session(model: str) -> Session:
    return Session(Engine(open_lm(zoo.folder(model))))


@reference.one_thread()
def slowly(model: Any, tokenizer: Any, riddle: CoreferenceItem, person: str) -> float:
    """Mean log-probability of the person's tokens after `"he" refers to the`, one input at a time."""
    before = f'{riddle.text} "{riddle.pronoun}" refers to the '
    if "someone" in (riddle.gold, riddle.other):  # the article is part of what is scored
        before = before.removesuffix("the ")
        person = person if person == "someone" else f"the {person}"
    text = f"{before}{person}."
    encoded = tokenizer(text, return_offsets_mapping=True)
    ids, spans = list(encoded["input_ids"]), encoded["offset_mapping"]
    mine = [at for at, (a, b) in enumerate(spans) if a < len(before) + len(person) and b > len(before)]
    if tokenizer.mask_token_id is None:
        if tokenizer.bos_token_id is not None and ids[0] != tokenizer.bos_token_id:
            ids, mine = [tokenizer.bos_token_id, *ids], [at + 1 for at in mine]
        with torch.no_grad():
            said = torch.log_softmax(model(torch.tensor([ids])).logits[0].double(), -1)
        return float(np.mean([said[at - 1, ids[at]].item() for at in mine]))
    shown = [tokenizer.mask_token_id if at in mine else one for at, one in enumerate(ids)]
    with torch.no_grad():
        said = torch.log_softmax(model(torch.tensor([shown])).logits[0].double(), -1)
    return float(np.mean([said[at, ids[at]].item() for at in mine]))


@pytest.mark.thorough
@pytest.mark.parametrize("name", MODELS)
def test_answers_equal_the_reference(name: str, data_dir: Path) -> None:
    model, tokenizer = reference.load(zoo.folder(name))
    for one in resolve_pronouns(open_session(name), some(data_dir)):
        assert not one.reason
        assert one.gold == pytest.approx(slowly(model, tokenizer, one.item, one.item.gold), abs=1e-4)
        assert one.other == pytest.approx(slowly(model, tokenizer, one.item, one.item.other), abs=1e-4)


@pytest.mark.parametrize("name", ["bert-uncased", "gpt2"])
def test_someone_is_set_against_the_occupation_with_its_article(name: str, data_dir: Path) -> None:
    """`refers to the someone` is not English; without the article the two candidates have other contexts."""
    model, tokenizer = reference.load(zoo.folder(name))
    items = [item for item in load_items(WinogenderOptions(data_dir=data_dir, limit=2)) if "/someone/" in item.id]
    assert len(items) == 6
    for one in resolve_pronouns(open_session(name), items):
        assert one.gold == pytest.approx(slowly(model, tokenizer, one.item, one.item.gold), abs=1e-4)
        assert one.other == pytest.approx(slowly(model, tokenizer, one.item, one.item.other), abs=1e-4)


@pytest.mark.parametrize("name", ["bert-uncased", "gpt2"])
def test_preferences_equal_the_reference(name: str, data_dir: Path) -> None:
    model, tokenizer = reference.load(zoo.folder(name))
    both = pro_anti_pairs(some(data_dir))
    checked = 0
    for (pro, anti), one in zip(both, pronoun_preferences(open_session(name), both), strict=True):
        if one.reason:
            continue
        checked += 1
        if name == "gpt2":
            wanted = _sentence(model, tokenizer, pro.text) - _sentence(model, tokenizer, anti.text)
        else:
            wanted = _pronoun(model, tokenizer, pro, anti)
        assert one.difference == pytest.approx(wanted, abs=2e-4)
    assert checked > 4


@reference.one_thread()
def _sentence(model: Any, tokenizer: Any, text: str) -> float:
    ids = [tokenizer.bos_token_id, *tokenizer(text)["input_ids"]]
    with torch.no_grad():
        said = torch.log_softmax(model(torch.tensor([ids])).logits[0].double(), -1)
    return sum(said[at - 1, ids[at]].item() for at in range(1, len(ids)))


@reference.one_thread()
def _pronoun(model: Any, tokenizer: Any, pro: CoreferenceItem, anti: CoreferenceItem) -> float:
    ids, other = (tokenizer(one.text)["input_ids"] for one in (pro, anti))
    (place,) = [at for at, (a, b) in enumerate(zip(ids, other, strict=True)) if a != b]
    shown = [tokenizer.mask_token_id if at == place else one for at, one in enumerate(ids)]
    with torch.no_grad():
        said = torch.log_softmax(model(torch.tensor([shown])).logits[0, place].double(), -1)
    return float(said[ids[place]] - said[other[place]])


def test_items_that_cannot_be_scored_have_a_reason(data_dir: Path) -> None:
    (pro, anti), *_ = pro_anti_pairs(some(data_dir))
    two = replace(pro, groups={**pro.groups, "pronouns": "2"})
    odd = replace(anti, text=f"{anti.text} Indeed.")
    found = pronoun_preferences(open_session("bert-uncased"), [(two, anti), (pro, odd)])
    assert [preference.reason for preference in found] == [
        "a second pronoun reveals the gender",
        "the two sentences differ in more than the pronoun",
    ]
    long = replace(pro, text=pro.text + " and so on" * 100)
    (answer,) = resolve_pronouns(open_session("bert-uncased"), [long])
    assert answer.reason.startswith("too long")
    assert np.isnan(answer.right)


def hand(sides: list[tuple[float, float]]) -> list[CoreferenceAnswer]:
    """Pairs of answers: right (1), wrong (0), tie (0.5), NaN (not scored)."""
    made = []
    for at, couple in enumerate(sides):
        for side, right in zip(("pro", "anti"), couple, strict=True):
            riddle = CoreferenceItem(f"x/{at}/{side}", "He.", (0, 2), "a", "b", side, {})
            reason = "too long" if np.isnan(right) else ""
            made.append(CoreferenceAnswer(riddle, right, 0.5, reason))
    return made


def test_the_gap_by_hand() -> None:
    nan = float("nan")
    # pro right: 1, 1, 0, 0.5 of 4; anti right: 0, 0, 0, 1 of 4; the fifth couple lacks a side
    found = accuracy_gap(hand([(1, 0), (1, 0), (0, 0), (0.5, 1), (1, nan)]), seed=0, label="x")
    assert found.pro.value == pytest.approx(100 * 2.5 / 4)
    assert found.anti.value == pytest.approx(25.0)
    assert found.gap.value == pytest.approx(37.5)
    assert (found.gap.n, found.gap.ties, found.gap.unscored) == (4, 1, 1)
    assert found.gap.low < 37.5 < found.gap.high
    # discordant couples: two only the pro side right, one only the anti side
    assert found.gap.p == pytest.approx(binomtest(2, 3, 0.5).pvalue)


def test_swapping_the_sides_mirrors_the_gap() -> None:
    sides = [(1.0, 0.0), (1.0, 1.0), (0.0, 0.0), (0.0, 1.0), (1.0, 0.0)]
    one = accuracy_gap(hand(sides), seed=0, label="x")
    other = accuracy_gap(hand([(b, a) for a, b in sides]), seed=0, label="x")
    assert one.gap.value == -other.gap.value
    assert one.gap.p == other.gap.p


def test_two_versions_of_a_template_count_as_one_unit() -> None:
    """Otherwise all 240 pairs of 120 templates would be taken as independent, and the interval be too narrow."""
    sides = [(1.0, 0.0), (1.0, 0.0), (0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)]
    once = hand(sides)
    twice = [
        replace(
            answer, item=replace(answer.item, id=f"{kind}/{answer.item.id}", groups={"template": answer.item.id[:3]})
        )
        for kind in ("named", "someone")
        for answer in once
    ]
    single, both = (accuracy_gap(answers, seed=0, label="x") for answers in (once, twice))
    assert (both.gap.n, single.gap.n) == (12, 6)
    assert (both.gap.value, both.pro.value, both.anti.value) == pytest.approx(
        (single.gap.value, single.pro.value, single.anti.value)
    )
    assert both.gap.low == pytest.approx(single.gap.low)  # the upper end is cut at 100 points
    gaps = [pro - anti for pro, anti in sides]
    assert both.gap.p == pytest.approx(ttest_1samp(gaps, 0).pvalue)


def test_sentences_of_one_occupation_count_as_one_unit() -> None:
    """Otherwise three sentences on each of six occupations would be taken for 18 independent ones."""
    sides = [(1.0, 0.0), (1.0, 0.0), (0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)]
    answers = [
        replace(answer, item=replace(answer.item, id=f"{copy}/{answer.item.id}", groups={"occupation": occupation}))
        for copy in range(3)
        for answer in hand(sides)
        for occupation in [answer.item.id.split("/")[1]]
    ]
    found = accuracy_gap(answers, seed=0, label="x")
    assert (found.gap.n, found.gap.unit, found.pro.unit) == (18, "occupation", "occupation")
    # all sentences of an occupation are answered alike: Student's test of the six gaps
    assert found.gap.p == pytest.approx(ttest_1samp([pro - anti for pro, anti in sides], 0).pvalue)
    preferences = [PronounPreference(answer.item, answer.gold - 0.5) for answer in answers]
    rate = preference_rate(preferences, seed=0, label="x")
    alone = preference_rate(
        [replace(each, pro=replace(each.pro, groups={})) for each in preferences], seed=0, label="x"
    )
    assert (rate.unit, alone.unit, rate.value) == ("occupation", "", alone.value)
    assert rate.high - rate.low > 1.3 * (alone.high - alone.low)


@cache
def run_task(name: str, data_dir: Path) -> TaskResult:
    settings = TaskOptions(data_dir=data_dir, limit=12)
    return evaluate("winobias" if name != "gpt2" else "winogender", [zoo.folder(name)], settings)


def test_winobias_end_to_end(data_dir: Path) -> None:
    found = run_task("bert-uncased", data_dir)
    what = found.observations[0].result
    right = {answer.item.id: answer.gold > answer.other for answer in what.answers}
    both = pro_anti_pairs([answer.item for answer in what.answers])
    assert len(both) == 12
    pro = 100 * np.mean([right[one.id] for one, _ in both])
    anti = 100 * np.mean([right[one.id] for _, one in both])
    table = found.conclusion.finding.tables[0]
    row = dict(zip(table.columns, table.rows[0], strict=True))
    assert row["accuracy, pro, %"].value == pytest.approx(pro)
    assert row["accuracy, anti, %"].value == pytest.approx(anti)
    assert row["pro − anti accuracy, points"].value == pytest.approx(pro - anti)
    assert found.conclusion.finding.plots[0].id == "winobias"
    assert [file["verified"] for file in found.files] == [data_dir != zoo.MINIATURE] * 10
    assert find("winobias").headline(what).value == what.gaps["all"].gap.value


def test_winogender_end_to_end(data_dir: Path) -> None:
    what = run_task("gpt2", data_dir).observations[0].result
    assert len(what.answers) == 12 * 3 * 2
    named = [answer for answer in what.answers if "/named/" in answer.item.id]
    assert what.gaps["named"].gap == accuracy_gap(named, seed=0, label="participant=named").gap
    assert (what.gaps["named"].gap.n, what.gaps["someone"].gap.n, what.gaps["all"].gap.n) == (12, 12, 24)
    assert sum(each.n for each in what.cases.values()) == 72
    by: dict[str, dict[str, list[float]]] = {}
    for answer in what.answers:
        groups = answer.item.groups
        occupation, other = (
            (answer.gold, answer.other) if groups["answer"] == "occupation" else (answer.other, answer.gold)
        )
        by.setdefault(groups["occupation"], {}).setdefault(groups["gender"], []).append(occupation - other)
    wanted = {job: np.mean(some["female"]) - np.mean(some["male"]) for job, some in by.items()}
    assert what.preference == pytest.approx(wanted)
    x = [what.women[job] for job in wanted]
    assert what.r.value == pytest.approx(np.corrcoef(x, list(wanted.values()))[0, 1])


def test_winopron_end_to_end(miniature: Path) -> None:
    settings = WinogenderOptions(data_dir=miniature, data=Path("winopron"))
    found = evaluate("winogender", [zoo.folder("bert-uncased")], settings)
    what = found.observations[0].result
    assert list(what.accuracy) == ["male", "female", "neutral", "xe"]
    assert list(what.gaps) == ["all"]
    assert {name: each.n for name, each in what.cases.items()} == dict.fromkeys(
        ("nominative", "possessive", "accusative"), 16
    )
    assert [file["name"] for file in found.files] == [
        "winopron/new_templates.tsv",
        "winogender-riddles/occupations-stats.tsv",
    ]
    own = replace(settings, data=miniature / "winopron" / "new_templates.tsv")
    again = evaluate("winogender", [zoo.folder("bert-uncased")], own).observations[0].result
    assert again.gaps["all"] == what.gaps["all"]
