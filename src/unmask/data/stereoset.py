"""StereoSet (Nadeem et al., 2021), development set, and the published predictions of its models, item by item.

stereoset: intrasentence, the three sentences differ in one word; the context holds the word BLANK.
stereoset-intersentence: which of three sentences follows the context, the sentence before?
stereoset-pt, stereoset-pt-intersentence: both in Brazilian Portuguese (Firmino, 2026), in the same format.
stereoset-scores: the score of an item is log(score of the stereotype) − log(score of the anti-stereotype), which has
the sign of the published decision.

The checksum of dev.json was not computed here: it is the one that huggingface/datasets recorded for the original
(12,502,245 bytes, datasets/stereoset/dataset_infos.json). Rebuilt copies differ and count as unverified.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from unmask.core.boundary import parse_json, validate
from unmask.core.errors import DataError, quote
from unmask.core.types import Dataset, Pair, Side
from unmask.data.formats import decode, read_bytes
from unmask.data.items import DatasetSource, LoadedItems, ScoreSource, read_card, with_warnings
from unmask.data.matrices import ScoreMatrix

MODELS = {  # by file of predictions: the model, and its kind
    "predictions_bert-base-cased_BertNextSentence_BertLM.json": ("bert-base-cased", "masked"),
    "predictions_gpt2_ModelNSP_GPT2LM.json": ("gpt2", "causal"),
    "predictions_roberta-large_ModelNSP_RoBERTaLM.json": ("roberta-large", "masked"),
}


@dataclass(frozen=True, slots=True)
class StereoSetSentence:
    """A sentence of an example of StereoSet."""

    sentence: str
    gold_label: Literal["stereotype", "anti-stereotype", "unrelated"]
    id: str | None = None


@dataclass(frozen=True, slots=True)
class StereoSetExample:
    """An example of StereoSet."""

    id: str
    bias_type: str
    target: str
    context: str
    sentences: list[StereoSetSentence]


_SIDES: dict[str, Side] = {"stereotype": "more", "anti-stereotype": "less", "unrelated": "unrelated"}


def load_part(path: Path, name: str, part: Literal["intrasentence", "intersentence"]) -> LoadedItems:
    """Load one part of the file, in its order."""
    content = parse_json(decode(read_bytes(path, "StereoSet's dev.json"), path.name), path.name)
    parts = content.get("data") if isinstance(content, dict) else None
    if not isinstance(parts, dict) or part not in parts:
        raise DataError(f"{path.name}: not StereoSet's dev.json; expected data.{part}, found {quote(content)}")
    examples = validate(list[StereoSetExample], parts[part], f"{path.name}, data.{part}")
    return with_warnings(
        [_item(f"{name}/{row:04}", example, f"{path.name}, data.{part}[{row}]") for row, example in enumerate(examples)]
    )


def _item(name: str, example: StereoSetExample, at: str) -> Pair:
    """One example; sentences and their ids by gold label."""
    sentences = {_SIDES[sentence.gold_label]: sentence for sentence in example.sentences}
    if lacking := [label for label, side in _SIDES.items() if side not in sentences]:
        raise DataError(f"{at}: no sentence with the label {lacking[0]}; expected three labelled sentences")
    groups = {"category": example.bias_type, "target": example.target, "cluster": example.id}
    ids = {f"id_{side}": own for side in _SIDES.values() if (own := sentences[side].id)}
    return Pair(
        name,
        sentences["more"].sentence,
        sentences["less"].sentence,
        unrelated=sentences["unrelated"].sentence,
        context=example.context,
        groups=groups | ids,
    )


@dataclass(frozen=True, slots=True)
class SentencePrediction:
    """The published score of one sentence."""

    id: str
    score: float


def load_scores(path: Path, data: Dataset) -> ScoreMatrix:
    """The scores of every item, in the order of the dataset."""
    import numpy as np

    items = load_part(path, "stereoset", "intrasentence").items
    folder = path.parents[1] / "stereoset_predictions"
    scores = [_differences(folder / file, [item.groups for item in items]) for file in MODELS]
    return ScoreMatrix(
        data,
        models=tuple(model for model, _ in MODELS.values()),
        items=tuple(item.id for item in items),
        wordings=("",),
        scores=np.array(scores)[:, :, None],
        categories=tuple(item.groups["category"] for item in items),
        groups=tuple(kind for _, kind in MODELS.values()),
    )


def _differences(path: Path, groups: Sequence[Mapping[str, str]]) -> list[float]:
    """The difference of the log scores of each item's two sentences; NaN if a score is missing or not positive."""
    content = parse_json(decode(read_bytes(path, "a file of StereoSet's predictions"), path.name), path.name)
    if not isinstance(content, dict) or "intrasentence" not in content:
        raise DataError(f"{path.name}: found {quote(content)}, expected intrasentence with ids and scores")
    listed = validate(list[SentencePrediction], content["intrasentence"], f"{path.name}, intrasentence")
    logs = {prediction.id: math.log(prediction.score) for prediction in listed if 0 < prediction.score < math.inf}
    more, less = ([logs.get(group.get(side, ""), math.nan) for group in groups] for side in ("id_more", "id_less"))
    return [a - b for a, b in zip(more, less, strict=True)]


def _source(name: str, part: Literal["intrasentence", "intersentence"]) -> DatasetSource:
    return DatasetSource(read_card(name), partial(load_part, name=name, part=part))


DATASETS = (
    _source("stereoset", "intrasentence"),
    _source("stereoset-intersentence", "intersentence"),
    _source("stereoset-pt", "intrasentence"),
    _source("stereoset-pt-intersentence", "intersentence"),
)
SCORES = ScoreSource(read_card("stereoset-scores"), load_scores)
