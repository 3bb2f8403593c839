"""`meaning`: does AUL's accuracy drop when a sentence loses meaning? (Kaneko & Bollegala 2022, Table 4)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from unmask.audit.session import Session
from unmask.core.estimate import Estimate, Value
from unmask.core.seeds import generator
from unmask.core.types import Dataset
from unmask.diagnose import shuffle
from unmask.diagnose.common import results, unit_groups
from unmask.diagnose.shuffle import CANDIDATE, CONTENT, COUNTED, PerturbedAccuracy
from unmask.diagnose.spec import DiagnosisObservation, DiagnosisSettings, Observations
from unmask.diagnose.token_accuracy import format_value
from unmask.findings import Cell, Finding, Table, charts
from unmask.stats.shares import share_interval

WRITTEN, TOKENS, WORDS, UNRELATED = "as written", "tokens shuffled", "words shuffled", "unrelated word"
WORD_DRAWS = 3  # at most; precision is limited by the number of pairs rather than of draws
IN_PAPER = {TOKENS: "shuffled", UNRELATED: "unrelated"}
MeaningResult = dict[str, dict[str, PerturbedAccuracy]]  # by perturbation, then by the tokens counted


def observe(session: Session, data: Dataset, settings: DiagnosisSettings) -> MeaningResult:
    """Top predictions for the sentences as written, shuffled draw by draw, and with the unrelated word."""
    name, lm, seed = data.card.name, session.lm, settings.seed
    sentences = shuffle.encode_sentences(data.items, lambda item: [item.more, item.less], lm)
    guesses = shuffle.first_guesses(session, sentences, f"{name}: {WRITTEN}")
    original = shuffle.pair_hits(sentences, guesses)
    by_token, by_word = [], []
    for draw in range(settings.draws):
        order = shuffle.random_orders(sentences, seed, draw)
        shuffled = shuffle.reorder(sentences, order)
        moved_guesses = shuffle.first_guesses(session, shuffled, f"{name}: {TOKENS}")
        by_token.append(shuffle.pair_hits(shuffled, moved_guesses))
    for draw in range(min(settings.draws, WORD_DRAWS)):
        shuffled = shuffle.encode_sentences(data.items, partial(shuffle.shuffled_words, seed=seed, draw=draw), lm)
        by_word.append(shuffle.pair_hits(shuffled, shuffle.first_guesses(session, shuffled, f"{name}: {WORDS}")))
    groups = unit_groups(data, settings)
    seen = {
        TOKENS: shuffle.perturbed_accuracies(original, by_token, groups, how=TOKENS, seed=seed),
        WORDS: shuffle.perturbed_accuracies(original, by_word, groups, how=WORDS, seed=seed),
    }
    unrelated = shuffle.encode_sentences(data.items, lambda item: [item.unrelated] if item.unrelated else [], lm)
    if unrelated:
        unrelated_guesses = shuffle.first_guesses(session, unrelated, f"{name}: {UNRELATED}")
        hits = shuffle.pair_hits(unrelated, unrelated_guesses)
        seen[UNRELATED] = shuffle.perturbed_accuracies(original, [hits], groups, how=UNRELATED, seed=seed)
        before, after = shuffle.candidate_hits(data.items, lm, guesses, unrelated_guesses)
        own = shuffle.perturbed_accuracies(before, [after], groups, how=UNRELATED, seed=seed, counts=[CANDIDATE])
        seen[UNRELATED] |= own
    return seen


def conclude(observations: Observations, settings: DiagnosisSettings) -> Finding:
    """Accuracy before and after, the drop, and the published ones; a plot over the content tokens."""
    before_after = Table(
        "AUL's token prediction accuracy in sentences with and without sense, %",
        ("model", "data", "sentences", "counted", "accuracy", "pairs", "draws", "sd of draws", "published"),
        tuple(row for each in observations for row in _accuracies(each, settings.seed)),
        "A prediction is right if the visible token is the model's top prediction. All tokens: including "
        "special ones, as the published code counts. Candidate's tokens: of the word in which the sentences differ "
        'alone; the paper reports the accuracy "of the bias-unrelated candidate" without saying over which tokens, so '
        "its number stands beside all readings. The paper shuffles tokens; shuffled words are re-tokenised. Shuffled "
        "accuracy is the mean of the draws. Intervals are over the units of the data (writers, target terms, …; else "
        "pairs).",
    )
    fall = Table(
        "Drop against the sentences as written, points",
        ("model", "data", "sentences", "counted", "drop", "pairs", "p", "published drop"),
        tuple(row for each in observations for row in _drops(each)),
        "Interval of all draws together over the units of the same pairs. p: Student's t over the same units.",
    )
    shares: list[tuple[str, Value, str]] = []
    for each in observations:
        series = " · ".join(each.names)
        original = each.result[TOKENS][CONTENT].original
        written = share_interval(original, rng=generator(settings.seed, f"{WRITTEN}/{CONTENT}"))
        shares.append((WRITTEN, written, series))
        shares += [(how, by_count[CONTENT].accuracy, series) for how, by_count in each.result.items()]
    alt = "AUL's accuracy over content tokens for sentences as written, shuffled, and with an unrelated word."
    plots = charts.interval_plots("meaning", "Accuracy with and without sense", alt, shares, axis="accuracy, %")
    return Finding(tuple(_answers(observations)), (before_after, fall), plots)


def estimates(observations: Observations, settings: DiagnosisSettings) -> list[Estimate]:
    """The drop of accuracy over content tokens by perturbation, then the accuracies, then over all tokens."""
    every = []
    for each, how, by_count in results(observations):
        measure = f"meaning/{how.replace(' ', '-')}"
        for counted, after in by_count.items():
            group, n = "all" if counted == CONTENT else f"counted={counted}", after.original.trials.size
            every.append(each.estimate(measure, "drop", after.drop, group=group, n=n, p=after.p))
            every.append(each.estimate(measure, "accuracy", after.accuracy, group=group, n=n))
    return every


def _accuracies(observation: DiagnosisObservation, seed: int) -> Iterator[tuple[Cell, ...]]:
    model, data = observation.names
    for counted in (*COUNTED, CANDIDATE):
        every = {how: by_count[counted] for how, by_count in observation.result.items() if counted in by_count}
        if not every:
            continue
        original = next(iter(every.values())).original
        written = share_interval(original, rng=generator(seed, f"{WRITTEN}/{counted}"))
        paper = None if counted == CANDIDATE else _paper(observation, "accuracy", WRITTEN)
        yield model, data, WRITTEN, counted, written, original.trials.size, None, None, paper
        for how, after in every.items():
            draws = None if how == UNRELATED else len(after.draws)
            numbers = (after.accuracy, after.original.trials.size, draws, after.draw_sd)
            yield (model, data, how, counted, *numbers, _paper(observation, "accuracy", how))


def _drops(observation: DiagnosisObservation) -> Iterator[tuple[Cell, ...]]:
    model, data = observation.names
    for counted in (*COUNTED, CANDIDATE):
        for how, by_count in observation.result.items():
            if counted not in by_count:
                continue
            after: PerturbedAccuracy = by_count[counted]
            paper = None if counted == CANDIDATE else _paper(observation, "drop", how)  # against all tokens as written
            yield model, data, how, counted, after.drop, after.original.trials.size, after.p, paper


def _paper(observation: DiagnosisObservation, statistic: str, how: str) -> float | None:
    if how == WRITTEN:
        return observation.published_value("accuracy", measure="aul", statistic="accuracy")
    return observation.published_value("meaning", measure="aul", statistic=statistic, group=IN_PAPER.get(how, how))


def _answers(observations: Observations) -> Iterator[str]:
    for observation, how, by_count in results(observations):
        after: PerturbedAccuracy = by_count[CONTENT]
        where, pairs = f"{observation.where}, {how}", after.original.trials.size
        if not pairs:
            yield f"{where}: no pair could be read"
            continue
        draws = f", {len(after.draws)} draws" if how != UNRELATED else ""
        yield (
            f"{where}: of the content tokens {after.accuracy.value:.1f}% are still the top prediction, "
            f"{after.original.share:.1f}% as written; a drop of {format_value(after.drop, ' points')} "
            f"over {pairs:,} {'pair' if pairs == 1 else 'pairs'}{draws}"
        )
