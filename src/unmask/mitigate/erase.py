"""Erasers: small files beside a checkpoint that `open_lm` applies.

An eraser is fitted on a model's own hidden states of gendered words, each next to its counterpart in the same
sentence, and attached to one of its layers. Can gender still be read from the states? A newly fitted linear
probe tests it on unseen words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unmask import data
from unmask.core.errors import ModelError, StatsError, Unscorable
from unmask.core.estimate import Value
from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.data.language import word_pattern, word_spans
from unmask.data.texts import TrainingCorpus
from unmask.mitigate.spec import EraserOptions, MitigationContext, Outcome, VectorPlan
from unmask.models import Lm
from unmask.models.eraser import Eraser, attach, detach
from unmask.models.states import TokenIds, mean_states
from unmask.stats.intervals import mean_interval
from unmask.vectors.contextual import word_token_positions
from unmask.vectors.directions import direction, direction_cosines
from unmask.vectors.static import WordVectors

T = TypeVar("T")
GenderPair = tuple[str, str]  # a masculine word and its counterpart
Context = tuple[str, GenderPair]  # a sentence with {} as the slot for a word, and the pair of words
CARRIERS = (
    "This is {}.",
    "There was {} again.",
    "They spoke about {} for a while.",
    "It had to do with {} after all.",
    "We thought of {} yesterday.",
)
MAX_SENTENCES = 3000  # sentences of a corpus
MIN_PAIRS = 10  # word pairs with states, needed to fit on
MIN_WORDS = 20  # of either gender, in a file of vectors
_AMBIGUOUS = {"him", "his", "her", "hers"}  # whose counterpart depends on grammar
TEST_SHARE = 0.25  # share of the word pairs held out for testing
CHANCE = 50.0
Facts = dict[str, Any]


@dataclass(frozen=True, slots=True)
class GenderedStates:
    """States of masculine and feminine words; row i of both comes from the same sentence."""

    masculine: Floats
    feminine: Floats
    pairs: tuple[GenderPair, ...]  # of each row

    def take(self, rows: Sequence[int]) -> GenderedStates:
        """Select rows."""
        index = np.asarray(rows, dtype=np.int64)
        return GenderedStates(self.masculine[index], self.feminine[index], tuple(self.pairs[row] for row in rows))

    def both(self) -> tuple[Floats, np.ndarray[tuple[int], np.dtype[np.int64]]]:
        """All states with labels: 0 masculine, 1 feminine."""
        states = np.concatenate([self.masculine, self.feminine])
        return states, np.repeat([0, 1], [len(self.masculine), len(self.feminine)])


StateTransform = Callable[[Floats], Floats]
FitFunction = Callable[[Lm, GenderedStates, int, int], tuple[Eraser, Facts]]  # with layer and seed


def fit_eraser(
    lm: Lm, fit_function: FitFunction, sentences: list[str], *, layer: int = -1, seed: int = 0
) -> tuple[Eraser, Facts]:
    """Fit on three quarters of the word pairs; a linear probe tests the rest before and after."""
    contexts, source = find_contexts(sentences, seed=seed)
    states = pair_states(lm, contexts, layer)
    fit, test = split_by_word(states, seed=seed)
    eraser, facts = fit_function(lm, fit, layer, seed)
    before, after = (
        probe_accuracy(fit, test, transform, seed=seed) for transform in (np.asarray, partial(erase_states, eraser))
    )
    return eraser, {
        "layer": layer,
        "contexts": source,
        "sentences": len(states.pairs),
        "word pairs": len(set(states.pairs)),
        **facts,
        "probe": {"chance": CHANCE, "before": before, "after": after},
    }


def erase_states(eraser: Eraser, states: Floats) -> Floats:
    """Apply the eraser to states, in double precision."""
    return np.asarray(eraser(torch.from_numpy(states)).numpy(), dtype=np.float64)


def fit_and_attach(context: MitigationContext[EraserOptions], corpus: TrainingCorpus, fit: FitFunction) -> Outcome:
    """Fit an eraser on the model's states in the corpus and attach it."""
    detach(context.model)
    options = context.options
    eraser, facts = fit_eraser(context.lm, fit, corpus.sentences, layer=options.layer, seed=options.seed)
    attach(context.model, eraser)
    return Outcome(context.model, {**facts, "eraser": eraser.digest})


def subspace(first: Floats, second: Floats, components: int = 1) -> Floats:
    """Orthonormal rows: the directions in which the pairs differ most; published: 1 for the gender of words."""
    _, sizes, rows = np.linalg.svd(first - second, full_matrices=False)
    if not 1 <= components <= int((sizes > 1e-9 * max(1e-12, sizes[0])).sum()):
        raise StatsError(
            f"{components} components of {len(first)} pairs; expected 1 to {len(sizes)}, and no pair alike"
        )
    return np.asarray(rows[:components], dtype=np.float64)


def remove_subspace(states: Floats, removed: Floats) -> Floats:
    """Subtract the projection of the states onto the subspace."""
    projected: Floats = states - (states @ removed.T) @ removed
    return projected


def subspace_eraser(method: str, removed: Floats, layer: int, about: str) -> Eraser:
    """An eraser that removes the subspace of orthonormal rows."""
    return Eraser(method, {"removed": torch.from_numpy(np.ascontiguousarray(removed))}, layer, about)


def change_neutral(plan: VectorPlan, method: str, transform: StateTransform) -> WordVectors:
    """The vectors of a file, those of words without a gender transformed."""
    vectors, kept_words = plan.vectors, plan.kept_words
    neutral = np.array([word not in kept_words for word in vectors.words])
    changed = vectors.matrix.copy()
    changed[neutral] = transform(changed[neutral])
    return replace(vectors, matrix=changed, source=f"{vectors.source}, {method}")


def pairs_with_vectors(vectors: WordVectors, pairs: Iterable[GenderPair], *, lower: bool) -> tuple[GenderPair, ...]:
    """The distinct pairs of two words that have vectors."""
    cased = str.lower if lower else str
    distinct = dict.fromkeys((cased(first), cased(second)) for first, second in pairs)
    return tuple(pair for pair in distinct if not vectors.missing(pair) and pair[0] != pair[1])


def most_biased(plan: VectorPlan, extreme: int) -> GenderedStates:
    """The words at either end of the pairs' direction, paired by rank; at most half of all words at each end."""
    vectors, kept_words = plan.vectors, plan.kept_words
    leans = direction_cosines(vectors, direction(vectors, plan.pairs))
    order = sorted((word for word in vectors.words if word not in kept_words), key=lambda word: -leans[word])
    count = min(extreme, len(order) // 2)
    if count < MIN_WORDS:
        raise StatsError(
            f"{vectors.source} has {len(order)} words that may be changed; expected at least {2 * MIN_WORDS}"
        )
    first, second = order[:count], order[::-1][:count]
    return GenderedStates(vectors.lookup(first), vectors.lookup(second), tuple(zip(first, second, strict=True)))


def split_by_word(gendered: GenderedStates, *, seed: int = 0) -> tuple[GenderedStates, GenderedStates]:
    """Split into rows to fit on and rows of other words to test on."""
    names = [masculine for masculine, _ in gendered.pairs]
    rows = np.arange(len(names))
    splitter = GroupShuffleSplit(n_splits=1, test_size=TEST_SHARE, random_state=seed)
    fit, test = next(splitter.split(rows, groups=names))
    return gendered.take(fit.tolist()), gendered.take(test.tolist())


def accuracy_by_pair(fit: GenderedStates, test: GenderedStates, transform: StateTransform) -> Floats:
    """Accuracy (percent) of a probe fitted on `fit`, for each word pair of `test`."""
    states, genders = fit.both()
    probe = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    probe.fit(transform(states), genders)
    correct = [probe.predict(transform(part)) == gender for gender, part in enumerate((test.masculine, test.feminine))]
    both = (correct[0].astype(np.float64) + correct[1]) / 2
    names = np.array([masculine for masculine, _ in test.pairs])
    return np.array([100 * both[names == name].mean() for name in dict.fromkeys(names.tolist())])


def probe_accuracy(fit: GenderedStates, test: GenderedStates, transform: StateTransform, *, seed: int = 0) -> Value:
    """Mean accuracy over pairs with its interval; 50 is chance."""
    values = accuracy_by_pair(fit, test, transform)
    return mean_interval(values, rng=generator(seed, "probe"), unit="pairs of words").clip(0.0, 100.0)


def word_pairs() -> tuple[GenderPair, ...]:
    """Single-word pairs whose counterpart does not depend on grammar, each masculine word once."""
    known: dict[str, str] = {}
    for pair in data.read("word-pairs").pairs:
        plain = pair.masculine.isalpha() and pair.feminine.isalpha()
        if pair.swap and plain and pair.pos != "title" and not {pair.masculine, pair.feminine} & _AMBIGUOUS:
            known.setdefault(pair.masculine, pair.feminine)
    return tuple(known.items())


def find_contexts(sentences: Sequence[str], *, seed: int = 0) -> tuple[list[Context], str]:
    """Corpus sentences with exactly one gendered word, else carrier sentences; also where they come from."""
    pairs = word_pairs()
    candidates = list(_in_corpus(sentences, pairs))
    sampled = generator(seed, "contexts").permutation(len(candidates))[:MAX_SENTENCES]
    chosen = [candidates[number] for number in sorted(sampled.tolist())]
    missing = set(pairs) - {pair for _, pair in chosen}
    contexts = chosen + [(carrier, pair) for pair in pairs if pair in missing for carrier in CARRIERS]
    return contexts, f"{len(chosen)} sentences of the corpus; carrier sentences for {len(missing)} pairs of words"


def pair_states(lm: Lm, contexts: Sequence[Context], layer: int) -> GenderedStates:
    """States of both words in each sentence at a layer; sentences the model cannot encode are skipped."""
    kept, rows = _tokenize_all(lm, [(pair, [(sentence, word) for word in pair]) for sentence, pair in contexts])
    if len(set(kept)) < MIN_PAIRS:
        raise ModelError(
            f"{lm.facts.id} can encode {len(set(kept))} pairs of gendered words, "
            f"fewer than the {MIN_PAIRS} needed to fit"
        )
    states = _states(lm, rows, layer)
    return GenderedStates(states[::2], states[1::2], tuple(kept))


def occupations() -> tuple[str, ...]:
    """The names of the built-in occupations."""
    return tuple(occupation.name for occupation in data.read("occupations"))


def word_states(lm: Lm, words: Sequence[str], layer: int) -> Floats:
    """Mean states over the carrier sentences of the words that can be encoded."""
    kept, rows = _tokenize_all(lm, [(word, [(carrier, word) for carrier in CARRIERS]) for word in words])
    states: Floats = _states(lm, rows, layer).reshape(len(kept), len(CARRIERS), -1).mean(1)
    return states


def _in_corpus(sentences: Sequence[str], pairs: Sequence[GenderPair]) -> Iterator[Context]:
    pair_of = {word: pair for pair in pairs for word in pair}
    pattern = word_pattern({*pair_of, *_AMBIGUOUS}, ignore_case=True)
    for sentence in dict.fromkeys(sentences):
        found = [(word, span) for word, spans in word_spans(pattern, sentence).items() for span in spans]
        if len(found) == 1 and (pair := pair_of.get(found[0][0])) and "{" not in sentence:
            begin, end = found[0][1]
            yield f"{sentence[:begin]}{{}}{sentence[end:]}", pair


def _tokenize_all(
    lm: Lm, filled: Iterable[tuple[T, Sequence[tuple[str, str]]]]
) -> tuple[list[T], list[tuple[TokenIds, TokenIds]]]:
    """The things all of whose sentences the model can encode; rows of token ids and positions of the word."""
    kept: list[T] = []
    rows: list[tuple[TokenIds, TokenIds]] = []
    for thing, sentences in filled:
        try:
            texts = [(text.index("{}"), word, text.replace("{}", word, 1)) for text, word in sentences]
            rows += [
                (lm.encode(text).ids, word_token_positions(lm, text, (begin, begin + len(word))))
                for begin, word, text in texts
            ]
        except (Unscorable, ModelError):
            continue
        kept.append(thing)
    return kept, rows


def _states(lm: Lm, rows: Sequence[tuple[TokenIds, TokenIds]], layer: int) -> Floats:
    return mean_states(lm, [ids for ids, _ in rows], [at for _, at in rows], layer=layer, for_eraser=True)
