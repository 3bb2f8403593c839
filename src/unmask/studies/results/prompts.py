"""The sections of `prompts`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from unmask.audit.result import load
from unmask.findings import Section
from unmask.prompts.folder import open_folder
from unmask.studies.claims import claims_section
from unmask.studies.papers.prompts import PromptsOptions, load_judgements
from unmask.studies.results.prompts_claims import model_changes, order_tests, preference_tests, rank_tests, type_tests
from unmask.studies.results.prompts_hld import asked_annotations, biased_shares, hld_finding, rank_agreements
from unmask.studies.results.prompts_tables import (
    Results,
    example_finding,
    rank_finding,
    score_comparisons,
    score_finding,
    size_finding,
)
from unmask.studies.spec import Outputs, PaperComparison, PaperConclusion

ROLES = ("benchmark", "pairs", "answers")
CORPUS, OWN = "table-3", "table-4"


def replicate(outputs: Outputs, options: PromptsOptions) -> PaperConclusion:
    """The paper's claims, its tables, and its second measure."""
    folders = {name: {role[1]: path for role, path in outputs.items() if role[0] == name} for name in ROLES}
    benchmark, own = ({model: load(path) for model, path in folders[name].items()} for name in ROLES[:2])
    limits = {CORPUS: options.limit, OWN: options.prompts}
    scores = {
        item: score_comparisons(results, item, limits[item]) for item, results in ((CORPUS, benchmark), (OWN, own))
    }
    answers = {model: open_folder(path).model_answers.answers for model, path in folders["answers"].items()}
    annotations = asked_annotations(load_judgements(options), answers)
    shares = biased_shares(answers, annotations)
    taus, notes = rank_agreements(answers, annotations, benchmark, options.seed)
    tests = [
        *preference_tests([*scores[CORPUS], *scores[OWN]]),
        *order_tests(model_changes(benchmark, options.seed)),
        *type_tests(benchmark),
        *rank_tests(taus),
    ]
    sections = [
        claims_section(tests, notes),
        *_table_sections(benchmark, own, scores, options),
        Section(
            "hld",
            "Human-level diagnosis",
            "Share of prompts with a biased answer: by people where they judged, else by the rule for clear cases.",
            hld_finding(answers, annotations, shares, taus, options.seed),
            "The rule: of the likeliest words the likeliest listed one decides, so she against he after a nurse. "
            "To judge the answers, fill in the columns judge and verdict (biased, not biased, undecided) of the CSV "
            "file of the last table, and run the study again with --judgements FILE. The paper states that this "
            "measure ranks bias types as Table V does, and prints no number for it.",
        ),
    ]
    numbers = [PaperComparison("hld", estimate, None) for estimate in shares if estimate.group == "all"]
    return PaperConclusion(sections, [*scores[CORPUS], *scores[OWN], *numbers])


def _by_score(results: Results) -> Results:
    """The models from the lowest metric score to the highest."""
    return dict(sorted(results.items(), key=lambda entry: entry[1].headlines(published=True)[0].value))


def _table_sections(
    benchmark: Results, own: Results, scores: Mapping[str, Sequence[PaperComparison]], options: PromptsOptions
) -> list[Section]:
    """Tables I to V."""
    return [
        Section(
            "table-1",
            "Table I: the benchmark's pairs",
            "Pairs of the benchmark per bias type.",
            size_finding(benchmark, options.limit),
        ),
        Section(
            "table-2",
            "Table II: examples",
            "The first pair of every bias type in the benchmark and among the completed prompts.",
            example_finding(benchmark, own),
            "In each pair the first sentence is the stereotyping one.",
        ),
        Section(
            "table-3",
            "Table III: scores on the benchmark",
            "Share of pairs in which the stereotyping sentence is likelier: all, and by direction.",
            score_finding(scores[CORPUS], CORPUS, model_changes(_by_score(benchmark), options.seed)),
            "The paper orders BERT, RoBERTa, ALBERT from least to most biased. Reasons for differences: published "
            "numbers are of bert-base-uncased, roberta-large and albert-xxlarge-v2, lower-cased by the original "
            "script for BERT and ALBERT. The original and its reproduction differ for RoBERTa: a misprint or another "
            "revision of the weights.",
        ),
        Section(
            "table-4",
            "Table IV: scores on completed prompts",
            "The same over completed prompts that set two groups against each other, in both directions.",
            score_finding(scores[OWN], OWN, model_changes(_by_score(own), options.seed)),
            "The paper's 100 prompts are not public and ours differ, so no number is compared. Its text gives BERT and "
            "ALBERT the scores of RoBERTa in its Table IV, and RoBERTa theirs; the table is shown. Its scores fit 99 "
            "pairs with 14 anti-stereo ones, none won, which it leaves out, and it reports no neutral pairs; ours have "
            "40 anti-stereo pairs of 100.",
        ),
        Section(
            "table-5",
            "Table V: bias types in order",
            "Bias types by the mean difference in log-likelihood, in nats.",
            rank_finding({"benchmark": benchmark, "completed prompts": own}, options.limit),
            "The paper does not say on which data it ranks. Reasons for differences: the mean difference grows with "
            "sentence length, which differs between bias types.",
        ),
    ]
