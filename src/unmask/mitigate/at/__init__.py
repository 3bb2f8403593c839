"""`at`: contextual debiasing of all layers at the token level (Kaneko & Bollegala 2021).

Target words (nurse) are pushed out of the direction of attribute words (she, father) while sentences that
speak of a gender keep the states they had.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from unmask.mitigate.at.losses import AtCollator, AtExample, AtLoss
from unmask.mitigate.at.sentences import WordOccurrence, check_occurrences, find_occurrences
from unmask.mitigate.at.vectors import AttributeVectors
from unmask.mitigate.mlm import reminders, tokenize_texts
from unmask.mitigate.spec import Method, MitigationContext, Outcome, TrainingCorpus
from unmask.models.eraser import attach, attached_eraser, detach
from unmask.training import train
from unmask.training.collators import TokenRow
from unmask.training.distributed import on_main_process


def apply(context: MitigationContext, corpus: TrainingCorpus, *, as_code: bool = False) -> Outcome:
    """Train by the projection loss; the corpus gives the sentences."""
    length = min(context.options.length, context.lm.facts.max_length)
    attributes, targets = find_occurrences(context.lm, corpus.sentences, length)
    check_occurrences(attributes, targets)
    known = tokenize_texts(context, reminders(context.options.remind))
    turns = _turns(targets, attributes, known, context.settings.seed)
    pad = context.lm.tokenizer.pad_token_id
    vectors = AttributeVectors(attributes, pad, context.folder, by_word=not as_code, unit=not as_code)
    before = _frozen(context.model)
    took = train(
        context.model,
        turns,
        AtCollator(context.lm.tokenizer, pad, shifted=as_code),
        context.settings,
        context.folder,
        loss=AtLoss(vectors, before, context.options, as_code),
        progress=context.progress,
        on_epoch_begin=vectors.update,
        key=f"{context.options} {as_code} {[turn.target.ids for turn in turns]}",
    )
    on_main_process(vectors.delete_files)
    facts = {
        "attribute_sentences": len(attributes),
        "attribute_words": len({one.word for one in attributes}),
        "target_sentences": len(targets),
        "target_words": len({one.word for one in targets}),
        "reminders": len(known),
        "layers": context.options.layers,
        "level": context.options.level,
        "weights": [context.options.strength, 1 - context.options.strength],
        "vectors": "one per gender" if as_code else "one per word, of length one",
    }
    return Outcome(context.model, facts, took)


def _frozen(model: Any) -> Any:
    """A copy that stays as it is; an eraser works in both."""
    eraser = attached_eraser(model)
    detach(model)
    made = copy.deepcopy(model).eval().requires_grad_(False)
    if eraser is not None:
        attach(model, eraser)
        attach(made, eraser)
    return made


def _turns(
    targets: Sequence[WordOccurrence],
    attributes: Sequence[WordOccurrence],
    known: Sequence[TokenRow],
    seed: int,
) -> list[AtExample]:
    """Every target once, beside attribute sentences of both genders in turn; reminders spread evenly."""
    dice = np.random.default_rng((seed, 3))
    groups = [[one for one in attributes if one.group == group] for group in ("female", "male")]
    orders = [dice.permutation(len(some)) for some in groups]
    return [
        AtExample(
            target,
            groups[number % 2][orders[number % 2][number // 2 % len(groups[number % 2])]],
            tuple(known[number :: len(targets)]),
        )
        for number, target in enumerate(targets)
    ]


AT = Method(
    name="at",
    title="Orthogonal projection of target words, all layers",
    about="target words are pushed out of the direction of gendered words; sentences on one gender stay",
    apply=apply,
    citation="kaneko-bollegala-2021-debiasing",
    kinds=("masked",),
)

AT_CODE = Method(
    name="at-code",
    title="Orthogonal projection of target words, as the published code does it",
    about="as at, with one vector a gender, inner products averaged before squaring, positions off by one",
    apply=partial(apply, as_code=True),
    citation="kaneko-bollegala-2021-debiasing",
    kinds=("masked",),
    published=True,
)
