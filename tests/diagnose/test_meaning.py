"""Accuracy in shuffled sentences equals a plain count; shuffles are seeded and keep the tokens."""

from __future__ import annotations

import functools
import statistics
from collections import Counter
from dataclasses import replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reference
import unmask
import zoo
from trained_models import half_trained_model, load_model, rows, training_data
from unmask.core.errors import DataError, ModelError
from unmask.core.types import Dataset, Pair
from unmask.diagnose.meaning import MEANING, MeaningOptions, random_orders, reorder, shuffled_words
from unmask.diagnose.scores import encode_sentences
from unmask.diagnose.spec import DiagnosisObservation
from unmask.findings import Section
from unmask.models import open_lm

from .plainly import as_whole, run

SEED, DRAWS = 3, 4
BOTH = pytest.mark.parametrize("architecture", ["bert-uncased", "roberta"])


def diagnose(model: Path, data: Dataset, **settings: Any) -> Section:
    (section,) = run(
        [MEANING], [model], data=data, settings=MeaningOptions(**settings), options=unmask.Options(store=False)
    )
    return section


@functools.cache
def section(architecture: str) -> Section:
    return diagnose(half_trained_model(architecture), training_data()["stereoset"], seed=SEED, draws=DRAWS)


# --------------------------------------------------------------------------- the plain computation


def right(model: Any, ids: list[int], encoding: Any) -> list[bool]:
    """Token by token: is it the likeliest where it stands?"""
    asked = {**encoding, "input_ids": ids}
    table = reference.log_probabilities(reference.run(model, asked))
    return [int(np.argmax(row)) == token for row, token in zip(table, ids, strict=True)]


def of_text(folder: Path, text: str) -> tuple[list[bool], list[bool]]:
    """Right or wrong for content tokens, and for all tokens."""
    model, tokenizer = load_model(folder)
    encoding = reference.encode(tokenizer, text)
    hits = right(model, encoding["input_ids"], encoding)
    return [hits[place] for place in reference.content(tokenizer, encoding, text)], hits


def percent(hits: list[bool]) -> float:
    return 100 * sum(hits) / len(hits)


def written(folder: Path, data: Dataset) -> tuple[list[bool], list[bool]]:
    parts = [of_text(folder, text) for item in data.items for text in (item.more, item.less)]
    return [hit for one, _ in parts for hit in one], [hit for _, one in parts for hit in one]


def token_draw(folder: Path, data: Dataset, draw: int) -> tuple[list[tuple[bool, bool]], list[tuple[bool, bool]]]:
    """(before, after) of every content token and of every token, by the same shuffle as the diagnosis."""
    model, tokenizer = load_model(folder)
    lm = open_lm(str(folder))
    version = encode_sentences(data.items, lambda item: [item.more, item.less], lm)
    content, everything = [], []
    for item in data.items:
        for text, order in zip((item.more, item.less), random_orders(version, SEED, draw)[item.id], strict=True):
            encoding = reference.encode(tokenizer, text)
            ids = encoding["input_ids"]
            moved = [ids[before] for before in order.tolist()]
            before, after = right(model, ids, encoding), right(model, moved, encoding)
            own = reference.content(tokenizer, encoding, text)
            crossed = [(before[source], after[place]) for place, source in enumerate(order.tolist())]
            content += [crossed[place] for place in own]
            everything += crossed
    return content, everything


# ---------------------------------------------------------------------------------------- equality


@BOTH
def test_accuracy_as_written_and_unrelated_equal_a_plain_count(architecture: str) -> None:
    folder, data = half_trained_model(architecture), training_data()["stereoset"]
    content, everything = written(folder, data)
    others = [of_text(folder, item.unrelated or "") for item in data.items]
    unrelated = [hit for one, _ in others for hit in one], [hit for _, one in others for hit in one]
    accuracy, drop = rows(section(architecture), 0), rows(section(architecture), 1)
    for counted, before, after in (("content tokens", content, unrelated[0]), ("all tokens", everything, unrelated[1])):
        assert percent(before) != percent(after)
        assert accuracy["as written", counted]["accuracy"].value == pytest.approx(percent(before))
        assert accuracy["unrelated word", counted]["accuracy"].value == pytest.approx(percent(after))
        shown = drop["unrelated word", counted]
        assert shown["drop"].value == pytest.approx(percent(before) - percent(after))
        assert shown["drop"].low < shown["drop"].value < shown["drop"].high
        assert shown["p"] is not None


def candidate(folder: Path, item: Pair, side: int) -> list[bool]:
    """Right or wrong for the tokens that difflib does not match in one of the other two sentences."""
    model, tokenizer = load_model(folder)
    texts = [item.more, item.less, item.unrelated or ""]
    encodings = [reference.encode(tokenizer, text) for text in texts]
    ids = [encoding["input_ids"] for encoding in encodings]
    kept: set[int] = set()
    for other in {0, 1, 2} - {side}:
        first, second = min(side, other), max(side, other)
        blocks = SequenceMatcher(None, ids[first], ids[second]).get_matching_blocks()
        start = "a" if first == side else "b"
        shared = {getattr(block, start) + place for block in blocks for place in range(block.size)}
        kept |= set(range(len(ids[side]))) - shared
    hits = right(model, ids[side], encodings[side])
    return [hits[place] for place in sorted(kept)]


@BOTH
def test_accuracy_of_the_candidates_own_tokens_equals_a_plain_count(architecture: str) -> None:
    """Table 4's unrelated candidate read over its own word, not over the whole sentence."""
    folder, data = half_trained_model(architecture), training_data()["stereoset"]
    before = [hit for item in data.items for side in (0, 1) for hit in candidate(folder, item, side)]
    after = [hit for item in data.items for hit in candidate(folder, item, 2)]
    accuracy, drop = rows(section(architecture), 0), rows(section(architecture), 1)
    own = "candidate's tokens"
    assert accuracy["as written", own]["accuracy"].value == pytest.approx(percent(before))
    assert accuracy["unrelated word", own]["accuracy"].value == pytest.approx(percent(after))
    assert drop["unrelated word", own]["drop"].value == pytest.approx(percent(before) - percent(after))
    assert (
        accuracy["unrelated word", own]["accuracy"].value
        != accuracy["unrelated word", "content tokens"]["accuracy"].value
    )
    assert ("tokens shuffled", own) not in accuracy


@BOTH
def test_shuffled_tokens_equal_a_plain_count(architecture: str) -> None:
    folder, data = half_trained_model(architecture), training_data()["stereoset"]
    draws = [token_draw(folder, data, draw) for draw in range(DRAWS)]
    accuracy, drop = rows(section(architecture), 0), rows(section(architecture), 1)
    for place, counted in enumerate(("content tokens", "all tokens")):
        after = [percent([now for _, now in draw[place]]) for draw in draws]
        before = percent([was for was, _ in draws[0][place]])
        shown = accuracy["tokens shuffled", counted]
        assert len(set(after)) > 1
        assert shown["accuracy"].value == pytest.approx(statistics.mean(after))
        assert shown["sd of draws"] == pytest.approx(statistics.stdev(after))
        assert shown["draws"] == DRAWS
        assert drop["tokens shuffled", counted]["drop"].value == pytest.approx(before - statistics.mean(after))
        assert drop["tokens shuffled", counted]["drop"].method.endswith(" target terms")


@BOTH
def test_shuffled_words_equal_a_plain_count(architecture: str) -> None:
    folder, data = half_trained_model(architecture), training_data()["stereoset"]
    hits: list[bool] = []
    for draw in range(3):
        for item in data.items:
            for text in shuffled_words(item, SEED, draw):
                hits += of_text(folder, text)[0]
    shown = rows(section(architecture), 0)["words shuffled", "content tokens"]
    assert shown["draws"] == 3
    assert shown["accuracy"].value == pytest.approx(percent(hits))
    assert rows(section(architecture), 1)["words shuffled", "content tokens"]["p"] > 0


# --------------------------------------------------------------------------------------- the shuffles


def test_a_token_shuffle_moves_content_and_nothing_else() -> None:
    lm = open_lm(str(zoo.folder("roberta")))
    items = training_data()["crows-pairs"].items
    version = encode_sentences(items, lambda item: [item.more, item.less], lm)
    moved = reorder(version, random_orders(version, 0, 0))
    assert moved != version
    for item, sentences in version.items():
        for before, after in zip(sentences, moved[item], strict=True):
            assert Counter(before.ids) == Counter(after.ids)
            special = set(range(len(before.ids))) - set(before.content)
            assert special
            assert all(before.ids[place] == after.ids[place] for place in special)


def test_a_shuffle_depends_on_seed_item_and_draw_alone() -> None:
    lm = open_lm(str(zoo.folder("roberta")))
    items = training_data()["crows-pairs"].items

    def moved(chosen: tuple[Pair, ...], seed: int, draw: int) -> Any:
        version = encode_sentences(chosen, lambda item: [item.more, item.less], lm)
        return reorder(version, random_orders(version, seed, draw))

    whole = moved(items, 0, 0)
    assert moved(items[4:5], 0, 0)[items[4].id] == whole[items[4].id]
    assert moved(items, 0, 1) != whole != moved(items, 1, 0)
    words = shuffled_words(items[7], 0, 0)
    assert [Counter(text.split()) for text in words] == [Counter(items[7].more.split()), Counter(items[7].less.split())]
    assert len({tuple(shuffled_words(items[7], seed, draw)) for seed in (0, 1) for draw in (0, 1)}) == 4


def test_fewer_draws_are_the_first_of_more() -> None:
    model, data = half_trained_model("bert-uncased"), training_data()["stereoset"]
    run([MEANING], [model], data=data, settings=MeaningOptions(draws=3))
    (fewer,) = run([MEANING], [model], data=data, settings=MeaningOptions(draws=1))
    assert ": 0 new sentences run" in fewer.foot


# ------------------------------------------------------------------------------------------ what it says


def test_pairs_without_an_unrelated_sentence_are_shuffled_only() -> None:
    of = diagnose(half_trained_model("bert-uncased"), training_data()["crows-pairs"], draws=1)
    assert {row[2] for row in of.finding.tables[0].rows} == {"as written", "tokens shuffled", "words shuffled"}
    assert {row[7] for row in of.finding.tables[0].rows} == {None}  # one draw has no spread


def test_published_numbers_stand_beside_the_same_model() -> None:
    from unmask.audit.session import Session
    from unmask.models import Engine

    part = training_data()["stereoset"]
    data = as_whole(part)
    subject = Session(Engine(open_lm(str(half_trained_model("bert-uncased")))))
    what = MEANING.observe(subject, data, MeaningOptions(draws=1))
    of = MEANING.conclude(
        [DiagnosisObservation({"id": "albert-large-v2"}, data, what)], MeaningOptions(draws=1)
    ).finding
    assert [row[-1] for row in of.tables[0].rows] == [*[81.19, 73.18, None, 76.08] * 2, None, 76.08]
    assert [row[-1] for row in of.tables[1].rows] == [*[8.01, None, 5.11] * 2, None]
    cut = MEANING.conclude(
        [DiagnosisObservation({"id": "albert-large-v2"}, part, what)], MeaningOptions(draws=1)
    ).finding
    assert {row[-1] for table in cut.tables for row in table.rows} == {None}


def test_one_pair_says_why_it_has_no_interval() -> None:
    data = training_data()["stereoset"]
    of = diagnose(half_trained_model("bert-uncased"), replace(data, items=data.items[1:2]), draws=2)
    assert {row[4].method for row in of.finding.tables[1].rows} == {"too few: 1 pairs"}


def test_nothing_to_read_is_said_and_still_drawn() -> None:
    data = replace(training_data()["stereoset"], items=(Pair("x/0", "", ""),))
    of = diagnose(zoo.folder("bert-uncased"), data, draws=2)
    assert [answer.partition(": ")[2] for answer in of.finding.answers] == ["no pair could be read"] * 2
    assert of.finding.plots[0].chart.to_dict()


def test_pairs_with_a_special_token_written_in_them_are_left_out() -> None:
    """`[MASK]` in a sentence would be read, and counted, as the mask."""
    data = training_data()["stereoset"]
    spelt = [Pair(f"x/{n}", f"{each.more} [MASK]", f"{each.less} [MASK]") for n, each in enumerate(data.items[:3])]
    model = half_trained_model("bert-uncased")
    plain, mixed = (
        diagnose(model, replace(data, items=items), draws=2).finding for items in (data.items, (*data.items, *spelt))
    )
    assert mixed.answers == plain.answers


def test_no_draws_and_causal_models_are_refused() -> None:
    data = training_data()["stereoset"]
    with pytest.raises(DataError, match="draws is 0, expected at least 1"):
        diagnose(zoo.folder("bert-uncased"), data, draws=0)
    with pytest.raises(ModelError, match="meaning needs masked models"):
        diagnose(zoo.folder("gpt2"), data)
