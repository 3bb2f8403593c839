"""Mitigate the bias of a model: measure it, change it, save the checkpoint, measure again and compare."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unmask.audit.plan import engine_for
from unmask.core.errors import DataError
from unmask.core.options import Opening, Options, TextLayout, fill_groups
from unmask.core.progress import with_label
from unmask.data.texts import TrainingCorpus, load_corpus
from unmask.findings import Section
from unmask.findings.envelope import Result, create, estimate_json
from unmask.mitigate import METHODS
from unmask.mitigate.checkpoint import build_meta, check_request, finished_details, make_checkpoint, request_of
from unmask.mitigate.comparison import bias_estimates, compare_evaluations
from unmask.mitigate.curve import measure_curve
from unmask.mitigate.evaluation import evaluate_model
from unmask.mitigate.spec import Method, MitigationOptions
from unmask.models import open_lm
from unmask.training import TrainSettings
from unmask.training.distributed import on_main_process, world_size

Files = str | Path | Sequence[str | Path]
LEAD = "Changes of bias, of words that have a gender, and of language modelling ability."


def mitigate(  # noqa: PLR0913 - the parts of the command
    method: str | Method,
    model: str | Path | None = None,
    *,
    corpus: Files | TrainingCorpus = (),
    held: Files = (),
    out: str | Path = "mitigated",
    curve: Sequence[int] = (),
    draws: int = 5,
    **options: Any,
) -> Result:
    """Mitigate the bias of a model; bias and language modelling are measured before and after.

    Run it again with the same arguments to resume an interrupted run. Under `accelerate launch` all processes
    train, the first one measures and writes, and all return its result.

    Args:
        method: a name (see `unmask list mitigations`) or a `Method`.
        model: a hub name (`name@revision`), a folder, or None for the built-in model.
        corpus: files of training text; erasers need none.
        held: files of held-out text; default: 5% of the corpus, by hash.
        out: the folder of the checkpoint, with `result.json` beside it.
        curve: numbers of sentences; measures ASLD after training on random samples of these sizes instead,
            and writes no checkpoint.
        draws: random samples per size of the curve.
        options: fields of `TrainSettings`, `MitigationOptions`, `TextLayout`, `Opening` and `Options`, or
            these groups themselves as `settings`, `choices`, `layout`, `opening` and `options`.
    """
    settings, choices, layout, opening, run = fill_groups(
        options, settings=TrainSettings, choices=MitigationOptions, layout=TextLayout, opening=Opening, options=Options
    )
    chosen, folder, seed = METHODS.find(method), Path(out), settings.seed
    if opening.dtype != "fp32":
        raise DataError(f"dtype is {opening.dtype}, but weights are changed in fp32: use bf16 to train faster")
    text = corpus
    if not isinstance(text, TrainingCorpus):
        files, given = ([each] if isinstance(each, str | Path) else list(each) for each in (text, held))
        if chosen.trains and not files:
            raise DataError("no training text: give `corpus`, files of txt, jsonl, csv, tsv or parquet (.gz, .xz)")
        text = load_corpus(files, layout, held_out=given, limit=run.limit)
    if curve:
        if world_size() > 1:
            raise DataError("a curve trains models one after the other: start it without accelerate launch")
        return measure_curve(
            *(chosen, lambda: open_lm(model, opening), text, curve, draws, folder),
            settings=settings,
            choices=choices,
            progress=run.progress,
        )
    lm = open_lm(model, opening)
    held_out = text.held_out_sentences
    if (details := finished_details(folder, request_of(chosen, lm, text, settings, choices))) is None:
        check_request(chosen, lm, choices, folder)
    with engine_for(lm, run) as engine:
        before = on_main_process(lambda: evaluate_model(engine, held_out, seed=seed, progress=run.progress))
        if details is None:
            details = make_checkpoint(
                *(chosen, engine, text, folder),
                settings=settings,
                choices=choices,
                progress=with_label(run.progress, chosen.name),
            ).details

    def compare() -> dict[str, Any]:
        with engine_for(open_lm(folder, opening), run) as engine:
            after = evaluate_model(engine, held_out, seed=seed, progress=run.progress)
        finding = compare_evaluations(before, after, seed=seed, probe=details["outcome"].get("probe"))
        original = [estimate_json(estimate) for estimate in bias_estimates(before, seed=seed)]
        meta = build_meta(
            *(chosen, lm, text, {**details, "before": original}),
            estimates=bias_estimates(after, seed=seed),
            findings=[Section(chosen.name, "Before and after", LEAD, finding)],
        )
        return create(meta, folder).meta

    return Result(on_main_process(compare), folder)
