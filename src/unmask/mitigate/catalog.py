"""The built-in mitigations. Their functions are imported when called, so that they can be listed without torch."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from unmask.core.lazy_imports import lazy_modules
from unmask.mitigate.spec import Method

if TYPE_CHECKING:
    from unmask.mitigate import at, aul_loss, cda, dropout, erase, inlp, leace, oscar, projection, prompt
else:
    at, aul_loss, cda, dropout, erase, inlp, leace, oscar, projection, prompt = lazy_modules(
        "unmask.mitigate", "at", "aul_loss", "cda", "dropout", "erase", "inlp", "leace", "oscar", "projection", "prompt"
    )

CDA = Method(
    name="cda",
    title="Counterfactual data augmentation",
    about="further training on every text and on its counterfactual, gendered words exchanged both ways",
    apply=cda.augment,
    citation="webster-etal-2020-measuring",
    axes=("gender", "race", "religion"),
)

CDS = Method(
    name="cds",
    title="Counterfactual data substitution",
    about="further training on text half of whose documents are replaced by their counterfactual, names too",
    apply=cda.substitute,
    citation="hall-maudslay-etal-2019-name",
    axes=("gender", "race", "religion"),
)

CDA_KANEKO = Method(
    name="cda-kaneko",
    title="Counterfactual data augmentation, as published by Kaneko et al. (2022)",
    about="one-directional: copies only for masculine words, words next to punctuation missed, lower case",
    apply=cda.augment_as_published,
    citation="kaneko-etal-2022-debiasing",
    published=True,
)

DROPOUT = Method(
    name="dropout",
    title="Dropout regularisation",
    about="further training with dropout 0.20 of hidden states and 0.15 of attention, in any architecture",
    apply=dropout.apply,
    citation="webster-etal-2020-measuring",
    adapts=False,
    languages=(),
)

DROPOUT_BIAS_BENCH = Method(
    name="dropout-bias-bench",
    title="Dropout regularisation, as published by Meade et al. (2022)",
    about="as dropout, but 0.05 and 0.05 for ALBERT, and 0.15 everywhere for GPT-2",
    apply=dropout.apply_as_bias_bench,
    citation="meade-etal-2022-empirical",
    published=True,
    adapts=False,
    languages=(),
)

INLP = Method(
    name="inlp",
    title="Iterative nullspace projection",
    about="directions that predict gender are removed from the states of one layer until no probe reads it",
    apply=partial(erase.apply, fit_function=inlp.fit_inlp),
    citation="ravfogel-etal-2020",
    trains=False,
    change_vectors=inlp.change_vectors,
)

LEACE = Method(
    name="leace",
    title="Least-squares concept erasure",
    about="what a linear probe reads of gender is erased from the states of one layer, at the least change",
    apply=partial(erase.apply, fit_function=leace.fit_leace),
    citation="belrose-etal-2023-leace",
    trains=False,
    change_vectors=leace.change_vectors,
)

OSCAR = Method(
    name="oscar",
    title="OSCaR",
    about="occupations are rotated to be orthogonal to gender in the states of one layer",
    apply=partial(erase.apply, fit_function=oscar.fit_oscar),
    citation="dev-etal-2021",
    trains=False,
    change_vectors=oscar.change_vectors,
)

PROJECTION = Method(
    name="projection",
    title="Projection",
    about="the direction in which gendered words differ is removed from the states of one layer",
    apply=partial(erase.apply, fit_function=projection.fit_projection),
    citation="liang-etal-2020",
    trains=False,
    change_vectors=projection.change_vectors,
)

AT = Method(
    name="at",
    title="Orthogonal projection of target words, all layers",
    about="target words are made orthogonal to gendered words; sentences on one gender keep their states",
    apply=at.apply,
    citation="kaneko-bollegala-2021-debiasing",
    kinds=("masked",),
)

AT_CODE = Method(
    name="at-code",
    title="Orthogonal projection of target words, as the published code does it",
    about="as at, with one vector per gender, inner products averaged before squaring, positions off by one",
    apply=partial(at.apply, as_code=True),
    citation="kaneko-bollegala-2021-debiasing",
    kinds=("masked",),
    published=True,
)

AUL_LOSS = Method(
    name="aul-loss",
    title="AUL as a training loss",
    about="sentences of a pair get equal AUL; predictions of masked tokens of the corpus are kept",
    apply=aul_loss.apply,
    citation="kaneko-bollegala-2022-unmasking",
    kinds=("masked",),
    pairs=True,
    languages=(),
)

PROMPT = Method(
    name="prompt",
    title="Prompting",
    about="a prefix is put in front of every sentence; no weight is changed, several prefixes are compared",
    apply=prompt.apply,
    citation="si-etal-2023-prompting",
    trains=False,
    saves=False,
    languages=(),
)
