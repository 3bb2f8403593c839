"""Prompt steps: the words a model fills in, for human-level diagnosis."""

from __future__ import annotations

from unmask import data as datasets
from unmask.prompts.run import prompts
from unmask.studies.forecast import TOKENS
from unmask.studies.spec import Step, StepContext, StepKind, WorkEstimate
from unmask.studies.steps.audits import open_cached

PASSES = 8.0  # per prompt, approximate: the search covers words of several tokens


def ask_prompts(context: StepContext) -> None:
    """Fill in all prompts, or a sample of `limit` of them: answers, and the shares of biased ones by the rules."""
    lm, options = open_cached(context.model, context.opening), context.options(store=False)
    prompts(lm, out=context.folder, top=context.parameters["top"], counting="contrast", options=options)


def work_estimate(step: Step) -> WorkEstimate:
    """Some passes for every prompt."""
    size = len(datasets.read("prompts"))
    return WorkEstimate(float(min(size, step.parameters["limit"] or size)) * TOKENS * PASSES)


ASKED = StepKind(ask_prompts, version=6, estimate_work=work_estimate)
