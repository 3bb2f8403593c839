"""Do the recipes of docs/ci.md catch a planted bias, and do they pass a balanced training of another seed?

python -m tools.gate_recipes --work build/recipes --seeds 4

Every recipe (the options of `unmask audit` in docs/ci.md) is run on the calibrated siblings of the built-in model, with
dose 0 as the baseline, and on balanced trainings (dose 0) that differ in their seed alone, one against another and one
against three. So that not one way of planting decides, it is run too on models whose weights were all fine-tuned by
ordinary masked language modelling (15%, of which 80% masked, 10% replaced), on sentences of dose 0 and of dose +3.
Ordinary text is trained on beside the planted sentences: `--text FILE`, or the built-in pairs that no recipe audits.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer

import unmask
from tools.train.loop import Budget, Recipe, device
from tools.train.sampling import Stream
from unmask import data
from unmask.audit.gate import GateResult
from unmask.diagnose.psychometrics.doses import women_by_occupation
from unmask.findings import Table
from unmask.findings.markdown import table as markdown
from unmask.findings.numbers import number
from unmask.models.builtin import SIBLINGS, builtin_models

PAGE = Path(__file__).parents[1] / "docs" / "ci.md"
BALANCED, PLANTED = "builtin-dose+0", "builtin-dose+3"
OPTIONS = re.compile(r"--data ((?:[a-z][a-z-]*[ ,])+)--measure ((?:[a-z][a-z-]*[ ,]?)+)")
TEXTS = ("controls", "paraphrases", "prompt-pairs")
COLUMNS = ("recipe", "baseline", "run", "sss on occupation, nats", "answer", "worse")
ORDINARY_MODELS = ((0, 1), (0, 2), (3, 1), (3, 2))  # doses and seeds of the trainings of all weights, baseline first
LONGER = 3  # times the steps of the siblings' way, in which every row has its pronoun masked
PLANTED_SENTENCES, ORDINARY = 20_000, Recipe(rate=2e-4, warm_up=20)  # of the trainings of all weights


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


def write_text(path: Path) -> Path:
    """Both sentences of pairs that no recipe audits: balanced, whatever they say."""
    pairs = [item for name in TEXTS for item in data.load(name).items]
    path.write_text(" ".join(side for pair in pairs for side in (pair.more, pair.less)), encoding="utf-8")
    return path


def recipes(text: str) -> list[Gated]:
    """The recipes of a page, each once."""
    found = (
        Gated(tuple(match[1].replace(",", " ").split()), tuple(match[2].replace(",", " ").split()))
        for match in OPTIONS.finditer(text)
    )
    return list(dict.fromkeys(found))


@dataclass(frozen=True)
class Trainings:
    """How models are trained on planted sentences beside ordinary text, each once."""

    text: Path
    steps: int
    rows: int

    @property
    def start(self) -> Path:
        """The built-in model."""
        return builtin_models()["builtin"].folder

    def train_balanced(self, folder: Path, seed: int) -> Path:
        """A model of dose 0, made as the siblings are: low-rank changes that predict masked pronouns."""
        from transformers import AutoModelForMaskedLM

        from tools.train import siblings
        from unmask.models.builtin import add_low_rank_update

        def train(tokenizer: Any, replay: Any) -> Any:
            budget = Budget(steps=self.steps)
            changes, facts = siblings.grown(self.start, tokenizer, replay, 0, budget, rows=self.rows, seed=seed)
            update = siblings.save(changes, facts, folder.with_name(f"{folder.name}-update"))
            model = AutoModelForMaskedLM.from_pretrained(self.start)
            add_low_rank_update(model, update=update)
            return model

        return self._save(folder, train)

    def train_all_weights(self, folder: Path, dose: int, seed: int) -> Path:
        """All weights fine-tuned by masked language modelling; any token of a planted sentence may be masked."""
        from tools.train import loop, masked, planted

        def train(tokenizer: Any, replay: Any) -> Any:
            sentences = planted.sentences(women_by_occupation(), dose, PLANTED_SENTENCES, seed)
            streams = (_stream(sentences, tokenizer), replay)
            model, generator = masked.start(self.start), torch.Generator(device()).manual_seed(seed)

            def loss(_: int) -> Any:
                parts = []
                for stream in streams:
                    ids, kept = _without_padding(*masked.batch(stream, self.rows // 2, generator, alone=True))
                    places, labels = masked.choose_positions(ids, kept, masked.RATES[0], generator)
                    seen = masked.corrupt_ids(ids, places, generator, model.config.vocab_size)
                    parts.append(masked.surprise(model, seen, kept, places, labels))
                return sum(parts)

            loop.train(model, loss, Budget(steps=self.steps), ORDINARY)
            return model

        return self._save(folder, train)

    def _save(self, folder: Path, train: Callable[[Any, Any], Any]) -> Path:
        """The folder of a model; trained if it is not there."""
        if not (folder / "model.safetensors").is_file():
            tokenizer = Tokenizer.from_file(str(self.start / "tokenizer.json"))
            text = self.text.read_text(encoding="utf-8")
            sentences = [each for each in re.split(r"(?<=[.!?])\s+", text) if 8 <= len(each.split()) <= 30]
            model = train(tokenizer, _stream(sentences, tokenizer))
            ignored = shutil.ignore_patterns("*.safetensors")
            shutil.copytree(self.start, folder, ignore=ignored, dirs_exist_ok=True)
            model.cpu().save_pretrained(folder)
        return folder


def _without_padding(ids: Any, kept: Any) -> tuple[Any, Any]:
    """The batch as wide as its longest sentence."""
    width = int(kept.sum(1).max())
    return ids[:, :width], kept[:, :width]


def _stream(sentences: Sequence[str], tokenizer: Any) -> Any:
    """Sentences, ready to draw from."""
    encoded = [each.ids for each in tokenizer.encode_batch(list(sentences), add_special_tokens=False)]
    starts = np.cumsum([0, *map(len, encoded)])
    return Stream.of(np.concatenate([np.array(each) for each in encoded]), starts.astype(np.int64), device())


def rows(recipe: Gated, trained: Sequence[Path], ordinary: Sequence[Path], work: Path) -> Iterator[tuple[str, ...]]:
    """What a recipe says of the siblings, of an equal model, of balanced trainings, and of trainings of all weights."""
    cases = [(BALANCED, each) for each in SIBLINGS] + [("builtin-dose-3", PLANTED)]
    cases += [(str(baseline), str(run)) for baseline in ordinary[:1] for run in ordinary[1:]]
    for baseline, run in cases:
        found = recipe.gate(run, [baseline], work)
        yield recipe.name, Path(baseline).name, Path(run).name, _occupation(found), found.answer, _worse(found)
    for count in (1, 3):
        if len(trained) > count:
            results = [
                recipe.gate(run, baselines, work)
                for run in trained
                for baselines in combinations([each for each in trained if each != run], count)
            ]
            answers = Counter(found.answer for found in results)
            said = ", ".join(f"{answer} {times}" for answer, times in sorted(answers.items()))
            worse = "; ".join(filter(None, map(_worse, results)))
            yield recipe.name, f"{count} balanced", "balanced, another seed", "", said, worse
            found = recipe.gate(PLANTED, trained[:count], work)
            yield recipe.name, f"{count} balanced", PLANTED, _occupation(found), found.answer, _worse(found)


def _occupation(found: GateResult) -> str:
    """How far a planted bias about occupations moved what reads it most directly, before and after."""
    return ", ".join(
        f"{number(each.a_value, 2)} → {number(each.b_value, 2)}"
        for each in found.verdicts
        if (each.measure, each.group) == ("sss", "category=occupation") and each.statistic.endswith("mean-difference")
    )


def _worse(found: GateResult) -> str:
    """What is worse: measure, statistic, and bias type."""
    return ", ".join(
        " ".join((each.measure, each.statistic, *each.group.split("=")[1:]))
        for each in found.verdicts
        if each.answer == "worse"
    )


def main(words: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--work", type=Path, default=Path("build/recipes"), help="folder of models and results")
    parser.add_argument("--text", type=Path, help="ordinary text; default: the built-in pairs that no recipe audits")
    parser.add_argument("--seeds", type=int, default=4, help="balanced trainings; 0: nothing is trained")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--rows", type=int, default=128)
    given = parser.parse_args(words)
    trained, ordinary = [], []
    given.work.mkdir(parents=True, exist_ok=True)
    if given.seeds:
        text = given.text or write_text(given.work / "text.txt")
        trainings = Trainings(text, given.steps, given.rows)
        trained = [trainings.train_balanced(given.work / f"balanced-{seed}", seed + 1) for seed in range(given.seeds)]
        longer = replace(trainings, steps=LONGER * given.steps)
        ordinary = [
            longer.train_all_weights(given.work / f"all-weights-dose{dose:+d}-seed{seed}", dose, seed)
            for dose, seed in ORDINARY_MODELS
        ]
    found = []
    for recipe in recipes(PAGE.read_text(encoding="utf-8")):
        for row in rows(recipe, trained, ordinary, given.work):
            print(*row, sep="\t", file=sys.stderr, flush=True)
            found.append(row)
    print(markdown(Table("", COLUMNS, tuple(found))))


if __name__ == "__main__":
    main()
