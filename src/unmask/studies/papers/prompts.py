"""`prompts`: Exploring social bias through prompt learning (2023), Tables I and III to V, and HLD."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from unmask.audit.result import Result, load
from unmask.core.errors import StatsError
from unmask.core.types import Estimate
from unmask.findings import Cell, Finding, Plot, Table, charts, value_of
from unmask.findings.html import Section
from unmask.prompts import estimates, rank_agreement, ranking, verdicts
from unmask.studies.collect import difference, in_interval, paper_values, published_value, short_name
from unmask.studies.spec import Outputs, Step, Study, StudyOptions
from unmask.studies.steps import audits, prompts

TYPES = {"race-color": "race", "gender": "gender", "socioeconomic": "socioeconomic", "religion": "religion"}
SCORES = {
    "metric score": "bias-score",
    "stereo score": "stereo-score",
    "anti-stereo score": "antistereo-score",
}
MASKED, CAUSAL = "cps", "cll"
CORPUS, OWN = "table-3", "table-4"


def plan(options: StudyOptions) -> list[Step]:
    """The benchmark, the prompts as pairs, and the prompts asked, for every model."""
    limit = options.settings["prompts"]
    filled = Step(
        "prompts as pairs", "unmask.studies.steps.prompts:FILLED", {"limit": limit}, data=("prompts",)
    )
    return [step for model in options.models for step in _of_model(model, filled, options)]


def _of_model(model: str, filled: Step, options: StudyOptions) -> list[Step]:
    common = {"model": model, "seed": options.seed, "dtype": options.dtype, "shard": options.shard}
    measures = (CAUSAL if model.endswith(("-causal", "gpt2")) else MASKED,)
    return [
        audits.step(model, options.data[0], measures, limit=options.limit, **common),  # type: ignore[arg-type]
        audits.step(model, filled, measures, limit=None, **common),  # type: ignore[arg-type]
        Step(
            f"ask {model} the prompts",
            "unmask.studies.steps.prompts:ASKED",
            {"limit": options.settings["prompts"], "dtype": options.dtype},
            models=(model,),
            data=("prompts",),
        ),
    ]


def conclude(outputs: Outputs, options: StudyOptions) -> list[Section]:
    """The paper's tables, and its second measure."""
    benchmark, own, asked = _found(outputs, options)
    return [
        Section(
            "table-1",
            "Table I: the benchmark's pairs",
            "How many pairs of the four bias types the benchmark has.",
            _sizes(benchmark),
        ),
        Section(
            "table-3",
            "Table III: scores on the benchmark",
            "Share of pairs in which the stereotyping sentence is likelier: all, and by direction.",
            _scores(benchmark, CORPUS),
            "Reasons for differences: published numbers are of bert-base-uncased, roberta-large and "
            "albert-xxlarge-v2, lower-cased by the original script for BERT and ALBERT. The original and "
            "its reproduction differ for RoBERTa: an error in print or another revision of the weights.",
        ),
        Section(
            "table-4",
            "Table IV: scores on prompts of one's own",
            "The same over prompts filled with a biased and with a fair word.",
            _scores(own, OWN),
            "The paper's 100 prompts are not public and ours are others, so agreement is not expected. Its "
            "text and its Table IV exchange the numbers of BERT and RoBERTa; the table's are used.",
        ),
        Section(
            "table-5",
            "Table V: bias types in order",
            "Bias types by how much likelier, in nats, the stereotyping sentence is on average.",
            _ranks(benchmark),
            "Reasons for differences: the mean of a difference of sums grows with the length of sentences, "
            "which differs between bias types.",
        ),
        Section(
            "hld",
            "Human-level diagnosis",
            "Share of prompts in which the two likeliest words are biased, by the rules for clear cases.",
            _diagnosed(asked, benchmark, options.seed),
            "Only clear cases are judged here; `unmask prompts` lets people judge the rest. The paper says "
            "that this measure ranks bias types as Table V does, and prints no number for it.",
        ),
    ]


Results = Mapping[str, Result]


def _found(outputs: Outputs, options: StudyOptions) -> tuple[Results, Results, Mapping[str, Path]]:
    """By model: the audit of the benchmark, that of the prompts, the answers."""
    benchmark: dict[str, Result] = {}
    own: dict[str, Result] = {}
    asked: dict[str, Path] = {}
    for step in plan(options):
        folder = outputs.get(step.name)
        if folder is None:
            continue
        if step.kind.endswith(":ASKED"):
            asked[step.models[0]] = folder
        else:
            (own if "data" in step.inputs else benchmark)[step.models[0]] = load(folder)
    return benchmark, own, asked


def _sizes(results: Results) -> Finding:
    if not results:
        return Finding((), ())
    first = next(iter(results.values()))
    counts = {one.group.partition("=")[2]: one for one in first.estimates if one.statistic == "bias-score"}
    rows: list[tuple[Cell, ...]] = []
    for name, plain in TYPES.items():
        ours = counts.get(name) or counts.get(plain)
        n = ours.n + ours.unscored if ours else 0
        rows.append((plain, n, int(published_value("prompts", "table-1", group=plain) or 0)))
    note = f"Of {first.meta['data'][0]['name']}. Counts bear no interval."
    return Finding((), (Table("Pairs by bias type", ("bias type", "pairs", "published"), tuple(rows), note),))


def _scores(results: Results, item: str) -> Finding:
    rows = [row for model, result in results.items() for row in _score_rows(model, result, item)]
    note = (
        "Wilson intervals. Neutral: pairs whose two scores are equal. In interval: the published one in ours."
    )
    columns = ("model", "data", "score", "ours", "n", "neutral", "published", "difference", "in interval")
    more = [
        (one.model, one.measure, float(one.value))
        for one in paper_values("prompts")
        if one.item == f"{item}-o"
    ]
    tables = [Table("Scores", columns, tuple(rows), note)] if rows else []
    if not any(row[6] is not None for row in rows):
        tables.append(_published(item))
    if more:
        head = ("model", "score", "published")
        tables.append(Table("The original paper (Nangia et al. 2020), as quoted", head, tuple(more)))
    return Finding((), tuple(tables))


def _score_rows(model: str, result: Result, item: str) -> Iterator[tuple[Cell, ...]]:
    data = result.meta["data"][0]["name"]
    for name, statistic in SCORES.items():
        found = [one for one in result.estimates if (one.group, one.statistic) == ("all", statistic)]
        if found:
            ours, paper = value_of(found[0]), published_value("prompts", item, model=model, measure=name)
            compared = (paper, difference(ours, paper), in_interval(ours, paper))
            yield (model, data, name, ours, found[0].n, found[0].ties, *compared)


def _published(item: str) -> Table:
    rows = tuple(
        (one.model, one.measure, float(one.value)) for one in paper_values("prompts") if one.item == item
    )
    return Table("As published, of other models", ("model", "score", "published"), rows)


def _ranks(results: Results) -> Finding:
    rows: list[tuple[Cell, ...]] = []
    bars = []
    for model, result in results.items():
        paper = {
            one.group: int(float(one.value))
            for one in paper_values("prompts")
            if _is(one.item, one.model, model)
        }
        for place, (name, found) in enumerate(_means(result), 1):
            rows.append((model, place, name, value_of(found), found.n, paper.get(name)))
            ends = {"value": found.value, "low": found.low, "high": found.high}
            bars.append({"label": name, "series": model, **ends})
    theirs: dict[str, list[str]] = {}
    for one in sorted(paper_values("prompts"), key=lambda one: one.value):
        if one.item == "table-5":
            theirs.setdefault(one.model, []).append(one.group)
    tables = [
        Table(
            "Bias types by mean difference",
            ("model", "place", "bias type", "mean difference", "n", "published place"),
            tuple(rows),
            "In nats; the stereotyping sentence is likelier where it is positive. Bootstrap intervals.",
        ),
        Table(
            "As published",
            ("model", "first", "second", "third", "fourth"),
            tuple((model, *names) for model, names in theirs.items()),
        ),
    ]
    told = "Mean difference in log-likelihood between the two sentences of a pair, by bias type and model."
    drawn = (
        (Plot("table-5", "Mean difference by bias type", told, charts.bars(bars, axis="nats")),)
        if bars
        else ()
    )
    return Finding((), tuple(one for one in tables if one.rows), drawn)


def _is(item: str, paper: str, model: str) -> bool:
    return item == "table-5" and paper == short_name(model)


def _means(result: Result) -> list[tuple[str, Estimate]]:
    """Bias types of the paper, the largest mean difference first."""
    found = []
    for one in result.estimates:
        name = one.group.partition("=")[2]
        if one.statistic == "mean-difference" and one.group.startswith("category=") and name in TYPES:
            found.append((TYPES[name], one))
    return sorted(found, key=lambda pair: -pair[1].value)


def _diagnosed(asked: Mapping[str, Path], benchmark: Results, seed: int) -> Finding:
    rows: list[tuple[Cell, ...]] = []
    said, notes = [], []
    for model, folder in asked.items():
        answers = prompts.load_answers(folder).answers
        found = verdicts(answers)
        shares = estimates(answers, found)
        rows += [(model, one.group, value_of(one), one.n, one.unscored) for one in shares]
        order = ", ".join(name for name, _ in ranking(shares))
        said.append(f"{model}: bias types by share judged biased, highest first: {order or 'none decided'}")
        if model in benchmark:
            other = {name: one.value for name, one in _means(benchmark[model])}
            try:
                agreed = rank_agreement(answers, found, other, seed=seed)
                said.append(
                    f"{model}: Kendall's τ with the order of Table V is {_tau(agreed.test.value, agreed)}"
                )
            except StatsError as error:
                notes.append(f"{model}: not ranked against Table V: {error}")
    table = Table(
        "Share of prompts judged biased, %",
        ("model", "prompts", "biased", "decided", "undecided"),
        tuple(rows),
        "Wilson intervals over the prompts decided. Undecided: no listed word among the two likeliest.",
    )
    return Finding(tuple(said), (table,) if rows else (), (), tuple(notes))


def _tau(value: float, agreed: object) -> str:
    low, high = agreed.interval.low, agreed.interval.high  # type: ignore[attr-defined]
    return f"{value:.2f} ({low:.2f} to {high:.2f})"


PROMPTS = Study(
    name="prompts",
    title="Exploring social bias through prompt learning",
    question="Which bias types are strongest in a model, by likelihood and by the words it puts in?",
    citation="prompts-2023",
    models=("bert-base-uncased", "roberta-large", "albert-xxlarge-v2"),
    data=("crows-pairs",),
    plan=plan,
    conclude=conclude,
    settings={"prompts": None},
    reduced={"prompts": 8, "limit": 300},
    reduced_models=("builtin", "builtin-dose-2", "builtin-dose+2"),
    fallback_data={"crows-pairs": "nine-axes"},
)
