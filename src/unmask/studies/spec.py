"""The types of a study: the steps of its graph, their inputs, and the study's conclusion.

options ──► steps by role (a DAG) ──► a backend runs missing steps ──► cache ──► conclude ──► Result
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from unmask.core.boundary import validate
from unmask.core.errors import DataError, UnknownName
from unmask.core.estimate import Estimate
from unmask.core.options import MAX_SEED, Opening, OptionGroup, Options, common, option

if TYPE_CHECKING:
    from unmask.findings import Section

PACKAGE = "package"  # the text of the built-in sentences
ParallelMap = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]  # perhaps over many machines
StepState = Literal["cached", "done", "failed", "skipped"]
TextFile = Annotated[str, "a file of the user by its path, or by its name in the data folder"]
TASK_FILES = ("train", "dev", "data", "lists")  # settings of a task that name files of the user
Role = tuple[str, ...]  # what a step is for in its study: ("audit", "bert-base-cased", "crows-pairs")


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

    @classmethod
    def of(cls, name: str, kind: str, parameters: Mapping[str, Any], **sources: str | Step | None) -> Step:
        """A step whose sources `model` and `data` are external names, or outputs of other steps."""
        external = {role: (source,) for role, source in sources.items() if isinstance(source, str)}
        inputs = {role: source for role, source in sources.items() if isinstance(source, Step)}
        return cls(name, kind, parameters, external.get("model", ()), external.get("data", ()), inputs)


@dataclass(frozen=True)
class Runtime(OptionGroup):
    """How and where steps run: what does not enter cache keys."""

    data_dir: Path | None = common(None, "Folder of datasets.")
    offline: bool = common(False, "Never use the network.")
    device: str | None = common(None, "cpu, cuda, cuda:1, …", shown="a GPU if available")
    threads: int | None = option(
        None, "CPU threads per step; other values change the last digits.", shown="one per core", least=1, most=1024
    )
    engine: Literal["local", "ray"] = option("local", "Backend: local or ray.")
    ray_address: str | None = option(None, "Address of a Ray cluster.", shown="Ray on this machine")
    places: Mapping[str, str] = field(default_factory=dict)  # paths by name of models and files: no output has a path

    def __post_init__(self) -> None:
        """Refuse invalid values."""
        OptionGroup.__post_init__(self)
        if self.ray_address and self.engine != "ray":
            raise DataError("ray_address is of a Ray cluster, but engine is 'local': expected engine 'ray'")

    def place(self, name: str) -> str:
        """The path of a model or file that was given by its path; the name of any other."""
        return self.places.get(name, name)

    def without_paths(self, text: str) -> str:
        """The text with names in the place of paths."""
        for name, path in self.places.items():
            text = text.replace(path, name)
        return text


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
        return self.runtime.place(self.step.models[0]) if self.step.models else str(self.inputs["model"])

    @property
    def data(self) -> str:
        """The step's only external dataset or text file."""
        return self.runtime.place(self.step.data[0])

    @property
    def opening(self) -> Opening:
        """How to open the model."""
        dtype = self.parameters.get("dtype", "fp32")
        return Opening(device=self.runtime.device, dtype=dtype, offline=self.runtime.offline)

    def options(self, **fields: Any) -> Options:
        """The options of the command that the step runs, from its parameters and these fields."""
        given = {name: self.parameters[name] for name in ("limit", "seed") if name in self.parameters}
        where = {"data_dir": self.runtime.data_dir, "offline": self.runtime.offline}
        return Options(**{**given, **where, **fields})


@dataclass(frozen=True, slots=True)
class WorkEstimate:
    """The amount of work in a step: tokens of forward passes and of training, and seconds without the network."""

    forward_tokens: float = 0.0
    train_tokens: float = 0.0
    host_seconds: float = 0.0  # reading data, resampling
    train_steps: float = 0.0  # of the optimizer: on a GPU each takes the host some time, however small the model
    gpu_start: float = 0.0  # seconds on a GPU before the first batch, and for saving


@dataclass(frozen=True, slots=True)
class StepKind:
    """What a kind of step does. Raise `version` when the output changes: cached steps are then redone."""

    function: Callable[[StepContext], None]
    version: int = 1
    estimate_work: Callable[[Step], WorkEstimate] = field(default=lambda _: WorkEstimate())
    runs_model: bool = True  # takes a GPU if there is one
    resumable: bool = False  # resumes from the files of an interrupted attempt
    has_parts: Callable[[Step], bool] = field(default=lambda _: False)  # calls `parallel_map`
    digests: Callable[[Step, Runtime], Sequence[str]] = field(default=lambda *_: ())  # of files that no setting names


@dataclass(frozen=True)
class StudyOptions(OptionGroup):
    """What the user chose for a study; a paper's own settings are the further fields of its class.

    Fields without a help text are groups of settings: `--set` gives those of them, as `train.epochs=1`.
    """

    models: tuple[str, ...] = option((), "Models instead of the paper's; comma-separated.")
    data: tuple[str, ...] = option((), "Dataset or file of pairs; can be repeated.")
    part: tuple[str, ...] = option(
        (), "Only the steps of this table or figure, as named by a dry run ('Table 3'); can be repeated."
    )
    limit: int | None = option(None, "Only a sample of N items of each dataset.", least=1)
    seed: int = option(0, "Random seed of all steps.", least=0, most=MAX_SEED)
    reduced: bool = option(False, "Use the built-in models and small settings.")
    dtype: Literal["fp32", "bf16", "fp16"] = option("fp32", "fp32, bf16 or fp16.")
    shard: int = option(1000, "Items per shard of an audit.", least=1)

    @property
    def scoring(self) -> dict[str, Any]:
        """The parameters that all steps that score a dataset have."""
        return {"limit": self.limit, "seed": self.seed, "dtype": self.dtype}


@dataclass(frozen=True)
class TrainingStudyOptions(StudyOptions):
    """The options of a study that trains models, perhaps each with several seeds."""

    seeds: int = option(1, "Trainings of every cell, as many seeds from the first on.", least=1, most=1000)

    @property
    def training_seeds(self) -> range:
        """The seeds of the trainings."""
        return range(self.seed, self.seed + self.seeds)


G = TypeVar("G")


def fill_settings(group: G, values: Mapping[str, Any], where: str = "") -> G:
    """The group with these values of its fields, as JSON has them; those of a nested group or mapping are merged."""
    hints, filled = get_type_hints(type(group)), {}
    for name, value in values.items():
        if name not in hints:
            raise UnknownName("option", f"{where}{name}", hints)
        current, kinds = getattr(group, name), (hints[name], *get_args(hints[name]))
        if is_dataclass(current) and isinstance(value, Mapping):
            filled[name] = fill_settings(current, value, f"{where}{name}.")
            continue
        if isinstance(value, bool) and bool not in kinds:
            raise DataError(f"{where}{name} is {value}, expected another type")
        names = (value,) if isinstance(value, str) and get_origin(hints[name]) is tuple else value
        if names in ((), []) and current:
            raise DataError(f"{where}{name} is empty, expected some")
        filled[name] = validate(hints[name], merge(current, names), f"{where}{name}")
    return replace(group, **filled)  # type: ignore[type-var]


def merge(value: Any, changes: Any) -> Any:
    """The changes, as far as they are mappings merged into the mapping that they change."""
    if not (isinstance(value, Mapping) and isinstance(changes, Mapping)):
        return changes
    return {**value, **{name: merge(value.get(name), change) for name, change in changes.items()}}


@dataclass(frozen=True, slots=True)
class PaperComparison:
    """One of a study's numbers beside that of the paper."""

    item: str  # the table or figure: "table-5"
    estimate: Estimate
    published: float | None
    reason: str = ""  # why there is no published number to compare with
    mark: str = ""  # the significance that the paper marks it with: "p < 0.05"

    @property
    def difference(self) -> float | None:
        """Ours − published; None without a published number."""
        return None if self.published is None else self.estimate.value - self.published

    def to_json(self) -> dict[str, Any]:
        """What `result.json` has of it."""
        named = {name: getattr(self.estimate, name) for name in ("model", "measure", "data", "group", "statistic")}
        numbers = {"value": self.estimate.value, "published": self.published, "difference": self.difference}
        return {"item": self.item, **named, **numbers, "in_interval": self.in_interval}

    @property
    def in_interval(self) -> str | None:
        """Whether the published number lies in our interval; None without both."""
        if self.published is None or not self.estimate.has_interval:
            return None
        return "no" if self.estimate.excludes(self.published) else "yes"


def short_name(model: str) -> str:
    """A model's name without owner and revision."""
    return model.rstrip("/").rpartition("/")[2].partition("@")[0]


@dataclass(frozen=True, slots=True)
class PaperConclusion:
    """The tables and figures of a study, and its numbers beside the published ones."""

    sections: Sequence[Section]
    comparisons: Sequence[PaperComparison] = ()


Outputs = Mapping[Role, Path]  # output folders of the finished steps


def folders_of(outputs: Outputs, name: str) -> dict[str, Path]:
    """The output folders of the roles of one name, by what the role says next: mostly the model."""
    return {role[1]: folder for role, folder in outputs.items() if role[0] == name}


@dataclass(frozen=True, slots=True)
class Study:
    """A paper to reproduce."""

    name: str
    title: str
    question: str  # one plain sentence
    citation: str  # BibTeX key in docs/references.bib
    models: tuple[str, ...]  # the paper's
    data: tuple[str, ...]  # the paper's, or our equivalent where it is not public
    plan: Callable[[Any], Mapping[Role, Step]]  # of the options
    conclude: Callable[[Outputs, Any], PaperConclusion]
    options: type[StudyOptions] = StudyOptions  # the defaults of its settings are the paper's
    reduced: Mapping[str, Any] = field(default_factory=dict)  # other values of options with `reduced`
    reduced_models: tuple[str, ...] = ()  # built-in models; empty: all masked ones
    fallback_data: Mapping[str, str] = field(default_factory=dict)  # built-in data if one is missing
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by table or figure: roles, see `is_role_of`


@dataclass(frozen=True, slots=True)
class StepEvent:
    """A step's change of state."""

    step: str
    state: StepState
    seconds: float = 0.0
    message: str = ""

    def __str__(self) -> str:
        """One line of progress output."""
        took = f" in {self.seconds:.1f} s" if self.seconds else ""
        state = "FAILED" if self.state == "failed" else self.state
        return f"{self.step}: {state}{took}" + (f": {self.message}" if self.message else "")
