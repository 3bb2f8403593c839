"""Mitigate the bias of a model: measure it, change it, save the checkpoint, measure again and compare."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unmask.audit.plan import engine_for
from unmask.core.errors import DataError
from unmask.core.options import Opening, Options, TextLayout, fill_groups
from unmask.core.progress import with_label, with_prefix
from unmask.core.request import with_request
from unmask.data.formats import is_file
from unmask.data.language import LATIN, main_script
from unmask.data.texts import TrainingCorpus, load_corpus
from unmask.findings import Section
from unmask.findings.envelope import Result, estimate_json
from unmask.findings.folder import ResultFolder, result_folder
from unmask.mitigate import METHODS
from unmask.mitigate.checkpoint import (
    WORK,
    build_meta,
    check_request,
    finished_details,
    make_checkpoint,
    own_files,
    request_of,
)
from unmask.mitigate.comparison import bias_estimates, compare_evaluations
from unmask.mitigate.curve import measure_curve
from unmask.mitigate.evaluation import BiasEvaluation, evaluate_model, evaluated_data
from unmask.mitigate.prompt import check_prefixes, measure_prefixes
from unmask.mitigate.spec import Method, MitigationOptions, StaticOptions
from unmask.mitigate.static import FILES, mitigate_vectors
from unmask.mitigate.training_pairs import check_overlap, trained_data
from unmask.models import Engine, Lm, open_lm
from unmask.models.loading import GGUF
from unmask.training import TrainSettings
from unmask.training.distributed import is_main_process, on_main_process, world_size

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
    prefix: str | Sequence[str] = (),
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
        prefix: for `prompt`, what is put in front of every sentence; several are compared.
        options: fields of `TrainSettings`, `MitigationOptions`, `StaticOptions` (for word vectors), `TextLayout`,
            `Opening` and `Options`, or these groups themselves as `settings`, `choices`, `static`, `layout`,
            `opening` and `options`.
    """
    settings, choices, static, layout, opening, run = fill_groups(
        options,
        settings=TrainSettings,
        choices=MitigationOptions,
        static=StaticOptions,
        layout=TextLayout,
        opening=Opening,
        options=Options,
    )
    chosen, folder = METHODS.find(method), Path(out)
    if model is not None and is_file(Path(model)) and Path(model).suffix != GGUF:
        if corpus or curve:
            raise DataError(
                f"{Path(model).name} is a file of word vectors, which is changed without text: leave it out"
            )
        with result_folder(folder, "mitigation", also=FILES) as opened:
            return mitigate_vectors(chosen, Path(model), opened, static, choices.pairs, run)
    prefixes = [prefix] if isinstance(prefix, str) else list(prefix)
    if not chosen.saves:
        check_prefixes(prefixes)
    elif prefixes:
        raise DataError(f"{chosen.name} takes no prefix: use the method prompt")
    if opening.dtype != "fp32":
        raise DataError(f"dtype is {opening.dtype}, but weights are changed in fp32: leave dtype out, or use bf16")
    with result_folder(folder, "mitigation", also=own_files(folder), lock=is_main_process()) as opened:
        text = corpus
        if not isinstance(text, TrainingCorpus):
            files, given = ([each] if isinstance(each, str | Path) else list(each) for each in (text, held))
            if chosen.trains and not files:
                raise DataError("no training text: give `corpus`, files of txt, jsonl, csv, tsv or parquet (.gz, .xz)")
            text = load_corpus(files, layout, held_out=given, limit=run.limit)
        _refuse_other_script(chosen, choices, text)
        if not chosen.saves:
            return measure_prefixes(opened, chosen, open_lm(model, opening), prefixes, text, run, choices.items)
        if not curve:
            return _mitigate(opened, chosen, open_lm(model, opening), text, settings, choices, opening, run)
        if choices.lora:
            raise DataError("a curve writes no checkpoint, and so no adapter: leave --lora out")
        if world_size() > 1:
            raise DataError("a curve trains models one after the other: start it without accelerate launch")
        return measure_curve(
            *(chosen, lambda: open_lm(model, opening), text, curve, draws, opened),
            settings=settings,
            choices=choices,
            progress=run.progress,
        )


def _refuse_other_script(method: Method, choices: MitigationOptions, text: TrainingCorpus) -> None:
    """Refuse training text in another script than that of the words which a method uses."""
    script = main_script(sentence for document in text.documents for sentence in document)
    if method.languages and choices.pairs is None and method.trains and script not in ("", LATIN):
        raise DataError(
            f"{method.name} uses words of {', '.join(method.languages)}, and the training text is in {script} script: "
            "give word pairs of its language (pairs), or a method that uses no words, such as dropout"
        )


def _mitigate(  # noqa: PLR0913, PLR0917 - the parts of a mitigation
    opened: ResultFolder,
    chosen: Method,
    lm: Lm,
    text: TrainingCorpus,
    settings: TrainSettings,
    choices: MitigationOptions,
    opening: Opening,
    run: Options,
) -> Result:
    """Make the checkpoint, unless it is finished, and compare the model before and after."""
    folder, seed = opened.path, settings.seed
    assert folder is not None
    held_out, trained = text.held_out_sentences, trained_data(chosen, choices)
    check_overlap(chosen, choices, (dataset for _, dataset in evaluated_data(lm.kind, trained)))

    def evaluate(engine: Engine, when: str) -> BiasEvaluation:
        progress = with_prefix(run.progress, when)
        return evaluate_model(engine, held_out, seed=seed, progress=progress, without=trained, items=choices.items)

    if (details := finished_details(folder, request_of(chosen, lm, text, settings, choices))) is None:
        check_request(chosen, lm, choices, folder)
    with engine_for(lm, run) as engine:
        before = on_main_process(lambda: evaluate(engine, "before"))
        if details is None:
            details = make_checkpoint(
                *(chosen, engine, text, folder),
                settings=settings,
                choices=choices,
                progress=with_label(run.progress, f"train ({chosen.name})" if chosen.trains else chosen.name),
                measured_later=True,
            ).details

    def compare() -> dict[str, Any]:
        with engine_for(open_lm(folder, opening), run) as engine:
            after = evaluate(engine, "after")
        probe, axis = details["outcome"].get("probe"), choices.axis
        finding = compare_evaluations(before, after, seed=seed, probe=probe, axis=axis, items=choices.items)
        original = [estimate_json(estimate) for estimate in bias_estimates(before, seed=seed)]
        meta = build_meta(
            *(chosen, lm, text, {**details, "before": original}),
            estimates=bias_estimates(after, seed=seed),
            findings=[Section(chosen.name, "Before and after", LEAD, finding)],
        )
        result = opened.finish(meta)
        shutil.rmtree(folder / WORK, ignore_errors=True)
        return result.meta

    return Result(on_main_process(compare), folder)
