"""Prompt steps: the words a model fills in (human-level diagnosis), and prompts filled as sentence pairs."""

from __future__ import annotations

import csv

from unmask import data as datasets
from unmask.data.prompts import Prompt
from unmask.prompts.run import prompts
from unmask.studies.durations import TOKENS
from unmask.studies.spec import StepContext, StepKind, WorkEstimate
from unmask.studies.steps.audits import PAIRS_FILE, open_cached

SLOT = "{slot}"


def ask_prompts(context: StepContext) -> None:
    """Fill in all prompts: `answers.jsonl`, and the shares of biased answers by the rules."""
    lm = open_cached(context.model, context.opening)
    prompts(lm, questions=select_prompts(context.parameters["limit"]), out=context.folder)


def write_prompt_pairs(context: StepContext) -> None:
    """Write every prompt as a pair: filled with its first biased word and with its first fair word."""
    with (context.folder / PAIRS_FILE).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("more", "less", "category", "direction", "form"))
        for prompt in select_prompts(context.parameters["limit"]):
            if prompt.biased and prompt.fair:
                more, less = (_fill_slot(prompt.text, words[0]) for words in (prompt.biased, prompt.fair))
                writer.writerow((more, less, prompt.category, "stereo", prompt.form))


def _fill_slot(text: str, word: str) -> str:
    """Put the word into the slot, capitalised at the start of a sentence."""
    before, _, after = text.partition(SLOT)
    starts_sentence = not before.strip() or before.rstrip()[-1] in ".?!:"
    return f"{before}{word[:1].upper() + word[1:] if starts_sentence else word}{after}"


def select_prompts(limit: int | None) -> list[Prompt]:
    """All prompts, or the first `limit` of every bias type."""
    by_type: dict[str, list[Prompt]] = {}
    for prompt in datasets.read("prompts"):
        by_type.setdefault(prompt.category if limit else "all", []).append(prompt)
    return [prompt for group in by_type.values() for prompt in group[:limit]]


WORK = WorkEstimate(100.0 * TOKENS * 40)  # some 40 passes per prompt: the search covers words of several tokens
ASKED = StepKind(ask_prompts, version=2, estimate_work=lambda _: WORK)
FILLED = StepKind(write_prompt_pairs, version=1, runs_model=False)
