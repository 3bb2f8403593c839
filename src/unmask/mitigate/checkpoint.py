"""Change a model by a mitigation and save it, with a record of everything that determined it."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import torch
from pydantic import Field
from typing_extensions import TypedDict

from unmask.core.boundary import read_json, validate
from unmask.core.errors import DataError, ModelError, ResultError, UnmaskError
from unmask.core.estimate import Estimate
from unmask.core.files import flush, make_folder, plain, write_json, writing
from unmask.core.progress import Progress
from unmask.data.texts import TrainingCorpus
from unmask.findings import Section
from unmask.findings.envelope import RESULT, build, read_meta
from unmask.findings.folder import ResultFolder
from unmask.mitigate import METHODS
from unmask.mitigate.lora import FOLDER as ADAPTER
from unmask.mitigate.lora import add_adapter, check_extra, merge_trained
from unmask.mitigate.spec import Method, MitigationContext, MitigationOptions, Outcome
from unmask.mitigate.training_pairs import load_training_pairs
from unmask.models import Engine, Lm
from unmask.models.eraser import Eraser, attached_eraser, fold, save_eraser
from unmask.training import TrainSettings
from unmask.training.checkpoints import save_model
from unmask.training.distributed import on_main_process, world_size

WORK = "unfinished"  # work folder inside the checkpoint folder, removed at the end
SAVED = "checkpoint"  # in the work folder: the files of the checkpoint until all are written
MOVED = "moved.json"  # in the work folder: the names of these files
RECORD = "record.json"  # in the work folder: what `result.json` will say of a checkpoint that is yet to be measured
# options that earlier versions did not record, and what they did
_LATER_OPTIONS = {"word": None, "name_table": None, "train_pairs": "nine-axes", "lora": False, "rank": 16}
SCHEMA1 = "mitigation.json"  # the record of a checkpoint before schema 2


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The folder of a checkpoint, the details that its `result.json` records, and the changed model."""

    folder: Path
    details: dict[str, Any]
    model: Any


def make_checkpoint(  # noqa: PLR0913 - everything that determines a mitigation
    method: Method,
    engine: Engine,
    corpus: TrainingCorpus,
    out: str | Path,
    *,
    settings: TrainSettings | None = None,
    choices: MitigationOptions | None = None,
    progress: Progress | None = None,
    measured_later: bool = False,
) -> Checkpoint:
    """Mitigate a model and write the checkpoint to `out`, without measuring; an interrupted run is resumed.

    The model of `engine` is changed in place: evaluate it before calling this. With `measured_later` no
    `result.json` is written: that, and removing the work folder, is left to the caller.
    """
    settings, choices, folder = settings or TrainSettings(), choices or MitigationOptions(), Path(out)
    check_request(method, engine.lm, choices, folder)
    before = _copy_weights(engine.lm.network.model)
    request = request_of(method, engine.lm, corpus, settings, choices)
    outcome = _apply(method, MitigationContext(engine, folder / WORK, settings, choices, progress), corpus)
    folded = attached_eraser(outcome.model) is not None and fold(outcome.model)
    details = plain(
        {
            "request": request,
            "behaviour": "as published" if method.published else "corrected",
            "citation": method.citation,
            "outcome": outcome.facts,
            "steps": outcome.trained.steps if outcome.trained else 0,
            "losses": outcome.trained.losses if outcome.trained else [],
            "precision": outcome.trained.precision if outcome.trained else None,
            "processes": world_size(),
            "changed": {**_weight_changes(before, outcome.model), "folded": folded},
        }
    )
    meta = build_meta(method, engine.lm, corpus, details)
    on_main_process(lambda: _save(outcome.model, engine.lm, folder, meta, measured_later=measured_later))
    return Checkpoint(folder, details, outcome.model)


def _apply(method: Method, context: MitigationContext, corpus: TrainingCorpus) -> Outcome:
    """The outcome of a method; with the option `lora` it trains an adapter, which is then merged."""
    options = context.options
    if not options.lora:
        return method.apply(context, corpus)
    adapted = add_adapter(context.lm, options.rank, context.settings.seed)
    outcome = method.apply(context, corpus)
    model, facts = merge_trained(adapted, context.folder / ADAPTER)
    return replace(outcome, model=model, facts={**outcome.facts, **facts})


def check_request(method: Method, lm: Lm, choices: MitigationOptions, folder: Path) -> None:
    """Check everything that would fail later, before anything is computed."""
    if lm.kind not in method.kinds:
        fit = ", ".join(name for name, other in METHODS.items() if lm.kind in other.kinds)
        raise ModelError(
            f"{method.name} works on {' and '.join(method.kinds)} models, {lm.facts.id} is {lm.kind}: "
            f"for {lm.kind} models use one of {fit}"
        )
    if choices.axis not in method.axes:
        raise DataError(f"{method.name} does not support the axis {choices.axis}: use {method.axes[0]}")
    if choices.lora and not (method.trains and method.adapts):
        fit = ", ".join(name for name, other in METHODS.items() if other.trains and other.adapts)
        raise DataError(f"{method.name} does not train a LoRA adapter: leave --lora out, or use one of {fit}")
    if choices.lora:
        check_extra()
    if folder.is_dir() and {path.name for path in folder.iterdir()} - {*own_files(folder)}:
        raise ResultError(f"{folder} holds other files: give a new or empty folder for the checkpoint")


def request_of(
    method: Method, lm: Lm, corpus: TrainingCorpus, settings: TrainSettings, choices: MitigationOptions
) -> dict[str, Any]:
    """Everything that determines a checkpoint; a finished or interrupted run is recognised by it."""
    sizes = {"documents": len(corpus.documents), "held_out": len(corpus.held_out)}
    identity = ("id", "revision", "fingerprint", "architecture")
    request: dict[str, Any] = {
        "method": method.name,
        "model": {name: getattr(lm.facts, name) for name in identity},
        "data": {"files": corpus.files, **sizes},
        "options": {**asdict(settings.for_device(lm.network.device)), **asdict(choices)},
    }
    del request["options"]["data_dir"]  # a folder of this machine; the checksums below say what was in it
    del request["options"]["items"]  # of the evaluation
    if sums := _option_files(method, choices):
        request["option_files"] = sums
    return dict(plain(request))


def _option_files(method: Method, choices: MitigationOptions) -> dict[str, str]:
    """The checksums of the data that options of a method name."""
    return {"train_pairs": load_training_pairs(choices).sha256} if method.pairs else {}


def finished_details(folder: Path, request: Mapping[str, Any]) -> dict[str, Any] | None:
    """The details of a checkpoint that an identical request made; None if there is none."""
    with suppress(UnmaskError):  # of a run that ended before the checkpoint was measured
        record = validate(dict[str, dict[str, Any]], read_json(folder / WORK / RECORD, ResultError), RECORD)
        details = record.get("details", {})
        if _request(details) == request:
            return details
    if not (folder / RESULT).is_file() and not (folder / SCHEMA1).is_file():
        return None
    meta = read_meta(folder)
    details = meta["details"]
    if "did" in details:
        details = _details_of_schema1(meta)
    return details if _request(details) == request else None


def _request(details: Mapping[str, Any]) -> dict[str, Any]:
    """The recorded request, if it is one; versions that did not record an option had its default."""
    request = details.get("request")
    options = request.get("options") if isinstance(request, Mapping) else None
    if not request or not isinstance(options, Mapping):
        return {}
    return {
        **request,
        "options": {"word": None, "name_table": None, "train_pairs": "nine-axes", "lora": False, "rank": 16, **options},
    }


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


class _OldDetails(TypedDict):
    method: str
    choices: dict[str, Any]
    did: Any
    behaviour: Any
    citation: Any
    steps: Any
    losses: Any
    processes: Any
    changed: Any


class _OldOptions(TypedDict):
    rate: float
    limit: Any


class _OldCheckpoint(TypedDict):
    """What is read of a `mitigation.json`."""

    details: _OldDetails
    options: _OldOptions
    model: Any
    data: Annotated[list[dict[str, Any]], Field(min_length=1)]


def _details_of_schema1(meta: Mapping[str, Any]) -> dict[str, Any]:
    """The details of a `mitigation.json`, as they are recorded today."""
    validate(_OldCheckpoint, meta, SCHEMA1, ResultError)
    old, settings = dict(meta["details"]), dict(meta["options"])
    settings["lr"] = settings.pop("rate")
    del settings["limit"]
    options = {**settings, **old["choices"]}
    data = {name: value for name, value in meta["data"][0].items() if name != "name"}  # it had none
    request = {"method": old["method"], "model": meta["model"], "data": data, "options": options}
    same = ("behaviour", "citation", "steps", "losses", "processes", "changed")
    return {"request": request, "outcome": old["did"], **{name: old[name] for name in same}}


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


def _save(model: Any, lm: Lm, folder: Path, meta: Mapping[str, Any], *, measured_later: bool) -> None:
    """Save a Hugging Face checkpoint: its files when all of them are written, then `result.json` or the record."""
    work, saved = folder / WORK, folder / WORK / SAVED
    with writing(work):
        (work / RECORD).unlink(missing_ok=True)  # the files below are not the ones it describes
    shutil.rmtree(saved, ignore_errors=True)
    save_model(model, lm.tokenizer, make_folder(saved))
    if (eraser := attached_eraser(model)) is not None:
        save_eraser(eraser, saved)
    if meta["options"]["lora"]:
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
    if measured_later:
        write_json(work / RECORD, {"details": meta["details"]})
    else:
        ResultFolder(folder).finish(dict(meta))
        shutil.rmtree(work, ignore_errors=True)


def own_files(folder: Path) -> tuple[str, ...]:
    """The names of what an unfinished mitigation leaves in its folder."""
    moved = folder / WORK / MOVED
    try:
        return WORK, *(validate(list[str], read_json(moved, ResultError), str(moved)) if moved.is_file() else ())
    except UnmaskError:
        return (WORK,)
