"""Steps that score the examples of the paraphrase paper: sentences of CrowS-Pairs with one phrase exchanged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from unmask.audit.plan import load_datasets
from unmask.core.types import Pair
from unmask.data.pairs import ITSELF, NUMBER, ORIGINAL
from unmask.diagnose import DiagnosisSettings
from unmask.diagnose.run import diagnose
from unmask.findings import Finding, Section
from unmask.findings.envelope import build
from unmask.findings.folder import create
from unmask.studies.durations import TOKENS
from unmask.studies.spec import StepContext, StepKind, WorkEstimate
from unmask.studies.steps.audits import open_cached

DIAGNOSIS = "paraphrase"
NAME = "examples of the paper"


def score_examples(context: StepContext) -> None:
    """Score the wordings of `examples` (by item: a phrase and its paraphrases); a note if the data have none."""
    parameters, out = context.parameters, context.folder / DIAGNOSIS
    options = context.options(store=False)
    (data,) = load_datasets(context.data, options)
    items = reword(data.items, parameters["examples"])
    if not items:
        note = Finding((), (), (), (f"{data.card.name} has none of the paper's examples",))
        create(build("diagnosis", findings=[Section(DIAGNOSIS, "", "", note)]), out)
        return
    lm = open_cached(context.model, context.opening)
    lm = replace(lm, facts=replace(lm.facts, id=parameters["shown"]))
    worded = replace(data, items=items, card=replace(data.card, name=NAME))
    settings = DiagnosisSettings(seed=parameters["seed"], measures=parameters["measures"])
    diagnose(DIAGNOSIS, lm, data=worded, out=out, settings=settings, options=options)


def reword(items: Sequence[Pair], examples: Mapping[str, Sequence[str]]) -> tuple[Pair, ...]:
    """Every example in the data and its paraphrases: the first phrase exchanged for each of the others."""
    reworded = []
    for item in items:
        phrase, *others = examples.get(item.id, ("",))
        if phrase and phrase in item.more and phrase in item.less:
            for number, other in enumerate((phrase, *others)):
                name = item.id if number == int(ITSELF) else f"{item.id}/{number}"
                groups = {**item.groups, ORIGINAL: item.id, NUMBER: str(number)}
                more, less = (text.replace(phrase, other) for text in (item.more, item.less))
                reworded.append(Pair(name, more, less, groups=groups))
    return tuple(reworded)


WORK = WorkEstimate(2.0 * 7 * TOKENS * TOKENS)  # seven pairs, one pass per token
EXAMPLES = StepKind(score_examples, estimate_work=lambda _: WORK)
