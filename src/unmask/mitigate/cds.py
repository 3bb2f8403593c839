"""`cds`: counterfactual data substitution: of every document, whole, either it or its counterfactual."""

from __future__ import annotations

import numpy as np

from unmask.mitigate.augment import count_changed, counterfactuals
from unmask.mitigate.mlm import train_language_model
from unmask.mitigate.spec import Method, MitigationContext, Outcome, TrainingCorpus


def apply(context: MitigationContext, corpus: TrainingCorpus) -> Outcome:
    """Train on the corpus with half of its documents exchanged, names included."""
    texts = [" ".join(one) for one in corpus.documents]
    swapped, grammar = counterfactuals(context, texts, names=True)
    count_changed(texts, swapped, context.options.axis)
    tails = np.random.default_rng((context.settings.seed, 2)).random(len(texts)) < 0.5
    mixed = [other if tail else one for one, other, tail in zip(texts, swapped, tails, strict=True)]
    changed = sum(one != other for one, other in zip(texts, mixed, strict=True))
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
