"""Measures of filled templates: the slot masked, the word as well, and what a causal model reads instead."""

from __future__ import annotations

import math

import pytest

from unmask.core.errors import Unscorable
from unmask.core.types import Pair, Probe
from unmask.measures import find

from .hand import Hand, pair, reading

MASKED, CAUSAL = Hand(), Hand("causal")
TEMPLATE = pair("he is an actor", "she is an actor", slot="subject", word="actor")
THIRD = pair("he is an actor", "she is an actor", unrelated="they are an actor", slot="subject", word="actor")


def describe_probes(name: str, item: Pair, lm: Hand) -> dict[str, list[tuple[list[str], str]]]:
    return {side: [lm.describe(one) for one in probes] for side, probes in find(name).probes(item, lm).items()}


def logs(*probabilities: float) -> tuple[float, ...]:
    return tuple(map(math.log, probabilities))


# --------------------------------------------------------------------------------------------- ppd

HE = (["he@1"], "[CLS] <he> is an acto ##r [SEP]")
SHE = (["she@1"], "[CLS] <she> is an acto ##r [SEP]")
THEY = (["they@1", "are@2"], "[CLS] <they> <are> an acto ##r [SEP]")


def test_ppd_masks_the_slot() -> None:
    assert describe_probes("ppd", TEMPLATE, MASKED) == {"more": [HE], "less": [SHE]}
    assert describe_probes("ppd", THIRD, MASKED) == {"more": [HE], "less": [SHE], "unrelated": [THEY]}


def test_ppd_normalised_sets_each_word_against_the_other_and_the_third_against_both() -> None:
    assert describe_probes("ppd-normalised", TEMPLATE, MASKED) == {"more": [HE, SHE], "less": [SHE, HE]}
    assert describe_probes("ppd-normalised", THIRD, MASKED) == {
        "more": [HE, SHE],
        "less": [SHE, HE],
        "unrelated": [THEY, HE, SHE],
    }


def test_a_causal_model_is_asked_which_sentence_is_likelier() -> None:
    he = (["he@0", "is@1", "an@2", "acto@3", "##r@4"], "[BOS] he is an acto ##r")
    for name in ("ppd", "ppd-normalised"):
        found = describe_probes(name, THIRD, CAUSAL)
        assert found["more"][0] == he
        assert [len(probes) for probes in found.values()] == [2, 2, 3]
        assert found["less"][1] == found["unrelated"][1] == he
        assert found["unrelated"][2] == found["less"][0]


def test_a_probability_and_a_share_of_several() -> None:
    probe = Probe((0, 7, 8, 1), ((1, 7), (2, 8)), (1, 2))
    alone = find("ppd").score([probe], [reading(*logs(0.5, 0.25))])
    assert alone.value == pytest.approx(0.125)
    assert alone.positions == (1, 2)
    assert alone.logprobs.tolist() == pytest.approx(list(logs(0.5, 0.25)))
    assert alone.weights.tolist() == [1.0, 1.0]
    others = [reading(*logs(0.5, 0.25)), reading(*logs(0.1)), reading(*logs(0.025))]
    shared = find("ppd-normalised").score([probe] * 3, others)
    assert shared.value == pytest.approx(0.125 / 0.25)


def test_a_causal_read_speaks_of_the_token_after_it() -> None:
    probe = Probe((0, 7, 8), ((0, 7), (1, 8)))
    score = find("ppd").score([probe, probe], [reading(-1.0, -2.0), reading(-1.0, -2.0)])
    assert score.value == pytest.approx(0.5)
    assert score.positions == (1, 2)


# -------------------------------------------------------------------------------------------- lpbs


def test_lpbs_reads_the_target_with_the_word_and_without() -> None:
    assert describe_probes("lpbs", TEMPLATE, MASKED) == {
        "more": [HE, (["he@1"], "[CLS] <he> is an <acto> <##r> [SEP]")],
        "less": [SHE, (["she@1"], "[CLS] <she> is an <acto> <##r> [SEP]")],
    }


def test_a_target_of_several_tokens_is_read_from_the_left() -> None:
    """The tokens read already are shown."""
    item = pair("the brother sat down", "the sister sat down", slot="subject", word="sat")
    assert describe_probes("lpbs", item, MASKED)["less"] == [
        (["sist@2"], "[CLS] the <sist> <##er> sat down [SEP]"),
        (["##er@3"], "[CLS] the sist <##er> sat down [SEP]"),
        (["sist@2"], "[CLS] the <sist> <##er> <sat> down [SEP]"),
        (["##er@3"], "[CLS] the sist <##er> <sat> down [SEP]"),
    ]


def test_lpbs_is_the_log_of_how_much_the_word_raises_the_target() -> None:
    """Two tokens: 0.5 and 0.25 with the word, 0.125 and 0.5 without: log 4 + log ½."""
    sentence = (0, 7, 8, 5, 1)
    seen = [Probe(sentence, ((1, 7),), (1, 2)), Probe(sentence, ((2, 8),), (2,))]
    prior = [Probe(sentence, ((1, 7),), (1, 2, 3)), Probe(sentence, ((2, 8),), (2, 3))]
    answers = [reading(one) for one in logs(0.5, 0.25, 0.125, 0.5)]
    score = find("lpbs").score([*seen, *prior], answers)
    assert score.value == pytest.approx(math.log(4) + math.log(0.5))
    assert score.positions == (1, 2)
    assert score.logprobs.tolist() == pytest.approx([math.log(4), math.log(0.5)])
    assert score.weights.tolist() == [1.0, 1.0]


def test_the_word_is_found_whole_and_in_any_case() -> None:
    item = pair("he met Art at a party", "she met Art at a party", slot="subject", word="art")
    (_, prior) = find("lpbs").probes(item, MASKED)["more"]
    assert MASKED.describe(prior)[1] == "[CLS] <he> met <Art> at a part ##y [SEP]"
    for word in ("part", "arty", "tennis"):
        lost = pair("he met Art at a party", "she met Art at a party", slot="subject", word=word)
        with pytest.raises(Unscorable, match="no word: it does not occur in the sentence"):
            find("lpbs").probes(lost, MASKED)


def test_a_word_that_is_the_target_itself_cannot_be_scored() -> None:
    """Both sentences have the word, but it is among the changed tokens."""
    item = pair("he is king", "king is she", slot="subject", word="king")
    with pytest.raises(Unscorable, match="no word: it has no tokens apart from those of the target"):
        find("lpbs").probes(item, MASKED)


def test_targets_of_different_length() -> None:
    item = pair("the lady sat down", "the brother sat down", slot="subject", word="sat")
    found = describe_probes("lpbs", item, MASKED)
    assert [reads for reads, _ in found["more"]] == [["lady@2"]] * 2
    assert [reads for reads, _ in found["less"]] == [["brot@2"], ["##her@3"]] * 2


@pytest.mark.parametrize(
    ("text", "neutral"),
    [
        ("he is an actor now", "he is a person now"),
        ("An actor he is", "A person he is"),
        ("he ran an actor", "he ran a person"),
        ("he can act for an hour as actor", "he can act for an hour as person"),
    ],
)
def test_a_causal_model_reads_of_a_person_instead(text: str, neutral: str) -> None:
    item = pair(text, text.replace("he", "she"), slot="subject", word="actor")
    found = describe_probes("lpbs", item, CAUSAL)
    assert [one for _, one in found["more"]] == [
        " ".join(CAUSAL.tokens(CAUSAL.encode(one).ids)) for one in (text, neutral)
    ]
    assert found["less"][1][1] == " ".join(CAUSAL.tokens(CAUSAL.encode(neutral.replace("he", "she")).ids))


def test_a_causal_score_is_the_sentence_less_that_of_a_person() -> None:
    own, prior = Probe((0, 7, 8), ((0, 7), (1, 8))), Probe((0, 9), ((0, 9),))
    score = find("lpbs").score([own, prior], [reading(-1.0, -2.0), reading(-4.5)])
    assert score.value == pytest.approx(1.5)
    assert score.positions == (1, 2)
    assert score.logprobs.tolist() == [-1.0, -2.0]
    assert score.weights.tolist() == [1.0, 1.0]
