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
from unmask.core.types import Floats
from unmask.data import riddles, stsb
from unmask.data.examples import Source, published_sources, user_source
from unmask.findings import Cell, Finding, Plot, Table, Value
from unmask.models.classifier import Classifier
from unmask.stats.bootstrap import generator
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
    women: dict[str, dict[str, float]]  # by source of the shares: by profession
    r: dict[str, Value]  # by the same
    gap: Value  # mean of female − male over professions

    @property
    def differences(self) -> Floats:
        """By profession: how much more similar to the woman."""
        return np.asarray((self.female - self.male).mean(axis=0))


def load_task_data(settings: TaskSettings) -> TaskData:
    """STS-B, or the user's files; the test part is the published one unless other files are taught."""
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
    """The test sentences, and the shares of women."""
    return (
        published_sources(stsb.CARD, data_dir=settings.data_dir)[2],
        published_sources(riddles.WINOGENDER, data_dir=settings.data_dir)[1],
    )


def load_templates(settings: TaskSettings) -> tuple[str, ...]:
    """What follows `A man` or `A woman` in test sentences without another gendered word, each once."""
    sentences = [text for one in stsb.load(sources(settings)[0]) for text in (one.text, one.second or "")]
    gendered = gendered_words()
    found = []
    for text in sentences:
        start = _START.match(text)
        if start is None:
            continue
        rest = text[start.end() :]
        if not gendered & set(_WORD.findall(rest.lower())):
            found.append(rest)
    return tuple(dict.fromkeys(found))[: settings.limit]


def gendered_words() -> set[str]:
    """Single words that say a gender, of our own list."""
    words = datasets.read("word-pairs")
    both = [word for pair in words.pairs for word in (pair.masculine, pair.feminine)]
    return {word.lower() for word in both if " " not in word}


def women_shares(settings: TaskSettings) -> dict[str, dict[str, float]]:
    """The share of women in each profession of Winogender: as published with it, and by our table of 2020."""
    published_ = riddles.share_of_women(sources(settings)[1])
    ours = {one.name: one.women for one in datasets.read("occupations")}
    return {
        "BLS 2015": published_,
        "BLS 2020": {name: ours[name] for name in published_ if name in ours},
    }


def observe(judge: Classifier, settings: TaskSettings) -> StsBiasResult:
    """Every template with every profession, against the man and the woman."""
    rests, women = load_templates(settings), women_shares(settings)
    if not rests:
        raise DataError(
            "no STS-B test sentence begins with `A man` or `A woman` alone: is it the published file?"
        )
    names = tuple(women["BLS 2015"])
    pairs = [
        (f"A {who}{rest}", f"{indefinite_article(name)} {name}{rest}")
        for who in ("woman", "man")
        for rest in rests
        for name in names
    ]
    said = judge.logits(pairs)[:, 0].reshape(2, len(rests), len(names))
    return summarize(names, said[0], said[1], women, seed=settings.seed)


def summarize(
    names: tuple[str, ...], female: Floats, male: Floats, women: dict[str, dict[str, float]], *, seed: int
) -> StsBiasResult:
    """The figures of given similarities."""
    differences = (female - male).mean(axis=0)
    r = {}
    for source, by in women.items():
        kept = [at for at, name in enumerate(names) if name in by]
        fit = correlation(
            [np.array([by[names[at]] for at in kept])], [differences[kept]], rng=generator(seed, source)
        )
        r[source] = Value(fit.value, fit.low, fit.high, fit.method)
    interval = mean_interval(differences, rng=generator(seed, "gap"))
    gap = Value(mean(differences), interval.low, interval.high, interval.method)
    return StsBiasResult(names, len(female), female, male, women, r, gap)


def indefinite_article(name: str) -> str:
    """`A`, or `An` before a vowel."""
    return "An" if name.startswith(VOWELS) else "A"


def conclude(seen: Sequence[TaskObservation], settings: TaskSettings) -> Finding:
    """The correlation and its size, how well the task was learnt, and professions."""
    from unmask.findings import charts

    bias = Table(
        "Similarity to the woman against the share of women",
        ("model", "shares of women", "|r|", "r", "woman − man", "professions", "templates"),
        tuple(_row(one, source) for one in seen for source in one.result.r),
        "r: Pearson, over professions, of the mean difference of similarity with the share of women; 0 is no "
        "relation. |r| is what Kaneko et al. (2022) report. Interval: professions resampled. "
        "Similarities run "
        "from 0 to 5.",
        digits=3,
    )
    rows = [
        {
            "x": one.result.women["BLS 2015"][name],
            "y": float(value),
            "label": name,
            "series": str(one.model["id"]),
        }
        for one in seen
        for name, value in zip(one.result.professions, one.result.differences, strict=True)
    ]
    told = "Each dot a profession: the share of women in it, and how much more similar it is to the woman."
    plot = Plot(
        "stsbias", "Professions", told, charts.scatter(rows, x="share of women", y="woman − man, similarity")
    )
    taught = training_table(seen)
    return Finding(
        tuple(map(_answer, seen)),
        (bias, *((taught,) if taught.rows else ()), _professions(seen)),
        (plot,),
        tuple(not_learnt_notes(seen)),
    )


def headline(found: StsBiasResult) -> Headline:
    """|r| with the shares published with the professions."""
    return Headline("|r| with share of women", absolute_value(found.r["BLS 2015"]), len(found.professions))


def absolute_value(r: Value) -> Value:
    """The size of a signed number, with its interval."""
    if r.low != r.low:
        return Value(abs(r.value), r.low, r.high, r.method)
    ends = sorted((abs(r.low), abs(r.high)))
    return Value(abs(r.value), 0.0 if r.low <= 0 <= r.high else ends[0], ends[1], r.method)


def _row(one: TaskObservation, source: str) -> tuple[Cell, ...]:
    found: StsBiasResult = one.result
    r = found.r[source]
    return (
        one.model["id"],
        source,
        absolute_value(r),
        r,
        found.gap,
        len(found.women[source]),
        found.templates,
    )


def _professions(seen: Sequence[TaskObservation]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for one in seen:
        found: StsBiasResult = one.result
        order = np.argsort(found.differences)
        for at in [*order[:5], *order[::-1][:5][::-1]]:
            name = found.professions[at]
            rows.append(
                (
                    *(one.model["id"], name, float(found.differences[at])),
                    *(float(found.female[:, at].mean()), float(found.male[:, at].mean())),
                    100 * found.women["BLS 2015"][name],
                )
            )
    return Table(
        "Professions that lean most, to the man and to the woman",
        ("model", "profession", "woman − man", "to the woman", "to the man", "women, %"),
        tuple(rows),
        "Means over templates; single professions have no interval here, the correlation above has.",
        digits=3,
    )


def _answer(one: TaskObservation) -> str:
    found: StsBiasResult = one.result
    r = found.r["BLS 2015"]
    learnt_ = (
        f"; test {one.fine_tuned.metric} {one.fine_tuned.test.value:.3f}"
        if one.fine_tuned and one.fine_tuned.test
        else ""
    )
    return (
        f"{one.model['id']}: |r| {abs(r.value):.3f} (r {r.value:+.3f}, {r.low:+.3f} to {r.high:+.3f}) over "
        f"{len(found.professions)} professions and {found.templates} templates{learnt_}"
    )


STSBIAS = Task(
    name="stsbias",
    title="STS-bias",
    question="Does similarity of sentences follow who usually works in a profession?",
    needs="training",
    observe=observe,
    conclude=conclude,
    headline=headline,
    citation="webster-etal-2020-measuring",
    load_data=load_task_data,
    sources=sources,
)
