"""The step graph: topological order, and a cache key per step over everything its output depends on.

Models and datasets enter a key by their content or commit, not by their name.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from unmask import data as datasets
from unmask.core.errors import ResultError, UnmaskError
from unmask.core.files import sha256_of
from unmask.core.hub import connection_problem, private_hub
from unmask.models.builtin import builtin_models
from unmask.studies.spec import PACKAGE, Runtime, Step, StepKind
from unmask.studies.texts import find_text_file

MISSING = "missing"
IGNORED = (".md", ".gitattributes", ".lock")  # files of a model folder that do not affect outputs


def topological_order(targets: Iterable[Step]) -> tuple[Step, ...]:
    """The steps and all their inputs, each once, inputs first."""
    by_name: dict[str, Step] = {}

    def visit(step: Step) -> None:
        for source in step.inputs.values():
            visit(source)
        known = by_name.setdefault(step.name, step)
        if known is not step and known != step:
            raise ResultError(f"two different steps are named {step.name!r}: step names must be unique")

    for step in targets:
        visit(step)
    return tuple(by_name.values())


def load_kind(step: Step) -> StepKind:
    """Import the step kind a step names."""
    module, _, name = step.kind.partition(":")
    kind = getattr(import_module(module), name, None)
    if not isinstance(kind, StepKind):
        raise ResultError(f"{step.name}: {step.kind} is not a StepKind")
    return kind


def step_content(step: Step, models: Sequence[str], data: Sequence[str], inputs: Mapping[str, str]) -> dict[str, Any]:
    """What a step is, in the one form that keys are made of: its kind, parameters and sources; `inputs` are keys."""
    kind = {"task": step.kind, "version": load_kind(step).version, "parameters": dict(step.parameters)}
    return {**kind, "models": list(models), "data": list(data), "inputs": dict(inputs)}


def cache_keys(steps: Sequence[Step], runtime: Runtime) -> dict[str, str]:
    """Cache keys by step name; `steps` in topological order. Equal keys mean equal outputs."""
    keys: dict[str, str] = {}
    model_of = functools.cache(lambda name: model_identity(runtime.place(name), offline=runtime.offline))
    data_of = functools.cache(lambda name: data_identity(runtime.place(name), runtime.data_dir))
    digests: dict[str, Sequence[str]] = {}  # of the files that equal steps find: they are read once
    for step in steps:
        about = json_digest(step_content(step, (), (), {}))
        digests[about] = digests[about] if about in digests else load_kind(step).digests(step, runtime)
        inputs = {role: keys[source.name] for role, source in step.inputs.items()}
        data = [*map(data_of, step.data), *digests[about]]
        keys[step.name] = json_digest(step_content(step, [*map(model_of, step.models)], data, inputs))
    return keys


def json_digest(value: Mapping[str, Any]) -> str:
    """The first 20 hex digits of the SHA-256 of a JSON value, whatever the order of its keys."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def is_cached(ref: str) -> bool:
    """Whether the model can be loaded without network access."""
    return ref in builtin_models() or Path(ref).is_dir() or _cached_commit(ref) is not None


def model_identity(ref: str, *, offline: bool = False) -> str:
    """A digest of the files of a local model; for a hub model its commit, else its revision."""
    if ref in builtin_models():
        ours = builtin_models()[ref]
        return _digest([*_files(ours.folder), *([ours.update] if ours.update else [])])
    if Path(ref).is_dir():
        return _digest(_files(Path(ref)))
    return f"hub:{ref.partition('@')[0]}@{_commit(ref, offline=offline) or ref.partition('@')[2] or 'main'}"


def data_identity(name: str, data_dir: Path | None) -> str:
    """The SHA-256 of the files that would be read."""
    if name == PACKAGE:
        parts = [datasets.card(name).files[0].sha256 for name in ("nine-axes", "paraphrases")]
        return hashlib.sha256("".join(parts).encode()).hexdigest()
    path = find_text_file(name, data_dir)
    if path is not None:
        return _digest([path])
    try:
        if name in datasets.tables():
            return datasets.card(name).files[0].sha256
        if name in datasets.score_names():
            return datasets.scores(name, data_dir=data_dir, offline=True).data.sha256
        return datasets.load(name, data_dir=data_dir, offline=True).sha256
    except UnmaskError:
        return MISSING


def _commit(ref: str, *, offline: bool) -> str | None:
    """The commit of a hub model: the current one, else that in the cache."""
    from huggingface_hub import HfApi
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

    name, _, revision = ref.partition("@")
    try:
        validate_repo_id(name)
    except ValueError:  # the path of a folder that does not exist
        return None
    if not offline and os.environ.get("HF_HUB_OFFLINE") != "1" and not connection_problem():
        with private_hub(offline=False), suppress(Exception):  # no network or no such model: the step reports it
            return str(HfApi().model_info(name, revision=revision or None, timeout=10).sha)
    return _cached_commit(ref)


def _cached_commit(ref: str) -> str | None:
    from huggingface_hub import try_to_load_from_cache

    name, _, revision = ref.partition("@")
    with suppress(ValueError):  # not a hub name at all
        path = try_to_load_from_cache(name, "config.json", revision=revision or "main")
        return Path(path).parent.name if isinstance(path, str) else None
    return None


def _files(folder: Path) -> list[Path]:
    return sorted(
        path for path in folder.rglob("*") if path.is_file() and path.suffix not in IGNORED and path.name not in IGNORED
    )


def _digest(paths: list[Path]) -> str:
    """The SHA-256 of the names and contents of files."""
    lines = [f"{path.name}:{sha256_of(path)}\n" for path in paths]
    return hashlib.sha256("".join(lines).encode()).hexdigest()
