"""Prompts as steps: what a model puts into them (human-level diagnosis), and prompts filled as pairs."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from unmask import data as datasets
from unmask.data.prompts import Prompt
from unmask.prompts import ModelAnswers, fill_prompts
from unmask.studies.sizes import TOKENS
from unmask.studies.spec import Step, StepContext, StepKind, WorkEstimate
from unmask.studies.steps.audits import PAIRS_FILE, open_cached

ANSWERS = "answers.jsonl"
SLOT = "{slot}"


def ask_prompts(context: StepContext) -> None:
    """Ask all prompts; one answer a line."""
    parameters, runtime = context.parameters, context.runtime
    lm = open_cached(context.model, parameters["dtype"], runtime.device, offline=runtime.offline)
    asked = fill_prompts(lm, select_prompts(parameters["limit"]))
    lines = [json.dumps(row, ensure_ascii=False) for row in asked.to_rows()]
    (context.folder / ANSWERS).write_text("\n".join(lines) + "\n", encoding="utf-8")


def load_answers(folder: Path) -> ModelAnswers:
    """The answers a step kept."""
    lines = (folder / ANSWERS).read_text(encoding="utf-8").splitlines()
    return ModelAnswers.from_rows(json.loads(line) for line in lines)


def write_prompt_pairs(context: StepContext) -> None:
    """Every prompt as a pair: filled with its first biased word, and with its first fair one."""
    with (context.folder / PAIRS_FILE).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("more", "less", "category", "direction", "form"))
        for one in select_prompts(context.parameters["limit"]):
            if one.biased and one.fair:
                more, less = (_filled(one.text, words[0]) for words in (one.biased, one.fair))
                writer.writerow((more, less, one.category, "stereo", one.form))


def _filled(text: str, word: str) -> str:
    """The word in its place, with a capital where it begins a sentence."""
    before, _, after = text.partition(SLOT)
    opens = not before.strip() or before.rstrip()[-1] in ".?!:"
    return f"{before}{word[:1].upper() + word[1:] if opens else word}{after}"


def select_prompts(limit: int | None) -> list[Prompt]:
    """All prompts, or so many of every bias type."""
    prompts = datasets.read("prompts")
    if limit is None:
        return list(prompts)
    types = dict.fromkeys(one.category for one in prompts)
    return [one for name in types for one in [each for each in prompts if each.category == name][:limit]]


def work_estimate(step: Step) -> WorkEstimate:
    """A few passes for every prompt: words of several tokens are searched for."""
    return WorkEstimate(100.0 * TOKENS * 40)


ASKED, FILLED = (
    StepKind(ask_prompts, version=1, estimate_work=work_estimate),
    StepKind(write_prompt_pairs, version=1, runs_model=False),
)
