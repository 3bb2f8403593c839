"""The published predictions of StereoSet's models for its development set (Nadeem et al., 2021), item by item.

The score of an item is log(score of the stereotype) − log(score of the anti-stereotype), which has the sign of the
published decision.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from unmask.core.boundary import parse_json, validate
from unmask.core.errors import DataError, quote
from unmask.core.types import DataFile, Dataset
from unmask.data import stereoset
from unmask.data.formats import decode, read_bytes
from unmask.data.items import ScoreSource
from unmask.data.matrices import ScoreMatrix

PART: Literal["intrasentence"] = "intrasentence"
PLACE = (
    "https://raw.githubusercontent.com/moinnadeem/StereoSet/ead7d086a64a192a1eca88e0dd2fd163de375218/code/predictions/"
)
MODELS = {  # by file: the model, whether it is masked, its sha256
    "predictions_bert-base-cased_BertNextSentence_BertLM.json": (
        *("bert-base-cased", "masked", "45b336fdf78e723512175fa382591f2b420c3f58472959f902f225e60471cfee"),
    ),
    "predictions_gpt2_ModelNSP_GPT2LM.json": (
        *("gpt2", "causal", "ff1751272de61feb54f0eee4e410c3a958c83a64f5408a7e1ddbcb29dc1dd498"),
    ),
    "predictions_roberta-large_ModelNSP_RoBERTaLM.json": (
        *("roberta-large", "masked", "bfb23ef4bf71f6f38a88233772f8d345b90321b7addaae3268204de73ec236b6"),
    ),
}
CARD = replace(
    stereoset.INTRASENTENCE,
    name="stereoset-scores",
    title="StereoSet, intrasentence: published scores of three models",
    folder=".",
    files=(
        replace(stereoset.FILES[0], name="stereoset/dev.json"),
        *(DataFile(f"stereoset_predictions/{file}", PLACE + file, facts[2]) for file, facts in MODELS.items()),
    ),
    source="moinnadeem/StereoSet@ead7d08:code/predictions/ (three files) and data/dev.json",
    problems=(
        "Three models are too few to say much of a ranking. Their scores of a sentence differ in kind (the probability "
        "of the words that differ, the likelihood of the sentence), so only differences within a model compare. "
        "An item whose sentences have no id in dev.json is not scored. " + stereoset.INTRASENTENCE.problems
    ),
)


@dataclass(frozen=True, slots=True)
class SentencePrediction:
    """The published score of one sentence."""

    id: str
    score: float


def load(path: Path, data: Dataset) -> ScoreMatrix:
    """The scores of every item, in the order of the dataset."""
    import numpy as np

    items = stereoset.load_part(path, stereoset.INTRASENTENCE.name, PART).items
    folder = path.parents[1] / "stereoset_predictions"
    scores = [_differences(folder / file, [item.groups for item in items]) for file in MODELS]
    return ScoreMatrix(
        data,
        models=tuple(model for model, *_ in MODELS.values()),
        items=tuple(item.id for item in items),
        wordings=("",),
        scores=np.array(scores)[:, :, None],
        categories=tuple(item.groups["category"] for item in items),
        groups=tuple(kind for _, kind, _ in MODELS.values()),
    )


def _differences(path: Path, groups: Sequence[Mapping[str, str]]) -> list[float]:
    """The difference of the log scores of each item's two sentences; NaN if a score is missing or not positive."""
    content = parse_json(decode(read_bytes(path, "a file of StereoSet's predictions"), path.name), path.name)
    if not isinstance(content, dict) or PART not in content:
        raise DataError(f"{path.name}: found {quote(content)}, expected {PART} with ids and scores")
    listed = validate(list[SentencePrediction], content[PART], f"{path.name}, {PART}")
    logs = {each.id: math.log(each.score) for each in listed if 0 < each.score < math.inf}
    more, less = ([logs.get(each.get(side, ""), math.nan) for each in groups] for side in ("id_more", "id_less"))
    return [a - b for a, b in zip(more, less, strict=True)]


SCORES = ScoreSource(CARD, load)
