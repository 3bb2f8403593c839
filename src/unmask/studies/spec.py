"""The types of a study: the steps of its graph, their inputs, and the study's conclusion.

options ──► steps (a DAG) ──► a backend runs missing steps ──► cache by content ──► conclude ──► pages
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from unmask.findings import Section

ParallelMap = Callable[
    [Callable[[Any], Any], Iterable[Any]], Iterator[Any]
]  # `map`, perhaps over many machines
StepState = Literal["kept", "done", "failed", "blocked"]


@dataclass(frozen=True, slots=True)
class Step:
    """One unit of work: its kind by import path, its parameters, and what it reads.

    `models` and `data` come from outside the study and are identified by content; `inputs` are other steps.
    """

    name: str  # unique in its study: "audit builtin on crows-pairs"
    kind: str  # "unmask.studies.steps.audits:AUDIT"
    parameters: Mapping[str, Any] = field(default_factory=dict)  # plain JSON
    models: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    inputs: Mapping[str, Step] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Runtime:
    """Where steps run: properties of the machine that do not enter cache keys."""

    data_dir: Path | None = None
    offline: bool = False
    device: str | None = None  # None: a GPU if there is one
    threads: int | None = None  # per step; other values change the last digits. None: PyTorch's default


@dataclass(frozen=True, slots=True)
class StepContext:
    """The argument of a step kind's function, which writes its output into `folder`."""

    step: Step
    folder: Path
    inputs: Mapping[str, Path]  # output folders of the input steps
    runtime: Runtime
    parallel_map: ParallelMap = map

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The step's parameters."""
        return self.step.parameters

    @property
    def model(self) -> str:
        """The step's only model: an external one, or the output of the input step `model`."""
        return self.step.models[0] if self.step.models else str(self.inputs["model"])


@dataclass(frozen=True, slots=True)
class WorkEstimate:
    """The amount of work in a step: tokens of forward passes and of training."""

    forward_tokens: float = 0.0
    train_tokens: float = 0.0
    models_loaded: int = 1


@dataclass(frozen=True, slots=True)
class StepKind:
    """What a kind of step does. Raise `version` when the output changes: cached steps are then redone."""

    function: Callable[[StepContext], None]
    version: int = 1
    estimate_work: Callable[[Step], WorkEstimate] = field(default=lambda _: WorkEstimate())
    runs_model: bool = True  # takes a GPU if there is one
    resumable: bool = False  # resumes from the files of an interrupted attempt
    has_parts: Callable[[Step], bool] = field(default=lambda _: False)  # calls `parallel_map`


@dataclass(frozen=True, slots=True)
class StudyOptions:
    """What the user chose for a study; the defaults are the paper's."""

    models: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    limit: int | None = None  # first items of every dataset
    seed: int = 0
    reduced: bool = False  # built-in models and small settings
    dtype: str = "fp32"
    shard: int = 1000  # items per shard of an audit
    settings: Mapping[str, Any] = field(default_factory=dict)  # study-specific, by name


@dataclass(frozen=True, slots=True)
class Study:
    """A paper to reproduce."""

    name: str
    title: str
    question: str  # one plain sentence
    citation: str  # BibTeX key in docs/references.bib
    models: tuple[str, ...]  # the paper's
    data: tuple[str, ...]  # the paper's, or our equivalent where it is not public
    plan: Callable[[StudyOptions], Sequence[Step]]
    conclude: Callable[[Outputs, StudyOptions], Sequence[Section]]
    reduced: Mapping[str, Any] = field(default_factory=dict)  # overrides with `reduced`; `limit` too
    settings: Mapping[str, Any] = field(default_factory=dict)  # the paper's
    reduced_models: tuple[str, ...] = ()  # built-in models; empty: all masked ones
    fallback_data: Mapping[str, str] = field(default_factory=dict)  # built-in data if one is missing


@dataclass(frozen=True, slots=True)
class Outputs:
    """Output folders of the finished steps by step name, and why the others are missing."""

    folders: Mapping[str, Path]
    missing: Mapping[str, str] = field(default_factory=dict)

    def get(self, name: str) -> Path | None:
        """The output folder of a step, or None."""
        return self.folders.get(name)


@dataclass(frozen=True, slots=True)
class StepEvent:
    """A step's change of state."""

    step: str
    state: StepState
    seconds: float = 0.0
    message: str = ""
