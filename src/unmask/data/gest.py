"""GEST (Pikuliak et al., 2024): sentences of 16 gender stereotypes, said by a man or by a woman.

gest: every sentence in the four templates in which the paper asks masked models.
gest-next-word: in the two for causal models: the sentence, then the word for its speaker, with which the text ends.
gest-masked-scores, gest-causal-scores: the published scores of the paper's models, sentence by sentence.

The paper's score of a sentence is log10 P(man's word) − log10 P(woman's word): of a masked model with these words
masked, of a causal one as the next word. Here side `more` is said by the gender of the stereotype: the paper's score
is, but for the sign and the base of the logarithm, the difference of `sss-diagonal` on gest, of `ll` on gest-next-word.
"""

from __future__ import annotations

import math
import re
from functools import partial
from pathlib import Path

from unmask.core.errors import DataError, quote
from unmask.core.types import Dataset, Pair
from unmask.data.formats import read_lines, read_table
from unmask.data.items import DatasetSource, LoadedItems, ScoreSource, read_card, with_warnings
from unmask.data.matrices import ScoreMatrix

FEMALE = ("emotional", "gentle", "empathetic", "neat", "social", "weak", "beautiful")
MALE = ("tough", "self-confident", "professional", "rational", "providers", "leaders", "childish", "sexual", "strong")
STEREOTYPES = (*FEMALE, *MALE)  # stereotype 1 is the first
Templates = tuple[tuple[str, str], ...]  # said by a man, by a woman
MASKED: Templates = (
    ('He said: "{}"', 'She said: "{}"'),
    ('The man said: "{}"', 'The woman said: "{}"'),
    ('"{}", he said.', '"{}", she said.'),
    ('"{}", the man said.', '"{}", the woman said.'),
)
FOLDERS = {"masked": "predictions/english_mlm/", "causal": "predictions/english_glm/"}
CAUSAL: Templates = (('"{}", he', '"{}", she'), ('"{}", the man', '"{}", the woman'))


def load(path: Path, name: str, templates: Templates) -> LoadedItems:
    """Every sentence in every template; groups category, direction, cluster (the sentence) and template."""
    items = []
    for row, (sentence, stereotype) in enumerate(_sentences(path)):
        female = stereotype in FEMALE
        groups = {"category": stereotype, "direction": "stereo" if female else "antistereo", "cluster": f"{row:04}"}
        for number, (man, woman) in enumerate(templates):
            sentences = (woman, man) if female else (man, woman)
            more, less = (text.format(sentence) for text in sentences)
            items.append(Pair(f"{name}/{row:04}-{number}", more, less, groups={**groups, "template": str(number)}))
    return with_warnings(items)


def load_scores(path: Path, data: Dataset) -> ScoreMatrix:
    """The published scores beside `gest.csv`, towards the stereotype, in natural logarithms."""
    import numpy as np

    stereotypes = tuple(stereotype for _, stereotype in _sentences(path))
    scores = {file.name: _numbers(path.parent / file.name, len(stereotypes)) for file in data.card.files[1:]}
    parts = [re.fullmatch(r".*/(.*)_template-(\d)\.txt", name) for name in scores]
    models, templates = (tuple(dict.fromkeys(part[place] for part in parts if part)) for place in (1, 2))
    signs = np.where([stereotype in FEMALE for stereotype in stereotypes], -1, 1) * math.log(10)
    cube = np.reshape([*scores.values()], (len(models), len(templates), -1)) * signs
    kind = next(kind for kind, folder in FOLDERS.items() if folder in data.card.files[1].name)
    return ScoreMatrix(
        data,
        models,
        items=tuple(f"gest/{row:04}" for row in range(len(stereotypes))),
        wordings=templates,
        scores=cube.transpose(0, 2, 1),
        categories=stereotypes,
        directions=tuple("female" if stereotype in FEMALE else "male" for stereotype in stereotypes),
        groups=(kind,) * len(models),
    )


def _sentences(path: Path) -> list[tuple[str, str]]:
    """The sentences with their stereotypes."""
    rows = read_table(path, "GEST's gest.csv")
    if rows and (missing := [name for name in ("sentence", "stereotype") if name not in rows[0]]):
        raise DataError(f"{path.name}: no column {missing[0]!r}; expected GEST's gest.csv")
    for number, row in enumerate(rows):
        if row["stereotype"] not in _NUMBERS:
            raise DataError(f"{rows.at(number)}: stereotype {quote(row['stereotype'])}, expected 1 to 16")
    return [(row["sentence"], _NUMBERS[row["stereotype"]]) for row in rows]


_NUMBERS = {str(number): name for number, name in enumerate(STEREOTYPES, start=1)}


def _numbers(path: Path, n: int) -> list[float]:
    """The numbers of a file of scores, one per line."""
    lines = read_lines(path, "a file of GEST's predictions")
    if len(lines) != n:
        raise DataError(f"{path.name}: {len(lines)} scores, expected {n} as gest.csv has sentences")
    numbers = []
    for row, line in enumerate(lines):
        try:
            numbers.append(float(line))
        except ValueError:
            numbers.append(math.nan)
        if not math.isfinite(numbers[-1]):
            raise DataError(f"{lines.at(row)}: found {quote(line)}, expected a number")
    return numbers


DATASETS = tuple(
    DatasetSource(read_card(name), partial(load, name=name, templates=templates))
    for name, templates in (("gest", MASKED), ("gest-next-word", CAUSAL))
)
SCORES = tuple(ScoreSource(read_card(f"gest-{kind}-scores"), load_scores) for kind in FOLDERS)
