"""The nouns of a study: steps that make a graph, what each is given, and what a study concludes.

options ──► steps (a graph) ──► an engine does what is missing ──► folders by content ──► conclude ──► pages
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from unmask.findings.html import Section

ParallelMap = Callable[
    [Callable[[Any], Any], Iterable[Any]], Iterator[Any]
]  # `map`, perhaps over many machines
StepState = Literal["kept", "done", "failed", "blocked"]


@dataclass(frozen=True, slots=True)
class Step:
    """One piece of work: a task by import path, its parameters, and what it reads.

    `models` and `data` are inputs from outside the study, known by their content; `inputs` are other steps.
    """

    name: str  # unique in its study: "audit builtin on crows-pairs"
    kind: str  # "unmask.studies.steps.audits:AUDIT"
    parameters: Mapping[str, Any] = field(default_factory=dict)  # plain JSON
    models: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    inputs: Mapping[str, Step] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Runtime:
    """Where steps run: facts of the machine that do not change what is computed."""

    data_dir: Path | None = None
    offline: bool = False
    device: str | None = None  # None: a GPU if there is one
    threads: int | None = None  # of one step; other numbers change the last digits. None: PyTorch's


@dataclass(frozen=True, slots=True)
class StepContext:
    """What a task's function receives; it writes its output into `folder`, which becomes the step's."""

    step: Step
    folder: Path
    inputs: Mapping[str, Path]  # folders of the steps it reads
    runtime: Runtime
    parallel_map: ParallelMap = map

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The step's parameters."""
        return self.step.parameters

    @property
    def model(self) -> str:
        """The one model it is about: from outside, or the output of the step named `model`."""
        return self.step.models[0] if self.step.models else str(self.inputs["model"])


@dataclass(frozen=True, slots=True)
class WorkEstimate:
    """How much there is to do: tokens put through the network, forwards only or in training."""

    forward_tokens: float = 0.0
    train_tokens: float = 0.0
    models_loaded: int = 1  # opened


@dataclass(frozen=True, slots=True)
class StepKind:
    """What a kind of step does. Raise `version` when its output changes: all such steps are done anew."""

    function: Callable[[StepContext], None]
    version: int = 1
    estimate_work: Callable[[Step], WorkEstimate] = field(default=lambda _: WorkEstimate())
    runs_model: bool = True  # runs a network: wants a GPU where there is one
    resumable: bool = False  # goes on from what an interrupted try left in its folder
    has_parts: Callable[[Step], bool] = field(default=lambda _: False)  # has parts for `Given.spread`


@dataclass(frozen=True, slots=True)
class StudyOptions:
    """What the user chose for a study; nothing chosen is the paper's."""

    models: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    limit: int | None = None  # only the first items of every dataset
    seed: int = 0
    reduced: bool = False  # smaller settings, for a look at the whole
    dtype: str = "fp32"
    shard: int = 1000  # items of an audit that are asked together
    settings: Mapping[str, Any] = field(default_factory=dict)  # of one study, by name


@dataclass(frozen=True, slots=True)
class Study:
    """A paper as an experiment."""

    name: str
    title: str
    question: str  # one plain sentence
    citation: str  # BibTeX key in docs/references.bib
    models: tuple[str, ...]  # the paper's
    data: tuple[str, ...]  # the paper's, or ours in their manner where they are not public
    plan: Callable[[StudyOptions], Sequence[Step]]
    conclude: Callable[[Outputs, StudyOptions], Sequence[Section]]
    reduced: Mapping[str, Any] = field(default_factory=dict)  # settings where `reduced`; `limit`: of items
    settings: Mapping[str, Any] = field(default_factory=dict)  # the paper's
    reduced_models: tuple[str, ...] = ()  # of those in the package; none: all masked ones
    fallback_data: Mapping[str, str] = field(default_factory=dict)  # of the package, where data is not here


@dataclass(frozen=True, slots=True)
class Outputs:
    """The folders of the steps that are done, by name; and why the others are not."""

    folders: Mapping[str, Path]
    missing: Mapping[str, str] = field(default_factory=dict)

    def get(self, name: str) -> Path | None:
        """The folder of a step, or None."""
        return self.folders.get(name)


@dataclass(frozen=True, slots=True)
class StepEvent:
    """Something that happened to a step."""

    step: str
    state: StepState
    seconds: float = 0.0
    message: str = ""
