"""`prompt`: a prefix in front of every sentence, measured as any other mitigation; no weight is changed.

The model is evaluated without a prefix and with each of several: pronouns, pairs, words that have a gender, and
held-out text. The tokens of a prefix are context and never scored (`models.lm`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, NoReturn

from unmask.core.errors import DataError, ModelError, quote, shorten
from unmask.core.options import option
from unmask.mitigate.spec import Method, MethodOptions, MitigationContext, MitigationJob

if TYPE_CHECKING:
    from unmask.data.texts import TrainingCorpus
    from unmask.findings import Finding
    from unmask.findings.envelope import Result
    from unmask.mitigate.evaluation import BiasEvaluation
    from unmask.models import Lm

MAX_PREFIX = 2000  # characters
SHOWN = 60  # characters of a prefix in tables
LEAD = "Bias, words that have a gender, and language modelling ability without a prefix and with each."
NOTES = (
    "The tokens of a prefix are context: none is masked, predicted or counted.",
    "A prefix changes this input, not the model: without it, or with another text between, the model is as before.",
    "A score near its reference value means that this measure finds no preference, not that there is none.",
)


@dataclass(frozen=True)
class PromptOptions(MethodOptions):
    """Options of `prompt`."""

    prefix: str | tuple[str, ...] = option(
        (), "Text in front of every sentence; repeat it to compare several.", shown="none", verbatim=True
    )

    def __post_init__(self) -> None:
        """Refuse an empty, long or repeated prefix, or one that is not text."""
        super().__post_init__()
        for prefix in self.prefixes:
            if not prefix.strip() or len(prefix) > MAX_PREFIX or not prefix.isprintable():
                raise DataError(f"prefix {quote(prefix)}: expected 1 to {MAX_PREFIX:,} printable characters")
        if len({prefix.strip() for prefix in self.prefixes}) < len(self.prefixes):
            raise DataError("the same prefix was given twice: give each once")

    @property
    def prefixes(self) -> tuple[str, ...]:
        """The prefixes that are compared."""
        return (self.prefix,) if isinstance(self.prefix, str) else tuple(self.prefix)


def apply(context: MitigationContext[PromptOptions], corpus: TrainingCorpus) -> NoReturn:
    """Refuse to make a checkpoint: there is nothing to save."""
    raise ModelError("prompt changes no weight and makes no checkpoint: `unmask.mitigate` measures it")


def measure_prefixes(job: MitigationJob[PromptOptions]) -> Result:
    """Evaluate a model without and with each prefix, and compare."""
    from unmask.audit.session import engine_for
    from unmask.core.progress import with_label
    from unmask.findings import Section
    from unmask.findings.envelope import build, estimate_json
    from unmask.mitigate.evaluation import bias_estimates, evaluate_model

    choices, run, method = job.choices, job.options, job.method
    if not choices.prefixes:
        raise DataError("no prefix: give a sentence to put in front of every sentence")
    lm = job.open_model()

    def evaluate(model: Lm, label: str) -> BiasEvaluation:
        with engine_for(model, run) as engine:
            progress, held_out = with_label(run.progress, label), job.text.held_out_sentences
            return evaluate_model(engine, held_out, seed=choices.seed, progress=progress, items=choices.items)

    before = evaluate(lm, "no prefix")
    after = {prefix: evaluate(lm.with_prefix(prefix), _short(prefix)) for prefix in choices.prefixes}
    several = len(after) > 1
    options: dict[str, Any] = {"prefix": list(choices.prefixes), "seed": choices.seed}
    finding = compare_prefixes(before, after, items=choices.items)
    return job.folder.finish(
        build(
            "mitigation",
            title=f"Mitigation by {method.name}",
            lead=f"{method.title}: {method.about}.",
            models=[asdict(lm.facts)],
            data=job.text.files,
            options={"method": method.name, **options},
            estimates=[
                replace(estimate, model=prefix if several else "")
                for prefix, evaluation in after.items()
                for estimate in bias_estimates(evaluation)
            ],
            findings=[Section(method.name, "Without and with a prefix", LEAD, finding)],
            details={
                "request": {"method": method.name, "options": options},
                "citation": method.citation,
                "before": [estimate_json(estimate) for estimate in bias_estimates(before)],
            },
        )
    )


def compare_prefixes(before: BiasEvaluation, after: Mapping[str, BiasEvaluation], items: int | None = None) -> Finding:
    """The changes by every prefix; p-values are corrected by Holm over all prefixes and measures together."""
    from unmask.findings import Finding, Table
    from unmask.mitigate import comparison
    from unmask.mitigate.evaluation import GENDERED, compare_headlines, correct_family

    shown = [_short(prefix) for prefix in after]
    tested = [
        replace(row, run=number)
        for number, evaluation in enumerate(after.values())
        for row in compare_headlines(before, evaluation)
    ]
    changes = correct_family(tested)
    by_prefix: comparison.Names = {"prefix": lambda row: shown[row.run]}
    ends = ("without", "with")
    tables = [
        comparison.change_table(
            "Bias without and with a prefix",
            [row for row in changes if row.data not in GENDERED],
            names={**by_prefix, **comparison.NAMES},
            ends=ends,
            note=f"{comparison.NO_PREFERENCE}; {comparison.PAIRED}; p Holm over all prefixes and rows",
        ),
        comparison.change_table(
            "Words that have a gender: here a lean is right",
            [row for row in changes if row.data in GENDERED],
            names={**by_prefix, **comparison.OF_GROUPS},
            ends=ends,
            note="appd: below 0 the model expects her, above 0 him; a prefix should leave these alone",
        ),
        Table(
            "What it cost on held-out text",
            ("prefix", "figure", "texts", "tokens", *ends, "change"),
            tuple(
                (name, *row)
                for name, evaluation in zip(shown, after.values(), strict=True)
                for row in comparison.ability_rows(before, evaluation)
            ),
            "The same texts and tokens, without and with the prefix in front. A masked model: accuracy on masked "
            "tokens, pseudo-perplexity; a causal one: on every token given those before it. Visible words: mean over "
            "the sentences that aul scores, nothing masked.",
        ),
    ]
    answers: list[str] = []
    for number, (name, evaluation) in enumerate(zip(shown, after.values(), strict=True)):
        rows = [row for row in changes if row.run == number]
        said = chain(
            comparison.cost_answers(rows, before, evaluation), comparison.pair_answers(rows, before, evaluation)
        )
        answers += [f"{quote(name)}: {answer}" for answer in said]
        types = comparison.bias_type_changes(before, evaluation)
        tables += comparison.spill_over_tables(types, "", f"With {quote(name)}")
    notes = (*comparison.subset_notes(items), *NOTES)
    return Finding(tuple(answers), tuple(table for table in tables if table.rows), (), notes)


def _short(prefix: str) -> str:
    """A prefix as tables show it."""
    return shorten(prefix.strip(), SHOWN)


PROMPT = Method(
    name="prompt",
    title="Prompting",
    about="a prefix is put in front of every sentence; no weight is changed, several prefixes are compared",
    apply=apply,
    citation="si-etal-2023-prompting",
    options=PromptOptions,
    languages=(),
    measure=measure_prefixes,
)
