"""`meaning`: does AUL's accuracy drop when a sentence loses meaning? (Kaneko & Bollegala 2022, Table 4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING

from unmask.core.estimate import Estimate, Value
from unmask.core.options import MAX_SEED, OptionGroup, option
from unmask.core.types import Dataset, Encoded, Pair
from unmask.diagnose.accuracy import every_token_probe
from unmask.diagnose.scores import EncodedSentences, Groups, encode_sentences, results, unit_groups
from unmask.diagnose.spec import Diagnosis, DiagnosisObservation, Observations
from unmask.findings import Cell, Conclusion, Finding, Table
from unmask.measures.spans import align

if TYPE_CHECKING:
    from unmask.audit.session import Session
    from unmask.core.types import Ints
    from unmask.models import TextModel
    from unmask.stats.shares import HitCounts
    from unmask.stats.table import Flags

WRITTEN, TOKENS, WORDS, UNRELATED = "as written", "tokens shuffled", "words shuffled", "unrelated word"
CONTENT, ALL = "content tokens", "all tokens"  # all: including special ones, as in the published code
CANDIDATE = "candidate's tokens"  # those of the word in which the three sentences of a triple differ
COUNTED = (CONTENT, ALL)
WORD_DRAWS = 3  # at most; precision is limited by the number of pairs rather than of draws
IN_PAPER = {TOKENS: "shuffled", UNRELATED: "unrelated"}
ACCURACIES = (
    "A prediction is right if the visible token is the model's top prediction. All tokens: including "
    "special ones, as the published code counts. Candidate's tokens: of the word in which the sentences differ "
    'alone; the paper reports the accuracy "of the bias-unrelated candidate" without saying over which tokens, so '
    "its number stands beside all readings. The paper shuffles tokens; shuffled words are re-tokenised. Shuffled "
    "accuracy is the mean of the draws. Intervals are over the units of the data (writers, target terms, …; else "
    "pairs)."
)
DROPS = "Interval of all draws together over the units of the same pairs. p: Student's t over the same units."
Orders = dict[str, "list[Ints]"]  # parallel: previous position of the token now at each position
Guesses = dict[str, "list[Flags]"]  # parallel: is the token at each position the top prediction?
PairHits = dict[str, dict[str, tuple[int, int]]]  # by pair, then by tokens counted: hits and trials


@dataclass(frozen=True)
class MeaningOptions(OptionGroup):
    """Options of `meaning`."""

    seed: int = option(0, "Random seed (shuffles).", least=0, most=MAX_SEED)
    draws: int = option(10, "Shuffles per sentence.", least=1, most=10_000)
    independent: bool = option(False, "Take pairs for independent, whatever writer, term, … they share.")


@dataclass(frozen=True, slots=True)
class PerturbedAccuracy:
    """Accuracy on pairs perturbed in one way, and on the same pairs as written."""

    original: HitCounts
    written: Value  # the accuracy of `original`
    draws: tuple[HitCounts, ...]
    accuracy: Value  # of all draws together
    drop: Value  # of the accuracy, in points
    p: float | None  # of no drop

    @property
    def pairs(self) -> int:
        """The number of pairs."""
        return int(self.original.trials.size)

    @property
    def draw_sd(self) -> float | None:
        """Standard deviation of the accuracy over draws; None for fewer than two."""
        import numpy as np

        return float(np.std([draw.share for draw in self.draws], ddof=1)) if len(self.draws) > 1 else None


MeaningResult = dict[str, dict[str, PerturbedAccuracy]]  # by perturbation, then by the tokens counted


def observe(session: Session, data: Dataset, options: MeaningOptions) -> MeaningResult:
    """Top predictions for the sentences as written, shuffled draw by draw, and with the unrelated word."""
    name, lm, seed, groups = (
        data.card.name,
        session.lm,
        options.seed,
        unit_groups(data, independent=options.independent),
    )
    sentences = encode_sentences(data.items, lambda item: [item.more, item.less], lm)
    guesses = first_guesses(session, sentences, f"{name}: {WRITTEN}")
    original = pair_hits(sentences, guesses)
    by_token, by_word = [], []
    for draw in range(options.draws):
        shuffled = reorder(sentences, random_orders(sentences, seed, draw))
        by_token.append(pair_hits(shuffled, first_guesses(session, shuffled, f"{name}: {TOKENS}")))
    for draw in range(min(options.draws, WORD_DRAWS)):
        shuffled = encode_sentences(data.items, partial(shuffled_words, seed=seed, draw=draw), lm)
        by_word.append(pair_hits(shuffled, first_guesses(session, shuffled, f"{name}: {WORDS}")))
    result = {
        TOKENS: perturbed_accuracies(original, by_token, groups, how=TOKENS, seed=seed),
        WORDS: perturbed_accuracies(original, by_word, groups, how=WORDS, seed=seed),
    }
    unrelated = encode_sentences(data.items, lambda item: [item.unrelated] if item.unrelated else [], lm)
    if unrelated:
        unrelated_guesses = first_guesses(session, unrelated, f"{name}: {UNRELATED}")
        hits = [pair_hits(unrelated, unrelated_guesses)]
        before, after = candidate_hits(data.items, lm, guesses, unrelated_guesses)
        result[UNRELATED] = {
            **perturbed_accuracies(original, hits, groups, how=UNRELATED, seed=seed),
            **perturbed_accuracies(before, [after], groups, how=UNRELATED, seed=seed, counts=[CANDIDATE]),
        }
    return result


def random_orders(sentences_by_pair: EncodedSentences, seed: int, draw: int) -> Orders:
    """A random order of the content tokens of every sentence; special tokens keep their positions."""
    import numpy as np

    from unmask.core.seeds import generator

    orders: Orders = {}
    for item, sentences in sentences_by_pair.items():
        orders[item] = [np.arange(len(sentence.ids)) for sentence in sentences]
        for index, (sentence, order) in enumerate(zip(sentences, orders[item], strict=True)):
            rng = generator(seed, f"tokens/{item}/{index}/{draw}")
            order[np.array(sentence.content)] = rng.permutation(np.array(sentence.content))
    return orders


def reorder(sentences_by_pair: EncodedSentences, order: Orders) -> EncodedSentences:
    """The sentences with their tokens in the given order."""
    return {
        item: [
            Encoded(tuple(sentence.ids[before] for before in positions), sentence.content, sentence.split)
            for sentence, positions in zip(sentences, order[item], strict=True)
        ]
        for item, sentences in sentences_by_pair.items()
    }


def shuffled_words(item: Pair, seed: int, draw: int) -> list[str]:
    """Both sentences of a pair with their words, split at white space, in a random order."""
    from unmask.core.seeds import generator

    shuffled = []
    for index, text in enumerate((item.more, item.less)):
        words = text.split()
        order = generator(seed, f"words/{item.id}/{index}/{draw}").permutation(len(words))
        shuffled.append(" ".join(words[before] for before in order))
    return shuffled


def first_guesses(session: Session, sentences_by_pair: EncodedSentences, what: str) -> Guesses:
    """With nothing masked, is each token the model's top prediction at its own position?"""
    probes = {item: [*map(every_token_probe, sentences)] for item, sentences in sentences_by_pair.items()}
    readings = session.read((probe for pair_probes in probes.values() for probe in pair_probes), what)
    return {item: [readings[probe].ranks == 0 for probe in own] for item, own in probes.items()}


def pair_hits(sentences_by_pair: EncodedSentences, guesses: Guesses) -> PairHits:
    """Hits and trials of every pair, by the tokens counted."""
    import numpy as np

    by_pair: PairHits = {}
    for item, sentences in sentences_by_pair.items():
        by_pair[item] = {}
        for counted in COUNTED:
            pairs = zip(sentences, guesses[item], strict=True)
            right = np.concatenate(
                [hits[np.array(sentence.content)] if counted == CONTENT else hits for sentence, hits in pairs]
            )
            by_pair[item][counted] = (int(right.sum()), right.size)
    return by_pair


def candidate_hits(
    items: Iterable[Pair], lm: TextModel, written: Guesses, unrelated: Guesses
) -> tuple[PairHits, PairHits]:
    """Hits and trials over the candidates' own tokens: of the two candidates as written, and of the unrelated one.

    A candidate's tokens are those of its sentence that one of the other two sentences does not share.
    """
    before, after = PairHits(), PairHits()
    for item in items:
        if item.unrelated is None or item.id not in written or item.id not in unrelated:
            continue
        sentences = [lm.encode(text) for text in (item.more, item.less, item.unrelated)]
        positions: list[set[int]] = [set(), set(), set()]
        for first, second in combinations(range(3), 2):
            changed = align(sentences[first], sentences[second]).changed
            positions[first].update(changed[0])
            positions[second].update(changed[1])
        every = zip(positions, (*written[item.id], *unrelated[item.id]), strict=True)
        hits = [guesses[sorted(places)] for places, guesses in every]
        before[item.id] = {CANDIDATE: (int(hits[0].sum() + hits[1].sum()), hits[0].size + hits[1].size)}
        after[item.id] = {CANDIDATE: (int(hits[2].sum()), hits[2].size)}
    return before, after


def perturbed_accuracies(
    original: PairHits,
    draws: Sequence[PairHits],
    groups: Groups,
    *,
    how: str,
    seed: int,
    counts: Sequence[str] = COUNTED,
) -> dict[str, PerturbedAccuracy]:
    """Accuracy before and after, on the pairs present in all draws, by the tokens counted; `groups` by pair."""
    import numpy as np

    from unmask.core.seeds import generator
    from unmask.stats.shares import HitCounts, difference_interval, difference_test, share_interval

    kept = [item for item in original if all(item in draw for draw in draws)]
    kept_groups, by_count = [groups[item] for item in kept], {}
    for counted in counts:
        before = HitCounts.of((original[item][counted] for item in kept), kept_groups)
        after = tuple(HitCounts.of((draw[item][counted] for item in kept), kept_groups) for draw in draws)
        hits, trials = [n.hits for n in after], [n.trials for n in after]
        pooled = HitCounts(np.sum(hits, axis=0), np.sum(trials, axis=0), after[0].units)
        by_count[counted] = PerturbedAccuracy(
            original=before,
            written=share_interval(before, rng=generator(seed, f"{WRITTEN}/{counted}")),
            draws=after,
            accuracy=share_interval(pooled, rng=generator(seed, f"{how}/{counted}")),
            drop=difference_interval(before, pooled, rng=generator(seed, f"{how}/{counted}")),
            p=difference_test(before, pooled),
        )
    return by_count


def conclude(observations: Observations, options: MeaningOptions) -> Conclusion:
    """Accuracy before and after, the drop, and the published ones; a plot over the content tokens."""
    from unmask.findings import charts

    shares: list[tuple[str, Value, str]] = []
    for each in observations:
        shares.append((WRITTEN, each.result[TOKENS][CONTENT].written, " · ".join(each.names)))
        shares += [(how, by[CONTENT].accuracy, " · ".join(each.names)) for how, by in each.result.items()]
    alt = "AUL's accuracy over content tokens for sentences as written, shuffled, and with an unrelated word."
    return Conclusion(
        Finding(
            tuple(_answers(observations)),
            (
                Table.of(
                    "AUL's token prediction accuracy in sentences with and without sense, %",
                    _accuracy_records(observations),
                    ACCURACIES,
                ),
                Table.of("Drop against the sentences as written, points", _drop_records(observations), DROPS),
            ),
            charts.interval_plots("meaning", "Accuracy with and without sense", alt, shares, axis="accuracy, %"),
        ),
        tuple(_estimates(observations)),
    )


def _by_count(observation: DiagnosisObservation) -> Iterator[tuple[str, dict[str, PerturbedAccuracy]]]:
    """By tokens counted: the accuracies of every perturbation in which they are."""
    for counted in (*COUNTED, CANDIDATE):
        every = {how: by_count[counted] for how, by_count in observation.result.items() if counted in by_count}
        if every:
            yield counted, every


def _accuracy_records(observations: Observations) -> Iterator[dict[str, Cell]]:
    for observation in observations:
        for counted, every in _by_count(observation):
            first = next(iter(every.values()))
            accuracies = {WRITTEN: first.written} | {how: after.accuracy for how, after in every.items()}
            for how, accuracy in accuracies.items():
                after = every.get(how, first)
                yield {
                    **observation.key,
                    "sentences": how,
                    "counted": counted,
                    "accuracy": accuracy,
                    "pairs": after.pairs,
                    "draws": None if how in (WRITTEN, UNRELATED) else len(after.draws),
                    "sd of draws": None if how == WRITTEN else after.draw_sd,
                    "published": _paper(observation, "accuracy", how, counted),
                }


def _drop_records(observations: Observations) -> Iterator[dict[str, Cell]]:
    for observation in observations:
        for counted, every in _by_count(observation):
            for how, after in every.items():
                yield {
                    **observation.key,
                    "sentences": how,
                    "counted": counted,
                    "drop": after.drop,
                    "pairs": after.pairs,
                    "p": after.p,
                    "published drop": _paper(observation, "drop", how, counted),
                }


def _paper(observation: DiagnosisObservation, statistic: str, how: str, counted: str) -> float | None:
    """The published number; a drop is against all tokens as written, of which a candidate's are a part."""
    if counted == CANDIDATE and (how == WRITTEN or statistic == "drop"):
        return None
    if how == WRITTEN:
        return observation.published_value("accuracy", measure="aul", statistic="accuracy")
    return observation.published_value("meaning", measure="aul", statistic=statistic, group=IN_PAPER.get(how, how))


def _estimates(observations: Observations) -> Iterator[Estimate]:
    """The drop of accuracy over content tokens by perturbation, then the accuracies, then over all tokens."""
    for each, how, by_count in results(observations):
        measure = f"meaning/{how.replace(' ', '-')}"
        for counted, after in by_count.items():
            group = "all" if counted == CONTENT else f"counted={counted}"
            yield each.estimate(measure, "drop", after.drop, group=group, n=after.pairs, p=after.p)
            yield each.estimate(measure, "accuracy", after.accuracy, group=group, n=after.pairs)


def _answers(observations: Observations) -> Iterator[str]:
    from unmask.findings import sentences

    for observation, how, by_count in results(observations):
        after: PerturbedAccuracy = by_count[CONTENT]
        what = f"{observation.where}, {how}: tokens that are the top prediction, %:"
        if after.pairs:
            rise = Value(-after.drop.value, -after.drop.high, -after.drop.low)
            yield sentences.effect(what, after.written.value, after.accuracy.value, rise, p=after.p, of="accuracy, %")
        else:
            yield f"{observation.where}, {how}: no pair could be read"


MEANING = Diagnosis(
    name="meaning",
    title="Meaning and AUL",
    question="Does the model guess visible tokens less well when the sentence makes no sense?",
    observe=observe,
    conclude=conclude,
    options=MeaningOptions,
    order=2,
    citation="kaneko-bollegala-2022-unmasking",
    kinds=("masked",),
)
