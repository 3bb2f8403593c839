"""GGUF files (llama.cpp): their header, checked before transformers reads and dequantises them.

The header has the architecture, the sizes, the tokenizer and a table of tensors. It must be whole, every tensor must
lie inside the file, and what transformers would leave out in silence is refused: the model would give other scores.
"""

from __future__ import annotations

import copy
import mmap
import os
import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from unmask.core.errors import ModelError, quote
from unmask.core.files import sha256_of
from unmask.core.options import Opening
from unmask.core.types import Floats
from unmask.models.checkpoint import ModelCheckpoint, read_checkpoint
from unmask.models.folder import ModelFolder, find_folder, link_files

_MAGIC, _VERSIONS = b"GGUF", (2, 3)
_ROPE_FACTORS = "rope_freqs.weight"  # Llama 3.1 and later: what the rotary frequencies are divided by
_STRING, _ARRAY = 8, 9
# struct's codes of the other types of values
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_F32 = 0
LINK = "model.gguf"


@dataclass(frozen=True, slots=True)
class GgufTensor:
    """A tensor of the table: its shape, quantisation type, and place in the file."""

    name: str
    shape: tuple[int, ...]
    type: int
    begin: int

    @property
    def weights(self) -> int:
        """How many numbers it holds."""
        return prod(self.shape)


@dataclass(frozen=True, slots=True)
class GgufFile:
    """A GGUF file whose header was read: single values of its metadata, and its tensors."""

    path: Path
    metadata: Mapping[str, Any]
    tensors: tuple[GgufTensor, ...]

    @property
    def architecture(self) -> str:
        """The architecture as llama.cpp calls it."""
        return str(self.metadata.get("general.architecture", ""))

    @property
    def quantisation(self) -> str:
        """The types of the tensors, the one with most weights first: `Q4_1 (211 tensors), F32 (61)`."""
        from gguf import GGMLQuantizationType

        tensors, weights = Counter[str](), Counter[str]()
        for tensor in self.tensors:
            name = GGMLQuantizationType(tensor.type).name
            tensors[name] += 1
            weights[name] += tensor.weights
        first, *others = [name for name, _ in weights.most_common()]
        return ", ".join([f"{first} ({tensors[first]} tensors)", *(f"{name} ({tensors[name]})" for name in others)])

    def check_size(self, config: Any, needed: int) -> None:
        """Refuse a file of which transformers does not read every weight, or whose positions it does not scale.

        `needed` is the number of weights of the model that it makes from the configuration.
        """
        scaling = self.metadata.get(f"{self.architecture}.rope.scaling.type", "none")
        rope = getattr(config, "rope_parameters", None) or {}
        if scaling != "none" and rope.get("rope_type", "default") == "default":
            raise ModelError(
                f"{self.path.name} scales its rotary positions ({quote(scaling)}), which transformers does not read "
                "from a GGUF file: give the original checkpoint"
            )
        read = [tensor for tensor in self.tensors if tensor.name != _ROPE_FACTORS]
        if config.tie_word_embeddings:  # the file may repeat the matrix
            read = [tensor for tensor in read if tensor.name != "output.weight"]
        found = sum(tensor.weights for tensor in read)
        if found != needed:
            raise ModelError(
                f"{self.path.name} has {found:,} weights, but transformers reads {needed:,} of this architecture "
                f"({quote(self.architecture)}): some would be left out or random; give the original checkpoint"
            )

    def scale_positions(self, model: Any, *_: Any) -> tuple[Any, dict[str, str]]:
        """Divide the rotary frequencies by the factors in the file, if it has any, as llama.cpp does: a change."""
        import torch

        origin = {"format": "GGUF", "quantisation": self.quantisation, "sha256": sha256_of(self.path)}
        tensor = next((tensor for tensor in self.tensors if tensor.name == _ROPE_FACTORS), None)
        if tensor is None:
            return model, origin
        rotary = getattr(model.base_model, "rotary_emb", None)
        factors: Floats = np.fromfile(self.path, dtype="<f4", count=tensor.weights, offset=tensor.begin).astype(
            np.float64
        )
        if rotary is None or tensor.type != _F32 or rotary.inv_freq.shape != factors.shape or not (factors > 0).all():
            raise ModelError(
                f"{self.path.name} has factors of rotary frequencies ({_ROPE_FACTORS}) that do not fit "
                f"its architecture ({quote(self.architecture)}): give the original checkpoint"
            )
        rotary.inv_freq /= torch.from_numpy(factors).to(rotary.inv_freq)
        rotary.original_inv_freq = rotary.inv_freq.clone()
        model.config.rope_factors = factors.tolist()  # for the fingerprint
        return model, origin


def load_gguf(reference: str, how: Opening) -> ModelCheckpoint:
    """The checkpoint of a file: a path, or `owner/name/file.gguf` of the hub, which is downloaded.

    The folder that transformers is given has nothing but a link to the file: it would read a tokenizer that lies beside
    it.
    """
    path = Path(reference)
    name, revision, offline = path.name, None, how.offline
    if not path.is_file():
        name, at, revision = reference.partition("@")
        owner, repository, file = name.split("/", 2)
        hub = replace(find_folder(f"{owner}/{repository}{at}{revision}", how), name=name)
        with hub.loading():
            found = hub.find(file, required=True)
        assert found is not None
        path, revision, offline = found, hub.at_commit_of(found).revision, hub.offline
    gguf = read_gguf(path)
    links = link_files((LINK, path.resolve()))
    folder = ModelFolder(name, links.name, revision, offline, reading=partial(parse_once, {}))
    checkpoint = read_checkpoint(folder, how, "header", gguf_file=LINK)
    return replace(
        checkpoint,
        loading={"config": checkpoint.config},  # reading the header again would take seconds
        check_size=partial(gguf.check_size, checkpoint.config),
        changes=(gguf.scale_positions,),
        warnings=(f"weights were dequantised from GGUF: {gguf.quantisation}",),
    )


def read_gguf(path: Path) -> GgufFile:
    """The header of a file; refused are files that are damaged, of another version, or no whole language model."""
    if find_spec("gguf") is None or find_spec("accelerate") is None:
        raise ModelError(f"{path.name}: GGUF files need gguf and accelerate: pip install 'unmask[gguf]'")
    try:
        with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
            file = _read_header(path, content)
    except (OSError, ValueError, KeyError, OverflowError, struct.error) as error:  # an empty file cannot be mapped
        reason = getattr(error, "strerror", None) or f"its header is damaged: {error}"
        raise ModelError(f"{path} cannot be read ({reason}): copy or download it again") from error
    kind, parts = file.metadata.get("general.type", "model"), file.metadata.get("split.count", 1)
    if kind != "model":
        raise ModelError(f"{path.name} holds a {quote(kind)}, expected a whole model")
    if parts not in (0, 1):
        raise ModelError(
            f"{path.name} is one of {quote(parts)} parts: join them first (llama-gguf-split --merge FIRST OUT)"
        )
    return file


@contextmanager
def parse_once(headers: dict[str, Any]) -> Iterator[None]:
    """Let transformers parse a header once for configuration and tokenizer, kept in `headers`; no progress bar."""
    reader: Any = import_module("transformers.modeling_gguf_pytorch_utils")
    load, bar = reader.load_gguf_checkpoint, reader.tqdm

    def load_once(path: str, return_tensors: bool = False, **options: Any) -> Any:
        if return_tensors:
            return load(path, return_tensors=True, **options)
        if path not in headers:
            headers[path] = load(path)
        return copy.deepcopy(headers[path])

    reader.load_gguf_checkpoint, reader.tqdm = load_once, lambda values, **_: values
    try:
        yield
    finally:
        reader.load_gguf_checkpoint, reader.tqdm = load, bar


def _read_header(path: Path, content: mmap.mmap) -> GgufFile:
    """The header at the beginning of a file; ValueError or struct.error where it is damaged."""
    magic = content.read(len(_MAGIC))
    if magic != _MAGIC:
        raise ModelError(f"{path} is not a GGUF file: it begins with {magic!r}, expected GGUF")
    version = _number(content, "I")
    if version not in _VERSIONS:
        raise ModelError(f"{path} is of GGUF version {version}, expected 2 or 3: convert it again")
    tensors, values = _number(content, "Q"), _number(content, "Q")
    metadata = {_string(content): _value(content) for _ in range(values)}
    table = [_tensor(content) for _ in range(tensors)]
    alignment = metadata.get("general.alignment", 32)
    if not isinstance(alignment, int) or not 0 < alignment <= 1 << 20 or not table:
        raise ValueError("its alignment, or table of tensors")
    begin = -(-content.tell() // alignment) * alignment
    placed = tuple(replace(tensor, begin=begin + tensor.begin) for tensor in table)
    for tensor in placed:
        if tensor.begin + _size(path, tensor) > len(content):
            raise ModelError(f"{path} is truncated: {quote(tensor.name)} ends behind it; download it again")
    known = {key: value for key, value in metadata.items() if value is not None}
    return GgufFile(path, known, placed)


def _number(content: mmap.mmap, code: str) -> Any:
    return struct.unpack(f"<{code}", content.read(struct.calcsize(code)))[0]


def _string(content: mmap.mmap) -> str:
    begin = content.tell() + 8
    content.seek(_number(content, "Q"), os.SEEK_CUR)
    return content[begin : content.tell()].decode()


def _value(content: mmap.mmap) -> Any:
    """A single value; None for an array, which is only skipped."""
    kind = _number(content, "I")
    if kind == _STRING:
        return _string(content)
    if kind != _ARRAY:
        return _number(content, _SCALARS[kind])
    inner, count = _number(content, "I"), _number(content, "Q")
    if inner != _STRING:
        content.seek(struct.calcsize(_SCALARS[inner]) * count, os.SEEK_CUR)
        return None
    for _ in range(count):
        content.seek(_number(content, "Q"), os.SEEK_CUR)
    return None


def _tensor(content: mmap.mmap) -> GgufTensor:
    """An entry of the table, which says where behind the header the tensor begins."""
    name, dimensions = _string(content), _number(content, "I")
    if not 1 <= dimensions <= 4:
        raise ValueError(f"{dimensions} dimensions")
    shape = tuple(_number(content, "Q") for _ in range(dimensions))
    return GgufTensor(name, shape, _number(content, "I"), _number(content, "Q"))


def _size(path: Path, tensor: GgufTensor) -> int:
    """The size of a tensor in bytes."""
    from gguf import GGML_QUANT_SIZES, GGMLQuantizationType

    try:
        block, size = GGML_QUANT_SIZES[GGMLQuantizationType(tensor.type)]
    except (ValueError, KeyError):
        raise ModelError(
            f"{path} has a tensor {quote(tensor.name)} of the unknown type {tensor.type}: update gguf and unmask"
        ) from None
    if tensor.shape[0] % block or not all(tensor.shape):
        raise ValueError("the shape of a tensor")
    return int(tensor.weights // block * size)
