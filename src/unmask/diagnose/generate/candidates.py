"""Replacement candidates for a target: from WordNet, inflected like the target, and from the model."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from unmask.core.types import Pair
from unmask.diagnose.generate.fit import Candidate
from unmask.diagnose.generate.targets import Target, changed_words
from unmask.diagnose.generate.wordnet import WordNet
from unmask.diagnose.generate.words import Form, group_words, inflect, is_usable, readings
from unmask.models import Lm
from unmask.models.fill import top_words

WORDNET, NEAR, MODEL = "wordnet", "wordnet-near", "model"
MAX_PER_SOURCE = 5  # most words per source and target
SOURCES = (WORDNET, NEAR, MODEL)
_VOWELS = "aeiou"
Filler = tuple[str, float]  # a word and its log-probability


def fillers(lm: Lm, texts: Sequence[str], most: int) -> list[list[Filler]]:
    """For every text with a `{slot}`, the most likely words and their log-probabilities, best first."""
    return [
        [(word.text, math.log(word.probability)) for word in slot.words if word.probability > 0]
        for slot in top_words(lm, texts, most)
    ]


def propose_candidates(
    pair: Pair, target: Target, predicted: Sequence[Sequence[Filler]], wordnet: WordNet | None
) -> list[Candidate]:
    """Candidates for one target; `predicted` are the model's words for it in each sentence."""
    form = likeliest_form(target.word, predicted)
    if form is None:
        return []
    barred = {*_opposites(form, wordnet), *changed_words(pair), *group_words()}
    words: dict[str, str] = {}
    for source, candidates_of in _sources(form, predicted, wordnet).items():
        fit = [word for word in candidates_of if _fits(word, pair.more, target) and word not in barred]
        words = dict.fromkeys(fit[:MAX_PER_SOURCE], source) | words
    return [Candidate(pair, target, word, source) for word, source in words.items()]


def likeliest_form(word: str, predicted: Sequence[Sequence[Filler]]) -> Form | None:
    """The reading of a word that most of the model's predictions for the slot share."""
    weights: dict[tuple[str, str], float] = defaultdict(float)
    for filler in (filler for side in predicted for filler in side):
        forms = {(form.part, form.tag) for form in readings(filler[0])}
        for form in forms:
            weights[form] += math.exp(filler[1]) / len(forms)
    return max(readings(word), key=lambda form: weights[form.part, form.tag], default=None)


def _sources(
    form: Form, predicted: Sequence[Sequence[Filler]], wordnet: WordNet | None
) -> Mapping[str, list[str]]:
    """Words by source, best first."""
    sources = {MODEL: [word for word in _in_both(predicted) if _same_form(word, form)]}
    if wordnet is None:
        return sources
    lemmas = {
        WORDNET: wordnet.synonyms(form.lemma, form.part),
        NEAR: wordnet.near(form.lemma, form.part),
    }
    return {source: [inflect(lemma, form) for lemma in words] for source, words in lemmas.items()} | sources


def _in_both(predicted: Sequence[Sequence[Filler]]) -> list[str]:
    """Words the model predicts in both sentences, by mean log-probability."""
    sides = [dict(side) for side in predicted]
    common = [word for word in sides[0] if all(word in side for side in sides)]
    return sorted(common, key=lambda word: -sum(side[word] for side in sides))


def _same_form(word: str, form: Form) -> bool:
    return any(
        (reading.part, reading.tag) == (form.part, form.tag) and reading.lemma != form.lemma
        for reading in readings(word)
    )


def _fits(word: str, text: str, target: Target) -> bool:
    """Whether it is another common word that names no group, and a preceding article still fits."""
    single = " " not in word
    if not word or word.lower() == target.word.lower() or (single and not is_usable(word)):
        return False
    if not single and not all(part.isalpha() and part == part.lower() for part in word.split(" ")):
        return False
    before = text[: target.more[0]].split(" ")
    article = before[-2].lower() if len(before) > 1 else ""
    return article not in ("a", "an") or (word[0] in _VOWELS) == (target.word[0].lower() in _VOWELS)


def _opposites(form: Form, wordnet: WordNet | None) -> Iterator[str]:
    if wordnet is not None:
        for lemma in wordnet.antonyms(form.lemma, form.part):
            yield inflect(lemma, form)
