"""`cda`: counterfactual data augmentation, two-sided: every text, and its counterfactual where it has one."""

from __future__ import annotations

from unmask.data.texts import TrainingCorpus
from unmask.mitigate.augment import count_changed, counterfactuals
from unmask.mitigate.mlm import train_language_model
from unmask.mitigate.spec import Method, MitigationContext, Outcome


def apply(context: MitigationContext, corpus: TrainingCorpus) -> Outcome:
    """Train on the corpus and its counterfactuals."""
    texts = [" ".join(document) for document in corpus.documents]
    swapped, grammar = counterfactuals(context, texts, names=False)
    changed = count_changed(texts, swapped, context.options.axis)
    both = [text for pair in zip(texts, swapped, strict=True) for text in dict.fromkeys(pair)]
    return train_language_model(
        context, both, {"documents": len(texts), "counterfactuals": changed, "pronouns": grammar}
    )


CDA = Method(
    name="cda",
    title="Counterfactual data augmentation",
    about="further training on every text and on its counterfactual, gendered words exchanged both ways",
    apply=apply,
    citation="webster-etal-2020-measuring",
    axes=("gender", "race", "religion"),
)
