"""`cds`: counterfactual data substitution: each document is replaced by its counterfactual with p = 0.5."""

from __future__ import annotations

from unmask.core.seeds import generator
from unmask.data.texts import TrainingCorpus
from unmask.mitigate.augment import count_changed, counterfactuals
from unmask.mitigate.mlm import train_language_model
from unmask.mitigate.spec import Method, MitigationContext, Outcome


def apply(context: MitigationContext, corpus: TrainingCorpus) -> Outcome:
    """Train on the corpus with about half of its documents substituted, names included."""
    texts = [" ".join(document) for document in corpus.documents]
    swapped, grammar = counterfactuals(context, texts, names=True)
    count_changed(texts, swapped, context.options.axis)
    substitute = generator(context.settings.seed, 2).random(len(texts)) < 0.5
    mixed = [other if swap else text for text, other, swap in zip(texts, swapped, substitute, strict=True)]
    changed = sum(text != new for text, new in zip(texts, mixed, strict=True))
    facts = {"documents": len(texts), "substituted": changed, "pronouns": grammar}
    return train_language_model(context, mixed, facts)


CDS = Method(
    name="cds",
    title="Counterfactual data substitution",
    about="further training on text half of whose documents are replaced by their counterfactual, names too",
    apply=apply,
    citation="hall-maudslay-etal-2019-name",
    axes=("gender", "race", "religion"),
)
