"""What a model is called: a built-in name, a folder, a hub name, a GGUF file, or any of them with an adapter.

bert-base-uncased@main            a hub repository, at a revision
models/mine                       a folder; one that holds an adapter opens the base model that it names
models/mine.Q4_K_M.gguf           a GGUF file; `owner/name/file.gguf` is one of the hub
builtin+models/adapter            a base model and an adapter, either by folder or by hub name
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from unmask.core.errors import ModelError, UnknownName, quote
from unmask.core.hub import connection_problem
from unmask.models.adapter import base_of
from unmask.models.builtin import BUILT_IN, BuiltinModel, builtin_models
from unmask.models.endpoint.address import is_url
from unmask.models.folded_eraser import HELD, release
from unmask.models.folder import ModelFolder, is_file, is_folder
from unmask.models.gguf import SUFFIX, isolate, read_gguf


@dataclass(frozen=True, slots=True)
class ModelReference:
    """Where a model is loaded from."""

    folder: ModelFolder
    builtin: BuiltinModel | None = None
    adapter: ModelFolder | None = None  # to be merged into the model of `folder`

    @property
    def name(self) -> str:
        """Its name in results."""
        return self.folder.name if self.adapter is None else f"{self.folder.name}+{self.adapter.name}"


def resolve(ref: str | Path | None, *, offline: bool) -> ModelReference:
    """Find out what a model reference names; nothing is downloaded. A hub that does not answer is not asked again."""
    text = BUILT_IN if ref is None else str(ref)
    if is_url(text):
        raise ModelError(
            f"{quote(text)} is an endpoint, which gives log-probabilities of texts only: `unmask audit`, `prompts` and "
            "`task winobias` can use it; give a folder or a hub name here"
        )
    builtins = builtin_models()
    if text in builtins:
        return ModelReference(ModelFolder(text, str(builtins[text].folder), None, offline), builtins[text])
    if is_folder(text):
        return ModelReference(ModelFolder(Path(text).resolve().name, text, None, offline))
    if is_file(text) and not text.endswith(SUFFIX):
        raise ModelError(f"{quote(text)} is a file: give a folder with config.json, a {SUFFIX} file, or a hub name")
    if is_file(text):
        return ModelReference(_gguf(Path(text), None, offline))
    base, plus, adapter = text.rpartition("+")
    if plus and base and adapter and (base in builtins or not text.startswith(f"{BUILT_IN}-")):
        return _adapted(base, adapter, offline)
    if text.startswith(f"{BUILT_IN}-"):
        raise UnknownName("built-in model", text, builtins)
    name, _, revision = text.partition("@")
    file_of_hub = name.endswith(SUFFIX) and name.count("/") >= 2
    if isinstance(ref, Path) or _is_path(text) or (name.count("/") > 1 and not file_of_hub):
        what, form = ("file", f"a {SUFFIX} file") if text.endswith(SUFFIX) else ("folder", "a folder with config.json")
        raise ModelError(f"no {what} {quote(text)}: give {form}, a hub name, or nothing")
    unreachable = "" if offline else connection_problem()
    return ModelReference(ModelFolder(name, name, revision or None, offline or bool(unreachable), None, unreachable))


def locate(reference: ModelReference) -> ModelReference:
    """The same at its commit on the hub; a GGUF file is downloaded, and the base model of an adapter is found."""
    folder, adapter = reference.folder, reference.adapter
    if adapter is not None:
        return replace(locate(replace(reference, adapter=None)), adapter=adapter.at_commit())
    if folder.gguf is None and not folder.is_local and folder.path.endswith(SUFFIX):
        return ModelReference(_download(folder))
    if folder.gguf is None and folder.is_local and is_file(f"{folder.path}/{HELD}"):
        return replace(reference, folder=replace(folder, path=str(release(Path(folder.path)))))
    if folder.gguf is None and folder.is_adapter:
        adapter = folder.at_commit()
        base = resolve(base_of(adapter), offline=folder.offline and not folder.unreachable)
        if base.adapter is not None or base.folder == folder:
            raise ModelError(f"{folder.name} names {quote(base.name)} as its base model, expected a model, no adapter")
        return replace(locate(base), adapter=adapter)
    return replace(reference, folder=folder.at_commit())


def _adapted(base: str, adapter: str, offline: bool) -> ModelReference:
    """A base model and an adapter, which must not be adapted or built in themselves."""
    model = resolve(base, offline=offline)
    if _is_path(adapter) and not is_folder(adapter):
        raise ModelError(f"no folder {quote(adapter)}: give the folder, or the hub name, of an adapter")
    given = resolve(adapter, offline=offline)
    if model.adapter is not None:
        raise ModelError(f"{quote(f'{base}+{adapter}')} has several adapters, expected BASE+ADAPTER: merge them first")
    if given.builtin is not None or given.folder.gguf is not None:
        raise ModelError(f"{quote(adapter)} is a model, expected the folder or the hub name of an adapter")
    return replace(model, adapter=given.folder)


def _is_path(text: str) -> bool:
    return text.startswith((".", "/", "~"))


def _download(folder: ModelFolder) -> ModelFolder:
    """A GGUF file of the hub: `owner/name/file.gguf`."""
    owner, repository, name = folder.path.split("/", 2)
    path = replace(folder, path=f"{owner}/{repository}").find(name, required=True)
    assert path is not None
    commit = path.parts[path.parts.index("snapshots") + 1] if "snapshots" in path.parts else folder.revision
    return replace(_gguf(path, commit, folder.offline), name=folder.name)


def _gguf(path: Path, revision: str | None, offline: bool) -> ModelFolder:
    file = read_gguf(path)
    return ModelFolder(path.name, isolate(path.resolve()).name, revision, offline, file)
