"""Steps as Ray tasks: Ray places them, waits for their inputs, and does those of a lost worker again.

A step with several parts (a large audit) gets a pool of actors, each of which keeps its model open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unmask.core.errors import ResultError
from unmask.studies.backends import StepBatch, blocked_event
from unmask.studies.cache import failure_message, is_done, run_step
from unmask.studies.graph import load_kind
from unmask.studies.spec import ParallelMap, Runtime, Step, StepEvent

RETRIES = 3  # of a step whose worker or machine was lost


@dataclass(frozen=True, slots=True)
class RayBackend:
    """The Ray that runs the steps: at an address, else one on this machine."""

    address: str | None = None
    cpus: int | None = None  # of the local one

    def __call__(self, batch: StepBatch) -> Iterator[StepEvent]:
        """Hand all missing steps to Ray at once; tell of each as it ends."""
        ray = import_ray()
        ours = not ray.is_initialized()
        if ours:
            _connect(ray, self)
        try:
            yield from _run(ray, batch)
        finally:
            if ours:
                ray.shutdown()


def import_ray() -> Any:
    """Ray, or one line that says how to get it."""
    try:
        import ray
    except ImportError as error:
        raise ResultError(
            "--engine ray needs Ray: pip install 'unmask[scale]', or use --engine local"
        ) from error
    return ray


def _connect(ray: Any, cluster: RayBackend) -> None:
    try:
        if cluster.address:
            ray.init(address=cluster.address, log_to_driver=False)
        else:
            ray.init(num_cpus=cluster.cpus, log_to_driver=False, include_dashboard=None)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise ResultError(f"no Ray at {cluster.address or 'this machine'}: {error}") from error


def _run(ray: Any, batch: StepBatch) -> Iterator[StepEvent]:
    gpus = ray.cluster_resources().get("GPU", 0)
    _refuse_too_wide(ray, batch.runtime)
    running: dict[Any, list[Step]] = {}  # steps of one key are one task
    made: dict[str, Any] = {}  # by key
    for step in batch.steps:
        key = batch.keys[step.name]
        if is_done(batch.root, key):
            yield StepEvent(step.name, "kept")
            continue
        if key not in made:
            waits = [made[one] for one in batch.input_keys(step).values() if one in made]
            spreads = load_kind(step).has_parts(step)
            remote = ray.remote(_spreading if spreads else _plain).options(
                max_retries=RETRIES,
                name=step.name,
                **_resources(step, batch.runtime, gpus, coordinates=spreads),
            )
            made[key] = remote.remote(
                step, key, batch.input_keys(step), str(batch.root), batch.runtime, *waits
            )
        running.setdefault(made[key], []).append(step)
    yield from _ended(ray, batch, running)


def _ended(ray: Any, batch: StepBatch, running: dict[Any, list[Step]]) -> Iterator[StepEvent]:
    """Steps as they end; those after a failed one are told as blocked."""
    lost: dict[str, str] = {}
    while running:
        (ready, *_), _ = ray.wait(list(running))
        seconds, why = 0.0, ""
        try:
            seconds = float(ray.get(ready))
        except ray.exceptions.RayError as error:
            why = str(error).strip().splitlines()[-1]
        for step in running.pop(ready):
            event = StepEvent(step.name, "done", seconds)
            if why:
                told = failure_message(batch.root, batch.keys[step.name]) or why
                event = blocked_event(step, lost) or StepEvent(step.name, "failed", message=told)
                lost[step.name] = event.message
            yield event


def _refuse_too_wide(ray: Any, runtime: Runtime) -> None:
    """A step that fits on no machine would wait for ever."""
    most = max((one["Resources"].get("CPU", 0) for one in ray.nodes() if one["Alive"]), default=0)
    if (runtime.threads or 1) > most:
        raise ResultError(
            f"--threads {runtime.threads}: the largest machine of this Ray has {most:g} CPUs; give fewer"
        )


def _resources(step: Step, runtime: Runtime, gpus: float, *, coordinates: bool) -> dict[str, Any]:
    """What one step needs; one that only hands out work needs next to nothing."""
    if coordinates:
        return {"num_cpus": 0}
    wanted: dict[str, Any] = {"num_cpus": runtime.threads or 1}
    if gpus and load_kind(step).runs_model and (runtime.device or "cuda").startswith("cuda"):
        wanted["num_gpus"] = 1
    return wanted


def _plain(step: Step, key: str, inputs: dict[str, str], root: str, runtime: Runtime, *_: Any) -> float:
    return run_step(step, key, inputs, Path(root), runtime)


def _spreading(step: Step, key: str, inputs: dict[str, str], root: str, runtime: Runtime, *_: Any) -> float:
    return run_step(step, key, inputs, Path(root), runtime, _over_actors(step, runtime))


class Worker:
    """One process of a pool; what it opened stays open for its next part."""

    def run_part(self, function: Callable[[Any], Any], value: Any) -> Any:
        """Do one part."""
        return function(value)


def _over_actors(step: Step, runtime: Runtime) -> ParallelMap:
    """`map` over a pool of actors, as many as the cluster has room for and there are parts."""

    def spread(function: Callable[[Any], Any], values: Iterable[Any]) -> Iterator[Any]:
        from ray.util import ActorPool

        ray, parts = import_ray(), list(values)
        have = ray.cluster_resources()
        needs = _resources(step, runtime, have.get("GPU", 0), coordinates=False)
        room = [have.get("CPU", 1) / max(1, needs["num_cpus"])]
        room += [have["GPU"] / needs["num_gpus"]] if "num_gpus" in needs else []
        size = max(1, min(len(parts), *(int(one) for one in room)))
        kind = ray.remote(Worker).options(max_restarts=RETRIES, max_task_retries=RETRIES, **needs)
        actors = [kind.remote() for _ in range(size)]
        try:
            yield from ActorPool(actors).map(
                lambda actor, value: actor.run_part.remote(function, value), parts
            )
        finally:
            for actor in actors:
                ray.kill(actor)

    return spread
