"""Prompt steps: the words a model fills in, for human-level diagnosis."""

from __future__ import annotations

from unmask import data as datasets
from unmask.data.prompts import Prompt
from unmask.prompts.run import prompts
from unmask.studies.durations import TOKENS
from unmask.studies.spec import Step, StepContext, StepKind, WorkEstimate
from unmask.studies.steps.audits import open_cached


def ask_prompts(context: StepContext) -> None:
    """Fill in all prompts: `answers.jsonl`, and the shares of biased answers by the rules; `top`: words a prompt."""
    lm, parameters = open_cached(context.model, context.opening), context.parameters
    questions = select_prompts(parameters["limit"])
    prompts(lm, questions=questions, out=context.folder, top=parameters["top"], counting="contrast")


def select_prompts(limit: int | None) -> list[Prompt]:
    """All prompts, or `limit` of every bias type from all parts of the file, which has completions before questions."""
    by_type: dict[str, list[Prompt]] = {}
    for prompt in datasets.read("prompts"):
        by_type.setdefault(prompt.category if limit else "all", []).append(prompt)
    return [
        prompt for group in by_type.values() for prompt in group[:: len(group) // (limit or len(group)) or 1][:limit]
    ]


def work_estimate(step: Step) -> WorkEstimate:
    """Some passes for every prompt: the search covers words of several tokens."""
    return WorkEstimate(float(len(select_prompts(step.parameters["limit"]))) * TOKENS * PASSES)


PASSES = 8.0  # per prompt, approximate
ASKED = StepKind(ask_prompts, version=4, estimate_work=work_estimate)
