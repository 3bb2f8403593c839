"""What every measure of a run means and where it comes from, for the method section."""

from __future__ import annotations

from dataclasses import dataclass

from unmask.measures import MEASURES
from unmask.report.run import Run, headlines

SOURCES = {
    "salazar-etal-2020-masked": "Salazar et al. (2020). Masked Language Model Scoring. ACL.",
    "nangia-etal-2020-crows": "Nangia et al. (2020). CrowS-Pairs: A Challenge Dataset for Measuring Social "
    "Biases in Masked Language Models. EMNLP.",
    "nadeem-etal-2021-stereoset": "Nadeem et al. (2021). StereoSet: Measuring stereotypical bias in "
    "pretrained language models. ACL-IJCNLP.",
    "kaneko-bollegala-2022-unmasking": "Kaneko and Bollegala (2022). Unmasking the Mask – Evaluating Social "
    "Biases in Masked Language Models. AAAI.",
    "meade-etal-2022-empirical": "Meade et al. (2022). An Empirical Survey of the Effectiveness of Debiasing "
    "Techniques for Pre-trained Language Models. ACL.",
    "gbef-2023": "Barza (2023). Towards a Robust Gender Bias Evaluation in NLP. Thesis, AU Beirut.",
    "kurita-etal-2019-measuring": "Kurita et al. (2019). Measuring Bias in Contextualized Word "
    "Representations. GeBNLP.",
    "gao-etal-lm-eval": "Gao et al. A framework for few-shot language model evaluation.",
}


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a measure is."""

    name: str
    title: str
    reads: str
    source: str


def meanings(run: Run) -> list[Meaning]:
    """The meaning of every measure of the run; of one this version does not know, only the name."""
    return [_meaning(name) for name in dict.fromkeys(estimate.measure for estimate in headlines(run))]


def _meaning(name: str) -> Meaning:
    if name not in MEASURES:
        return Meaning(name, "", "not a measure this version of unmask knows", "")
    measure = MEASURES[name]
    return Meaning(name, measure.title, measure.reads, SOURCES.get(measure.citation, measure.citation))


def in_nats(name: str) -> bool:
    """Are this measure's scores sums of log-probabilities, so that the band of near-equality applies?"""
    return name in MEASURES and MEASURES[name].in_nats
