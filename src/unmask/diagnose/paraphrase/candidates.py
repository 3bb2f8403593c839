"""Target words of a pair, replacement candidates from WordNet and the model, their plausibility and similarity.

Targets are the shared content words that carry the stereotyped characteristic. A word's contribution to the CrowS-Pairs
difference is the sum over its tokens; words with the largest contribution come first.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import numpy as np

from unmask.audit.scoring import ScoredItem
from unmask.audit.session import Session
from unmask.core.errors import Unscorable
from unmask.core.types import Pair, Probe, SentenceScore
from unmask.data.language import Span
from unmask.diagnose.paraphrase.lexicon import Form, WordNet, group_words, inflect, is_usable, readings
from unmask.models import Lm, TextModel
from unmask.models.fill import top_words
from unmask.models.states import mean_states
from unmask.vectors.contextual import WordInText

WORDNET, NEAR, MODEL = "wordnet", "wordnet-near", "model"
MAX_PER_SOURCE = 5  # most words per source and target
SOURCES = (WORDNET, NEAR, MODEL)
_VOWELS = "aeiou"
Filler = tuple[str, float]  # a word and its log-probability
SIDES = ("more", "less")
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


@dataclass(frozen=True, slots=True)
class Target:
    """A word both sentences share: its spans, and its contribution to their score difference."""

    word: str
    more: Span
    less: Span
    moves: float


def targets(item: ScoredItem, lm: TextModel) -> list[Target]:
    """Replaceable words of a pair, by decreasing contribution to its score difference."""
    pair = item.item
    in_more = _contributions(pair.more, item.sentences["more"], lm)
    in_less = _contributions(pair.less, item.sentences["less"], lm)
    shared = [
        Target(pair.more[slice(*more)], more, less, in_more.get(more, 0.0) - in_less.get(less, 0.0))
        for more, less in shared_words(pair)
        if more[0] > 0 and is_usable(pair.more[slice(*more)])
    ]
    return sorted(shared, key=lambda target: -abs(target.moves))


def shared_words(pair: Pair) -> list[tuple[Span, Span]]:
    """Spans of the words both sentences share, in order; changed words are never replaced."""
    more, less = _spans(pair.more), _spans(pair.less)
    words = [pair.more[slice(*span)] for span in more], [pair.less[slice(*span)] for span in less]
    blocks = SequenceMatcher(None, words[0], words[1], autojunk=False).get_matching_blocks()
    return [(more[b.a + step], less[b.b + step]) for b in blocks for step in range(b.size)]


def changed_words(pair: Pair) -> set[str]:
    """The words in which the sentences differ, in lower case."""
    shared = list(zip(*shared_words(pair), strict=True)) or [(), ()]
    return {
        text[slice(*span)].lower()
        for text, kept in zip((pair.more, pair.less), shared, strict=True)
        for span in _spans(text)
        if span not in kept
    }


def _spans(text: str) -> list[Span]:
    return [match.span() for match in _WORD.finditer(text)]


def _contributions(text: str, score: SentenceScore, lm: TextModel) -> Mapping[Span, float]:
    """Contribution of each word's tokens to the score of its sentence."""
    by_position = dict(zip(score.positions, score.logprobs.tolist(), strict=True))
    offsets = lm.offsets(text)
    return {
        span: sum(
            value
            for position, value in by_position.items()
            if offsets[position][0] < span[1] and offsets[position][1] > span[0]
        )
        for span in _spans(text)
    }


@dataclass(frozen=True, slots=True)
class Candidate:
    """A replacement candidate for a target, and its source."""

    pair: Pair
    target: Target
    word: str
    source: str  # wordnet, wordnet-near, model

    def with_replacement(self, side: str) -> WordInText:
        """The sentence with the target replaced, and the character span of the replacement."""
        text, (begin, end) = self.original(side)
        return text[:begin] + self.word + text[end:], (begin, begin + len(self.word))

    def original(self, side: str) -> WordInText:
        """The original sentence, and the character span of the target."""
        pair, target = self.pair, self.target
        return (pair.more, target.more) if side == "more" else (pair.less, target.less)


def fillers(lm: TextModel, texts: Sequence[str], most: int) -> list[list[Filler]]:
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
    antonyms = wordnet.antonyms(form.lemma, form.part) if wordnet is not None else ()
    barred = {inflect(lemma, form) for lemma in antonyms} | changed_words(pair) | group_words()
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


def _sources(form: Form, predicted: Sequence[Sequence[Filler]], wordnet: WordNet | None) -> Mapping[str, list[str]]:
    """Words by source, best first; the model's are those it predicts in both sentences, in the same form."""
    sides = [dict(side) for side in predicted]
    common = [word for word in sides[0] if all(word in side for side in sides)]
    ranked = sorted(common, key=lambda word: -sum(side[word] for side in sides))
    sources = {MODEL: [word for word in ranked if any(map(form.is_like, readings(word)))]}
    if wordnet is None:
        return sources
    lemmas = {WORDNET: wordnet.synonyms(form.lemma, form.part), NEAR: wordnet.near(form.lemma, form.part)}
    return {source: [inflect(lemma, form) for lemma in words] for source, words in lemmas.items()} | sources


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


def plausibility(session: Session, candidates: Sequence[Candidate], what: str) -> list[float]:
    """Log-probability of each word minus that of the original word; the lower of the two sentences.

    All tokens of a word are masked together, so words of equally many tokens share an input.
    """
    words = _words(candidates)
    session.lm.prime(sorted({text for text, _ in words}))
    probes = {word: _probe(*word, session.lm) for word in words}
    answers = session.read([probe for probe in probes.values() if probe is not None], what)
    totals = {
        word: float("-inf") if probe is None else float(answers[probe].logprobs.sum()) for word, probe in probes.items()
    }
    return [
        min(totals[candidate.with_replacement(side)] - totals[candidate.original(side)] for side in SIDES)
        for candidate in candidates
    ]


def similarity(lm: Lm, candidates: Sequence[Candidate]) -> list[float]:
    """Cosine of the hidden states of a word and the original word; the lower of the two sentences.

    Words are compared in context: the mean over a whole sentence hardly changes with one word.
    """
    words = _words(candidates)
    rows = [lm.encode(text).ids for text, _ in words]
    positions = [lm.token_positions(text, *span) for text, span in words]
    states = [vector / np.linalg.norm(vector) for vector in mean_states(lm, rows, positions)]
    of = dict(zip(words, states, strict=True))
    return [
        min(float(of[each.with_replacement(side)] @ of[each.original(side)]) for side in SIDES) for each in candidates
    ]


def _words(candidates: Sequence[Candidate]) -> list[WordInText]:
    """All replacements and all original words, in their sentences."""
    both = [(each.with_replacement(side), each.original(side)) for each in candidates for side in SIDES]
    return sorted({word for pair in both for word in pair})


def _probe(text: str, span: Span, lm: TextModel) -> Probe | None:
    """Probe of the word with all its tokens masked; None if the sentence is too long for the model."""
    positions = lm.token_positions(text, *span)
    try:
        ids = lm.encode(text).ids
    except Unscorable:
        return None
    masked = tuple(lm.mask_id if position in positions else token for position, token in enumerate(ids))
    return Probe(masked, tuple((position, ids[position]) for position in positions))
