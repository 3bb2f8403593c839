"""The examples of the paraphrase paper (Figure 1, Table 2): one sentence in several wordings."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from unmask.core.estimate import Estimate, Value
from unmask.diagnose.paraphrase import tables
from unmask.diagnose.paraphrase.families import Family, FamilyVerdicts
from unmask.findings import Cell, Finding, Table
from unmask.studies.collect import compared_with_paper, find_published, paper_values
from unmask.studies.papers.paraphrase import EXAMPLES, SOURCE, TABLE_2
from unmask.studies.spec import PaperComparison

# The stereotyping sentence of Table 2, its letters in lower case: by it a file of the user's is recognised.
TABLE_2_SHA256 = "757b924ce2869003434b733d69861f0cf902ebc7bae087af81e9962ee76aec2a"
Sentences = Mapping[str, Sequence[Sequence[str]]]  # by original: its pairs, the original first
Families = Mapping[str, Sequence[Family]]  # by model, and measure if there are several


def example_finding(original: str, families: Families, sentences: Sentences) -> Finding:
    """The wordings of one of the paper's examples under every model; a note if they were not scored."""
    if original not in sentences:
        note = f"Not scored: give {SOURCE} (`unmask data get {SOURCE}`), from which the wordings are made."
        return Finding((), (), (), (note,))
    return Finding((), (_wordings(original, families, sentences[original]),))


def papers_example(given: tuple[Families, Sentences], made: tuple[Families, Sentences]) -> Finding:
    """The example of Table 2: in the user's file if it has it, else made of CrowS-Pairs."""
    for name, pairs in given[1].items():
        if _wording_of_table_2(pairs[0][0]):
            return example_finding(name, *given)
    return example_finding(TABLE_2, *made)


def most_opposed(families: Families, sentences: Sentences) -> Finding:
    """The original on which most models contradict themselves; the first one if none does on any."""
    groups = [{family.original: family for family in group} for group in families.values()]
    if not groups:
        return Finding((), ())
    common = [name for name in groups[0] if all(name in group for group in groups)]
    if not common:
        return Finding((), (), (), ("No original was scored by all models.",))
    opposed = Counter({name: sum({-1, 1} <= set(group[name].outcomes(0.0)) for group in groups) for name in common})
    ((name, count),) = opposed.most_common(1)
    said = f"{name}: for {count} of {len(groups)} models the sign depends on the wording"
    return Finding((said,), (_wordings(name, families, sentences[name]),))


def table_2_finding(papers: Finding, ours: Finding, repeated: Sequence[PaperComparison]) -> Finding:
    """The paper's example, ours with the most contradictions, and the comparison with the published numbers."""
    compared = compared_with_paper(repeated, 4)
    shown = (*papers.tables, *ours.tables, *compared, _published_example())
    return Finding(ours.answers, shown, (), () if compared else papers.notes)


def repeated_example(main: Sequence[FamilyVerdicts], sentences: Sentences) -> list[PaperComparison]:
    """The differences of the paper's Table 2, wherever its six sentences were scored."""
    comparisons = []
    for verdicts in main:
        for family in verdicts.families if verdicts.measure in tables.PAPERS else ():
            pairs = sentences.get(family.original, ())
            for number, value in zip(family.numbers, family.differences.tolist(), strict=True):
                word = _wording_of_table_2(pairs[number][0])
                if word:
                    name = f"paraphrase/{verdicts.measure}"
                    place = {"data": SOURCE, "group": word, "statistic": "difference", "model": verdicts.model}
                    ours = Estimate.of(Value(value), measure=name, n=1, **place)
                    found = find_published("paraphrase", "table-2", ours, group=word)
                    comparisons.append(PaperComparison("table-2", ours, *found))
    return comparisons


def _wording_of_table_2(sentence: str) -> str:
    """The word of Table 2 in a stereotyping sentence; empty if it is another sentence."""
    original, *_ = EXAMPLES[TABLE_2]
    letters = " ".join(re.findall("[a-z]+", sentence.lower()))
    for word in EXAMPLES[TABLE_2]:
        if word in letters and hashlib.sha256(letters.replace(word, original).encode()).hexdigest() == TABLE_2_SHA256:
            return word
    return ""


def _wordings(name: str, families: Families, sentences: Sequence[Sequence[str]]) -> Table:
    by_label = {
        label: dict(zip(family.numbers, family.differences.tolist(), strict=True))
        for label, group in families.items()
        for family in group
        if family.original == name
    }
    rows: list[tuple[Cell, ...]] = [
        (
            "original" if number == 0 else f"paraphrase {number}",
            *pair,
            *(values.get(number) for values in by_label.values()),
        )
        for number, pair in enumerate(sentences)
    ]
    return Table(
        f"The wordings of {name}",
        ("wording", "stereotyping sentence", "other sentence", *by_label),
        tuple(rows),
        "Differences in nats per token; a dash: not scored. A single pair has no interval.",
        digits=4,
    )


def _published_example() -> Table:
    cells = [cell for cell in paper_values("paraphrase") if cell.item == "table-2"]
    words = list(dict.fromkeys(cell.group for cell in cells))
    by_model: dict[str, dict[str, float]] = {}
    for cell in cells:
        by_model.setdefault(cell.model, {})[cell.group] = float(cell.value)
    rows: list[tuple[Cell, ...]] = [(model, *(values[word] for word in words)) for model, values in by_model.items()]
    return Table(
        "The paper's Table 2, as published",
        ("model", *words),
        tuple(rows),
        "One sentence about a Black or white man. RoBERTa's row repeats BERT's except for one digit.",
        digits=4,
    )
