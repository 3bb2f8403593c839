"""`meaning`: does AUL's accuracy drop when a sentence loses meaning? (Kaneko & Bollegala 2022, Table 4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from unmask.audit.session import Session
from unmask.core.errors import StatsError
from unmask.core.types import Dataset, Pair
from unmask.diagnose.published import published_value
from unmask.diagnose.shuffle import (
    CONTENT,
    COUNTED,
    PerturbedAccuracy,
    cross_tabulations,
    encode_sentences,
    first_guesses,
    pair_hits,
    perturbed_accuracies,
    random_orders,
    reorder,
    shuffled_words,
)
from unmask.diagnose.spec import Diagnosis, DiagnosisObservation, DiagnosisSettings
from unmask.diagnose.token_accuracy import format_value, pooled_share, share_difference
from unmask.findings import Cell, Finding, Plot, Table, charts
from unmask.stats.mcnemar import EXACT_BELOW, mcnemar_p
from unmask.stats.pooled import HitCounts

WRITTEN, TOKENS, WORDS, UNRELATED = "as written", "tokens shuffled", "words shuffled", "unrelated word"
WORD_DRAWS = 3  # at most; precision is limited by the number of pairs rather than of draws
IN_PAPER = {TOKENS: "shuffled", UNRELATED: "unrelated"}
MeaningResult = dict[str, dict[str, PerturbedAccuracy]]  # by perturbation, then by the tokens counted


def observe(session: Session, data: Dataset, settings: DiagnosisSettings) -> MeaningResult:
    """Top predictions for the sentences as written, shuffled draw by draw, and with the unrelated word."""
    if settings.draws < 1:
        raise StatsError(f"draws is {settings.draws}; expected at least 1 shuffle of each sentence")
    name, lm, seed = data.card.name, session.lm, settings.seed
    sentences = encode_sentences(data.items, lambda item: [item.more, item.less], lm)
    guesses = first_guesses(session, sentences, f"{name}: {WRITTEN}")
    original = pair_hits(sentences, guesses)
    by_token, tables, by_word = [], [], []
    for draw in range(settings.draws):
        order = random_orders(sentences, seed, draw)
        shuffled = reorder(sentences, order)
        moved_guesses = first_guesses(session, shuffled, f"{name}: {TOKENS}")
        by_token.append(pair_hits(shuffled, moved_guesses))
        tables.append(cross_tabulations(sentences, order, guesses, moved_guesses))
    for draw in range(min(settings.draws, WORD_DRAWS)):
        shuffled_text = encode_sentences(data.items, partial(shuffled_words, seed=seed, draw=draw), lm)
        by_word.append(pair_hits(shuffled_text, first_guesses(session, shuffled_text, f"{name}: {WORDS}")))
    seen = {
        TOKENS: perturbed_accuracies(original, by_token, tables),
        WORDS: perturbed_accuracies(original, by_word),
    }
    unrelated = encode_sentences(data.items, _unrelated, lm)
    if unrelated:
        seen[UNRELATED] = perturbed_accuracies(
            original, [pair_hits(unrelated, first_guesses(session, unrelated, f"{name}: {UNRELATED}"))]
        )
    return seen


def conclude(observations: Sequence[DiagnosisObservation], settings: DiagnosisSettings) -> Finding:
    """Accuracy before and after, the drop, and the published ones; a plot over the content tokens."""
    accuracies = tuple(row for observation in observations for row in _accuracies(observation, settings.seed))
    drops = tuple(row for observation in observations for row in _drops(observation, settings.seed))
    before_after = Table(
        "AUL's token prediction accuracy in sentences with and without sense, %",
        ("model", "data", "sentences", "counted", "accuracy", "pairs", "draws", "sd of draws", "published"),
        accuracies,
        "A prediction is right if the visible token is the model's top prediction. All tokens: including "
        "special "
        "ones, as the published code counts. The paper shuffles tokens; shuffled words are re-tokenised. "
        "Shuffled accuracy is the mean of the draws. Intervals are over pairs.",
    )
    fall = Table(
        "Drop against the sentences as written, points",
        ("model", "data", "sentences", "counted", "drop", "pairs", "p", "published drop"),
        drops,
        "Interval over the same pairs. p: McNemar's test of each token at its old position against the same "
        f"token at its new one, the largest p of all draws, exact where fewer than {EXACT_BELOW} differ; it "
        "treats tokens as independent, so where it and the interval disagree, trust the interval. No p where "
        "tokens do not correspond one to one: shuffled words may be tokenised differently, and the unrelated "
        "word may have another number of sub-tokens.",
    )
    return Finding(
        tuple(_answers(observations, settings)), (before_after, fall), (_plot(observations, settings.seed),)
    )


def _accuracies(observation: DiagnosisObservation, seed: int) -> Iterator[tuple[Cell, ...]]:
    model, data = str(observation.model["id"]), observation.data.card.name
    for counted in COUNTED:
        for how, (counts, draws, spread) in _sentences(observation, counted).items():
            accuracy = pooled_share(counts, seed, f"{how}/{counted}")
            paper = _paper(model, data, "accuracy", how)
            yield model, data, how, counted, accuracy, counts.trials.size, draws, spread, paper


def _sentences(
    observation: DiagnosisObservation, counted: str
) -> dict[str, tuple[HitCounts, int | None, float | None]]:
    """As written, then by perturbation: hit counts, number of draws, and their standard deviation."""
    changed: dict[str, PerturbedAccuracy] = {
        how: accuracies[counted] for how, accuracies in observation.result.items()
    }
    return {WRITTEN: (changed[TOKENS].original, None, None)} | {
        how: (
            accuracies.pooled_counts,
            None if how == UNRELATED else len(accuracies.draws),
            accuracies.draw_sd,
        )
        for how, accuracies in changed.items()
    }


def _drops(observation: DiagnosisObservation, seed: int) -> Iterator[tuple[Cell, ...]]:
    model, data = str(observation.model["id"]), observation.data.card.name
    for counted in COUNTED:
        for how, by_count in observation.result.items():
            accuracy: PerturbedAccuracy = by_count[counted]
            drop = share_difference(accuracy.original, accuracy.pooled_counts, seed, f"{how}/{counted}")
            p, paper = _largest_p(accuracy), _paper(model, data, "drop", how)
            yield model, data, how, counted, drop, accuracy.original.trials.size, p, paper


def _largest_p(accuracy: PerturbedAccuracy) -> float | None:
    """The largest p-value of all draws; None without a test or without disagreements."""
    return max((p for table in accuracy.tables if (p := mcnemar_p(table)) is not None), default=None)


def _paper(model: str, data: str, statistic: str, how: str) -> float | None:
    if how == WRITTEN:
        return published_value("accuracy", model, data=data, measure="aul", statistic="accuracy")
    group = IN_PAPER.get(how, how)
    return published_value("meaning", model, data=data, measure="aul", statistic=statistic, group=group)


def _answers(observations: Sequence[DiagnosisObservation], settings: DiagnosisSettings) -> Iterator[str]:
    for observation in observations:
        for how, by_count in observation.result.items():
            accuracy: PerturbedAccuracy = by_count[CONTENT]
            where, pairs = (
                f"{observation.model['id']} on {observation.data.card.name}, {how}",
                accuracy.original.trials.size,
            )
            if not pairs:
                yield f"{where}: no pair could be read"
                continue
            drop = share_difference(
                accuracy.original, accuracy.pooled_counts, settings.seed, f"{how}/{CONTENT}"
            )
            draws = f", {len(accuracy.draws)} draws" if how != UNRELATED else ""
            yield (
                f"{where}: of the content tokens {accuracy.pooled_counts.share:.1f}% are still the top "
                "prediction, "
                f"{accuracy.original.share:.1f}% as written; a drop of {format_value(drop, ' points')} "
                f"over {pairs:,} {'pair' if pairs == 1 else 'pairs'}{draws}"
            )


def _plot(observations: Sequence[DiagnosisObservation], seed: int) -> Plot:
    rows = []
    for observation in observations:
        for how, (counts, _, _) in _sentences(observation, CONTENT).items():
            accuracy = pooled_share(counts, seed, f"{how}/{CONTENT}")
            numbers = {"value": accuracy.value, "low": accuracy.low, "high": accuracy.high}
            rows.append(
                {
                    "label": how,
                    "series": f"{observation.model['id']} · {observation.data.card.name}",
                    **numbers,
                }
            )
    alt = "AUL's accuracy over content tokens for sentences as written, shuffled, and with an unrelated word."
    return Plot("meaning", "Accuracy with and without sense", alt, charts.intervals(rows, axis="accuracy, %"))


def _unrelated(item: Pair) -> list[str]:
    return [item.unrelated] if item.unrelated else []


MEANING = Diagnosis(
    name="meaning",
    title="Meaning and AUL",
    question="Does the model guess visible tokens less well when the sentence makes no sense?",
    observe=observe,
    conclude=conclude,
    citation="kaneko-bollegala-2022-unmasking",
    kinds=("masked",),
)
