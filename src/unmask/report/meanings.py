"""One line of meaning and the source of every measure, for readers of the page.

A run that carries its own descriptions (`measures` in result.json) is believed first.
"""

from __future__ import annotations

from dataclasses import dataclass

from unmask.report.run import Run, headlines

SOURCES = {
    "salazar": "Salazar et al. (2020). Masked Language Model Scoring. ACL.",
    "nangia": "Nangia et al. (2020). CrowS-Pairs: A Challenge Dataset for Measuring Social Biases. EMNLP.",
    "nadeem": "Nadeem et al. (2021). StereoSet: Measuring stereotypical bias in pretrained models. ACL.",
    "kaneko": "Kaneko and Bollegala (2022). Unmasking the Mask – Evaluating Social Biases in MLMs. AAAI.",
    "meade": "Meade et al. (2022). An Empirical Survey of the Effectiveness of Debiasing Techniques. ACL.",
    "barza": "Barza (2023). Towards a Robust Gender Bias Evaluation in NLP. American University of Beirut.",
    "gao": "Gao et al. A framework for few-shot language model evaluation (lm-evaluation-harness).",
    "prompts": "Exploring Social Bias Through Prompt Learning in Natural Language Processing (2023).",
}

MEANINGS: dict[str, tuple[str, str]] = {
    "pll": ("sum over all tokens, each hidden in turn and predicted from the rest", "salazar"),
    "cps": (
        "sum over the tokens both sentences share, each hidden in turn; compared to three decimals",
        "nangia",
    ),
    "cps-exact": ("as cps, compared without rounding", "nangia"),
    "sss": (
        "the words in which the sentences differ, hidden together and predicted, as the published code does",
        "kaneko",
    ),
    "sss-diagonal": (
        "as sss, each hidden place asked for its own token only, as the formula is printed",
        "kaneko",
    ),
    "aul": ("mean over all tokens of the sentence shown whole", "kaneko"),
    "aula": ("as aul, each token weighted by the attention it receives", "kaneko"),
    "aula-normalised": ("as aula, with weights that sum to one", "kaneko"),
    "all-masked": (
        "mean over all tokens with the whole sentence hidden: word frequency rather than meaning",
        "kaneko",
    ),
    "sld": ("mean absolute difference of the two sentences' likelihoods; it has no direction", "barza"),
    "crows-bias-bench": (
        "mean over the differing tokens, each hidden in turn: the variant of bias-bench",
        "meade",
    ),
    "lms": ("how often a meaningful word is preferred to an unrelated one", "nadeem"),
    "ss": ("how often the stereotyping word is preferred to the anti-stereotyping one", "nadeem"),
    "icat": ("lms and ss in one number; 100 is perfect language modelling without a preference", "nadeem"),
    "lms-spaced": ("as lms, with the word encoded as it stands in running text", "nadeem"),
    "ss-spaced": ("as ss, with the word encoded as it stands in running text", "nadeem"),
    "icat-spaced": ("as icat, with the word encoded as it stands in running text", "nadeem"),
    "ll": ("log-likelihood of the whole sentence, read from left to right", "gao"),
    "cll": ("log-likelihood, from left to right, of the tokens both sentences share", "prompts"),
    "ll-stereoset": (
        "log-likelihood of the sentence with the first-token rule of StereoSet's code",
        "nadeem",
    ),
}


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a measure is, for the method section."""

    name: str
    reads: str
    source: str


def meanings(run: Run) -> list[Meaning]:
    """The meaning of every measure of the run."""
    own = {m["name"]: m for m in run.meta.get("measures") or [] if isinstance(m, dict) and "name" in m}
    return [
        meaning(name, own[name]) if name in own else _known(name)
        for name in dict.fromkeys(e.measure for e in headlines(run))
    ]


def meaning(name: str, described: dict[str, str]) -> Meaning:
    """A meaning from the run's own description."""
    known = _known(name)
    return Meaning(name, described.get("reads") or known.reads, known.source or described.get("citation", ""))


def _known(name: str) -> Meaning:
    reads, source = MEANINGS.get(name, ("", ""))
    return Meaning(name, reads, SOURCES.get(source, ""))
