"""Run steps as Ray tasks: Ray schedules them after their inputs and retries those of a failed worker.

A step with several parts (a large audit) gets a pool of actors, each of which keeps its model loaded.
A corpus is counted with Ray Data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unmask.core.errors import ResultError
from unmask.corpus.counting import CorpusCounts, TermCounter, sum_parts
from unmask.corpus.ranges import file_parts
from unmask.data.documents import existing_files
from unmask.studies.backends import StepBatch, skipped_event
from unmask.studies.cache import failure_message, is_done, run_step
from unmask.studies.graph import load_kind
from unmask.studies.spec import ParallelMap, Runtime, Step, StepEvent

RETRIES = 3  # after the loss of a worker or machine


@dataclass(frozen=True, slots=True)
class RayBackend:
    """Runs steps on the Ray cluster at `address`, else on a local Ray."""

    address: str | None = None
    cpus: int | None = None  # of a local Ray

    def __call__(self, batch: StepBatch) -> Iterator[StepEvent]:
        """Submit all missing steps at once and yield an event as each ends."""
        ray = import_ray()
        connected_here = not ray.is_initialized()
        if connected_here:
            where = {"address": self.address} if self.address else {"num_cpus": self.cpus, "include_dashboard": None}
            try:
                ray.init(log_to_driver=False, **where)
            except (ConnectionError, ValueError, RuntimeError) as error:
                raise ResultError(f"cannot connect to Ray at {self.address or 'this machine'}: {error}") from error
        try:
            yield from _run(ray, batch)
        finally:
            if connected_here:
                ray.shutdown()


def import_ray() -> Any:
    """Import Ray; ResultError says how to install it."""
    try:
        import ray
    except ImportError as error:
        raise ResultError("the Ray backend needs Ray: pip install 'unmask[scale]', or use the local backend") from error
    return ray


def _run(ray: Any, batch: StepBatch) -> Iterator[StepEvent]:
    gpus = ray.cluster_resources().get("GPU", 0)
    most = max((node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"]), default=0)
    threads = batch.runtime.threads
    if (threads or 1) > most:  # Ray would wait for ever
        raise ResultError(f"threads={threads}: the largest machine of the Ray cluster has {most:g} CPUs; use fewer")
    running: dict[Any, list[Step]] = {}  # steps with the same key are one task
    tasks: dict[str, Any] = {}  # by key
    for step in batch.steps:
        key = batch.keys[step.name]
        if is_done(batch.root, key):
            yield StepEvent(step.name, "cached")
            continue
        if key not in tasks:
            pending = [tasks[input_key] for input_key in batch.input_keys(step).values() if input_key in tasks]
            coordinates = load_kind(step).has_parts(step)  # only actors: needs no resources itself
            request = {"num_cpus": 0} if coordinates else _resources(step, batch.runtime, gpus)
            remote = ray.remote(_run_remotely).options(max_retries=RETRIES, name=step.name, **request)
            tasks[key] = remote.remote(step, key, batch.input_keys(step), str(batch.root), batch.runtime, *pending)
        running.setdefault(tasks[key], []).append(step)
    yield from _events(ray, batch, running)


def _events(ray: Any, batch: StepBatch, running: dict[Any, list[Step]]) -> Iterator[StepEvent]:
    """Events as steps end; the steps after a failed one are skipped."""
    failed: dict[str, str] = {}
    while running:
        (ready, *_), _ = ray.wait(list(running))
        seconds, error_line = 0.0, ""
        try:
            seconds = float(ray.get(ready))
        except ray.exceptions.RayError as error:
            error_line = str(error).strip().splitlines()[-1]
        for step in running.pop(ready):
            event = StepEvent(step.name, "done", seconds)
            if error_line:
                message = failure_message(batch.root, batch.keys[step.name]) or error_line
                event = skipped_event(step, failed) or StepEvent(step.name, "failed", message=message)
                failed[step.name] = event.message
            yield event


def _resources(step: Step, runtime: Runtime, gpus: float) -> dict[str, Any]:
    """The resources to request for a step."""
    resources: dict[str, Any] = {"num_cpus": runtime.threads or 1}
    if gpus and load_kind(step).runs_model and (runtime.device or "cuda").startswith("cuda"):
        resources["num_gpus"] = 1
    return resources


def _run_remotely(step: Step, key: str, inputs: dict[str, str], root: str, runtime: Runtime, *_: Any) -> float:
    """Run a step, its parts on a pool of actors; the further arguments are what Ray waits for."""
    parallel_map = _actor_map(step, runtime) if load_kind(step).has_parts(step) else map
    return run_step(step, key, inputs, Path(root), runtime, parallel_map)


class Worker:
    """One process of an actor pool; a loaded model stays loaded for its next part."""

    def run_part(self, function: Callable[[Any], Any], value: Any) -> Any:
        """Run one part."""
        return function(value)


def _actor_map(step: Step, runtime: Runtime) -> ParallelMap:
    """`map` over a pool of actors: as many as there are parts, up to the cluster's capacity."""

    def actor_map(function: Callable[[Any], Any], values: Iterable[Any]) -> Iterator[Any]:
        from ray.util import ActorPool

        ray, parts = import_ray(), list(values)
        available = ray.cluster_resources()
        request = _resources(step, runtime, available.get("GPU", 0))
        capacity = [available.get("CPU", 1) / max(1, request["num_cpus"])]
        capacity += [available["GPU"] / request["num_gpus"]] if "num_gpus" in request else []
        size = max(1, min(len(parts), *(int(count) for count in capacity)))
        worker = ray.remote(Worker).options(max_restarts=RETRIES, max_task_retries=RETRIES, **request)
        actors = [worker.remote() for _ in range(size)]
        try:
            yield from ActorPool(actors).map(lambda actor, value: actor.run_part.remote(function, value), parts)
        finally:
            for actor in actors:
                ray.kill(actor)

    return actor_map


def count_on_ray(paths: Iterable[str | Path], counter: TermCounter, **_: Any) -> CorpusCounts:
    """As `unmask.corpus.counting.count_files`, by Ray Data on a cluster that can read the files.

    Parts of files are counted on all machines and summed in file order.
    """
    ray = import_ray()
    parts = list(file_parts(path.resolve() for path in existing_files(paths)))
    context = ray.data.DataContext.get_current()
    context.execution_options.preserve_order = True
    context.enable_progress_bars = False
    rows = ray.data.from_items(parts, override_num_blocks=len(parts)).map(
        lambda row: {"counts": [counter.count_part(row["item"])]}
    )
    return sum_parts(parts, (row["counts"][0] for row in rows.iter_rows()), counter)
