"""Erasers inside a model: what one is, the file it is kept in, and the place in the network where it works.

An eraser changes the states that leave one layer, position by position; everything after it, and every
measure, sees only the changed ones. It lies beside an ordinary checkpoint as `eraser.safetensors`, and
`open_lm` puts it to work. Two kinds: a subspace that is taken away, and a graded rotation (OSCaR).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from unmask.core.errors import ModelError

FILE = "eraser.safetensors"
SCHEMA = "1"
_NAME = "unmask_eraser"  # of the module that holds the eraser's tensors, so that they move with the model
_KINDS = ({"removed"}, {"first", "second"})


@dataclass(frozen=True, slots=True)
class Eraser:
    """What was fitted: `removed` (orthonormal rows taken away), or the `first` and `second` of a rotation."""

    method: str  # "projection", "inlp", "oscar"
    tensors: Mapping[str, Tensor]
    layer: int = -1  # whose output it changes: 0 is what enters the first layer, -1 what leaves the last
    about: str = ""

    def __post_init__(self) -> None:
        """Refuse what is neither kind."""
        if set(self.tensors) not in _KINDS:
            raise ModelError(f"an eraser of {', '.join(self.tensors)}; expected removed, or first and second")

    def __call__(self, states: Tensor) -> Tensor:
        """The states without what is to be erased, in their own number format; computed in fp32 or better."""
        wide = states.double() if states.dtype == torch.float64 else states.float()
        parts = {name: one.to(wide) for name, one in self.tensors.items()}
        if "removed" in parts:
            made = wide - (wide @ parts["removed"].T) @ parts["removed"]
        else:
            made = _rotated(wide, parts["first"], parts["second"])
        return made.to(states.dtype)

    @property
    def size(self) -> int:
        """Numbers of a state it is made for."""
        return int(next(iter(self.tensors.values())).shape[-1])

    @property
    def digest(self) -> str:
        """Of its numbers, its layer and its kind."""
        made = hashlib.blake2b(f"{self.layer}".encode(), digest_size=16)
        for name, one in sorted(self.tensors.items()):
            made.update(name.encode() + one.detach().cpu().float().contiguous().numpy().tobytes())
        return made.hexdigest()

    @property
    def description(self) -> str:
        """What a result says of it."""
        place = "the last layer" if self.layer == -1 else f"layer {self.layer}"
        return f"an eraser ({self.method}) changes what leaves {place}; {self.about}".rstrip("; ")


def _rotated(states: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """Dev et al. (2021): in the plane of both, second turns to stand at a right angle to first, first stays.

    What lies between turns by a part of that angle, so nothing is torn; what lies outside the plane stays.
    """
    across = second - (second @ first) * first
    across = across / across.norm()
    wide = torch.arccos((second @ first).clamp(-1, 1))  # the angle between both
    turn = torch.pi / 2 - wide
    x, y = states @ first, states @ across
    angle = torch.atan2(y, x).abs()
    above = torch.where(angle <= wide, angle / wide, (torch.pi - angle) / (torch.pi - wide))
    below = torch.where(angle >= torch.pi - wide, (torch.pi - angle) / wide, angle / (torch.pi - wide))
    by = turn * torch.where(y >= 0, above, below)
    turned = (by.cos() * x - by.sin() * y, by.sin() * x + by.cos() * y)
    moved: Tensor = (turned[0] - x)[..., None] * first + (turned[1] - y)[..., None] * across
    return states + moved


def save_eraser(eraser: Eraser, folder: Path) -> Path:
    """Write the eraser beside a checkpoint."""
    from safetensors.torch import save_file

    facts = {"schema": SCHEMA, "method": eraser.method, "layer": eraser.layer, "about": eraser.about}
    tensors = {name: one.detach().cpu().float().contiguous() for name, one in eraser.tensors.items()}
    save_file(tensors, folder / FILE, metadata={"unmask": json.dumps(facts)})
    return folder / FILE


def read_eraser(path: Path) -> Eraser:
    """The eraser of a file; ModelError where it is damaged or of another kind."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            facts = json.loads((file.metadata() or {}).get("unmask", "{}"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
    except (SafetensorError, OSError, ValueError) as error:
        raise ModelError(f"{path.name} cannot be read ({error}): make the eraser again") from error
    if facts.get("schema") != SCHEMA or set(tensors) not in _KINDS:
        raise ModelError(f"{path.name} is no eraser this version knows: make it again, or remove the file")
    if not all(torch.isfinite(one).all() for one in tensors.values()):
        raise ModelError(f"{path.name} has numbers that are not finite: make the eraser again")
    return Eraser(facts["method"], tensors, int(facts["layer"]), facts.get("about", ""))


def find_eraser(folder: str | Path) -> Eraser | None:
    """The eraser a checkpoint folder holds, if it holds one."""
    path = Path(folder) / FILE
    return read_eraser(path) if path.is_file() else None


def erased_fingerprint(fingerprint: str, eraser: Eraser) -> str:
    """The fingerprint of a model with an eraser in it: another than without."""
    return hashlib.blake2b(f"{fingerprint}/{eraser.digest}".encode(), digest_size=16).hexdigest()


def attached_eraser(model: Any) -> Eraser | None:
    """The eraser that works in a model."""
    held = getattr(model, _NAME, None)
    return None if held is None else cast(_Held, held).eraser


def attach(model: Any, eraser: Eraser) -> None:
    """Put an eraser to work in a model, in the place of one that was there."""
    detach(model)
    held = _Held(eraser).to(next(model.parameters()).device)
    module, before = erased_module(model, eraser.layer)
    width = model.config.hidden_size
    if eraser.size != width:
        raise ModelError(f"the eraser is made for states of {eraser.size} numbers, the model's have {width}")
    model.add_module(_NAME, held)
    model.save_pretrained = partial(_saved, model)
    if before:
        entering = partial(_entering, held)
        held.undo = module.register_forward_pre_hook(entering, with_kwargs=True).remove
        return
    module.forward = partial(_erased, held, module)  # no closure: a copy of the model calls its own module
    held.undo = lambda: module.__dict__.pop("forward", None)


def _erased(held: _Held, module: Any, *args: Any, **kwargs: Any) -> Any:
    return _leaving(held, type(module).forward(module, *args, **kwargs))


def _saved(model: Any, folder: str | Path, *args: Any, **kwargs: Any) -> None:
    """A checkpoint of a model with an eraser always has the eraser beside it."""
    type(model).save_pretrained(model, folder, *args, **kwargs)
    eraser = attached_eraser(model)
    if eraser is not None:
        save_eraser(eraser, Path(folder))


def detach(model: Any) -> None:
    """Take a model's eraser out again."""
    held = getattr(model, _NAME, None)
    if held is not None:
        held.undo()
        delattr(model, _NAME)
        model.__dict__.pop("save_pretrained", None)


def erased_module(model: Any, layer: int) -> tuple[nn.Module, bool]:
    """The module whose output (or, where the second is true, input) are the states of a layer."""
    body, count = model.base_model, int(model.config.num_hidden_layers)
    blocks = _blocks(body, count)
    number = layer + count + 1 if layer < 0 else layer
    if not 0 <= number <= count:
        raise ModelError(
            f"the model has layers 0 to {count} (or -{count + 1} to -1): there is no layer {layer}"
        )
    if blocks is not None:
        return (blocks[0], True) if number == 0 else (blocks[number - 1], False)
    if number == count and hasattr(body, "encoder"):  # ALBERT: its layers are one
        return body.encoder, False
    raise ModelError(
        f"{type(model).__name__} uses one layer many times: an eraser can stand only behind the last, -1"
    )


class _Held(nn.Module):
    """An eraser's tensors as buffers of the model: moved with it, saved apart from it."""

    def __init__(self, eraser: Eraser) -> None:
        super().__init__()
        self._eraser = eraser
        self.undo: Callable[[], object] = lambda: None
        for name, one in eraser.tensors.items():
            self.register_buffer(name, one.detach().clone(), persistent=False)

    @property
    def eraser(self) -> Eraser:
        """With its tensors where the model is."""
        one = self._eraser
        here = {name: cast(Tensor, getattr(self, name)) for name in one.tensors}
        return Eraser(one.method, here, one.layer, one.about)

    def forward(self, states: Tensor) -> Tensor:
        """The states without what is erased."""
        return self.eraser(states)


def _blocks(body: nn.Module, count: int) -> nn.ModuleList | None:
    lists = (one for one in body.modules() if isinstance(one, nn.ModuleList) and len(one) == count)
    found = next(lists, None)
    return None if found is not None and type(found[0]).__name__.endswith("LayerGroup") else found


def _entering(held: _Held, _: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    if args:
        return (held(args[0]), *args[1:]), kwargs
    return args, {**kwargs, "hidden_states": held(kwargs["hidden_states"])}


def _leaving(held: _Held, output: Any) -> Any:
    if isinstance(output, Tensor):
        return held(output)
    if isinstance(output, tuple):
        return (held(output[0]), *output[1:])
    output.last_hidden_state = held(output.last_hidden_state)
    return output


@contextmanager
def record_states(model: Any, layer: int) -> Iterator[list[Tensor]]:
    """While it lasts, the states that an eraser at this layer would be given: one tensor a call."""
    module, before = erased_module(model, layer)
    seen: list[Tensor] = []

    def entering(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        seen.append(args[0] if args else kwargs["hidden_states"])

    def leaving(_: nn.Module, __: Any, output: Any) -> None:
        first = output if isinstance(output, Tensor) else output[0]
        seen.append(first)

    hook = (
        module.register_forward_pre_hook(entering, with_kwargs=True)
        if before
        else module.register_forward_hook(leaving)
    )
    try:
        yield seen
    finally:
        hook.remove()
