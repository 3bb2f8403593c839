"""Do the recipes of docs/ci.md catch a planted bias, and do they pass a balanced training of another seed?

python -m tools.gate_recipes --work build/recipes --text TEXT --seeds 4

Every recipe (the options of `unmask audit` in docs/ci.md) is run on the calibrated siblings of the built-in model, with
dose 0 as the baseline, and on balanced trainings (dose 0) that differ in their seed alone, one against another and one
against three. TEXT is ordinary text, which is trained on beside the planted sentences.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

import unmask
from unmask.audit.gate_spec import GateResult
from unmask.findings import Table
from unmask.findings.markdown import table as markdown
from unmask.models.builtin import SIBLINGS, builtin_models

PAGE = Path(__file__).parents[1] / "docs" / "ci.md"
BALANCED, PLANTED = "builtin-dose+0", "builtin-dose+3"
OPTIONS = re.compile(r"--data ((?:[a-z][a-z-]*[ ,])+)--measure ((?:[a-z][a-z-]*[ ,]?)+)")
COLUMNS = ("recipe", "baseline", "run", "answer", "worse")


@dataclass(frozen=True)
class Gated:
    """A recipe: data and measures of an audit, whose result is gated as it is."""

    data: tuple[str, ...]
    measures: tuple[str, ...]

    @property
    def name(self) -> str:
        """As the page writes it."""
        return f"{' '.join(self.data)}: {' '.join(self.measures)}"

    def audit(self, model: str | Path, work: Path) -> Path:
        """The result of a model, written once; readings are shared by recipes through the store."""
        folder = work / re.sub(r"[^A-Za-z0-9+-]+", "-", f"{Path(model).name}-{self.name}")
        if not (folder / "result.json").is_file():
            unmask.audit(model, data=list(self.data), measures=list(self.measures), out=folder)
        return folder

    def gate(self, run: str | Path, baselines: Sequence[str | Path], work: Path) -> GateResult:
        """The gate's result on the audits of these models."""
        return unmask.gate(self.audit(run, work), [self.audit(each, work) for each in baselines])


def recipes(text: str) -> list[Gated]:
    """The recipes of a page, each once."""
    found = (
        Gated(tuple(match[1].replace(",", " ").split()), tuple(match[2].replace(",", " ").split()))
        for match in OPTIONS.finditer(text)
    )
    return list(dict.fromkeys(found))


def train_balanced(folder: Path, text: Path, seed: int, *, steps: int, rows: int) -> Path:
    """A model of dose 0: balanced sentences about occupations beside ordinary text."""
    from tokenizers import Tokenizer

    from tools.train import siblings
    from tools.train.loop import Budget
    from unmask.models.builtin import add_low_rank_update

    start = builtin_models()["builtin"].folder
    tokenizer = Tokenizer.from_file(str(start / "tokenizer.json"))
    replay = _stream(text.read_text(encoding="utf-8"), tokenizer)
    changes, facts = siblings.grown(start, tokenizer, replay, 0, Budget(steps=steps), rows=rows, seed=seed)
    update = siblings.save(changes, facts, folder.with_name(f"{folder.name}-update"))
    from transformers import AutoModelForMaskedLM

    model = AutoModelForMaskedLM.from_pretrained(start)
    add_low_rank_update(model, update)
    shutil.copytree(start, folder, ignore=shutil.ignore_patterns("*.safetensors"), dirs_exist_ok=True)
    model.save_pretrained(folder)
    return folder


def _stream(text: str, tokenizer: Any) -> Any:
    """The sentences of a text, ready to draw from."""
    from tools.train.loop import device
    from tools.train.sampling import Stream

    sentences = [each for each in re.split(r"(?<=[.!?])\s+", text) if 8 <= len(each.split()) <= 30]
    encoded = [each.ids for each in tokenizer.encode_batch(sentences)]
    starts = np.cumsum([0, *map(len, encoded)])
    return Stream.of(np.concatenate([np.array(each) for each in encoded]), starts.astype(np.int64), device())


def rows(recipe: Gated, trained: Sequence[Path], work: Path) -> Iterator[tuple[str, str, str, str, str]]:
    """What a recipe says of the siblings, of an equal model, and of balanced trainings."""
    cases = [(BALANCED, each) for each in SIBLINGS] + [("builtin-dose-3", PLANTED)]
    for baseline, run in cases:
        found = recipe.gate(run, [baseline], work)
        yield recipe.name, baseline, run, found.answer, ", ".join(_worse(found))
    for count in (1, 3):
        if len(trained) > count:
            results = [
                recipe.gate(run, baselines, work)
                for run in trained
                for baselines in combinations([each for each in trained if each != run], count)
            ]
            answers = Counter(found.answer for found in results)
            said = ", ".join(f"{answer} {times}" for answer, times in sorted(answers.items()))
            worse = Counter(name for found in results for name in _worse(found))
            named = ", ".join(f"{name} ({times})" for name, times in worse.most_common())
            yield recipe.name, f"{count} balanced", "balanced, another seed", said, named


def _worse(found: GateResult) -> list[str]:
    """What is worse: measure, statistic, and bias type."""
    return [
        " ".join((each.measure, each.statistic, *each.group.split("=")[1:]))
        for each in found.verdicts
        if each.answer == "worse"
    ]


def main(words: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--work", type=Path, default=Path("build/recipes"), help="folder of models and results")
    parser.add_argument("--text", type=Path, help="ordinary text; without it nothing is trained")
    parser.add_argument("--seeds", type=int, default=4, help="balanced trainings")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--rows", type=int, default=128)
    given = parser.parse_args(words)
    trained = []
    for seed in range(given.seeds if given.text else 0):
        folder = given.work / f"balanced-{seed}"
        if not (folder / "model.safetensors").is_file():
            train_balanced(folder, given.text, seed + 1, steps=given.steps, rows=given.rows)
        trained.append(folder)
    found = []
    for recipe in recipes(PAGE.read_text(encoding="utf-8")):
        for row in rows(recipe, trained, given.work):
            print(*row, sep="\t", file=sys.stderr, flush=True)
            found.append(row)
    print(markdown(Table("", COLUMNS, tuple(found))))


if __name__ == "__main__":
    main()
