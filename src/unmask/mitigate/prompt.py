"""`prompt`: a prefix in front of every sentence, measured as any other mitigation; no weight is changed.

The model is evaluated without a prefix and with each of several: pronouns, pairs, words that have a gender, and
held-out text. The tokens of a prefix are context and never scored (`models.lm`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, NoReturn

from unmask.audit.plan import engine_for
from unmask.core.errors import DataError, ModelError, quote, shorten
from unmask.core.estimate import Estimate
from unmask.core.options import Options
from unmask.core.progress import with_label
from unmask.data.texts import TrainingCorpus
from unmask.findings import Cell, Finding, Section, Table
from unmask.findings.envelope import Result, build, estimate_json
from unmask.findings.folder import ResultFolder
from unmask.mitigate import spill_over
from unmask.mitigate.agreement import pair_answers
from unmask.mitigate.comparison import (
    NO_PREFERENCE,
    bias_estimates,
    comparison_cells,
    format_change,
    is_compared,
    subset_notes,
    utility_cells,
)
from unmask.mitigate.evaluation import MEN, TEMPLATES, WOMEN, BiasEvaluation, compare_headlines, evaluate_model
from unmask.mitigate.spec import Method, MitigationContext
from unmask.models import Lm
from unmask.stats.differences import lean_size, word_leans
from unmask.stats.paired import Comparison, apply_holm
from unmask.training.utility import accuracy_change

MAX_PREFIX = 2000  # characters
SHOWN = 60  # characters of a prefix in tables
LEAD = "Bias, words that have a gender, and language modelling ability without a prefix and with each."


def apply(context: MitigationContext, corpus: TrainingCorpus) -> NoReturn:
    """Refuse to make a checkpoint: there is nothing to save."""
    raise ModelError(
        "prompt changes no weight and makes no checkpoint: measure it by `unmask mitigate prompt --prefix`"
    )


def check_prefixes(prefixes: Sequence[str]) -> None:
    """Refuse no prefix, an empty, long or repeated one, or one that is not text."""
    if not prefixes:
        raise DataError("no prefix: give `prefix` (--prefix), a sentence to put in front of every sentence")
    for prefix in prefixes:
        if not prefix.strip() or len(prefix) > MAX_PREFIX or not prefix.isprintable():
            raise DataError(f"prefix {quote(prefix)}: expected 1 to {MAX_PREFIX:,} printable characters")
    if len({prefix.strip() for prefix in prefixes}) < len(prefixes):
        raise DataError("the same prefix was given twice: give each once")


def measure_prefixes(  # noqa: PLR0913, PLR0917 - the parts of a mitigation
    opened: ResultFolder,
    method: Method,
    lm: Lm,
    prefixes: Sequence[str],
    text: TrainingCorpus,
    run: Options,
    items: int | None = None,
) -> Result:
    """Evaluate a model without and with each prefix, on at most `items` of each dataset, and compare."""

    def evaluate(model: Lm, label: str) -> BiasEvaluation:
        with engine_for(model, run) as engine:
            progress = with_label(run.progress, label)
            return evaluate_model(engine, text.held_out_sentences, seed=run.seed, progress=progress, items=items)

    before = evaluate(lm, "no prefix")
    after = {prefix: evaluate(lm.with_prefix(prefix), _short(prefix)) for prefix in prefixes}
    several = len(prefixes) > 1
    finding = compare_prefixes(before, after, run.seed)
    finding = replace(finding, notes=(*subset_notes(items), *finding.notes))
    meta = build(
        "mitigation",
        title=f"Mitigation by {method.name}",
        lead=f"{method.title}: {method.about}.",
        models=[asdict(lm.facts)],
        data=text.files,
        options={"method": method.name, "prefix": list(prefixes), "seed": run.seed},
        estimates=[
            replace(estimate, model=prefix if several else "")
            for prefix, evaluation in after.items()
            for estimate in bias_estimates(evaluation, seed=run.seed)
        ],
        findings=[Section(method.name, "Without and with a prefix", LEAD, finding)],
        details=_details(method, prefixes, bias_estimates(before, seed=run.seed)),
    )
    return opened.finish(meta)


def _details(method: Method, prefixes: Sequence[str], before: Sequence[Estimate]) -> dict[str, Any]:
    """What the result records besides its numbers; `before` are those without a prefix."""
    request = {"method": method.name, "options": {"prefix": list(prefixes)}}
    return {"request": request, "citation": method.citation, "before": [estimate_json(each) for each in before]}


def compare_prefixes(before: BiasEvaluation, after: Mapping[str, BiasEvaluation], seed: int) -> Finding:
    """The changes by every prefix; p-values are corrected by Holm over all prefixes and measures together."""
    tested = [
        (prefix, row)
        for prefix, evaluation in after.items()
        for row in compare_headlines(before, evaluation, is_compared, seed=seed)
    ]
    corrected = apply_holm([row for _, row in tested])
    compared = [(prefix, row) for (prefix, _), row in zip(tested, corrected, strict=True)]
    tables = (
        _table("Bias without and with a prefix", compared, lambda row: row.data not in (WOMEN, MEN), NO_PREFERENCE),
        _table(
            "Words that have a gender: here a lean is right",
            compared,
            lambda row: row.data in (WOMEN, MEN),
            "appd: below 0 the model expects her, above 0 him; a prefix should leave these alone",
        ),
        Table(
            "What it cost on held-out text",
            ("prefix", "figure", "texts", "tokens", "without", "with", "change"),
            tuple(
                (_short(prefix), *row)
                for prefix, evaluation in after.items()
                for row in utility_cells(before, evaluation, seed)
            ),
            "The same texts and tokens, without and with the prefix in front. A masked model: accuracy on masked "
            "tokens, pseudo-perplexity; a causal one: on every token given those before it. Visible words: mean over "
            "the sentences that aul scores, nothing masked.",
        ),
    )
    types = {prefix: spill_over.bias_types(before, evaluation, seed=seed) for prefix, evaluation in after.items()}
    spilled = [
        table
        for prefix, found in types.items()
        for table in spill_over.tables(found, "", f"With {quote(_short(prefix))}")
    ]
    answers = [_answer(before, prefix, evaluation, seed) for prefix, evaluation in after.items()]
    for prefix, evaluation in after.items():
        rows = [row for other, row in compared if other == prefix]
        said = pair_answers(rows, (before, evaluation), seed)
        answers += [f"{quote(_short(prefix))}, {answer[:1].lower()}{answer[1:]}" for answer in said]
    notes = (
        "The tokens of a prefix are context: none is masked, predicted or counted.",
        "A prefix changes this input, not the model: without it, or with another text between, the model is as before.",
        "A score near its reference value means that this measure finds no preference, not that there is none.",
    )
    return Finding(tuple(answers), (*tables, *spilled), (), notes)


def _table(
    title: str, compared: Sequence[tuple[str, Comparison]], keep: Callable[[Comparison], bool], note: str
) -> Table:
    """The comparisons of some data, one row each."""
    rows: list[tuple[Cell, ...]] = [
        (_short(prefix), row.measure, row.statistic, _data_name(row), *comparison_cells(row))
        for prefix, row in compared
        if keep(row)
    ]
    columns = ("prefix", "measure", "statistic", "data", "n", "without", "with", "change", "p Holm")
    return Table(
        title, columns, tuple(rows), f"{note}; paired 95% intervals; p Holm over all prefixes and rows", digits=3
    )


def _data_name(row: Comparison) -> str:
    """The data of a comparison, with the category that it is of."""
    return row.data if row.group == "all" else f"{row.data}, {row.group.removeprefix('category=')}"


def _answer(before: BiasEvaluation, prefix: str, after: BiasEvaluation, seed: int) -> str:
    """What a prefix does, in a sentence."""
    size = lean_size(word_leans(before.rows["ppd", TEMPLATES], after.rows["ppd", TEMPLATES]), seed)
    gap = accuracy_change(before.ability, after.ability, seed=seed)
    return (
        f"{quote(_short(prefix))}: a word leans by {size.before.value:.3f} without and {size.after.value:.3f} with the "
        f"prefix (change {format_change(size.change)}; {size.n} words); accuracy on held-out text changed by "
        f"{format_change(gap, 2)} points."
    )


def _short(prefix: str) -> str:
    """A prefix as tables show it."""
    return shorten(prefix.strip(), SHOWN)
