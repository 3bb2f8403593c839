"""CEAT: WEAT repeated with sampled contexts of each word, combined by a random-effects model.

A context is a sentence of a corpus. Draws share contexts, so they are not independent: the standard error shrinks with
the number of draws, however few contexts there are. The spread of the effects says more than the p-value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from unmask.core.errors import DataError, StatsError, Unscorable
from unmask.core.estimate import Value
from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.data.language import word_pattern, word_spans
from unmask.models import Lm
from unmask.vectors.association import effect_size, unit
from unmask.vectors.contextual import WordInText, word_vectors
from unmask.vectors.questions import Question
from unmask.vectors.spec import VectorSettings, VectorTest

Contexts = Mapping[str, Floats]  # the vectors of every word in its contexts


@dataclass(frozen=True, slots=True, kw_only=True)
class CeatResult(VectorTest):
    """The combined effect of many draws and their heterogeneity; p is two-sided as in the paper: its code halves it."""

    tau2: float  # variance between draws
    i2: float  # share of the variance that is between draws, 0 to 1
    draws: int
    effects: Floats  # one per draw
    contexts: tuple[int, int]  # contexts of the word with fewest, and with most


def ceat(question: Question, contexts: Contexts, settings: VectorSettings) -> CeatResult:
    """Combine the effect sizes of many draws, each with one context per word; words without one are left out.

    The variance of an effect is, as `published`, that of the associations s within the draw, which is not
    the variance of the effect; `sampling` is that of a standardised difference of two means.
    """
    missing = tuple(text for text in question.texts() if text not in contexts)
    reduced = question.without(missing)
    if any(not group.texts for group in reduced.groups()):
        raise StatsError(f"{question.name}: no word of some set occurs in the corpus")
    if min(len(reduced.x.texts), len(reduced.y.texts)) < 2:
        raise StatsError(f"{question.name}: CEAT needs at least two targets in X and in Y")
    effects, variances = _sample_effects(reduced, contexts, settings)
    if not np.isfinite(effects).all():
        raise StatsError(
            f"{question.name}: in some draw all targets have the same association, so there is no effect size"
        )
    from statsmodels.stats.meta_analysis import combine_effects

    with np.errstate(divide="ignore", invalid="ignore"):
        combined = combine_effects(effects, variances, method_re="dl")
        fixed, random = combined.conf_int()[:2]
    if combined.tau2 > 0:
        effect, error, (low, high) = combined.mean_effect_re, combined.sd_eff_w_re, random
    else:  # statsmodels allows tau2 < 0; at 0 the model is that of fixed effects
        effect, error, (low, high) = combined.mean_effect_fe, combined.sd_eff_w_fe, fixed
    counts, method = [len(contexts[text]) for text in reduced.texts()], "normal, random effects over"
    return CeatResult(
        question=question.name,
        effect=Value(float(effect), float(low), float(high), f"{method} {effects.size} draws"),
        p=float(2 * norm.sf(abs(effect / error))),
        tau2=float(max(0.0, combined.tau2)),
        i2=float(max(0.0, 1 - (effects.size - 1) / combined.q)) if combined.q > 0 else 0.0,
        draws=effects.size,
        effects=effects,
        contexts=(min(counts), max(counts)),
        left_out=missing,
    )


def _sample_effects(question: Question, contexts: Contexts, settings: VectorSettings) -> tuple[Floats, Floats]:
    """Effect size and its variance for every draw."""
    rng = generator(settings.seed, f"{question.name}/contexts")
    rows = {text: unit(contexts[text]) for text in question.texts()}
    effects, variances = np.empty(settings.draws), np.empty(settings.draws)
    for draw in range(settings.draws):
        x, y, a, b = (
            np.stack([rows[text][rng.integers(len(rows[text]))] for text in group.texts]) for group in question.groups()
        )
        direction = a.mean(0) - b.mean(0)
        s, t = x @ direction, y @ direction
        effects[draw] = effect_size(s, t, settings.deviation)
        if settings.variance == "published":
            variances[draw] = np.concatenate([s, t]).var(ddof=1)
        else:
            total = s.size + t.size
            variances[draw] = total / (s.size * t.size) + effects[draw] ** 2 / (2 * total)
    return effects, variances


def corpus_vectors(
    lm: Lm, sentences: Iterable[str], words: Sequence[str], settings: VectorSettings
) -> dict[str, Floats]:
    """Vectors of the words that occur in a corpus, one row for each of at most `each` sampled sentences."""
    sampled: dict[str, list[WordInText]] = {}
    for word, spans in occurrences(lm, sentences, words).items():
        if spans:
            rows = generator(settings.seed, word).permutation(len(spans))[: settings.each]
            sampled[word] = [spans[row] for row in sorted(rows.tolist())]
    if not sampled:
        raise DataError(f"none of the {len(words)} words occurs in the corpus; use a larger corpus")
    matrix = word_vectors(lm, [span for spans in sampled.values() for span in spans], settings.layer)
    ends = np.cumsum([len(spans) for spans in sampled.values()])
    return dict(zip(sampled, np.split(matrix, ends[:-1]), strict=True))


def occurrences(lm: Lm, sentences: Iterable[str], words: Sequence[str]) -> dict[str, list[WordInText]]:
    """By word: the sentences that contain it and that the model can encode, with its first span."""
    by_word: dict[str, list[WordInText]] = {word: [] for word in words}
    pattern = word_pattern(by_word)
    for sentence in dict.fromkeys(sentences):
        spans = word_spans(pattern, sentence)
        try:
            if spans:
                lm.encode(sentence)
        except Unscorable:
            continue
        for word, (first, *_) in spans.items():
            by_word[word].append((sentence, first))
    return by_word
