"""StereoSet (Nadeem et al., 2021), development set.

stereoset: intrasentence, the three sentences differ in one word; the context holds the word BLANK.
stereoset-intersentence: which of three sentences follows the context, the sentence before?
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

from unmask.core.errors import DataError
from unmask.core.types import Card, Pair, Side
from unmask.data.formats import decode
from unmask.data.items import DatasetSource, LoadedItems, github_files, with_warnings

# The checksum was not computed here: it is the one huggingface/datasets recorded for the original
# (12,502,245 bytes, datasets/stereoset/dataset_infos.json). Rebuilt copies differ and count as unverified.
FILES = github_files(
    "moinnadeem/StereoSet/ead7d086a64a192a1eca88e0dd2fd163de375218/data/",
    {"dev.json": "73a0f31b711688112602e4c3ac6ab1e1a7cadcdd67df6c6fd55501c889676c90"},
)
INTRASENTENCE = Card(
    name="stereoset",
    title="StereoSet, intrasentence",
    folder="stereoset",
    files=FILES,
    licence="CC BY-SA 4.0",
    languages=("en",),
    citation="""\
@inproceedings{nadeem-etal-2021-stereoset,
  title = {{StereoSet}: Measuring stereotypical bias in pretrained language models},
  author = {Nadeem, Moin and Bethke, Anna and Reddy, Siva},
  booktitle = {Proceedings of the 59th Annual Meeting of the Association for Computational Linguistics and
               the 11th International Joint Conference on Natural Language Processing
               (Volume 1: Long Papers)},
  year = {2021},
  pages = {5356--5371},
  publisher = {Association for Computational Linguistics},
  doi = {10.18653/v1/2021.acl-long.416},
}""",
    source="moinnadeem/StereoSet@ead7d08:data/dev.json (data.intrasentence)",
    size=2106,
    problems=(
        "Many examples are unclear, ungrammatical or no stereotype at all (Blodgett et al., 2021). "
        "Two contexts hold two blanks, some blanks are glued to the neighbouring word, and some unrelated "
        "words do not fit the grammar of the sentence, which makes them easy to reject. "
        "Only 79 target terms. Stereotypes are those of the US. "
        "The development set is public and may be in training data."
    ),
)
INTERSENTENCE = Card(
    name="stereoset-intersentence",
    title="StereoSet, intersentence",
    folder="stereoset",
    files=FILES,
    licence="CC BY-SA 4.0",
    languages=("en",),
    citation=INTRASENTENCE.citation,
    source="moinnadeem/StereoSet@ead7d08:data/dev.json (data.intersentence)",
    size=2123,
    problems=(
        "The three sentences after a context are free text and no minimal pairs: length, style and fluency "
        "differ with the stereotype. "
        "Many examples are unclear or no stereotype at all (Blodgett et al., 2021). "
        "The published score needs a model with a next-sentence head. Only 79 target terms. "
        "Stereotypes are those of the US."
    ),
)
_SIDES: dict[str, Side] = {"stereotype": "more", "anti-stereotype": "less", "unrelated": "unrelated"}


def load_part(path: Path, name: str, part: Literal["intrasentence", "intersentence"]) -> LoadedItems:
    """Load one part of the file, in its order."""
    try:
        examples = json.loads(decode(path.read_bytes(), path.name))["data"][part]
        return with_warnings([_item(f"{name}/{row:04}", example) for row, example in enumerate(examples)])
    except json.JSONDecodeError as error:
        raise DataError(f"{path.name}: not valid JSON ({error}); expected StereoSet's dev.json") from None
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise DataError(
            f"{path.name}: not StereoSet's dev.json ({type(error).__name__}: {error}); "
            f"expected data.{part} with a context and three labelled sentences per example"
        ) from None


def _item(name: str, example: Mapping[str, Any]) -> Pair:
    """One example; sentences and their ids by gold label."""
    sentences = {_SIDES[sentence["gold_label"]]: sentence for sentence in example["sentences"]}
    groups = {"category": example["bias_type"], "target": example["target"], "cluster": example["id"]}
    ids = {f"id_{side}": sentences[side]["id"] for side in _SIDES.values() if sentences[side].get("id")}
    return Pair(
        name,
        sentences["more"]["sentence"],
        sentences["less"]["sentence"],
        unrelated=sentences["unrelated"]["sentence"],
        context=example["context"],
        groups=groups | ids,
    )


DATASETS = (
    DatasetSource(INTRASENTENCE, partial(load_part, name=INTRASENTENCE.name, part="intrasentence")),
    DatasetSource(INTERSENTENCE, partial(load_part, name=INTERSENTENCE.name, part="intersentence")),
)
