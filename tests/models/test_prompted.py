"""A prefix is context: no token of it is scored, and every token of the sentence is, as a slow reference does it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import reference
import zoo
from unmask import data
from unmask.core.errors import DataError
from unmask.core.types import Pair
from unmask.measures import find
from unmask.models import Engine, open_lm
from unmask.models.lm import Lm
from unmask.training.utility import measure_ability

PREFIX = "She and he are treated alike."
PAIRS = (
    Pair("x/0", "The nurse said that she was late.", "The nurse said that he was late."),
    Pair("x/1", "My mother left the old house.", "My father left the old house."),
    Pair("x/2", "She said so.", "He said so."),
)


def scores(lm: Lm, measure: str, pair: Pair) -> tuple[float, float]:
    """The scores of both sentences by our engine."""
    chosen, engine = find(measure), Engine(lm)
    probes = chosen.probes(pair, lm)
    readings = engine.read([probe for some in probes.values() for probe in some])
    return tuple(  # type: ignore[return-value]
        chosen.score(probes[side], [readings[probe] for probe in probes[side]]).value for side in ("more", "less")
    )


def parts(tokenizer: Any, prefix: str, text: str) -> tuple[list[int], list[int]]:
    """Token ids of prefix and text as one string, and the positions of the text's tokens."""
    encoded = tokenizer(f"{prefix} {text}", return_offsets_mapping=True)
    ids, spans = list(encoded["input_ids"]), encoded["offset_mapping"]
    mine = [at for at, (a, b) in enumerate(spans) if b > len(prefix) + 1 and b > a]
    return ids, mine


@reference.one_thread()
def log_probabilities(model: Any, ids: list[int]) -> Any:
    with torch.no_grad():
        return torch.log_softmax(model(torch.tensor([ids])).logits[0].double(), -1)


@pytest.mark.parametrize("name", ["bert-uncased", "roberta", "albert"])
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.id)
def test_masked_scores_equal_a_slow_reference(name: str, pair: Pair) -> None:
    model, tokenizer = reference.load(zoo.folder(name))
    lm = open_lm(zoo.folder(name)).with_prefix(PREFIX)
    for text, aul, pll in zip((pair.more, pair.less), scores(lm, "aul", pair), scores(lm, "pll", pair), strict=True):
        ids, mine = parts(tokenizer, PREFIX, text)
        said = log_probabilities(model, ids)
        assert aul == pytest.approx(np.mean([said[at, ids[at]].item() for at in mine]), abs=1e-4)
        total = 0.0
        for at in mine:
            masked = [tokenizer.mask_token_id if place == at else one for place, one in enumerate(ids)]
            total += log_probabilities(model, masked)[at, ids[at]].item()
        assert pll == pytest.approx(total, abs=1e-3)


@pytest.mark.parametrize("name", ["gpt2", "qwen2"])
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.id)
def test_causal_scores_equal_a_slow_reference(name: str, pair: Pair) -> None:
    model, tokenizer = reference.load(zoo.folder(name))
    lm = open_lm(zoo.folder(name)).with_prefix(PREFIX)
    for text, ll in zip((pair.more, pair.less), scores(lm, "ll", pair), strict=True):
        ids, mine = parts(tokenizer, PREFIX, text)
        if tokenizer.bos_token_id is not None and ids[0] != tokenizer.bos_token_id:
            ids, mine = [tokenizer.bos_token_id, *ids], [at + 1 for at in mine]
        said = log_probabilities(model, ids)
        assert ll == pytest.approx(sum(said[at - 1, ids[at]].item() for at in mine), abs=1e-3)


def test_the_slot_of_a_template_is_read_and_not_a_pronoun_of_the_prefix() -> None:
    """The prefix has both pronouns: aligned with it, `she` of a sentence could be taken for that of the prefix."""
    model, tokenizer = reference.load(zoo.folder("bert-uncased"))
    lm = open_lm(zoo.folder("bert-uncased")).with_prefix(PREFIX)
    for pair in (PAIRS[0], PAIRS[2]):
        ids, mine = parts(tokenizer, PREFIX, pair.more)
        other, _ = parts(tokenizer, PREFIX, pair.less)
        (place,) = [at for at in mine if ids[at] != other[at]]
        masked = [tokenizer.mask_token_id if at == place else one for at, one in enumerate(ids)]
        said = log_probabilities(model, masked)[place].exp()
        assert scores(lm, "ppd", pair) == pytest.approx((said[ids[place]].item(), said[other[place]].item()), abs=1e-6)


@pytest.mark.parametrize("name", zoo.NAMES_MASKED + zoo.NAMES_CAUSAL)
def test_no_token_of_the_prefix_is_content_and_every_token_of_the_sentence_is(name: str) -> None:
    lm = open_lm(zoo.folder(name))
    prompted, text = lm.with_prefix("It is late."), "The nurse said that she was late."
    encoded, plain = prompted.encode(text), lm.encode(text)
    told = prompted.text([encoded.ids[at] for at in encoded.content]).replace(" ", "").lower()
    assert told == lm.text([plain.ids[at] for at in plain.content]).replace(" ", "").lower()
    begin, end = encoded.context
    context = prompted.text(encoded.ids[begin:end]).replace(" ", "").lower()
    assert context == lm.text(lm.pieces("It is late.")).replace(" ", "").lower()
    assert end == encoded.content[0]
    places = prompted.token_positions(text, text.index("nurse"), text.index("nurse") + len("nurse"))
    assert set(places) <= set(encoded.content)
    assert "nurse" in prompted.text([encoded.ids[at] for at in places]).replace(" ", "").lower()


@pytest.mark.parametrize("name", ["bert-uncased", "gpt2"])
def test_no_prefix_is_no_change(name: str) -> None:
    lm = open_lm(zoo.folder(name))
    measure = "aul" if lm.kind == "masked" else "ll"
    assert scores(lm.with_prefix(""), measure, PAIRS[0]) == scores(lm, measure, PAIRS[0])
    assert scores(lm.with_prefix(PREFIX), measure, PAIRS[0]) != scores(lm, measure, PAIRS[0])


def test_the_alignment_of_a_pair_does_not_depend_on_the_prefix() -> None:
    from unmask.measures.spans import align_pair

    lm = open_lm(zoo.folder("bert-uncased"))
    for item in data.load("nine-axes").items[::20]:
        more, _, plain = align_pair(item, lm)
        prompted, _, spans = align_pair(item, lm.with_prefix(PREFIX))
        shift = len(prompted.ids) - len(more.ids)
        assert spans.changed[0] == tuple(at + shift for at in plain.changed[0])
        assert spans.shared[0] == tuple(at + shift for at in plain.shared[0])


def test_held_out_text_is_predicted_after_the_prefix() -> None:
    """The ability shown beside the bias is that of the prompted model, on the same tokens."""
    texts = [
        "The teacher went home because the school was closed today.",
        "They had lunch in the garden and talked about the weather.",
    ]
    lm = open_lm(zoo.folder("gpt2"))
    plain, prompted = (measure_ability(Engine(each), texts) for each in (lm, lm.with_prefix(PREFIX)))
    assert prompted.tokens.tolist() == plain.tokens.tolist()
    assert prompted.lost.tolist() != plain.lost.tolist()


def test_a_tokenizer_without_offsets_is_refused() -> None:
    lm = open_lm(zoo.folder("bert-uncased"))

    class Slow:
        is_fast = False

    slow = replace(lm, tokenizer=Slow())
    with pytest.raises(DataError, match="does not say which characters"):
        slow.with_prefix("Hello.")
