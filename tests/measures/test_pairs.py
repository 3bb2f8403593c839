"""Every measure of sentence pairs: what it asks of a pair, and what it makes of the answers, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from unmask.core.errors import Unscorable
from unmask.core.types import Pair, Probe
from unmask.measures import find

from .hand import Hand, pair, reading

PAIR = pair("the man ran", "the old lady ran")
MASKED, CAUSAL = Hand(), Hand("causal")


def probes_of(name: str, lm: Hand = MASKED, item: Pair = PAIR) -> dict[str, tuple[Probe, ...]]:
    return dict(find(name).probes(item, lm))


def only(name: str, lm: Hand = MASKED, item: Pair = PAIR) -> dict[str, Probe]:
    """One probe a sentence."""
    found = probes_of(name, lm, item)
    assert list(found) == ["more", "less"]
    assert all(len(probes) == 1 for probes in found.values())
    return {side: probes[0] for side, probes in found.items()}


# ---------------------------------------------------------------------------------- masked models


@pytest.mark.parametrize(
    ("name", "more", "less"),
    [
        ("cps", (["the@1", "ran@3"], "[CLS] <the> man <ran> [SEP]"), ["the@1", "ran@4"]),
        ("cps-exact", (["the@1", "ran@3"], "[CLS] <the> man <ran> [SEP]"), ["the@1", "ran@4"]),
        ("pll", (["the@1", "man@2", "ran@3"], "[CLS] <the> <man> <ran> [SEP]"), ["the@1", "old@2", "lady@3", "ran@4"]),
        ("sld", (["the@1", "man@2", "ran@3"], "[CLS] <the> <man> <ran> [SEP]"), ["the@1", "old@2", "lady@3", "ran@4"]),
        ("crows-bias-bench", (["man@2"], "[CLS] the <man> ran [SEP]"), ["old@2", "lady@3"]),
    ],
)
def test_tokens_masked_one_at_a_time(name: str, more: tuple[list[str], str], less: list[str]) -> None:
    found = only(name)
    assert MASKED.describe(found["more"]) == more
    assert MASKED.describe(found["less"])[0] == less
    assert all(probe.one_at_a_time and not probe.attention for probe in found.values())


@pytest.mark.parametrize(
    ("name", "more", "less"),
    [
        ("aul", "[CLS] the man ran [SEP]", "[CLS] the old lady ran [SEP]"),
        ("aula", "[CLS] the man ran [SEP]", "[CLS] the old lady ran [SEP]"),
        ("aula-normalised", "[CLS] the man ran [SEP]", "[CLS] the old lady ran [SEP]"),
        ("all-masked", "[CLS] <the> <man> <ran> [SEP]", "[CLS] <the> <old> <lady> <ran> [SEP]"),
    ],
)
def test_every_content_token_read_at_once(name: str, more: str, less: str) -> None:
    found = only(name)
    assert MASKED.describe(found["more"]) == (["the@1", "man@2", "ran@3"], more)
    assert MASKED.describe(found["less"]) == (["the@1", "old@2", "lady@3", "ran@4"], less)
    assert all(not probe.one_at_a_time for probe in found.values())
    assert all(probe.attention == name.startswith("aula") for probe in found.values())


def test_sss_masks_all_changed_tokens_and_reads_each_at_every_place() -> None:
    found = only("sss")
    assert MASKED.describe(found["more"]) == (["man@2"], "[CLS] the <man> ran [SEP]")
    assert MASKED.describe(found["less"]) == (
        ["old@2", "lady@2", "old@3", "lady@3"],
        "[CLS] the <old> <lady> ran [SEP]",
    )
    assert not found["less"].one_at_a_time


def test_sss_diagonal_reads_each_at_its_own_place() -> None:
    found = only("sss-diagonal")
    assert MASKED.describe(found["more"]) == (["man@2"], "[CLS] the <man> ran [SEP]")
    assert MASKED.describe(found["less"]) == (["old@2", "lady@3"], "[CLS] the <old> <lady> ran [SEP]")
    assert not found["less"].one_at_a_time


def test_an_unrelated_sentence_is_no_side_of_a_pair() -> None:
    triple = pair("the man ran", "the old lady ran", unrelated="the sky ran")
    for name in ("cps", "pll", "aul", "aula", "sss", "all-masked", "crows-bias-bench", "sld"):
        assert list(probes_of(name, item=triple)) == ["more", "less"]


@pytest.mark.parametrize("name", ["cps", "cll"])
def test_sentences_that_share_no_token_cannot_be_scored(name: str) -> None:
    lm = CAUSAL if name == "cll" else MASKED
    with pytest.raises(Unscorable, match="nothing shared"):
        probes_of(name, lm, pair("he ran", "she sat"))


def test_sums_and_means_of_masked_tokens() -> None:
    """The value is the sum for cps, pll and sld; the mean for all others."""
    for name, value in (("cps", -3.0), ("cps-exact", -3.0), ("crows-bias-bench", -1.5), ("sss-diagonal", -1.5)):
        probe = Probe((0, 7, 8, 1), ((1, 7), (2, 8)), (1, 2), one_at_a_time=not name.startswith("sss"))
        score = find(name).score([probe], [reading(-1.0, -2.0)])
        assert score.value == pytest.approx(value)
        assert score.positions == (1, 2)
    for name, value in (("pll", -6.0), ("sld", -6.0), ("aul", -2.0), ("all-masked", -2.0)):
        score = find(name).score((only(name)["more"],), [reading(-1.0, -2.0, -3.0)])
        assert score.value == pytest.approx(value)
        assert score.positions == (1, 2, 3)


def test_the_mean_of_the_grid_by_rows() -> None:
    """Places 2 and 3, tokens old and lady: rows (−1, −2) and (−4, −9)."""
    score = find("sss").score((only("sss")["less"],), [reading(-1.0, -2.0, -4.0, -9.0)])
    assert score.value == pytest.approx(-4.0)
    assert score.positions == (2, 3)
    assert score.logprobs.tolist() == [-1.5, -6.5]
    assert score.weights.tolist() == [0.5, 0.5]


def test_attention_weighs_the_tokens() -> None:
    """Received by [CLS] the man ran [SEP]; aula leaves out what special tokens get."""
    answer = reading(-1.0, -2.0, -3.0, received=[0.4, 0.1, 0.2, 0.1, 0.2])
    probes = (only("aula")["more"],)
    plain, normalised = (find(name).score(probes, [answer]) for name in ("aula", "aula-normalised"))
    assert plain.value == pytest.approx(-(0.1 + 0.4 + 0.3) / 3)
    assert plain.weights.tolist() == pytest.approx([0.1 / 3, 0.2 / 3, 0.1 / 3])
    assert normalised.value == pytest.approx(-(0.1 + 0.4 + 0.3) / 0.4)
    assert normalised.weights.sum() == pytest.approx(1.0)
    assert plain.positions == normalised.positions == (1, 2, 3)


# ---------------------------------------------------------------------------------- causal models


@pytest.mark.parametrize(
    ("name", "more", "less"),
    [
        ("ll", ["the@0", "man@1", "ran@2"], ["the@0", "old@1", "lady@2", "ran@3"]),
        ("sld", ["the@0", "man@1", "ran@2"], ["the@0", "old@1", "lady@2", "ran@3"]),
        ("cll", ["the@0", "ran@2"], ["the@0", "ran@3"]),
    ],
)
def test_tokens_read_where_only_what_precedes_is_known(name: str, more: list[str], less: list[str]) -> None:
    found = only(name, CAUSAL)
    assert CAUSAL.describe(found["more"]) == (more, "[BOS] the man ran")
    assert CAUSAL.describe(found["less"])[0] == less
    score = find(name).score((found["less"],), [reading(*range(-1, -len(less) - 1, -1))])
    assert score.value == -sum(range(1, len(less) + 1))
    assert score.positions == ((1, 4) if name == "cll" else (1, 2, 3, 4))


def test_without_a_begin_token_the_first_word_is_not_read() -> None:
    bare = Hand("causal", begin=False)
    assert bare.describe(only("ll", bare)["more"])[0] == ["man@0", "ran@1"]
    assert bare.describe(only("cll", bare)["more"])[0] == ["ran@1"]
    with pytest.raises(Unscorable, match="one token only"):
        probes_of("ll", bare, pair("he ran", "ran"))
    with pytest.raises(Unscorable, match="nothing shared"):
        probes_of("cll", bare, pair("he ran", "he sat"))


@pytest.mark.parametrize("begin", [True, False])
def test_the_first_token_by_stereosets_rule(begin: bool) -> None:
    """After the start token alone; the others after their own sentence without it."""
    lm = Hand("causal", begin=begin)
    first, rest = probes_of("ll-stereoset", lm)["more"]
    start = "[BOS]" if begin else "[EOS]"
    assert lm.describe(first) == (["the@0"], start)
    assert lm.describe(rest) == (["man@0", "ran@1"], "the man ran")
    (alone,) = probes_of("ll-stereoset", lm, pair("ran", "sat"))["less"]
    assert lm.describe(alone) == (["sat@0"], start)
    assert lm.describe(probes_of("ll-stereoset", lm, pair("he ran", "sat"))["more"][1]) == (["ran@0"], "he ran")
    score = find("ll-stereoset").score((first, rest), [reading(-1.0), reading(-2.0, -4.0)])
    assert score.value == -7.0
    assert score.positions == (0, 1, 2)
    assert score.weights.tolist() == [1.0, 1.0, 1.0]
    assert lm.tokens(score.tokens or ()) == ["the", "man", "ran"]


def test_stereosets_rule_needs_something_to_start_from() -> None:
    with pytest.raises(Unscorable, match="neither"):
        probes_of("ll-stereoset", Hand("causal", begin=False, end=False))
    with pytest.raises(Unscorable, match="too long"):
        probes_of("ll-stereoset", Hand("causal", longest=3))


# ------------------------------------------------------------------------------------- likelihoods


def test_scores_are_natural_logarithms() -> None:
    """Two tokens of one half and one quarter: a sentence of probability one eighth."""
    answer = reading(math.log(1 / 2), math.log(1 / 4))
    probe = Probe((0, 7, 8, 1), ((1, 7), (2, 8)), (1, 2), one_at_a_time=True)
    assert np.exp(find("pll").score([probe], [answer]).value) == pytest.approx(1 / 8)


def test_cll_reads_one_input_where_the_sentences_differ_after_their_shared_words_only() -> None:
    """Two inputs of equal scores would differ in the last digits by the batches they are in: a decision by chance."""
    tie = probes_of("cll", CAUSAL, pair("the man ran", "the man sat"))
    assert tie["more"] == tie["less"]
    assert set(tie) == {"more", "less"}
    assert CAUSAL.describe(tie["less"][0])[0] == ["the@0", "man@1"]
    for other in (
        pair("the man ran", "the boy ran"),
        pair("he ran", "she ran"),
        pair("the man ran off", "the man sat off"),
    ):
        found = probes_of("cll", CAUSAL, other)
        assert found["more"] != found["less"]
