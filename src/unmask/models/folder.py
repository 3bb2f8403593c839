"""The files of a model, in a folder or in the hub's cache, checked before a library loads them.

The configuration must claim sizes that a model can have, an index of weights must name safetensors files of the same
folder, and every weights file must be whole. What is wrong is refused in one line that names the file; what a library
still prints or raises while it loads them is silenced, or is one `ModelError` with its cause and advice.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cache
from logging import CRITICAL
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from unmask.core.boundary import read_json, read_text, validate
from unmask.core.errors import ModelError, UnmaskError, one_line, quote, shorten
from unmask.core.files import writing
from unmask.core.hub import connection_problem, private_hub
from unmask.core.options import Opening

CONFIG, ADAPTER_CONFIG = "config.json", "adapter_config.json"
WEIGHTS, _INDEX = "model.safetensors", "model.safetensors.index.json"
_PICKLED, _PICKLED_INDEX = "pytorch_model.bin", "pytorch_model.bin.index.json"
ERASER = "eraser.safetensors"  # beside the weights
HELD = "erased.safetensors"  # weights that must not be used without their eraser
_BLOBS = re.compile(r"/models--[^/]+/blobs/[^/]+$")  # where the hub's cache keeps the files of its snapshots
_CONVERSION = "Adding `safetensors` variant of this model"  # title of the hub's own pull requests
# the integers of a configuration that decide how large a model is: their smallest and largest value
_LIMITS: dict[str, tuple[int, int]] = {
    **dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers"), (1, 1_000)),
    **dict.fromkeys(("decoder_layers", "num_decoder_layers", "num_hidden_groups", "inner_group_num"), (1, 1_000)),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_heads", "num_key_value_heads"), (1, 10_000)),
    **dict.fromkeys(("hidden_size", "n_embd", "d_model", "dim", "embedding_size", "head_dim"), (1, 10**6)),
    **dict.fromkeys(("intermediate_size", "n_inner", "ffn_dim", "hidden_dim"), (1, 10**7)),
    **dict.fromkeys(("max_position_embeddings", "n_positions", "n_ctx"), (1, 10**9)),
    "vocab_size": (1, 10**8),
    "type_vocab_size": (0, 10_000),
    "num_labels": (1, 100_000),
}
_MEMORY = "not enough memory: use a smaller model, another device, or a dtype of 16 bits"
_UNKNOWN = "update transformers; a model that brings its own code needs trust_remote_code, if you trust it"
_NO_HUB = "no connection to the hub: check the network, or give a local folder"
_ADVICE = {  # words of a library's error: what to do
    "trust_remote_code": "it needs its own code; read that code, then set trust_remote_code",
    "allocate memory": _MEMORY,
    "out of memory": _MEMORY,
    "does not recognize this architecture": _UNKNOWN,
    "is not supported yet": _UNKNOWN,
    "gated repo": "accept its terms on its page of the hub, then log in with `hf auth login` or set HF_TOKEN",
    "couldn't connect": _NO_HUB,
}


@dataclass(frozen=True, slots=True)
class _Config:
    """What a configuration says about which classes are loaded, and how."""

    model_type: str | None = None
    architectures: list[str] | None = None
    auto_map: dict[str, Any] | None = None
    quantization_config: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class _TokenizerConfig:
    """What `tokenizer_config.json` says that the tokenizer's class does not check."""

    tokenizer_class: str | None = None
    model_max_length: Annotated[float, Field(gt=0, strict=True)] | None = None


@dataclass(frozen=True, slots=True)
class _Index:
    """An index of sharded weights: the file of every tensor."""

    weight_map: Annotated[dict[str, str], Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """Where the files of a model are: a folder, or a repository of the hub at a revision."""

    name: str  # for messages
    path: str  # of the folder, or the repository's name
    revision: str | None = None
    offline: bool = False
    unreachable: str = ""  # why the hub does not answer, if it does not; only the cache is then read
    reading: Callable[[], AbstractContextManager[None]] = nullcontext  # around whatever a library reads of it

    @property
    def is_local(self) -> bool:
        """Whether it is a folder of this machine."""
        return os.path.isdir(self.path)  # noqa: PTH112 - Path raises for a name that is too long

    @property
    def place(self) -> dict[str, Any]:
        """Where its files are, as arguments of the hub's functions and of `from_pretrained`."""
        return {"revision": self.revision or "main", "local_files_only": self.offline or self.is_local}

    @property
    def is_adapter(self) -> bool:
        """Whether it holds an adapter and no model; asks the hub."""
        return self.find(CONFIG) is None and self.find(ADAPTER_CONFIG) is not None

    def find(self, name: str, *, required: bool = False) -> Path | None:
        """A file, downloaded first if it is on the hub; None where there is none, if it is not `required`."""
        from transformers.utils.hub import cached_file

        path = cached_file(self.path, name, **self.place, _raise_exceptions_for_missing_entries=required)
        return None if path is None else Path(path)

    def find_config(self) -> Path:
        """The configuration, without which a folder is no model."""
        path = self.find(CONFIG, required=not self.offline)  # says what is wrong with a name or the network
        if path is not None:
            return path
        problem, advice = f"it has no {CONFIG}", "give a folder, or the hub name, of a whole model"
        if self.offline and not self.is_local:
            reason, advice = self._offline_reason()
            problem = f"it is not in the cache, and {reason}"
        raise ModelError(f"cannot open {self.name}: {problem}; {advice}")

    def at_commit_of(self, path: Path | None) -> ModelFolder:
        """The same at the commit of one of its files: all files are then of one state of the repository."""
        return self if self.is_local or path is None else replace(self, revision=path.parent.name)

    def find_conversion(self) -> ModelFolder | None:
        """The hub's own conversion of pickled weights to safetensors; None if there is none."""
        if self.place["local_files_only"]:
            return None
        from huggingface_hub import HfApi
        from transformers.safetensors_conversion import previous_pr

        with suppress(Exception):  # no network, or no right to see the discussions
            request = previous_pr(HfApi(), self.path, _CONVERSION, token=None)  # type: ignore[arg-type]
            if request is not None and request.author == "SFconvertbot":
                folder = replace(self, revision=f"refs/pr/{request.num}")
                return folder.at_commit_of(folder.find_config())
        return None

    @contextmanager
    def loading(self, part: str = "") -> Iterator[None]:
        """Load a part of the model, quietly and without telemetry; whatever a library raises becomes a ModelError."""
        try:
            with quiet(), private_hub(offline=self.offline), self.reading():
                yield
        except UnmaskError:
            raise
        except BaseException as error:
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":  # of a library in Rust
                raise
            where = f"{self.name}, its {part}" if part else self.name
            raise ModelError(f"cannot open {where}: {_cause(error)} ({self._advice(error)})") from error

    def _offline_reason(self) -> tuple[str, str]:
        """Why the hub is not asked, and what to do."""
        if self.unreachable:
            return self.unreachable, _NO_HUB
        return "offline mode is on", "give a local folder, or download the model once without offline"

    def _advice(self, error: BaseException) -> str:
        text = "out of memory" if isinstance(error, MemoryError) else str(error)
        known = next((advice for words, advice in _ADVICE.items() if words in text), None)
        if known is not None:
            return known
        if isinstance(error, ImportError):
            return "install what is missing"
        if self.is_local:
            return (
                "a file of the folder is damaged, or needs another version of transformers; copy or download it again"
            )
        if self.offline:
            reason, advice = self._offline_reason()
            return advice if self.unreachable else f"{reason}; {advice}"
        return "check the name, and the network connection"


def find_folder(reference: str, how: Opening) -> ModelFolder:
    """The folder, or the repository of the hub (`owner/name@revision`), that a reference names; downloads nothing.

    A hub that does not answer is not asked again.
    """
    from huggingface_hub import is_offline_mode

    offline = how.offline or is_offline_mode()
    if os.path.isdir(reference):  # noqa: PTH112 - Path raises for a name that is too long
        return ModelFolder(Path(reference).resolve().name, reference, None, offline)
    name, _, revision = reference.partition("@")
    unreachable = "" if offline else connection_problem()
    return ModelFolder(name, name, revision or None, offline or bool(unreachable), unreachable)


@cache
def link_files(*links: tuple[str, Path]) -> tempfile.TemporaryDirectory[str]:
    """A folder of links by these names, which exists as long as the process."""
    folder = tempfile.TemporaryDirectory(prefix="unmask-links-")
    with writing(Path(folder.name)):
        for name, target in links:
            (Path(folder.name) / name).symlink_to(target)
    return folder


@contextmanager
def quiet() -> Iterator[None]:
    """Silence transformers' loading report and progress bars; `refuse_bad_weights` checks what matters."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity(CRITICAL)
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


@contextmanager
def quiet_panics() -> Iterator[None]:
    """Hold back what is written to stderr and drop it if the block fails: Rust prints a backtrace before it raises."""
    try:
        stderr = os.dup(2)
    except OSError:  # closed: nothing is seen anyway
        yield
        return
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
            held.seek(0)
            os.write(stderr, held.read())
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)


def _cause(error: BaseException) -> str:
    """The first line of an error (two if it ends in a colon), with its class if the text alone says too little."""
    lines = [line for line in str(error).splitlines() if line.strip()] or [""]
    text = one_line(" ".join(lines[: 2 if lines[0].rstrip().endswith(":") else 1]))
    speaks = isinstance(error, OSError | ValueError | ImportError | RuntimeError) and text
    return shorten(text if speaks else f"{type(error).__name__} {text}".strip(), 300)


def check_config(folder: ModelFolder, path: Path) -> None:
    """Refuse a configuration that is not a JSON object, or claims sizes that no model has."""
    config = read_object(path)
    validate(_Config, config, str(path), ModelError)
    check_sizes(config, str(path))
    for part in (config, *config.values()):
        entries = part.items() if isinstance(part, dict) else ()
        kernels = [value for name, value in entries if name.endswith("_implementation") and "/" in str(value)]
        if kernels:
            raise ModelError(f"{path} asks for code from the hub ({quote(kernels[0])}): remove the entry")
    if "transformers_weights" in config:
        raise ModelError(
            f"{path} names its weights in transformers_weights: call the file {WEIGHTS} and remove the entry"
        )
    if folder.find(ADAPTER_CONFIG) is not None:
        raise ModelError(
            f"cannot open {folder.name}: it holds a model and {ADAPTER_CONFIG}, which says that it needs an adapter; "
            f"keep them in two folders and open MODEL+ADAPTER, or remove {ADAPTER_CONFIG}"
        )


def check_sizes(config: dict[str, Any], where: str) -> None:
    """Refuse sizes that no model has, also in the configurations inside this one, such as text_config."""
    for part in (config, *config.values()):
        for name, (least, most) in _LIMITS.items() if isinstance(part, dict) else ():
            value = part.get(name)
            sizes = value if isinstance(value, list) else [value]  # some models have one per layer
            if any(size is not None and (type(size) is not int or not least <= size <= most) for size in sizes):
                raise ModelError(f"{where}: {name} is {quote(value)}, expected an integer from {least} to {most:,}")


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object of a file; published ones may have Infinity."""
    return validate(dict[str, Any], read_json(path, ModelError, finite=False), str(path), ModelError)


def check_weights(folder: ModelFolder, *, allow_pickle: bool) -> int | None:
    """Check the weights files and their index; their size in bytes, or None where there are none."""
    for name in (WEIGHTS, _INDEX, *((_PICKLED, _PICKLED_INDEX) if allow_pickle else ())):
        path = folder.find(name)
        if path is not None:
            files = _find_shards(folder, path, allow_pickle=allow_pickle) if name.endswith(".json") else [path]
            for file in files:
                check_safetensors(file)
            return sum(file.stat().st_size for file in files)
    return None


def _find_shards(folder: ModelFolder, index: Path, *, allow_pickle: bool) -> list[Path]:
    """The files an index names; refused are all but weights files inside the folder."""
    names = sorted(set(validate(_Index, read_object(index), str(index), ModelError).weight_map.values()))
    endings = (".safetensors", ".bin") if allow_pickle else (".safetensors",)
    shards = []
    for name in names:
        if not re.fullmatch(r"[\w. +-]+", name) or not name.endswith(endings):
            is_pickled = re.fullmatch(r"[^/\\]+\.bin", name)
            advice = "; set allow_pickle for pickled weights you trust" if is_pickled else ""
            raise ModelError(
                f"{index} names {quote(name)}, expected {' or '.join(endings)} files of the same folder{advice}"
            )
        path = folder.find(name)
        if path is None:
            raise ModelError(f"{index} names {name}, which is not there: copy or download the model again")
        target = path.resolve()
        if target.parent != index.parent.resolve() and not _BLOBS.search(target.as_posix()):
            raise ModelError(f"{path} is a link to a file outside the folder: copy the file to its place")
        shards.append(path)
    return shards


def check_safetensors(path: Path) -> None:
    """Refuse a weights file that is not whole, or empty; others than safetensors are not read."""
    from safetensors import SafetensorError, safe_open

    if path.suffix != ".safetensors":
        return
    try:
        with safe_open(path, framework="pt") as file:
            names = file.keys()
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{path} is damaged or truncated ({error}): copy or download it again") from error
    if not names:
        raise ModelError(f"{path} holds no weights: copy or download it again")


def no_safetensors(folder: ModelFolder, name: str) -> ModelError:
    """That the weights are missing, or pickled."""
    return ModelError(
        f"cannot open {folder.name}: it has no {name}; only safetensors are loaded by default, "
        "set allow_pickle for pickled weights you trust"
    )


def check_tokenizer(folder: ModelFolder) -> None:
    """Refuse settings of a tokenizer that are not JSON objects, and a vocabulary that is not text."""
    for name in ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"):
        path = folder.find(name)
        if path is not None:
            validate(_TokenizerConfig, read_object(path), str(path), ModelError)
    for name in ("tokenizer.json", "vocab.json", "vocab.txt", "merges.txt"):
        path = folder.find(name)
        if path is not None and not read_text(path, ModelError).strip():
            raise ModelError(f"{path} is empty: copy or download the tokenizer again")
