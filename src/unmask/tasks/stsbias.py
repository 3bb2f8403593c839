"""`stsbias`: is a sentence about a nurse more similar to one about a woman than about a man?

Webster et al. (2020), as Kaneko et al. (2022) use it: STS-B test sentences that begin with `A man` or
`A woman` and have no other gendered word are templates; for each profession the similarity of "A woman …"
to "A nurse …" less that of "A man …" to "A nurse …"; its mean over templates is correlated with the share of
women in the profession.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmask import data as datasets
from unmask.core.errors import DataError
from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.data import riddles, stsb
from unmask.data.examples import Source, published_sources, user_source
from unmask.findings import Cell, Finding, Plot, Table, Value
from unmask.models.classifier import Classifier
from unmask.stats.means import mean, mean_interval
from unmask.stats.regression import correlation
from unmask.tasks.spec import Headline, Task, TaskData, TaskObservation, TaskSettings
from unmask.tasks.training_tables import not_learnt_notes, training_table

_START = re.compile(r"A (man|woman)\b(?=\s)")
_WORD = re.compile(r"[a-z]+(?:['-][a-z]+)*")
VOWELS = tuple("aeiou")


@dataclass(frozen=True, slots=True)
class StsBiasResult:
    """Similarities by template and profession, and their correlation with the share of women."""

    professions: tuple[str, ...]
    templates: int
    female: Floats  # templates × professions
    male: Floats
    women: dict[str, dict[str, float]]  # by source of the shares, by profession
    r: dict[str, Value]  # by source of the shares
    gap: Value  # mean of female − male over professions

    @property
    def differences(self) -> Floats:
        """By profession: the mean similarity to the woman less that to the man."""
        return np.asarray((self.female - self.male).mean(axis=0))


def load_task_data(settings: TaskSettings) -> TaskData:
    """Load STS-B with its published test split, or the user's files without one."""
    if settings.train is not None:
        files = (
            [user_source(settings.train), user_source(settings.dev)]
            if settings.dev
            else [user_source(settings.train)]
        )
        parts = [stsb.load(file) for file in files]
        if len(parts) == 1:
            parts = [parts[0][: -len(parts[0]) // 10], parts[0][-len(parts[0]) // 10 :]]
        return TaskData((), parts[0], parts[1], (), tuple(files))
    files = list(published_sources(stsb.CARD, data_dir=settings.data_dir))
    train, dev, test = (stsb.load(file) for file in files)
    return TaskData((), train, dev, test, tuple(files))


def sources(settings: TaskSettings) -> tuple[Source, ...]:
    """The STS-B test sentences and the table of the shares of women."""
    return (
        published_sources(stsb.CARD, data_dir=settings.data_dir)[2],
        published_sources(riddles.WINOGENDER, data_dir=settings.data_dir)[1],
    )


def load_templates(settings: TaskSettings) -> tuple[str, ...]:
    """The rest of each test sentence after `A man` or `A woman`, if it has no other gendered word; unique."""
    sentences = [
        text for example in stsb.load(sources(settings)[0]) for text in (example.text, example.second or "")
    ]
    gendered = gendered_words()
    templates = []
    for text in sentences:
        start = _START.match(text)
        if start is None:
            continue
        rest = text[start.end() :]
        if not gendered & set(_WORD.findall(rest.lower())):
            templates.append(rest)
    return tuple(dict.fromkeys(templates))[: settings.limit]


def gendered_words() -> set[str]:
    """Single gendered words of the built-in word pairs, in lower case."""
    words = datasets.read("word-pairs")
    both = [word for pair in words.pairs for word in (pair.masculine, pair.feminine)]
    return {word.lower() for word in both if " " not in word}


def women_shares(settings: TaskSettings) -> dict[str, dict[str, float]]:
    """The share of women in Winogender's professions: as published with it, and by the table of 2020."""
    published = riddles.share_of_women(sources(settings)[1])
    ours = {occupation.name: occupation.women for occupation in datasets.read("occupations")}
    return {
        "BLS 2015": published,
        "BLS 2020": {name: ours[name] for name in published if name in ours},
    }


def observe(classifier: Classifier, settings: TaskSettings) -> StsBiasResult:
    """Score every template and profession against the man and the woman."""
    templates, women = load_templates(settings), women_shares(settings)
    if not templates:
        raise DataError(
            "no STS-B test sentence begins with `A man` or `A woman` alone: is it the published file?"
        )
    names = tuple(women["BLS 2015"])
    pairs = [
        (f"A {who}{rest}", f"{indefinite_article(name)} {name}{rest}")
        for who in ("woman", "man")
        for rest in templates
        for name in names
    ]
    similarities = classifier.logits(pairs)[:, 0].reshape(2, len(templates), len(names))
    return summarize(names, similarities[0], similarities[1], women, seed=settings.seed)


def summarize(
    names: tuple[str, ...], female: Floats, male: Floats, women: dict[str, dict[str, float]], *, seed: int
) -> StsBiasResult:
    """The result from given similarities."""
    differences = (female - male).mean(axis=0)
    r = {}
    for source, by in women.items():
        known = [at for at, name in enumerate(names) if name in by]
        fit = correlation(
            [np.array([by[names[at]] for at in known])], [differences[known]], rng=generator(seed, source)
        )
        r[source] = Value(fit.value, fit.low, fit.high, fit.method)
    interval = mean_interval(differences, rng=generator(seed, "gap"))
    gap = Value(mean(differences), interval.low, interval.high, interval.method)
    return StsBiasResult(names, len(female), female, male, women, r, gap)


def indefinite_article(name: str) -> str:
    """`A`, or `An` before a vowel."""
    return "An" if name.startswith(VOWELS) else "A"


def conclude(observations: Sequence[TaskObservation], settings: TaskSettings) -> Finding:
    """The correlation, the task performance, and the professions that lean most."""
    from unmask.findings import charts

    bias = Table(
        "Similarity to the woman against the share of women",
        ("model", "shares of women", "|r|", "r", "woman − man", "professions", "templates"),
        tuple(_row(observation, source) for observation in observations for source in observation.result.r),
        "r: Pearson, over professions, of the mean difference of similarity with the share of women; 0 is no "
        "relation. |r| is what Kaneko et al. (2022) report. Interval: professions resampled. "
        "Similarities run from 0 to 5.",
        digits=3,
    )
    rows = [
        {
            "x": observation.result.women["BLS 2015"][name],
            "y": float(value),
            "label": name,
            "series": str(observation.model["id"]),
        }
        for observation in observations
        for name, value in zip(observation.result.professions, observation.result.differences, strict=True)
    ]
    description = (
        "Each dot is a profession: the share of women in it, and how much more similar it is to the woman."
    )
    plot = Plot(
        "stsbias",
        "Professions",
        description,
        charts.scatter(rows, x="share of women", y="woman − man, similarity"),
    )
    training = training_table(observations)
    return Finding(
        tuple(map(_answer, observations)),
        (bias, *((training,) if training.rows else ()), _professions(observations)),
        (plot,),
        tuple(not_learnt_notes(observations)),
    )


def headline(result: StsBiasResult) -> Headline:
    """|r| with the shares published with the professions."""
    return Headline("|r| with share of women", absolute_value(result.r["BLS 2015"]), len(result.professions))


def absolute_value(r: Value) -> Value:
    """The absolute value of a signed number and of its interval."""
    if r.low != r.low:
        return Value(abs(r.value), r.low, r.high, r.method)
    ends = sorted((abs(r.low), abs(r.high)))
    return Value(abs(r.value), 0.0 if r.low <= 0 <= r.high else ends[0], ends[1], r.method)


def _row(observation: TaskObservation, source: str) -> tuple[Cell, ...]:
    result: StsBiasResult = observation.result
    r = result.r[source]
    return (
        observation.model["id"],
        source,
        absolute_value(r),
        r,
        result.gap,
        len(result.women[source]),
        result.templates,
    )


def _professions(observations: Sequence[TaskObservation]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for observation in observations:
        result: StsBiasResult = observation.result
        order = np.argsort(result.differences)
        for at in [*order[:5], *order[::-1][:5][::-1]]:
            name = result.professions[at]
            rows.append(
                (
                    *(observation.model["id"], name, float(result.differences[at])),
                    *(float(result.female[:, at].mean()), float(result.male[:, at].mean())),
                    100 * result.women["BLS 2015"][name],
                )
            )
    return Table(
        "Professions that lean most, to the man and to the woman",
        ("model", "profession", "woman − man", "to the woman", "to the man", "women, %"),
        tuple(rows),
        "Means over templates; single professions have no interval here, the correlation above has.",
        digits=3,
    )


def _answer(observation: TaskObservation) -> str:
    result: StsBiasResult = observation.result
    r = result.r["BLS 2015"]
    test_score = (
        f"; test {observation.fine_tuned.metric} {observation.fine_tuned.test.value:.3f}"
        if observation.fine_tuned and observation.fine_tuned.test
        else ""
    )
    return (
        f"{observation.model['id']}: |r| {abs(r.value):.3f} "
        f"(r {r.value:+.3f}, {r.low:+.3f} to {r.high:+.3f}) over "
        f"{len(result.professions)} professions and {result.templates} templates{test_score}"
    )


STSBIAS = Task(
    name="stsbias",
    title="STS-bias",
    question="Does sentence similarity follow who usually works in a profession?",
    needs="training",
    observe=observe,
    conclude=conclude,
    headline=headline,
    citation="webster-etal-2020-measuring",
    load_data=load_task_data,
    sources=sources,
)
