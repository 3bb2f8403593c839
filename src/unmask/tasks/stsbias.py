"""`stsbias`: is a sentence about a nurse more similar to one about a woman than about a man?

Webster et al. (2020), as Kaneko et al. (2022) use it: STS-B test sentences that begin with `A man` or
`A woman` and have no other gendered word are templates; for each profession the similarity of "A woman …"
to "A nurse …" less that of "A man …" to "A nurse …"; its mean over templates is correlated with the share of
women in the profession.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from unmask import data as datasets
from unmask.core.boundary import Rows
from unmask.core.errors import DataError
from unmask.core.estimate import Estimate
from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.data import riddles, stsb
from unmask.data.examples import Source, published_sources, user_source
from unmask.data.formats import read_lines, user_path
from unmask.data.templates import article
from unmask.findings import Finding
from unmask.findings.numbers import signed_value
from unmask.models.classifier import Classifier
from unmask.stats.intervals import mean_interval
from unmask.stats.regression import correlation
from unmask.tasks.finetune import user_data, user_files
from unmask.tasks.spec import TaskData, TaskObservation, TaskSettings
from unmask.tasks.tables import both_ends, occupation_plots, table_by_model

_START = re.compile(r"A (man|woman)\b(?=\s)")
_WORD = re.compile(r"[a-z]+(?:['-][a-z]+)*")
_PUBLISHED_START = re.compile("A (man|woman)")
SHARES = "BLS 2015"  # the shares of women that were published with the professions


@dataclass(frozen=True, slots=True)
class StsBiasResult:
    """Similarities by template and profession, and their correlation with the share of women."""

    professions: tuple[str, ...]
    templates: int
    female: Floats  # templates × professions
    male: Floats
    women: dict[str, dict[str, float]]  # by source of the shares, by profession
    r: dict[str, Estimate]  # by source of the shares
    gap: Estimate  # mean of female − male over professions

    @property
    def differences(self) -> Floats:
        """By profession: the mean similarity to the woman less that to the man."""
        return np.asarray((self.female - self.male).mean(axis=0))


def training_files(settings: TaskSettings) -> tuple[Source, ...]:
    """The files of STS-B, or the user's."""
    return user_files(settings) or published_sources(stsb.CARD, data_dir=settings.data_dir)


def load_task_data(settings: TaskSettings) -> TaskData:
    """Load STS-B with its published test split, or the user's files without one."""
    if (given := user_data(settings, (), stsb.load)) is not None:
        return given
    files = training_files(settings)
    train, dev, test = map(stsb.load, files)
    return TaskData((), train, dev, test, files)


def sources(settings: TaskSettings) -> tuple[Source, ...]:
    """The STS-B test sentences, the table of the shares of women, and the user's lists of gendered words."""
    cards = ((stsb.CARD, 2), (riddles.WINOGENDER, 1))
    published = (published_sources(card, data_dir=settings.data_dir)[at] for card, at in cards)
    if settings.lists is not None:
        _word_lists(settings.lists)
    return (*published, *map(user_source, settings.lists or ()))


def _word_lists(paths: Iterable[Path]) -> list[Rows]:
    """The words of the user's lists."""
    return [read_lines(user_path(path), "two text files with one word per line") for path in paths]


def load_templates(settings: TaskSettings) -> tuple[str, ...]:
    """The rest of each test sentence after `A man` or `A woman`, if it has no other gendered word; unique.

    With lists of gendered words as it seems to have been published: sentences that begin with these letters and have at
    most one listed word, split at white space. With the lists of Zhao et al. (2018) these are 276, as printed.
    """
    sentences = [text for example in stsb.load(sources(settings)[0]) for text in (example.text, example.second or "")]
    if settings.lists is not None:
        gendered = {word.lower() for lines in _word_lists(settings.lists) for word in lines}
        chosen = [text for text in sentences if sum(word in gendered for word in text.lower().split()) <= 1]
        templates = [text[start.end() :] for text in chosen if (start := _PUBLISHED_START.match(text))]
    else:
        pairs = datasets.read("word-pairs").pairs
        gendered = {word.lower() for pair in pairs for word in (pair.masculine, pair.feminine)}
        rests = [text[start.end() :] for text in sentences if (start := _START.match(text))]
        templates = [rest for rest in rests if gendered.isdisjoint(_WORD.findall(rest.lower()))]
    return tuple(dict.fromkeys(templates))[: settings.limit]


def observe(classifier: Classifier, settings: TaskSettings) -> StsBiasResult:
    """Score every template and profession against the man and the woman."""
    templates, published = load_templates(settings), riddles.share_of_women(sources(settings)[1])
    ours = {occupation.name: occupation.women for occupation in datasets.read("occupations")}
    women = {SHARES: published, "BLS 2020": {name: ours[name] for name in published if name in ours}}
    if not templates:
        raise DataError("no STS-B test sentence begins with `A man` or `A woman` alone: is it the published file?")
    names = tuple(published)
    pairs = [
        (f"A {who}{rest}", f"{article(name).capitalize()} {name}{rest}")
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
        shares = np.array([by[names[at]] for at in known])
        value = correlation([shares], [differences[known]])
        named = {"statistic": "r with share of women", "group": f"shares={source}"}
        r[source] = Estimate.of(value, null=0.0, n=len(by), **named)
    mean = mean_interval(differences, rng=generator(seed, "gap"))
    gap = Estimate.of(mean, statistic="similarity, woman − man", null=0.0, n=len(names))
    return StsBiasResult(names, len(female), female, male, women, r, gap)


def conclude(observations: Sequence[TaskObservation], settings: TaskSettings) -> Finding:
    """The correlation, and the professions with the largest differences."""
    results: dict[str, StsBiasResult] = {each.name: each.result for each in observations}
    bias = table_by_model(
        observations,
        "Similarity to the woman against the share of women",
        ("shares of women", "|r|", "r", "woman − man", "professions", "templates"),
        lambda result: [(source, abs(r), r, result.gap, r.n, result.templates) for source, r in result.r.items()],
        "r: Pearson, over professions, of the mean difference of similarity with the share of women; 0 is no "
        "relation. |r| is what Kaneko et al. (2022) report. Interval: professions resampled. "
        "Similarities run from 0 to 5.",
    )
    professions = table_by_model(
        observations,
        "Professions that differ most",
        ("profession", "woman − man", "to the woman", "to the man", "women, %"),
        _largest_differences,
        "Means over templates; single professions have no interval here, the correlation above has.",
    )
    plots = occupation_plots(
        "stsbias",
        "Professions",
        "Each dot is a profession: the share of women in it, and how much more similar it is to the woman.",
        "woman − man, similarity",
        [
            (model, name, result.women[SHARES][name], float(value))
            for model, result in results.items()
            for name, value in zip(result.professions, result.differences, strict=True)
        ],
    )
    answers = [
        f"{each.name}: |r| {abs(r.value):.3f}, r {signed_value(r, 3)} over "
        f"{len(each.result.professions)} professions and {each.result.templates} templates"
        + (f"; test {tuned.metric} {tuned.test.value:.3f}" if tuned and tuned.test else "")
        for each, r, tuned in ((each, each.result.r[SHARES], each.fine_tuned) for each in observations)
    ]
    return Finding(tuple(answers), (bias, professions), plots)


def estimates(result: StsBiasResult) -> list[Estimate]:
    """|r| with the shares published with the professions, then r with all shares, and the mean difference."""
    n, absolute = len(result.professions), "|r| with share of women"
    headline = replace(abs(result.r[SHARES]), statistic=absolute, group="all", null=None, n=n)
    return [headline, *result.r.values(), result.gap]


def _largest_differences(result: StsBiasResult) -> list[tuple[str, float, float, float, float]]:
    """The professions with the largest differences in either direction."""
    columns = (result.differences, result.female.mean(axis=0), result.male.mean(axis=0))
    women = np.array([100 * result.women[SHARES][name] for name in result.professions])
    rows = list(zip(result.professions, *(column.tolist() for column in (*columns, women)), strict=True))
    return [rows[at] for at in both_ends(np.argsort(result.differences).tolist())]
