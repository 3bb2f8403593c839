"""The built-in diagnoses. Their functions are imported when called, so that they can be listed without torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unmask.core.lazy_imports import lazy_modules
from unmask.diagnose.spec import Diagnosis
from unmask.models.builtin import SIBLINGS

if TYPE_CHECKING:
    from unmask.diagnose import (
        accuracy,
        agreement,
        alignment,
        calibration,
        common,
        controls,
        direction,
        frequency,
        human,
        invariance,
        length,
        meaning,
        paraphrase,
        precision,
        reliability,
        stability,
        validity,
    )
else:
    accuracy, agreement, alignment, calibration, common, controls, direction = lazy_modules(
        "unmask.diagnose", "accuracy", "agreement", "alignment", "calibration", "common", "controls", "direction"
    )
    frequency, human, invariance, length, meaning = lazy_modules(
        "unmask.diagnose", "frequency", "human", "invariance", "length", "meaning"
    )
    paraphrase, precision, reliability, stability, validity = lazy_modules(
        "unmask.diagnose", "paraphrase", "precision", "reliability", "stability", "validity"
    )

ACCURACY = Diagnosis(
    name="accuracy",
    title="Token prediction accuracy",
    question="Does the model predict the tokens that a measure reads?",
    observe=accuracy.observe,
    conclude=accuracy.conclude,
    estimates=accuracy.estimates,
    order=1,
    citation="kaneko-bollegala-2022-unmasking",
    kinds=("masked",),
)

AGREEMENT = Diagnosis(
    name="agreement",
    title="Agreement between measures",
    question="Do different measures rank the same models, and the same bias types, alike?",
    observe=common.score_rows,
    conclude=agreement.conclude,
    estimates=agreement.estimates,
    unfit_reason=common.template_reason,
    citation="kaneko-etal-2022-debiasing",
    order=11,
)

ALIGNMENT = Diagnosis(
    name="alignment",
    title="Span alignment",
    question="How much of a score depends on which tokens the two sentences are said to share?",
    observe=alignment.observe,
    conclude=alignment.conclude,
    estimates=alignment.estimates,
    unfit_reason=common.not_pairs_reason,
    citation="nangia-etal-2020-crows",
    order=9,
)

CALIBRATION = Diagnosis(
    name="calibration",
    title="Calibration on planted bias",
    question="Which measure follows a bias whose size is known, and what difference can it tell apart?",
    observe=calibration.observe,
    conclude=calibration.conclude,
    estimates=calibration.estimates,
    order=10,
    unfit_reason=calibration.unfit_reason,
    data=("triple-gender", "pronoun-templates"),
    models=SIBLINGS,
    kinds=("masked",),
    citation="gbef-2023",
)

CONTROLS = Diagnosis(
    name="controls",
    title="Control versions of pairs",
    question="Does a score react to what it should, and not to what it should not?",
    observe=controls.observe,
    conclude=controls.conclude,
    estimates=controls.estimates,
    details=controls.details,
    order=15,
    unfit_reason=controls.unfit_reason,
    data=("controls",),
    citation="pikuliak-etal-2023-depth",
)

DIRECTION = Diagnosis(
    name="direction",
    title="Advantaged against disadvantaged",
    question="Does a score depend on whether the stereotype is of an advantaged or a disadvantaged group?",
    observe=direction.observe,
    conclude=direction.conclude,
    estimates=direction.estimates,
    order=4,
    unfit_reason=direction.unfit_reason,
    citation="kaneko-bollegala-2022-unmasking",
)

FREQUENCY = Diagnosis(
    name="frequency",
    title="Word frequency",
    question="How much of a score is the frequency of the words that differ?",
    observe=frequency.observe,
    conclude=frequency.conclude,
    estimates=frequency.estimates,
    details=frequency.details,
    order=3,
    unfit_reason=common.not_pairs_reason,
    citation="kaneko-bollegala-2022-unmasking",
)

HUMAN = Diagnosis(
    name="human",
    title="Agreement with people",
    question="Do the pairs a measure finds most biased have the bias that annotators saw?",
    observe=human.observe,
    conclude=human.conclude,
    estimates=human.estimates,
    details=human.details,
    order=5,
    unfit_reason=human.unfit_reason,
    data=("crows-pairs",),
    citation="kaneko-bollegala-2022-unmasking",
)

LENGTH = Diagnosis(
    name="length",
    title="Sentence length",
    question="How much of a score is the length of the sentences?",
    observe=length.observe,
    conclude=length.conclude,
    estimates=length.estimates,
    unfit_reason=common.not_pairs_reason,
    citation="kaneko-bollegala-2022-unmasking",
    order=8,
)

MEANING = Diagnosis(
    name="meaning",
    title="Meaning and AUL",
    question="Does the model guess visible tokens less well when the sentence makes no sense?",
    observe=meaning.observe,
    conclude=meaning.conclude,
    estimates=meaning.estimates,
    order=2,
    citation="kaneko-bollegala-2022-unmasking",
    kinds=("masked",),
)

STABILITY = Diagnosis(
    name="stability",
    title="Stability and sample size",
    question="Would other pairs, or fewer, have given the same score, and how many pairs are enough?",
    observe=stability.observe,
    conclude=stability.conclude,
    estimates=stability.estimates,
    unfit_reason=common.template_reason,
    citation="gbef-2023",
    order=7,
)

PARAPHRASE = Diagnosis(
    name="paraphrase",
    title="Stability under paraphrasing",
    question="Does a measure reach the same verdict when a pair is paraphrased?",
    observe=paraphrase.observe,
    conclude=paraphrase.conclude,
    estimates=paraphrase.estimates,
    details=paraphrase.details,
    order=6,
    unfit_reason=paraphrase.unfit_reason,
    data=("paraphrases",),
    citation="kwon-mihindukulasooriya-2022-empirical",
)

PRECISION = Diagnosis(
    name="precision",
    title="Precision of the model",
    question="Which decisions change when the model is run in lower precision, and does the score show it?",
    observe=precision.observe,
    conclude=precision.conclude,
    estimates=precision.estimates,
    order=16,
    unfit_reason=common.template_reason,
    citation="hua-etal-2026-uncertainty",
)

RELIABILITY = Diagnosis(
    name="reliability",
    title="Reliability of scores and rankings",
    question="Would other items, or the same ones in other words, have ranked the models alike?",
    observe=common.score_rows,
    conclude=reliability.conclude,
    estimates=reliability.estimates,
    details=reliability.details,
    order=12,
    unfit_reason=common.template_reason,
    data=("paraphrases",),
    models=SIBLINGS,
    citation="brennan-2001-generalizability",
    takes_scores=True,
)

INVARIANCE = Diagnosis(
    name="invariance",
    title="Invariance between groups of models",
    question="Do the items measure the same in two groups of models, or in two languages?",
    observe=common.score_rows,
    conclude=invariance.conclude,
    estimates=invariance.estimates,
    details=invariance.details,
    order=13,
    unfit_reason=common.template_reason,
    citation="holland-wainer-1993-differential",
    takes_scores=True,
)

VALIDITY = Diagnosis(
    name="validity",
    title="Validity on models with known doses",
    question="Which measure follows the bias it is about, and no other?",
    observe=validity.observe,
    conclude=validity.conclude,
    estimates=validity.estimates,
    order=14,
    unfit_reason=validity.unfit_reason,
    data=("nine-axes", "triple-gender", "pronoun-templates"),
    models=SIBLINGS,
    citation="campbell-fiske-1959-convergent",
)
