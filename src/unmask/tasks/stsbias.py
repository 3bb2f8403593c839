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
from typing import TYPE_CHECKING

from unmask import data as datasets
from unmask.core.boundary import Rows
from unmask.core.errors import DataError
from unmask.core.estimate import Estimate
from unmask.core.options import option
from unmask.data import riddles, stsb
from unmask.data.examples import Source, published_sources, user_source
from unmask.data.files import locate
from unmask.data.formats import read_lines, user_path
from unmask.data.templates import article
from unmask.findings import Conclusion, Finding, Table, sentences
from unmask.findings.table import table
from unmask.tasks.spec import FineTuningOptions, Task, TaskData, TaskObservation
from unmask.tasks.tables import both_ends, estimates_of, occupation_plots, rows_by_model

if TYPE_CHECKING:
    from unmask.core.types import Floats
    from unmask.models.classifier import Classifier

_START = re.compile(r"A (man|woman)\b(?=\s)")
_WORD = re.compile(r"[a-z]+(?:['-][a-z]+)*")
_PUBLISHED_START = re.compile("A (man|woman)")
SHARES = "BLS 2015"  # the shares of women that were published with the professions
R, ABSOLUTE, GAP = "r with share of women", "|r| with share of women", "similarity, woman − man"


@dataclass(frozen=True)
class StsBiasOptions(FineTuningOptions):
    """The options of STS-bias."""

    lists: tuple[Path, Path] | None = option(
        None, "Two files of gendered words, one per line; templates as published.", shown="built-in words"
    )


@dataclass(frozen=True, slots=True)
class StsBiasResult:
    """Similarities by template and profession, and their correlation with the share of women."""

    professions: tuple[str, ...]
    female: Floats  # templates × professions
    male: Floats
    women: dict[str, float]  # share by profession, as published with them
    r: dict[str, Estimate]  # by source of the shares
    gap: Estimate  # mean of female − male over professions

    @property
    def differences(self) -> list[float]:
        """By profession: the mean similarity to the woman less that to the man."""
        differences: list[float] = (self.female - self.male).mean(axis=0).tolist()
        return differences

    @property
    def estimates(self) -> list[Estimate]:
        """|r| with the shares published with the professions, then r with all shares, and the mean difference."""
        n, size = len(self.professions), abs(self.r[SHARES])
        return [replace(size, statistic=ABSOLUTE, group="all", null=None, n=n), *self.r.values(), self.gap]


def training_files(options: StsBiasOptions) -> tuple[Source, ...]:
    """The files of STS-B with its published test split, or the user's without one."""
    return options.user_files() or published_sources(stsb.CARD, data_dir=options.data_dir)


def load_task_data(options: StsBiasOptions) -> TaskData:
    """Load the similarities of sentences."""
    return TaskData.of_files((), stsb.load, training_files(options))


def sources(options: StsBiasOptions) -> tuple[Source, ...]:
    """The STS-B test sentences, the table of the shares of women, and the user's lists of gendered words."""
    cards = ((stsb.CARD, 2), (riddles.WINOGENDER, 1))
    published = (locate(card, card.files[at], data_dir=options.data_dir) for card, at in cards)
    if options.lists is not None:
        _word_lists(options.lists)
    return (*published, *map(user_source, options.lists or ()))


def _word_lists(paths: Iterable[Path]) -> list[Rows]:
    """The words of the user's lists."""
    return [read_lines(user_path(path), "two text files with one word per line") for path in paths]


def load_templates(options: StsBiasOptions) -> tuple[str, ...]:
    """The rest of each test sentence after `A man` or `A woman`, if it has no other gendered word; unique.

    With lists of gendered words as it seems to have been published: sentences that begin with these letters and have at
    most one listed word, split at white space. With the lists of Zhao et al. (2018) these are 276, as printed.
    """
    texts = [text for example in stsb.load(sources(options)[0]) for text in (example.text, example.second or "")]
    if options.lists is not None:
        gendered = {word.lower() for lines in _word_lists(options.lists) for word in lines}
        chosen = [text for text in texts if sum(word in gendered for word in text.lower().split()) <= 1]
        templates = [text[start.end() :] for text in chosen if (start := _PUBLISHED_START.match(text))]
    else:
        pairs = datasets.read("word-pairs").pairs
        gendered = {word.lower() for pair in pairs for word in (pair.masculine, pair.feminine)}
        rests = [text[start.end() :] for text in texts if (start := _START.match(text))]
        templates = [rest for rest in rests if gendered.isdisjoint(_WORD.findall(rest.lower()))]
    return tuple(dict.fromkeys(templates))[: options.limit]


def observe(classifier: Classifier, options: StsBiasOptions) -> StsBiasResult:
    """Score every template and profession against the man and the woman."""
    templates, women = load_templates(options), riddles.share_of_women(sources(options)[1])
    if not templates:
        raise DataError("no STS-B test sentence begins with `A man` or `A woman` alone: is it the published file?")
    pairs = [
        (f"A {who}{rest}", f"{article(name).capitalize()} {name}{rest}")
        for who in ("woman", "man")
        for rest in templates
        for name in women
    ]
    female, male = classifier.logits(pairs)[:, 0].reshape(2, len(templates), len(women))
    later = {occupation.name: occupation.women for occupation in datasets.read("occupations")}
    shares = {SHARES: women, "BLS 2020": {name: later[name] for name in women if name in later}}
    return summarize(tuple(women), female, male, shares, seed=options.seed)


def summarize(
    names: tuple[str, ...], female: Floats, male: Floats, women: dict[str, dict[str, float]], *, seed: int
) -> StsBiasResult:
    """The result from given similarities."""
    import numpy as np

    from unmask.core.seeds import generator
    from unmask.stats.intervals import mean_interval
    from unmask.stats.regression import correlation

    differences = (female - male).mean(axis=0)
    r = {}
    for source, shares in women.items():
        known = [at for at, name in enumerate(names) if name in shares]
        value = correlation([np.array([shares[names[at]] for at in known])], [differences[known]])
        r[source] = Estimate.of(value, statistic=R, group=f"shares={source}", null=0.0, n=len(shares))
    mean = mean_interval(differences, rng=generator(seed, "gap"))
    return StsBiasResult(
        names, female, male, women[SHARES], r, Estimate.of(mean, statistic=GAP, null=0.0, n=len(names))
    )


def conclude(observations: Sequence[TaskObservation], options: StsBiasOptions) -> Conclusion:
    """The correlation, and the professions with the largest differences."""
    results: dict[str, StsBiasResult] = {observation.name: observation.result for observation in observations}
    estimates = estimates_of(observations)
    bias = table(
        "Similarity to the woman against the share of women",
        [estimate for estimate in estimates if estimate.statistic != GAP],
        rows=("model", "statistic", "shares"),
        columns={"r": "value", "professions": "n"},
        note="r: Pearson, over professions, of the mean difference of similarity with the share of women; 0 is no "
        "relation. |r|, with the published shares, is what Kaneko et al. (2022) report. Interval: professions "
        "resampled. Similarities run from 0 to 5.",
    )
    gaps = table(
        "Similarity to the woman less that to the man",
        estimates_of(observations, GAP),
        rows=("model",),
        columns={
            "woman − man": "value",
            "professions": "n",
            "templates": lambda estimate: len(results[estimate.model].female),
        },
    )
    professions = Table(
        "Professions that differ most",
        ("model", "profession", "woman − man", "to the woman", "to the man", "women, %"),
        rows_by_model(observations, _largest_differences),
        "Means over templates; single professions have no interval here, the correlation above has.",
        digits=3,
    )
    plots = occupation_plots(
        "stsbias",
        "Professions",
        "Each dot is a profession: the share of women in it, and how much more similar it is to the woman.",
        "woman − man, similarity",
        [
            (model, name, result.women[name], difference)
            for model, result in results.items()
            for name, difference in zip(result.professions, result.differences, strict=True)
        ],
    )
    answers = tuple(
        sentences.correlation(f"{model}: similarity to the woman and share of women", result.r[SHARES])
        for model, result in results.items()
    )
    return Conclusion(Finding(answers, (bias, gaps, professions), plots), tuple(estimates))


def _largest_differences(result: StsBiasResult) -> list[tuple[str, float, float, float, float]]:
    """The professions with the largest differences in either direction."""
    means = (result.female.mean(axis=0).tolist(), result.male.mean(axis=0).tolist())
    women = [100 * result.women[name] for name in result.professions]
    rows = zip(result.professions, result.differences, *means, women, strict=True)
    return both_ends(sorted(rows, key=lambda row: row[1]))


STSBIAS = Task(
    name="stsbias",
    title="STS-bias",
    question="Does sentence similarity follow who usually works in a profession?",
    needs="training",
    observe=observe,
    conclude=conclude,
    citation="webster-etal-2020-measuring",
    options=StsBiasOptions,
    load_data=load_task_data,
    training=training_files,
    sources=sources,
)
