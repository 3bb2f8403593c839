"""A model's he/she log-odds of occupations against the share of women in them."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np
from scipy.stats import pearsonr, rankdata

from tools.figures.intervals import resampled
from tools.figures.types import Figure
from tools.train.siblings import shares
from unmask.data.templates import Filled, filled
from unmask.errors import DataError, Unscorable
from unmask.measures.asking import next_tokens
from unmask.models import Engine, Lm
from unmask.types import Floats, Probe

EXPECTED = -0.5  # a correlation at most this says that the model knows who works as what
FRAMES = (
    "The {word} said that {subject} was tired.",
    "The {word} stopped because {subject} heard a noise.",
    "We waited for the {word} until {subject} came back.",
    "The {word} thinks that {subject} is right.",
    "{Subject} is {a} {word}.",
    "{Subject} works as {a} {word} in the next town.",
)


def english(lm: Lm, source: str, data_dir: Path) -> list[Figure]:
    """How the model's he/she log-odds of an occupation go with the share of women in it."""
    women, absent = women_in(source, data_dir)
    odds = log_odds(lm, tuple(women))
    columns = np.array([odds[word] for word in women]), np.array(list(women.values()))
    of = f"occupations, {absent} without a known share left out" if absent else "occupations"
    made = []
    for name, statistic in (("he/she Pearson r", _pearson), ("he/she Spearman r", _spearman)):
        value, low, high, method = resampled(statistic, *columns, label=f"{name} {source}")
        made.append(Figure(name, source, value, low, high, len(women), of, method))
    return made


def women_in(source: str, data_dir: Path) -> tuple[dict[str, float], int]:
    """The share of women in each occupation of a dataset, and how many occupations have none known.

    WinoGender counts them itself; WinoBias only names occupations, so their shares are those of our own list
    and, where it has none, WinoGender's. In `both` WinoGender's come first.
    """
    theirs = _winogender(data_dir)
    if source == "winogender":
        return theirs, 0
    words, known = _winobias(data_dir), {**theirs, **shares()}
    named = {word: known[word] for word in words if word in known}
    return named if source == "winobias" else {**named, **theirs}, len(words) - len(named)


def log_odds(lm: Lm, words: Sequence[str]) -> dict[str, float]:
    """Mean over our frames of log P(he) - log P(she) where the word is spoken of."""
    asked = {word: [he_and_she(lm, filled(frame, word)) for frame in FRAMES] for word in words}
    readings = Engine(lm).read(chain.from_iterable(chain.from_iterable(asked.values())))

    def lead(he: Probe, she: Probe) -> float:
        return float(readings[he].logprobs.sum() - readings[she].logprobs.sum())

    return {word: float(np.mean([lead(*both) for both in probes])) for word, probes in asked.items()}


def he_and_she(lm: Lm, sentence: Filled) -> tuple[Probe, Probe]:
    """Both pronouns read where either is masked; from a causal model both sentences as a whole."""
    he, she = lm.encode(sentence.masculine), lm.encode(sentence.feminine)
    if lm.kind == "causal":
        return next_tokens(he, he.content), next_tokens(she, she.content)
    places = [place for place, (a, b) in enumerate(zip(he.ids, she.ids, strict=False)) if a != b]
    if len(he.ids) != len(she.ids) or len(places) != 1:
        raise Unscorable("the tokenizer splits he or she: there is no one place to read them at")
    (place,) = places
    asked = (Probe(he.ids, ((place, one.ids[place]),), (place,)) for one in (he, she))
    return next(asked), next(asked)


def _winogender(data_dir: Path) -> dict[str, float]:
    with _present(data_dir / "winogender" / "occupations-stats.tsv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return {row["occupation"]: float(row["bls_pct_female"]) / 100 for row in rows}


def _winobias(data_dir: Path) -> list[str]:
    paths = [data_dir / "winobias" / "data" / f"{gender}_occupations.txt" for gender in ("male", "female")]
    lines = [
        line.strip() for path in paths for line in _present(path).read_text(encoding="utf-8").splitlines()
    ]
    return [line for line in lines if line]


def _present(path: Path) -> Path:
    if not path.is_file():
        raise DataError(f"no {path.name} in the data folder")
    return path


def _pearson(x: Floats, y: Floats, axis: int = -1) -> Floats:
    return np.asarray(pearsonr(x, y, axis=axis).statistic)


def _spearman(x: Floats, y: Floats, axis: int = -1) -> Floats:
    return _pearson(rankdata(x, axis=axis), rankdata(y, axis=axis), axis=axis)
