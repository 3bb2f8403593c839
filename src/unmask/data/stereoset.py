"""StereoSet (Nadeem et al., 2021), development set.

stereoset: intrasentence, the three sentences differ in one word; the context holds the word BLANK.
stereoset-intersentence: which of three sentences follows the context, the sentence before?
stereoset-pt, stereoset-pt-intersentence: both in Brazilian Portuguese (Firmino, 2026), in the same format.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

from unmask.core.boundary import parse_json, validate
from unmask.core.errors import DataError, quote
from unmask.core.types import Card, Pair, Side
from unmask.data.formats import decode, read_bytes
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
    hub="McGill-NLP/stereoset",
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
    hub="McGill-NLP/stereoset",
    size=2123,
    problems=(
        "The three sentences after a context are free text and no minimal pairs: length, style and fluency "
        "differ with the stereotype. "
        "Many examples are unclear or no stereotype at all (Blodgett et al., 2021). "
        "The published score needs a model with a next-sentence head. Only 79 target terms. "
        "Stereotypes are those of the US."
    ),
)
PORTUGUESE = Card(
    name="stereoset-pt",
    title="StereoSet-PTBR, intrasentence",
    folder="stereoset_ptbr",
    files=github_files(
        "firminovitoria/stereoset-ptbr/150fef0ba2386b3d8173fe7d907890ba403f71f2/data/", {"dev_ptbr.json": ""}
    ),
    licence="CC BY-SA 4.0",
    languages=("pt",),
    citation="""\
@misc{firmino-2026-stereoset,
  title = {{StereoSet-PTBR}},
  author = {Firmino, Vit{\\'o}ria},
  year = {2026},
  howpublished = {firminovitoria/stereoset-ptbr on GitHub},
}""",
    source="firminovitoria/stereoset-ptbr@150fef0:data/dev_ptbr.json (data.intrasentence)",
    size=2106,
    problems=(
        "Translated sentence by sentence by a language model (gpt-4.1-mini), by its README; 517 sentences with a wrong "
        "blank were corrected by hand, the others were not reviewed for meaning. Stereotypes are those of the US. The "
        "words of the three sentences need not agree with the sentence in gender and number. What was said of the "
        "original (Blodgett et al., 2021) applies here too."
    ),
    manual="its checksum is not known here: download data/dev_ptbr.json of its repository at commit 150fef0",
)
PORTUGUESE_INTERSENTENCE = replace(
    PORTUGUESE,
    name="stereoset-pt-intersentence",
    title="StereoSet-PTBR, intersentence",
    source="firminovitoria/stereoset-ptbr@150fef0:data/dev_ptbr.json (data.intersentence)",
    size=2123,
)


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


def _source(card: Card, part: Literal["intrasentence", "intersentence"]) -> DatasetSource:
    return DatasetSource(card, partial(load_part, name=card.name, part=part))


DATASETS = (
    _source(INTRASENTENCE, "intrasentence"),
    _source(INTERSENTENCE, "intersentence"),
    _source(PORTUGUESE, "intrasentence"),
    _source(PORTUGUESE_INTERSENTENCE, "intersentence"),
)
