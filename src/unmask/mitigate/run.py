"""Mitigate the bias of a model: measure it, change it, save the checkpoint, measure again and compare."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unmask.audit.session import engine_for
from unmask.core.errors import DataError
from unmask.core.options import Opening, Options, TextLayout, fill_groups
from unmask.core.progress import with_label, with_prefix
from unmask.core.request import with_request
from unmask.data.formats import is_file
from unmask.data.language import LATIN, main_script
from unmask.data.texts import TrainingCorpus, load_corpus
from unmask.findings import Section
from unmask.findings.envelope import Result, estimate_json
from unmask.findings.folder import result_folder
from unmask.mitigate import METHODS
from unmask.mitigate.checkpoint import (
    WORK,
    build_meta,
    check_request,
    finished_details,
    own_files,
    request_of,
    save_checkpoint,
)
from unmask.mitigate.comparison import compare_evaluations
from unmask.mitigate.curve import measure_curve
from unmask.mitigate.evaluation import (
    BiasEvaluation,
    bias_estimates,
    check_overlap,
    evaluate_model,
    evaluated_data,
    trained_data,
)
from unmask.mitigate.spec import Method, MethodOptions, MitigationJob
from unmask.mitigate.vectors import mitigate_vectors
from unmask.models import Engine, open_lm
from unmask.models.loading import GGUF
from unmask.training.distributed import is_main_process, on_main_process

Files = str | Path | Sequence[str | Path]
LEAD = "Changes of bias, of words that have a gender, and of language modelling ability."


@with_request("mitigate", "model", target="method")
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
        model: a hub name (`name@revision`), a folder, or None for the built-in model; or a file of word vectors
            (word2vec, GloVe, fastText), which the erasers change.
        corpus: files of training text; erasers need none.
        held: files of held-out text; default: 5% of the corpus, by hash.
        out: the folder of the checkpoint, with `result.json` beside it.
        curve: numbers of sentences; measures ASLD after training on random samples of these sizes instead,
            and writes no checkpoint.
        draws: random samples per size of the curve.
        options: those of the method (`find(method).options`), fields of `TextLayout`, `Opening` and `Options`, or
            these groups themselves as `choices`, `layout`, `opening` and `options`.
    """
    chosen = METHODS.find(method)
    choices, layout, opening, run = fill_groups(
        options, choices=chosen.options, layout=TextLayout, opening=Opening, options=Options
    )
    if model is not None and is_file(Path(model)) and Path(model).suffix != GGUF:
        if corpus or curve:
            raise DataError(
                f"{Path(model).name} is a file of word vectors, which is changed without text: leave it out"
            )
        return mitigate_vectors(chosen, Path(model), Path(out), choices, run)
    if opening.dtype != "fp32":
        raise DataError(f"dtype is {opening.dtype}, but weights are changed in fp32: leave dtype out, or use bf16")
    folder = Path(out)
    with result_folder(folder, "mitigation", also=own_files(folder), lock=is_main_process()) as opened:
        text = corpus if isinstance(corpus, TrainingCorpus) else _load_text(chosen, corpus, held, layout, run)
        _refuse_other_script(chosen, choices, text)
        job = MitigationJob(chosen, lambda: open_lm(model, opening), text, opened, choices, opening, run)
        if curve:
            return measure_curve(job, curve, draws)
        return (chosen.measure or mitigate_model)(job)


def _load_text(method: Method, corpus: Files, held: Files, layout: TextLayout, run: Options) -> TrainingCorpus:
    files, held_files = ([names] if isinstance(names, str | Path) else list(names) for names in (corpus, held))
    if method.trains and not files:
        raise DataError("no training text: give `corpus`, files of txt, jsonl, csv, tsv or parquet (.gz, .xz)")
    return load_corpus(files, layout, held_out=held_files, limit=run.limit)


def _refuse_other_script(method: Method, choices: MethodOptions, text: TrainingCorpus) -> None:
    """Refuse training text in another script than that of the words which a method uses."""
    if not (method.trains and method.languages) or getattr(choices, "pairs", None) is not None:
        return
    script = main_script(sentence for document in text.documents for sentence in document)
    if script not in ("", LATIN):
        raise DataError(
            f"{method.name} uses words of {', '.join(method.languages)}, and the training text is in {script} script: "
            "give word pairs of its language (pairs), or a method that uses no words, such as dropout"
        )


def mitigate_model(job: MitigationJob[Any]) -> Result:
    """Make the checkpoint, unless it is finished, and compare the model before and after."""
    method, text, choices, folder, run = job.method, job.text, job.choices, job.path, job.options
    lm, trained = job.open_model(), trained_data(choices)
    check_overlap(choices, (dataset for _, dataset in evaluated_data(lm.kind, trained)))

    def evaluate(engine: Engine, when: str) -> BiasEvaluation:
        progress, held_out = with_prefix(run.progress, when), text.held_out_sentences
        return evaluate_model(
            engine, held_out, seed=choices.seed, progress=progress, without=trained, items=choices.items
        )

    if (details := finished_details(folder, request_of(method, lm, text, choices))) is None:
        check_request(method, lm, choices, folder)
    with engine_for(lm, run) as engine:
        before = on_main_process(lambda: evaluate(engine, "before"))
        if details is None:
            progress = with_label(run.progress, f"train ({method.name})" if method.trains else method.name)
            details = save_checkpoint(method, engine, text, folder, choices, progress).details

    def compare() -> dict[str, Any]:
        with engine_for(open_lm(folder, job.opening), run) as engine:
            after = evaluate(engine, "after")
        axis, probe = getattr(choices, "axis", "gender"), details["outcome"].get("probe")
        finding = compare_evaluations(before, after, axis=axis, probe=probe, items=choices.items)
        original = [estimate_json(estimate) for estimate in bias_estimates(before)]
        meta = build_meta(
            *(method, lm, text, {**details, "before": original}),
            estimates=bias_estimates(after),
            findings=[Section(method.name, "Before and after", LEAD, finding)],
        )
        result = job.folder.finish(meta)
        shutil.rmtree(folder / WORK, ignore_errors=True)
        return result.meta

    return Result(on_main_process(compare), folder)
