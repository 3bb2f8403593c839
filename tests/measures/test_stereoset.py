"""StereoSet's own scores: the word at the blank, sub-token by sub-token, and sentences that follow."""

from __future__ import annotations

import math

import pytest

from unmask.core.errors import Unscorable
from unmask.core.types import Pair, Probe
from unmask.measures import find

from .hand import Hand, pair, reading

MASKED, SPACED, CAUSAL = Hand(), Hand(spaced=True), Hand("causal")


def triple(context: str, *sentences: str) -> Pair:
    more, less, unrelated = sentences
    return pair(more, less, unrelated, context, target="t")


WORDS = triple("The BLANK sat.", "The king sat.", "The gardener sat.", "The ship sat.")


def describe_probes(item: Pair, lm: Hand, name: str = "ss") -> dict[str, list[tuple[list[str], str]]]:
    return {side: [lm.describe(one) for one in probes] for side, probes in find(name).probes(item, lm).items()}


def texts(item: Pair, lm: Hand, name: str) -> list[str]:
    return [text for _, text in describe_probes(item, lm, name)["less"]]


def test_the_word_is_read_sub_token_by_sub_token_at_the_first_mask() -> None:
    """Its tokens already read are put back as text."""
    found = describe_probes(WORDS, MASKED)
    assert found["more"] == [(["king@2"], "[CLS] The [MASK] sat . [SEP]")]
    assert found["less"] == [
        (["gard@2"], "[CLS] The [MASK] sat . [SEP]"),
        (["##ener@3"], "[CLS] The gard [MASK] sat . [SEP]"),
    ]
    assert list(found) == ["more", "less", "unrelated"]
    assert all(not probe.masked for probe in find("ss").probes(WORDS, MASKED)["less"])


def test_with_the_space_mended_the_word_is_encoded_as_it_stands() -> None:
    plain, mended = Hand(spaced=True), Hand(spaced=True)
    assert [reads for reads, _ in describe_probes(WORDS, plain)["less"]] == [["gard@2"], ["##ener@3"]]
    assert [reads for reads, _ in describe_probes(WORDS, mended, "ss-spaced")["less"]] == [["_gard@2"], ["##ener@3"]]
    assert plain.texts[1:3] == ["The [MASK] sat.", "The gard[MASK] sat."]
    assert mended.texts[1:3] == ["The[MASK] sat.", "The gard[MASK] sat."]


def test_nothing_but_spaces_is_taken_away() -> None:
    """Neither of the word's head nor of what stands before the blank."""
    item = triple("In room X BLANK sat.", "In room X cats sat.", "In room X Xylophones sat.", "In room X dogs sat.")
    lm = Hand(spaced=True)
    find("ss-spaced").probes(item, lm)
    assert lm.texts[1:4] == ["In room X[MASK] sat.", "In room X Xylo[MASK] sat.", "In room X Xylophon[MASK] sat."]


def test_a_word_at_the_start_has_no_space_to_mend() -> None:
    item = triple("BLANK sat.", "Kings sat.", "Gardeners sat.", "Ships sat.")
    assert describe_probes(item, SPACED, "ss-spaced")["more"][0][0] == ["King@1"]
    assert describe_probes(item, MASKED, "ss-spaced")["less"] == describe_probes(item, MASKED)["less"]


def test_a_tokenizer_without_marks_of_spaces_is_asked_the_same_either_way() -> None:
    assert describe_probes(WORDS, MASKED, "ss-spaced") == describe_probes(WORDS, MASKED)


def test_two_blanks_are_filled_alike_and_the_last_is_read() -> None:
    item = triple("A BLANK and a BLANK ran.", "A cat and a king ran.", "A cat and a gardener ran.", "A b c d e.")
    lm = Hand()
    find("ss-spaced").probes(item, lm)
    assert lm.texts[:3] == [
        "A[MASK] and a[MASK] ran.",
        "A[MASK] and a[MASK] ran.",
        "A gard[MASK] and a gard[MASK] ran.",
    ]
    for name in ("ss", "ss-spaced"):
        assert describe_probes(item, MASKED, name)["more"] == [(["king@2"], "[CLS] A [MASK] and a [MASK] ran . [SEP]")]
        assert texts(item, MASKED, name) == [
            "[CLS] A [MASK] and a [MASK] ran . [SEP]",
            "[CLS] A gard [MASK] and a gard [MASK] ran . [SEP]",
        ]


def test_punctuation_is_no_part_of_the_word() -> None:
    item = triple("He is BLANK.", "He is 'old'.", "He is new!", "He is sky")
    assert [probes[0][0] for probes in describe_probes(item, MASKED).values()] == [["old@3"], ["new@3"], ["sky@3"]]


@pytest.mark.parametrize("sentence", ["He is", "He is ..."])
def test_a_sentence_without_a_word_there_cannot_be_scored(sentence: str) -> None:
    with pytest.raises(Unscorable, match=r"no word stands at the blank \(word 3 of the sentence\)"):
        find("ss").probes(triple("He is BLANK.", sentence, "He is new.", "He is sky."), MASKED)


def test_a_causal_model_reads_the_whole_sentence_by_the_first_token_rule() -> None:
    assert describe_probes(WORDS, CAUSAL)["more"] == [
        (["The@0"], "[BOS]"),
        (["king@0", "sat@1", ".@2"], "The king sat ."),
    ]


# ------------------------------------------------------------------------------ sentences that follow

FOLLOWS = triple("A king sat.", "He ran.", "She ran.", "Sky.")


def test_a_next_sentence_head_is_asked_where_there_is_one() -> None:
    lm = Hand(next_sentence=True)
    (probe,) = find("ss").probes(FOLLOWS, lm)["more"]
    assert lm.describe(probe)[1] == "[CLS] A king sat . [SEP] He ran . [SEP]"
    assert (probe.head, probe.reads, probe.split) == ("next", ((0, 0),), 6)
    (word,) = find("ss").probes(WORDS, lm)["more"]
    assert word.head == "lm"


def test_else_the_second_sentence_is_read_after_the_first() -> None:
    (probe,) = find("ss").probes(FOLLOWS, MASKED)["more"]
    assert MASKED.describe(probe) == (["He@6", "ran@7", ".@8"], "[CLS] A king sat . [SEP] <He> <ran> <.> [SEP]")
    assert (probe.one_at_a_time, probe.split) == (True, 6)
    (probe,) = find("ss").probes(FOLLOWS, CAUSAL)["less"]
    assert CAUSAL.describe(probe) == (["She@4", "ran@5", ".@6"], "[BOS] A king sat . She ran .")


# --------------------------------------------------------------------------------------------- scores


def test_a_word_scores_the_mean_probability_of_its_tokens() -> None:
    probes = find("ss").probes(WORDS, MASKED)["less"]
    score = find("ss").score(probes, [reading(math.log(0.5)), reading(math.log(0.25))])
    assert score.value == pytest.approx(0.375)
    assert score.positions == (2, 3)
    assert MASKED.tokens(score.tokens or ()) == ["gard", "##ener"]
    assert score.weights.tolist() == [0.5, 0.5]


def test_a_sentence_scores_the_geometric_mean() -> None:
    """One half, one quarter and one eighth: one quarter."""
    (probe,) = find("ss").probes(FOLLOWS, MASKED)["more"]
    answer = reading(*map(math.log, (1 / 2, 1 / 4, 1 / 8)))
    assert find("ss").score([probe], [answer]).value == pytest.approx(1 / 4)
    causal = find("ss").probes(WORDS, CAUSAL)["more"]
    answers = [reading(math.log(1 / 2)), reading(*map(math.log, (1 / 4, 1 / 8, 1 / 4)))]
    assert find("ss").score(causal, answers).value == pytest.approx(2**-2)


def test_a_sentence_of_one_token_is_no_word() -> None:
    """Masked with `apart`, or after the start token alone: both are sentences, and one token has one mean."""
    word = Probe((7, 1), ((0, 7),))
    for sentence in (Probe((0, 7, 1), ((1, 7),), (1,), one_at_a_time=True), Probe((3,), ((0, 7),))):
        both = [reading(math.log(1 / 2)), reading(math.log(1 / 8))]
        assert find("ss").score([word, sentence], both).value == pytest.approx(1 / 4)
    assert find("ss").score([word, word], both).value == pytest.approx(5 / 16)


def test_the_next_sentence_head_gives_its_probability_and_no_tokens() -> None:
    lm = Hand(next_sentence=True)
    probes = find("ss").probes(FOLLOWS, lm)["more"]
    score = find("ss").score(probes, [reading(math.log(0.7))])
    assert score.value == pytest.approx(0.7)
    assert score.positions == ()
    assert score.logprobs.size == score.weights.size == 0
