"""`at`: contextual debiasing of all layers at the token level (Kaneko & Bollegala 2021).

Hidden states of target words (nurse) are frozen orthogonal to the vectors of attribute words (she, father),
while the states of sentences with attribute words are preserved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from unmask.core.options import option
from unmask.mitigate.spec import LossOptions, Method, MitigationContext, Outcome

if TYPE_CHECKING:
    from unmask.data.texts import TrainingCorpus
    from unmask.mitigate.methods.at.losses import AtExample
    from unmask.mitigate.methods.at.sentences import WordOccurrence
    from unmask.training.collators import TokenRow


@dataclass(frozen=True)
class AtOptions(LossOptions):
    """Options of `at` and `at-code`."""

    layers: Literal["all", "last"] = option("all", "Layers of the projection loss, all or last.")
    level: Literal["token", "sentence"] = option("token", "Level of the projection loss, token or sentence.")


def apply(context: MitigationContext[AtOptions], corpus: TrainingCorpus, *, as_code: bool = False) -> Outcome:
    """Train with the projection loss on sentences of the corpus; `as_code` reproduces the published code."""
    from unmask.mitigate.methods.at.losses import AtCollator, AtLoss, AttributeVectors
    from unmask.mitigate.methods.at.sentences import check_occurrences, find_occurrences
    from unmask.mitigate.mlm import frozen_copy, reminders, tokenize_texts
    from unmask.training import train
    from unmask.training.distributed import on_main_process

    length = min(context.options.length, context.lm.facts.max_length)
    attributes, targets = find_occurrences(context.lm, corpus.sentences, length)
    check_occurrences(attributes, targets)
    reminder_rows = tokenize_texts(context, reminders(context.options))
    examples = _examples(targets, attributes, reminder_rows, context.options.seed)
    pad = context.lm.tokenizer.pad_token_id
    vectors = AttributeVectors(attributes, pad, context.folder, by_word=not as_code, unit=not as_code)
    training = train(
        context.model,
        examples,
        AtCollator(context.lm.tokenizer, pad, shifted=as_code),
        context.options,
        context.folder,
        loss=AtLoss(vectors, frozen_copy(context.model), context.options, as_code),
        progress=context.progress,
        on_epoch_begin=vectors.update,
        key=_key(examples, context.options, as_code),
    )
    on_main_process(vectors.delete_files)
    facts = {
        "attribute_sentences": len(attributes),
        "attribute_words": len({occurrence.word for occurrence in attributes}),
        "target_sentences": len(targets),
        "target_words": len({occurrence.word for occurrence in targets}),
        "reminders": len(reminder_rows),
        "layers": context.options.layers,
        "level": context.options.level,
        "weights": [context.options.strength, 1 - context.options.strength],
        "vectors": "one per gender" if as_code else "one per word, of length one",
    }
    return Outcome(context.model, facts, training)


def _key(examples: Sequence[AtExample], options: AtOptions, as_code: bool) -> list[Any]:
    """What determines a training: the examples, and the options of the loss."""
    rows = [
        [
            *(example.target.ids, example.target.positions, example.attribute.ids),
            [row.tolist() for row in example.reminders],
        ]
        for example in examples
    ]
    return [as_code, options.layers, options.level, options.strength, rows]


def _examples(
    targets: Sequence[WordOccurrence],
    attributes: Sequence[WordOccurrence],
    reminder_rows: Sequence[TokenRow],
    seed: int,
) -> list[AtExample]:
    """Pair every target with an attribute sentence, genders alternating; spread reminders evenly."""
    from unmask.core.seeds import generator
    from unmask.mitigate.methods.at.losses import AtExample

    rng = generator(seed, 3)
    groups = [[occurrence for occurrence in attributes if occurrence.group == group] for group in ("female", "male")]
    orders = [rng.permutation(len(occurrences)) for occurrences in groups]
    return [
        AtExample(
            target,
            groups[number % 2][orders[number % 2][number // 2 % len(groups[number % 2])]],
            tuple(reminder_rows[number :: len(targets)]),
        )
        for number, target in enumerate(targets)
    ]


AT = Method(
    name="at",
    title="Orthogonal projection of target words, all layers",
    about="target words are made orthogonal to gendered words; sentences on one gender keep their states",
    apply=apply,
    citation="kaneko-bollegala-2021-debiasing",
    options=AtOptions,
    kinds=("masked",),
)

AT_CODE = Method(
    name="at-code",
    title="Orthogonal projection of target words, as the published code does it",
    about="as at, with one vector per gender, inner products averaged before squaring, positions off by one",
    apply=partial(apply, as_code=True),
    citation="kaneko-bollegala-2021-debiasing",
    options=AtOptions,
    kinds=("masked",),
    published=True,
)
