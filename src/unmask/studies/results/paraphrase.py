"""The claims, tables and figures of `paraphrase`, and real models' item scores."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from unmask.core.estimate import Estimate, Value
from unmask.core.seeds import generator
from unmask.diagnose import paraphrase as tables
from unmask.diagnose.paraphrase import ALL
from unmask.diagnose.paraphrase.families import OWN, PER_TOKEN, Family, FamilyVerdicts
from unmask.diagnose.spec import published_numbers
from unmask.findings import Cell, Finding, Section, Table, charts
from unmask.stats.intervals import mean_interval, mean_test
from unmask.stats.paired import cross_tabulate, mcnemar_p
from unmask.stats.shares import contrast, sign_test, wilson
from unmask.studies.claims import ClaimTest, claims_section
from unmask.studies.paper import compared_with_paper, load_paper, present
from unmask.studies.papers.paraphrase import EXAMPLES, FIGURE_1, SOURCE, TABLE_2, ParaphraseOptions
from unmask.studies.spec import Outputs, PaperComparison, PaperConclusion, folders_of
from unmask.studies.steps.diagnoses import load_diagnosis
from unmask.studies.steps.scores import PublishedScores, load_scores

PAPER = load_paper("paraphrase")
NOT_AUTHORS = "other data than the authors' 383 pairs"
PUBLISHED = "published score"  # the measure of real models' scores
# The stereotyping sentence of Table 2, its letters in lower case: by it a file of the user's is recognised.
TABLE_2_SHA256 = "757b924ce2869003434b733d69861f0cf902ebc7bae087af81e9962ee76aec2a"
Verdicts = Sequence[FamilyVerdicts]
Families = Mapping[str, Sequence[Family]]  # by model, and measure if there are several


@dataclass(frozen=True, slots=True)
class Wordings:
    """The differences of all wordings under all models, of the data or of the paper's examples."""

    every: Verdicts  # on all scales
    sentences: Mapping[str, Sequence[Sequence[str]]]  # by original: its pairs, the original first
    notes: tuple[str, ...]

    @property
    def main(self) -> Verdicts:
        """Those per token, or on the measure's own scale."""
        return [verdicts for verdicts in self.every if verdicts.scale in (PER_TOKEN, OWN)]

    @property
    def families(self) -> Families:
        """The families by model; with the measure if there are several."""
        several = len({verdicts.measure for verdicts in self.main}) > 1
        return {
            f"{verdicts.model}, {verdicts.measure}" if several else verdicts.model: verdicts.families
            for verdicts in self.main
        }


def replicate(outputs: Outputs, options: ParaphraseOptions) -> PaperConclusion:
    """The claims, tables and figures, with all models side by side."""
    scored, examples = (_load_wordings(outputs, role, options.seed) for role in ("diagnose", "examples"))
    overall, by_type = (_comparisons(scored.main, item) for item in ("figure-2", "figure-3"))
    repeated = [*_repeated_example(scored), *_repeated_example(examples)]
    real = real_verdicts(load_scores(outputs["scores",]), options.seed) if ("scores",) in outputs else []
    tests = [*claim_tests(scored.main, options.band, options.seed)]
    sections = [
        claims_section([*tests, *(test for verdicts in real for test in wording_claims(verdicts))]),
        PAPER.section("figure-1", _example_finding(FIGURE_1, examples)),
        *_data_sections(scored, overall, by_type, options),
        PAPER.section("table-2", _table_2(scored, examples, repeated), example=TABLE_2),
        *([PAPER.section("real-models", real_models_finding(real))] if real else []),
    ]
    return PaperConclusion(sections, [*overall, *by_type, *repeated])


def _load_wordings(outputs: Outputs, role: str, seed: int) -> Wordings:
    """What the steps of a role scored."""
    every: list[FamilyVerdicts] = []
    sentences: dict[str, Sequence[Sequence[str]]] = {}
    notes: dict[str, None] = {}
    results = [load_diagnosis(folder, "paraphrase") for folder in folders_of(outputs, role).values()]
    for result in filter(None, results):
        details = result.meta["details"].get("paraphrase", {})
        data = str(result.meta["data"][0]["name"]) if result.meta["data"] else ""
        sentences |= details.get("sentences", {})
        notes |= dict.fromkeys(result.findings[0].finding.notes)
        for observed in details.get("differences", ()):
            families = tuple(
                Family(of["original"], of["category"], np.array(of["differences"]), tuple(of["numbers"]))
                for of in observed["families"]
            )
            names = (observed["model"], data, observed["measure"], observed["scale"])
            every += [FamilyVerdicts(*names, families, seed)] if families else []
    return Wordings(every, sentences, tuple(notes))


def _data_sections(
    scored: Wordings, overall: Sequence[PaperComparison], by_type: Sequence[PaperComparison], options: ParaphraseOptions
) -> list[Section]:
    """Table 1 and Figures 2 to 4."""
    band, main = options.band, scored.main
    if not main:
        text = PAPER.text.sections["nothing-scored"]
        return [Section("figure-2", text.title, "", Finding((), (), (), scored.notes))]
    agreement = Finding(
        tuple(line for verdicts in main for line in tables.answers(verdicts, band)),
        (tables.agreement_table(main), bias_table(main, options.seed), *_beside_paper(overall, whole=True)),
        PAPER.plot("figure-2", charts.bars, _agreement_bars(scored.families)),
        scored.notes,
    )
    types = present(tables.type_table(main))
    no_types = () if types else ("The pairs have no bias types.",)
    of_types = (*types, *_beside_paper(by_type, whole=False))
    band_table = tables.band_table(scored.every, band)
    sizes = present(band_table, tables.size_table(main, band), tables.opposed_table(main))
    units = " or ".join(dict.fromkeys(verdicts.unit for verdicts in main))
    histogram = (tables.histogram_plot(main, band),)
    return [
        PAPER.section("table-1", Finding((), _sizes(next(iter(scored.families.values()))))),
        PAPER.section("figure-2", agreement),
        PAPER.section("figure-3", Finding((), of_types, tables.type_plots(main), no_types)),
        PAPER.section("figure-4", Finding((), sizes, histogram), band=band, units=units),
    ]


def _comparisons(main: Verdicts, item: str) -> list[PaperComparison]:
    """The agreement over all originals (Figure 2), or by bias type (Figure 3), beside the published one."""
    comparisons = []
    for verdicts in main:
        about = {"measure": f"paraphrase/{verdicts.measure}", "data": verdicts.data, "model": verdicts.model}
        for name, agreement in verdicts.signs.items():
            if (name == ALL) == (item == "figure-2"):
                group, counted = (
                    name if name == ALL else f"category={name}",
                    {"n": agreement.families, "p": agreement.p},
                )
                estimate = Estimate.of(agreement.share, group=group, statistic="agreement", **about, **counted)
                published = tables.published_agreement(verdicts, name)
                reason = NOT_AUTHORS if published is None else ""
                comparisons.append(PaperComparison(item, estimate, published, reason))
    return comparisons


def _beside_paper(comparisons: Sequence[PaperComparison], *, whole: bool) -> list[Table]:
    """The numbers that the paper prints too, else its own: of all originals, or of bias types."""
    rows = [
        (each.model, each.group, each.value)
        for each in published_numbers()
        if each.diagnosis == "paraphrase" and (each.group == ALL) == whole
    ]
    return compared_with_paper(comparisons, 1) or [PAPER.table("printed-agreement", rows)]


def _sizes(families: Sequence[Family]) -> tuple[Table, Table]:
    """Table 1, and the paper's."""
    pairs, originals = Counter[str](), Counter[str]()
    for family in families:
        pairs[family.category] += family.differences.size
        originals[family.category] += 1
    ours = [(name or "none", originals[name], pairs[name]) for name in pairs]
    printed = [(value.group, int(value.value)) for value in PAPER.of_item("table-1")]
    total = ("all", sum(count for _, count in printed))
    return (
        PAPER.table("sizes", [*ours, ("all", originals.total(), pairs.total())]),
        PAPER.table("printed-sizes", [*printed, total]),
    )


def _agreement_bars(families: Families) -> list[charts.Row]:
    """Figure 2: originals whose wordings agree in sign and those whose wordings do not, by model."""
    rows = []
    for label, of_model in families.items():
        agreeing = sum(map(agrees, of_model))
        for series, count in (("agree", agreeing), ("do not agree", len(of_model) - agreeing)):
            rows.append(charts.interval_row(label, Value(count, count, count), series))
    return rows


def bias_table(main: Verdicts, seed: int) -> Table:
    """M_BIAS: the share of pairs decided towards the stereotype, of originals and of paraphrases."""
    rows: list[tuple[Cell, ...]] = []
    for verdicts in main:
        originals = np.array([float(group[0] > 0) for group in verdicts.by_kind["originals"]])
        paraphrases = np.array([100 * np.mean(group > 0) for group in verdicts.by_kind["paraphrases"]])
        rng = generator(seed, *verdicts.key.values(), "preferred")
        change = paraphrases - 100 * originals
        shares = (
            wilson(int(originals.sum()), originals.size),
            mean_interval(paraphrases, rng=rng, unit="originals").clip(0.0, 100.0),
            mean_interval(change, rng=rng, unit="originals"),
        )
        rows.append((*verdicts.key.values(), *shares, mean_test(change, 0.0)))
    return PAPER.table("preferred", rows)


# --------------------------------------------------------------------------------------------------- examples


def _example_finding(original: str, wordings: Wordings) -> Finding:
    """The wordings of one of the paper's examples under every model; a note if they were not scored."""
    if original not in wordings.sentences:
        note = f"Not scored: give {SOURCE} (`unmask data get {SOURCE}`), from which the wordings are made."
        return Finding((), (), (), (note,))
    return Finding((), (wording_table(original, wordings.families, wordings.sentences[original]),))


def _table_2(scored: Wordings, examples: Wordings, repeated: Sequence[PaperComparison]) -> Finding:
    """The paper's example, in the user's file if it has it; ours with most contradictions; the published numbers."""
    theirs = [name for name, pairs in scored.sentences.items() if _wording_of_table_2(pairs[0][0])]
    shown = _example_finding(theirs[0], scored) if theirs else _example_finding(TABLE_2, examples)
    opposed = _most_opposed(scored)
    printed: dict[str, dict[str, float | str]] = {}
    for value in PAPER.of_item("table-2"):
        printed.setdefault(value.model, {})[value.group] = value.value
    words = list(dict.fromkeys(value.group for value in PAPER.of_item("table-2")))
    rows = [(model, *(of[word] for word in words)) for model, of in printed.items()]
    compared = compared_with_paper(repeated, 4)
    both = (*shown.tables, *opposed.tables, *compared, PAPER.table("printed-example", rows, *words))
    return Finding(opposed.answers, both, (), () if compared else shown.notes)


def _most_opposed(wordings: Wordings) -> Finding:
    """The original on which most models contradict themselves; the first one if none does on any."""
    groups = [{family.original: family for family in of_model} for of_model in wordings.families.values()]
    common = [name for name in groups[0] if all(name in group for group in groups)] if groups else []
    if not common:
        return Finding((), (), (), ("No original was scored by all models.",) if groups else ())
    opposed = Counter({name: sum({-1, 1} <= set(group[name].outcomes(0.0)) for group in groups) for name in common})
    ((name, count),) = opposed.most_common(1)
    summary = f"{name}: for {count} of {len(groups)} models the sign depends on the wording"
    return Finding((summary,), (wording_table(name, wordings.families, wordings.sentences[name]),))


def wording_table(name: str, families: Families, sentences: Sequence[Sequence[str]]) -> Table:
    """The difference of every wording of an original, by model."""
    by_label = {
        label: dict(zip(family.numbers, family.differences.tolist(), strict=True))
        for label, of_model in families.items()
        for family in of_model
        if family.original == name
    }
    rows: list[tuple[Cell, ...]] = []
    for number, pair in enumerate(sentences):
        wording = f"paraphrase {number}" if number else "original"
        rows.append((wording, *pair, *(values.get(number) for values in by_label.values())))
    return PAPER.table("wordings", rows, *by_label, original=name)


def _repeated_example(wordings: Wordings) -> list[PaperComparison]:
    """The differences of the paper's Table 2, wherever its six sentences were scored."""
    comparisons = []
    for verdicts in wordings.main:
        about = {"measure": f"paraphrase/{verdicts.measure}", "data": SOURCE, "model": verdicts.model, "n": 1}
        for family in verdicts.families if verdicts.measure in tables.PAPERS else ():
            pairs = wordings.sentences.get(family.original, ())
            for number, value in zip(family.numbers, family.differences.tolist(), strict=True):
                if word := _wording_of_table_2(pairs[number][0]):
                    ours = Estimate.of(Value(value), group=word, statistic="difference", **about)
                    comparisons.append(PAPER.compare("table-2", ours, group=word))
    return comparisons


def _wording_of_table_2(sentence: str) -> str:
    """The word of Table 2 in a stereotyping sentence; empty if it is another sentence."""
    letters = " ".join(re.findall("[a-z]+", sentence.lower()))
    for word in EXAMPLES[TABLE_2]:
        original = letters.replace(word, EXAMPLES[TABLE_2][0])
        if word in letters and hashlib.sha256(original.encode()).hexdigest() == TABLE_2_SHA256:
            return word
    return ""


# ----------------------------------------------------------------------------------------------------- claims


def claim_tests(main: Verdicts, band: float, seed: int) -> Iterator[ClaimTest]:
    """All claims, of every model and measure."""
    agreement = [wording_claims(verdicts) for verdicts in main]
    yield from (flips for flips, _ in agreement)
    yield from (chance for _, chance in agreement)
    yield from _between_models(main, seed)
    for verdicts in main:
        if verdicts.scale != OWN:
            differences = verdicts.all_differences
            share, n = verdicts.share_within(differences, band, "all"), sum(each.size for each in differences)
            yield PAPER.test("small", _where(verdicts), share, n, band=band, unit=verdicts.unit)
    for verdicts in main:
        yield from _sizes_of_flips(verdicts)


def wording_claims(verdicts: FamilyVerdicts) -> tuple[ClaimTest, ClaimTest]:
    """The two claims about agreement: it is far from complete, and more than by chance."""
    agreement, where = verdicts.in_sign, _where(verdicts)
    most = PAPER.text.claims["flips"].null
    p = sign_test(agreement.agreeing, agreement.families - agreement.agreeing, null=most)
    chance = round(agreement.chance.value, 2)
    return (
        PAPER.test("flips", where, agreement.share, agreement.families, p=p),
        PAPER.test("chance", where, agreement.share, agreement.families, p=agreement.p, null=chance),
    )


def _where(verdicts: FamilyVerdicts) -> str:
    return f"{verdicts.model} on {verdicts.data}, {verdicts.measure}"


def _between_models(main: Verdicts, seed: int) -> Iterator[ClaimTest]:
    """The agreement of every two models with one measure, over the originals both scored."""
    for pair in combinations(main, 2):
        first, second = sorted(pair, key=lambda verdicts: -verdicts.in_sign.share.value)
        if first.measure != second.measure:
            continue
        mine, theirs = ({family.original: agrees(family) for family in each.families} for each in (first, second))
        common = [name for name in mine if name in theirs]
        a, b = (np.array([agree[name] for name in common], dtype=bool) for agree in (mine, theirs))
        rng = generator(seed, *first.key.values(), *second.key.values())
        value = mean_interval(100.0 * a - 100.0 * b, rng=rng, unit="originals")
        where = f"{first.model} − {second.model} on {first.data}, {first.measure}"
        yield PAPER.test("models", where, value, len(common), p=mcnemar_p(cross_tabulate(a, b)))


def agrees(family: Family) -> bool:
    """Whether all wordings have one sign."""
    return len(set(family.outcomes(0.0).tolist())) == 1


def _sizes_of_flips(verdicts: FamilyVerdicts) -> Iterator[ClaimTest]:
    """The distance from zero of originals that agree with their paraphrases against that of the others."""
    sizes: dict[bool, list[float]] = {True: [], False: []}
    for family in verdicts.families:
        sizes[agrees(family)].append(float(abs(family.differences[0])))
    agree, others = (np.array(sizes[agreeing]) for agreeing in (True, False))
    if agree.size and others.size:
        gap = contrast(agree, others)
        yield PAPER.test("flip-sizes", _where(verdicts), gap, agree.size + others.size, p=gap.p, unit=verdicts.unit)


# ------------------------------------------------------------------------------------------------- real models


def real_verdicts(published: PublishedScores, seed: int) -> list[FamilyVerdicts]:
    """Of every model: the families of GEST, a sentence in all templates."""
    verdicts = []
    for model, scores in published.by_model().items():
        families = tuple(
            Family(item, category, values, tuple(range(values.size)))
            for item, category, values in zip(published.items, published.categories, scores, strict=True)
            if np.isfinite(values).all()
        )
        verdicts.append(FamilyVerdicts(model, published.data, PUBLISHED, OWN, families, seed))
    return verdicts


def real_models_finding(verdicts: Verdicts) -> Finding:
    """How many sentences every model decides alike in all templates, and how it decides in each of them."""
    templates = range(verdicts[0].families[0].differences.size)
    alike: list[tuple[Cell, ...]] = []
    towards: list[tuple[Cell, ...]] = []
    bars = []
    for each in verdicts:
        agreement = each.in_sign
        alike.append((each.model, agreement.share, agreement.chance, agreement.p, agreement.families))
        won = np.array([family.differences > 0 for family in each.families])
        towards.append((each.model, *(wilson(int(won[:, place].sum()), len(won)) for place in templates), len(won)))
        bars.append(charts.interval_row(each.model, agreement.share, "all templates agree"))
    ordered = sorted(verdicts, key=lambda each: each.in_sign.share.value)
    summary = [
        f"{each.model} decides {each.in_sign.share.value:.0f}% of {each.in_sign.families:,} sentences alike in "
        f"all {len(templates)} templates ({each.in_sign.chance.value:.0f}% by chance)"
        for each in (ordered[0], ordered[-1])
    ]
    columns = [*(f"template {place}" for place in templates), "sentences"]
    shown = (PAPER.table("alike", alike), PAPER.table("towards", towards, *columns))
    return Finding(tuple(summary), shown, PAPER.plot("real-models", charts.bars, bars))
