"""Change a model by a mitigation and save it, with a record of everything that determined it.

With the option `lora` a method trains a LoRA adapter (Hu et al. 2022) in every linear layer but the head, and no other
weight. The checkpoint is the merged model, which every program loads; the adapter is saved in its folder `adapter`, to
be put on the base model: `unmask audit BASE+CHECKPOINT/adapter`.
"""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from unmask.core.boundary import read_json, validate
from unmask.core.errors import ModelError, ResultError, UnmaskError
from unmask.core.estimate import Estimate
from unmask.core.files import flush, make_folder, plain, write_json, writing
from unmask.core.progress import Progress
from unmask.data.texts import TrainingCorpus
from unmask.findings import Section
from unmask.findings.envelope import RESULT, build, read_meta
from unmask.findings.folder import ResultFolder
from unmask.mitigate import METHODS
from unmask.mitigate.evaluation import load_training_pairs
from unmask.mitigate.spec import AdapterOptions, Method, MethodOptions, MitigationContext, Outcome, PairOptions
from unmask.models import Engine, Lm
from unmask.models.eraser import Eraser, attached_eraser, fold, save_eraser
from unmask.training import TrainSettings
from unmask.training.checkpoints import save_model
from unmask.training.distributed import on_main_process, world_size

WORK = "unfinished"  # work folder inside the checkpoint folder, removed at the end
SAVED = "checkpoint"  # in the work folder: the files of the checkpoint until all are written
MOVED = "moved.json"  # in the work folder: the names of these files
RECORD = "record.json"  # in the work folder: what `result.json` will say of a checkpoint that is yet to be measured
ADAPTER = "adapter"  # in the work folder, then in that of the checkpoint
NOT_REQUESTED = ("data_dir", "items")  # a folder of this machine; an option of the evaluation


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The folder of a checkpoint, the details that its `result.json` records, and the changed model."""

    folder: Path
    details: dict[str, Any]
    model: Any


def make_checkpoint(
    method: Method, engine: Engine, corpus: TrainingCorpus, out: str | Path, choices: MethodOptions | None = None
) -> Checkpoint:
    """Mitigate a model and write the checkpoint to `out`, without measuring; an interrupted run is resumed.

    The model of `engine` is changed in place: evaluate it before calling this.
    """
    made = save_checkpoint(method, engine, corpus, Path(out), choices or method.options())

    def finish() -> None:
        ResultFolder(made.folder).finish(build_meta(method, engine.lm, corpus, made.details))
        shutil.rmtree(made.folder / WORK, ignore_errors=True)

    on_main_process(finish)
    return made


def save_checkpoint(
    method: Method,
    engine: Engine,
    corpus: TrainingCorpus,
    folder: Path,
    choices: MethodOptions,
    progress: Progress | None = None,
) -> Checkpoint:
    """Mitigate a model and write its checkpoint; the caller writes `result.json` and removes the work folder."""
    check_request(method, engine.lm, choices, folder)
    before = _copy_weights(engine.lm.network.model)
    request = request_of(method, engine.lm, corpus, choices)
    outcome = _apply(method, MitigationContext(engine, folder / WORK, choices, progress), corpus)
    folded = attached_eraser(outcome.model) is not None and fold(outcome.model)
    trained = outcome.trained
    details = plain(
        {
            "request": request,
            "behaviour": "as published" if method.published else "corrected",
            "citation": method.citation,
            "outcome": outcome.facts,
            "steps": trained.steps if trained else 0,
            "losses": trained.losses if trained else [],
            "precision": trained.precision if trained else None,
            "processes": world_size(),
            "changed": {**_weight_changes(before, outcome.model), "folded": folded},
        }
    )
    on_main_process(lambda: _save(outcome.model, engine.lm, folder, details))
    return Checkpoint(folder, details, outcome.model)


def _apply(method: Method, context: MitigationContext[Any], corpus: TrainingCorpus) -> Outcome:
    """The outcome of a method; with the option `lora` it trains an adapter, which is then merged."""
    options = context.options
    if not trains_adapter(options):
        return method.apply(context, corpus)
    adapted = add_adapter(context.lm, options.rank, options.seed)
    outcome = method.apply(context, corpus)
    model, facts = merge_trained(adapted, context.folder / ADAPTER)
    return replace(outcome, model=model, facts={**outcome.facts, **facts})


def trains_adapter(options: MethodOptions) -> bool:
    """Whether an adapter is trained instead of all weights."""
    return isinstance(options, AdapterOptions) and options.lora


def check_request(method: Method, lm: Lm, choices: MethodOptions, folder: Path) -> None:
    """Check everything that would fail later, before anything is computed."""
    if lm.kind not in method.kinds:
        fit = ", ".join(name for name, other in METHODS.items() if lm.kind in other.kinds)
        raise ModelError(
            f"{method.name} works on {' and '.join(method.kinds)} models, {lm.facts.id} is {lm.kind}: "
            f"for {lm.kind} models use one of {fit}"
        )
    if trains_adapter(choices):
        check_extra()
    if folder.is_dir() and {path.name for path in folder.iterdir()} - {*own_files(folder)}:
        raise ResultError(f"{folder} holds other files: give a new or empty folder for the checkpoint")


def request_of(method: Method, lm: Lm, corpus: TrainingCorpus, choices: MethodOptions) -> dict[str, Any]:
    """Everything that determines a checkpoint; a finished or interrupted run is recognised by it."""
    sizes = {"documents": len(corpus.documents), "held_out": len(corpus.held_out)}
    identity = ("id", "revision", "fingerprint", "architecture")
    chosen = choices.for_device(lm.network.device) if isinstance(choices, TrainSettings) else choices
    request: dict[str, Any] = {
        "method": method.name,
        "model": {name: getattr(lm.facts, name) for name in identity},
        "data": {"files": corpus.files, **sizes},
        "options": {name: value for name, value in asdict(chosen).items() if name not in NOT_REQUESTED},
    }
    if isinstance(choices, PairOptions):
        request["option_files"] = {"train_pairs": load_training_pairs(choices).sha256}
    return dict(plain(request))


def finished_details(folder: Path, request: Mapping[str, Any]) -> dict[str, Any] | None:
    """The details of a checkpoint that an identical request made; None if there is none."""
    details: dict[str, Any] = {}
    with suppress(UnmaskError):  # of a run that ended before the checkpoint was measured
        record = validate(dict[str, dict[str, Any]], read_json(folder / WORK / RECORD, ResultError), RECORD)
        details = record.get("details", {})
    if details.get("request") != request and (folder / RESULT).is_file():
        details = read_meta(folder)["details"]
    return details if details.get("request") == request else None


def build_meta(
    method: Method,
    lm: Lm,
    corpus: TrainingCorpus,
    details: Mapping[str, Any],
    *,
    estimates: Iterable[Estimate] = (),
    findings: Iterable[Section] = (),
) -> dict[str, Any]:
    """The content of `result.json`."""
    behaviour = "as published" if method.published else "corrected, see the documentation"
    return build(
        "mitigation",
        title=f"Mitigation by {method.name}",
        lead=f"{method.title}: {method.about}. Behaviour: {behaviour}.",
        models=[asdict(lm.facts)],
        data=corpus.files,
        options={"method": method.name, **details["request"]["options"]},
        estimates=estimates,
        findings=findings,
        details=details,
    )


def _copy_weights(model: Any) -> dict[str, torch.Tensor]:
    return {name: tensor.detach().to("cpu", copy=True) for name, tensor in model.state_dict().items()}


def _weight_changes(before: Mapping[str, torch.Tensor], model: Any) -> dict[str, Any]:
    """How many weights changed and how far; ModelError if none did and there is no eraser."""
    eraser: Eraser | None = attached_eraser(model)
    after = _copy_weights(model)
    pairs = [(tensor, after[name]) for name, tensor in before.items()]
    counts = [int((old != new).sum()) for old, new in pairs]
    if not any(counts) and eraser is None:
        raise ModelError("no weight changed, so there is no mitigated model: give more text")
    distance = sum(float((old.double() - new.double()).pow(2).sum()) for old, new in pairs)
    return {
        "weights": sum(counts),
        "of": sum(old.numel() for old, _ in pairs),
        "tensors": sum(map(bool, counts)),
        "relative_distance": (distance / sum(float(old.double().pow(2).sum()) for old, _ in pairs)) ** 0.5,
        "eraser": eraser.description if eraser is not None else None,
    }


def _save(model: Any, lm: Lm, folder: Path, details: Mapping[str, Any]) -> None:
    """Save a Hugging Face checkpoint: its files when all of them are written, then the record of what made it."""
    work, saved = folder / WORK, folder / WORK / SAVED
    with writing(work):
        (work / RECORD).unlink(missing_ok=True)  # the files below are not the ones it describes
    shutil.rmtree(saved, ignore_errors=True)
    save_model(model, lm.tokenizer, make_folder(saved))
    if (eraser := attached_eraser(model)) is not None:
        save_eraser(eraser, saved)
    if "lora" in details["outcome"]:
        with writing(folder):
            shutil.copytree(work / ADAPTER, saved / ADAPTER)
    names = sorted(path.name for path in saved.iterdir())
    write_json(work / MOVED, names)
    with writing(folder):
        for path in (path for path in saved.rglob("*") if path.is_file()):
            flush(path)
        shutil.rmtree(folder / ADAPTER, ignore_errors=True)  # a folder replaces no folder
        for name in names:
            (saved / name).replace(folder / name)
    write_json(work / RECORD, {"details": details})


def own_files(folder: Path) -> tuple[str, ...]:
    """The names of what an unfinished mitigation leaves in its folder."""
    moved = folder / WORK / MOVED
    try:
        return WORK, *(validate(list[str], read_json(moved, ResultError), str(moved)) if moved.is_file() else ())
    except UnmaskError:
        return (WORK,)


def check_extra() -> None:
    """Refuse to go on without peft."""
    if find_spec("peft") is None:
        raise ModelError("a LoRA adapter needs peft: pip install 'unmask[peft]'")


def add_adapter(lm: Lm, rank: int, seed: int) -> Any:
    """Add an untrained adapter to a model, in place, and freeze everything else; returns peft's view of the model."""
    check_extra()
    from peft import LoraConfig, get_peft_model

    model = lm.network.model
    config = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear")
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peft reads deprecated attributes of transformers
        torch.manual_seed(seed)
        adapted = get_peft_model(model, config)
    if lm.facts.built_in:
        adapted.peft_config["default"].base_model_name_or_path = lm.facts.id
    return adapted


def merge_trained(adapted: Any, folder: Path) -> tuple[Any, dict[str, Any]]:
    """Save the adapter and merge it into the weights; the model, and facts about the adapter."""
    config = adapted.peft_config["default"]
    trained = sum(parameter.numel() for parameter in adapted.parameters() if parameter.requires_grad)
    with warnings.catch_warnings(), writing(folder):
        warnings.simplefilter("ignore")
        adapted.save_pretrained(folder)
        (folder / "README.md").unlink(missing_ok=True)  # a template without content
        model = adapted.merge_and_unload(safe_merge=True)
    vars(model).pop("peft_config", None)
    model.requires_grad_(True)
    return model, {"lora": {"rank": config.r, "alpha": config.lora_alpha, "weights": trained}}
