"""Erasers: what they are, their file format, and how they are attached to a model.

An eraser changes the hidden states that leave one layer, position by position; everything after it, and every measure,
sees only the changed states. It is saved beside an ordinary checkpoint as `eraser.safetensors`, and the loader attaches
it to language models and classifiers. Three kinds: projection (a subspace is removed), an affine map (LEACE), and a
graded rotation (OSCaR).

Other programs load such a checkpoint too. An eraser at the last layer of a BERT-like model is followed by a linear
layer, so that projection and LEACE can be folded into its weights: any loader then gets the mitigated predictions. The
eraser is still saved beside the weights, because a classifier made from the model needs it; both maps are idempotent,
so that applying it again changes nothing. Where folding is not exact, the weights are saved under a name that only
this package knows: other programs refuse the folder, instead of loading the unmitigated model in silence.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import torch
from pydantic import Field
from torch import Tensor, nn

from unmask.core.boundary import parse_json, validate
from unmask.core.errors import ModelError
from unmask.core.files import partial_file
from unmask.models.folder import ERASER, HELD, WEIGHTS, ModelFolder, link_files

SCHEMA = "1"
_NAME = "unmask_eraser"  # of the submodule that holds the eraser's tensors, so that they move with the model
_TOLERANCE = 1e-3  # of lengths and angles read from a file
_LOGPROBS = 1e-5  # of log-probabilities, before and after an eraser is folded
# linear layers that take what leaves the last layer, by architecture
_HEADS = (
    "cls.predictions.transform.dense",  # BERT, DeBERTa
    "lm_head.dense",  # RoBERTa and its relatives, MPNet
    "predictions.dense",  # ALBERT
    "generator_predictions.dense",  # ELECTRA
    "vocab_transform",  # DistilBERT
)
_KINDS = ({"removed"}, {"left", "right", "mean"}, {"first", "second"})


@dataclass(frozen=True, slots=True)
class Eraser:
    """A fitted eraser.

    Its tensors are `removed` (orthonormal rows to project out); `left`, `right` and `mean` of the affine map
    x − (x − mean) rightᵀ left; or a rotation's `first` and `second`.
    """

    method: str  # "projection", "inlp", "leace", "oscar"
    tensors: Mapping[str, Tensor]
    layer: int = -1  # its output is changed: 0 is the input of the first layer, -1 the output of the last
    about: str = ""

    def __post_init__(self) -> None:
        """Refuse tensors of neither kind."""
        if set(self.tensors) not in _KINDS:
            raise ModelError(
                f"an eraser with tensors {', '.join(self.tensors)}; expected removed, or left, right and mean, "
                "or first and second"
            )

    def __call__(self, states: Tensor) -> Tensor:
        """The erased states, in the dtype of the input; computed in fp32 or better."""
        wide = states.double() if states.dtype == torch.float64 else states.float()
        tensors = {name: tensor.to(wide) for name, tensor in self.tensors.items()}
        if "first" in tensors:
            return _rotate(wide, tensors["first"], tensors["second"]).to(states.dtype)
        left, right, mean = _affine_map(tensors)
        return (wide - ((wide - mean) @ right.T) @ left).to(states.dtype)

    @property
    def affine(self) -> tuple[Tensor, Tensor] | None:
        """The matrix M and the vector c of the map x M + c, in float64; None for a rotation, which is not affine."""
        if "first" in self.tensors:
            return None
        tensors = {name: tensor.detach().cpu().double() for name, tensor in self.tensors.items()}
        left, right, mean = _affine_map(tensors)
        return torch.eye(self.size, dtype=torch.float64) - right.T @ left, (mean @ right.T) @ left

    @property
    def size(self) -> int:
        """Hidden size of the states it is fitted on."""
        return int(next(iter(self.tensors.values())).shape[-1])

    @property
    def digest(self) -> str:
        """Hash of its tensors, layer and kind."""
        digest = hashlib.blake2b(f"{self.layer}".encode(), digest_size=16)
        for name, tensor in sorted(self.tensors.items()):
            digest.update(name.encode() + tensor.detach().cpu().float().contiguous().numpy().tobytes())
        return digest.hexdigest()

    @property
    def description(self) -> str:
        """One sentence for results."""
        where = "the last layer" if self.layer == -1 else f"layer {self.layer}"
        return f"an eraser ({self.method}) changes what leaves {where}; {self.about}".rstrip("; ")


def _affine_map(tensors: Mapping[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """`left`, `right` and `mean` of x − (x − mean) rightᵀ left; a projection has its rows twice, and no mean."""
    if "removed" not in tensors:
        return tensors["left"], tensors["right"], tensors["mean"]
    rows = tensors["removed"]
    return rows, rows, rows.new_zeros(rows.shape[-1])


def _rotate(states: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """OSCaR (Dev et al. 2021): rotate `second` in the plane of both until it is orthogonal to `first`.

    `first` stays fixed. Vectors between them rotate by a fraction of that angle, so the map is continuous;
    the component outside the plane is unchanged.
    """
    orthogonal = second - (second @ first) * first
    orthogonal = orthogonal / orthogonal.norm()
    between = torch.arccos((second @ first).clamp(-1, 1))  # the angle between both
    full = torch.pi / 2 - between
    x, y = states @ first, states @ orthogonal
    angle = torch.atan2(y, x).abs()
    above = torch.where(angle <= between, angle / between, (torch.pi - angle) / (torch.pi - between))
    below = torch.where(angle >= torch.pi - between, (torch.pi - angle) / between, angle / (torch.pi - between))
    by = full * torch.where(y >= 0, above, below)
    rotated = (by.cos() * x - by.sin() * y, by.sin() * x + by.cos() * y)
    change: Tensor = (rotated[0] - x)[..., None] * first + (rotated[1] - y)[..., None] * orthogonal
    return states + change


def save_eraser(eraser: Eraser, folder: Path) -> Path:
    """Save the eraser into a checkpoint folder."""
    from safetensors.torch import save_file

    facts = {"schema": SCHEMA, "method": eraser.method, "layer": eraser.layer, "about": eraser.about}
    tensors = {name: tensor.detach().cpu().float().contiguous() for name, tensor in eraser.tensors.items()}
    with partial_file(folder / ERASER) as unfinished:
        save_file(tensors, unfinished, metadata={"unmask": json.dumps(facts)})
    return folder / ERASER


@dataclass(frozen=True, slots=True)
class _Facts:
    """What an eraser's file says beside its tensors."""

    schema: Literal["1"]
    method: str
    layer: Annotated[int, Field(strict=True)]
    about: str = ""


def read_eraser(path: Path) -> Eraser:
    """Load the eraser of a file; ModelError when it is damaged or of an unknown kind."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            described = (file.metadata() or {}).get("unmask", "{}")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
    except (SafetensorError, OSError, ValueError) as error:
        raise ModelError(f"{path.name} cannot be read ({error}): fit the eraser again") from error
    facts = validate(_Facts, parse_json(described, path.name, ModelError), path.name, ModelError)
    if set(tensors) not in _KINDS or not all(_fits(name, tensor) for name, tensor in tensors.items()):
        shapes = ", ".join(f"{name} {tuple(tensor.shape)}" for name, tensor in tensors.items())
        raise ModelError(
            f"{path.name} has {shapes or 'no tensors'}: it is not an eraser this version knows, fit it again"
        )
    if not all(torch.isfinite(tensor).all() for tensor in tensors.values()):
        raise ModelError(f"{path.name} has values that are not finite: fit the eraser again")
    if not _is_orthonormal(tensors):
        raise ModelError(f"{path.name} is damaged (its directions are not orthonormal): fit the eraser again")
    return Eraser(facts.method, tensors, facts.layer, facts.about)


def _fits(name: str, tensor: Tensor) -> bool:
    """Whether a tensor of a file has the form of its name: rows, or one vector."""
    rows = name in ("removed", "left", "right")
    return tensor.is_floating_point() and tensor.ndim == (2 if rows else 1) and tensor.shape[-1] > 0


def _is_orthonormal(tensors: Mapping[str, Tensor]) -> bool:
    """Whether the directions have length 1; removed ones are orthogonal too, the two of a rotation not parallel.

    The rows of an affine map must be biorthogonal, for then nothing is left to erase in what it has erased.
    """
    wide = {name: tensor.double() for name, tensor in tensors.items()}
    if "first" not in wide:
        left, right, mean = _affine_map(wide)
        if left.shape != right.shape or mean.shape != left.shape[1:]:
            return False
        return bool(torch.allclose(right @ left.T, torch.eye(len(left), dtype=left.dtype), atol=_TOLERANCE))
    first, second = wide["first"], wide["second"]
    if first.shape != second.shape or any(
        abs(float(direction.norm()) - 1) > _TOLERANCE for direction in (first, second)
    ):
        return False
    return abs(float(first @ second)) < 1 - _TOLERANCE**2


def attach_saved(model: Any, path: Path, fingerprint: str) -> tuple[str, str]:
    """Attach the eraser of a file; the fingerprint of the model with it, and a warning for results."""
    eraser = read_eraser(path)
    attach(model, eraser)
    digest = hashlib.blake2b(f"{fingerprint}/{eraser.digest}".encode(), digest_size=16).hexdigest()
    return digest, eraser.description


def attached_eraser(model: Any) -> Eraser | None:
    """The eraser attached to a model, if there is one."""
    module = getattr(model, _NAME, None)
    return None if module is None else cast(_EraserModule, module).eraser


def attach(model: Any, eraser: Eraser) -> None:
    """Attach an eraser to a model, replacing an earlier one."""
    detach(model)
    erasing = _EraserModule(eraser).to(next(model.parameters()).device)
    module, before = erased_module(model, eraser.layer)
    width = model.config.hidden_size
    if eraser.size != width:
        raise ModelError(f"the eraser is for hidden size {eraser.size}, but the model's is {width}")
    model.add_module(_NAME, erasing)
    model.save_pretrained = partial(_save_pretrained, model)
    if before:
        erasing.undo = module.register_forward_pre_hook(partial(_erase_input, erasing), with_kwargs=True).remove
        return
    # a partial and not a closure: a deep copy of the model then calls its own module
    module.forward = partial(_erasing_forward, erasing, module)
    erasing.undo = lambda: module.__dict__.pop("forward", None)


def _erasing_forward(erasing: _EraserModule, module: Any, *args: Any, **kwargs: Any) -> Any:
    output = type(module).forward(module, *args, **kwargs)
    if isinstance(output, Tensor):
        return erasing(output)
    if isinstance(output, tuple):
        return (erasing(output[0]), *output[1:])
    output.last_hidden_state = erasing(output.last_hidden_state)
    return output


def _save_pretrained(model: Any, folder: str | Path, *args: Any, **kwargs: Any) -> None:
    """Save the checkpoint, and the attached eraser beside it."""
    type(model).save_pretrained(model, folder, *args, **kwargs)
    eraser = attached_eraser(model)
    if eraser is not None:
        save_eraser(eraser, Path(folder))


def detach(model: Any) -> None:
    """Remove a model's eraser."""
    erasing = getattr(model, _NAME, None)
    if erasing is not None:
        erasing.undo()
        delattr(model, _NAME)
        model.__dict__.pop("save_pretrained", None)


def erased_module(model: Any, layer: int) -> tuple[nn.Module, bool]:
    """The module whose output (or input, if the second value is true) is the hidden state of a layer."""
    body, count = model.base_model, int(model.config.num_hidden_layers)
    blocks = next((part for part in body.modules() if isinstance(part, nn.ModuleList) and len(part) == count), None)
    number = layer + count + 1 if layer < 0 else layer
    if not 0 <= number <= count:
        raise ModelError(f"the model has layers 0 to {count} (or -{count + 1} to -1): there is no layer {layer}")
    if blocks is not None and not type(blocks[0]).__name__.endswith("LayerGroup"):
        return (blocks[0], True) if number == 0 else (blocks[number - 1], False)
    if number == count and hasattr(body, "encoder"):  # ALBERT: all layers share one module
        return body.encoder, False
    raise ModelError(
        f"{type(model).__name__} shares one module among its layers: an eraser can only follow the last, -1"
    )


class _EraserModule(nn.Module):
    """Holds an eraser's tensors as non-persistent buffers: moved with the model, saved separately."""

    def __init__(self, eraser: Eraser) -> None:
        super().__init__()
        self._eraser = eraser
        self.undo: Callable[[], object] = lambda: None
        for name, tensor in eraser.tensors.items():
            self.register_buffer(name, tensor.detach().clone(), persistent=False)

    @property
    def eraser(self) -> Eraser:
        """The eraser with its tensors on the model's device."""
        eraser = self._eraser
        tensors = {name: cast(Tensor, getattr(self, name)) for name in eraser.tensors}
        return Eraser(eraser.method, tensors, eraser.layer, eraser.about)

    def forward(self, states: Tensor) -> Tensor:
        """The erased states."""
        return self.eraser(states)


def _erase_input(erasing: _EraserModule, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    if args:
        return (erasing(args[0]), *args[1:]), kwargs
    return args, {**kwargs, "hidden_states": erasing(kwargs["hidden_states"])}


@contextmanager
def record_states(model: Any, layer: int) -> Iterator[list[Tensor]]:
    """Record the hidden states that an eraser at this layer would receive: one tensor per forward pass."""
    module, before = erased_module(model, layer)
    states: list[Tensor] = []

    def record_input(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        states.append(args[0] if args else kwargs["hidden_states"])

    def record_output(_: nn.Module, __: Any, output: Any) -> None:
        states.append(output if isinstance(output, Tensor) else output[0])

    if before:
        hook = module.register_forward_pre_hook(record_input, with_kwargs=True)
    else:
        hook = module.register_forward_hook(record_output)
    try:
        yield states
    finally:
        hook.remove()


# ------------------------------------------------------------- checkpoints that other programs load


def fold(model: Any) -> bool:
    """Fold the attached eraser into the head; False, and nothing changed, where that is not exact.

    Exact means: without the eraser the model now gives the log-probabilities that it gave with it.
    """
    eraser = attached_eraser(model)
    assert eraser is not None
    linear, affine = _head(model), eraser.affine
    if linear is None or affine is None or affine[0].shape[0] != linear.in_features:
        return False
    expected = _logprobs(model)
    matrix, offset = (tensor.to(linear.weight.device) for tensor in affine)
    before = linear.weight.detach().clone(), linear.bias.detach().clone()
    with torch.no_grad():
        wide = linear.weight.double()
        linear.bias.copy_(linear.bias.double() + wide @ offset)
        linear.weight.copy_(wide @ matrix.T)
    detach(model)
    found = _logprobs(model)
    attach(model, eraser)
    if bool((found - expected).abs().max() <= _LOGPROBS * expected.abs().max().clamp(min=1.0)):
        return True
    with torch.no_grad():
        linear.weight.copy_(before[0])
        linear.bias.copy_(before[1])
    return False


def _head(model: Any) -> nn.Linear | None:
    """The linear layer behind the last layer; None where it is not known."""
    for name in _HEADS:
        try:
            layer = attrgetter(name)(model)
        except AttributeError:
            continue
        if isinstance(layer, nn.Linear) and layer.bias is not None:
            return layer
    return None


@torch.inference_mode()
def _logprobs(model: Any) -> torch.Tensor:
    """Log-probabilities for some tokens of the vocabulary, in evaluation mode."""
    training, device = model.training, next(model.parameters()).device
    ids = torch.arange(24, device=device).reshape(2, 12) * 7 % model.config.vocab_size
    model.eval()
    try:
        return model(input_ids=ids).logits.double().log_softmax(-1)  # type: ignore[no-any-return]
    finally:
        model.train(training)


def hold(folder: Path) -> None:
    """Rename the weights of a saved checkpoint, so that only this package loads them, with their eraser."""
    weights = folder / WEIGHTS
    if not weights.is_file():
        raise ModelError(f"{folder.name} has its weights in several files, so its eraser cannot be saved: use layer -1")
    weights.replace(folder / HELD)


def release(folder: ModelFolder) -> ModelFolder:
    """A folder of links in which the weights of `hold` have their usual name."""
    path = Path(folder.path).resolve()
    if not (path / ERASER).is_file():
        raise ModelError(
            f"cannot open {folder.name}: its weights ({HELD}) must be used with {ERASER}, which is not there; "
            "copy the folder again"
        )
    files = [file for file in sorted(path.iterdir()) if file.is_file()]
    links = link_files(*((WEIGHTS if file.name == HELD else file.name, file) for file in files))
    return replace(folder, path=links.name)
