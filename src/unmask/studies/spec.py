"""The nouns of a study: steps that make a graph, what each is given, and what a study concludes.

choices ──► steps (a graph) ──► an engine does what is missing ──► folders by content ──► conclude ──► pages
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from unmask.findings.html import Section

Spread = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]  # `map`, perhaps over many machines
State = Literal["kept", "done", "failed", "blocked"]


@dataclass(frozen=True, slots=True)
class Step:
    """One piece of work: a task by import path, its parameters, and what it reads.

    `models` and `data` are inputs from outside the study, known by their content; `inputs` are other steps.
    """

    name: str  # unique in its study: "audit builtin on crows-pairs"
    task: str  # "unmask.studies.steps.audits:AUDIT"
    parameters: Mapping[str, Any] = field(default_factory=dict)  # plain JSON
    models: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    inputs: Mapping[str, Step] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Place:
    """Where steps run: facts of the machine that do not change what is computed."""

    data_dir: Path | None = None
    offline: bool = False
    device: str | None = None  # None: a GPU if there is one
    threads: int | None = None  # of one step; other numbers change the last digits. None: PyTorch's


@dataclass(frozen=True, slots=True)
class Given:
    """What a task's function receives; it writes its output into `folder`, which becomes the step's."""

    step: Step
    folder: Path
    inputs: Mapping[str, Path]  # folders of the steps it reads
    place: Place
    spread: Spread = map

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The step's parameters."""
        return self.step.parameters

    @property
    def model(self) -> str:
        """The one model it is about: from outside, or the output of the step named `model`."""
        return self.step.models[0] if self.step.models else str(self.inputs["model"])


@dataclass(frozen=True, slots=True)
class Work:
    """How much there is to do: tokens put through the network, forwards only or in training."""

    forward: float = 0.0
    trained: float = 0.0
    models: int = 1  # opened


@dataclass(frozen=True, slots=True)
class Task:
    """What a kind of step does. Raise `version` when its output changes: all such steps are done anew."""

    function: Callable[[Given], None]
    version: int = 1
    work: Callable[[Step], Work] = field(default=lambda _: Work())
    network: bool = True  # runs a network: wants a GPU where there is one
    resumes: bool = False  # goes on from what an interrupted try left in its folder
    spreads: Callable[[Step], bool] = field(default=lambda _: False)  # has parts for `Given.spread`


@dataclass(frozen=True, slots=True)
class Choices:
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
    plan: Callable[[Choices], Sequence[Step]]
    conclude: Callable[[Outputs, Choices], Sequence[Section]]
    reduced: Mapping[str, Any] = field(default_factory=dict)  # settings where `reduced`; `limit`: of items
    settings: Mapping[str, Any] = field(default_factory=dict)  # the paper's
    reduced_models: tuple[str, ...] = ()  # of those in the package; none: all masked ones
    stand_ins: Mapping[str, str] = field(default_factory=dict)  # of the package, where data is not here


@dataclass(frozen=True, slots=True)
class Outputs:
    """The folders of the steps that are done, by name; and why the others are not."""

    folders: Mapping[str, Path]
    missing: Mapping[str, str] = field(default_factory=dict)

    def get(self, name: str) -> Path | None:
        """The folder of a step, or None."""
        return self.folders.get(name)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a step."""

    step: str
    state: State
    seconds: float = 0.0
    message: str = ""
