"""Full STS-B and NLI runs and a re-learning curve over given models; for a machine with a GPU.

PYTHONPATH=src python3 tools/tasks.py --data DIR --out OUT original=builtin at=FOLDER cda=FOLDER do=FOLDER
python tools/tasks.py --draw OUT          a table and an SVG of what such a run wrote, where altair is

Every result is written as soon as it is had: `stsbias.json`, `nlibias.json`, `relearning.json`, `tasks.md`.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("models", nargs="*", help="NAME=FOLDER; the first is taught by search")
    parser.add_argument("--data", type=Path, help="folder of datasets: stsb, winogender, cad_nli, …")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--draw", type=Path, help="draw what an earlier run wrote, and end")
    parser.add_argument("--sts-grid", default="batch=16,32 rate=5e-5,1e-4,2e-4 epochs=3,5,10")
    parser.add_argument("--nli-grid", default="batch=32 rate=5e-5,1e-4,2e-4 epochs=5")
    parser.add_argument("--every", type=int, default=100)
    parser.add_argument("--templates", type=int, default=80, help="STS-bias templates asked at every look")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, help="examples taught; for trying things out")
    parser.add_argument("--only", default="stsbias,nlibias,relearning")
    told = parser.parse_args()
    if told.draw:
        draw(told.draw)
        return
    if not told.models or told.data is None or told.out is None:
        parser.error("give --data, --out and at least one NAME=FOLDER")
    told.out.mkdir(parents=True, exist_ok=True)
    models = dict(one.partition("=")[::2] for one in told.models)
    chosen: dict[str, Any] = {}
    for name in [one for one in told.only.split(",") if one != "relearning"]:
        chosen[name] = taught(name, models, told)
    if "relearning" in told.only.split(","):
        relearnt(models, chosen.get("stsbias"), told)


def taught(task: str, models: dict[str, str], told: argparse.Namespace) -> str:
    """Search the way of fine-tuning with the first model, teach all by it; the way as a grid of one."""
    from unmask.core.options import Opening
    from unmask.tasks import Grid, TaskSettings, find
    from unmask.tasks.finetune import FineTuneJob, fine_tune

    rows: list[dict[str, Any]] = []
    grid = told.sts_grid if task == "stsbias" else told.nli_grid
    for label, ref in models.items():
        begun = time.time()
        settings = TaskSettings(
            data_dir=told.data,
            grid=Grid.parse(grid),
            seed=told.seed,
            rows=told.rows,
            save_every=10**6,
        )
        one = find(task)
        data = one.load_data(settings)  # type: ignore[misc]
        folder = told.out / "work" / f"{task}-{label}"
        told_ = fine_tune(FineTuneJob(ref, data, settings, folder, Opening()))
        if len(rows) == 0:
            best = told_.chosen
            grid = f"batch={best.batch} rate={best.rate:g} epochs={best.epochs:g}"
        head = one.headline(one.observe(told_.classifier, settings))
        rows.append(
            {
                "model": label,
                "bias": head.statistic,
                **{f"bias_{key}": getattr(head, key) for key in ("value", "low", "high", "method")},
                "n": head.n,
                "metric": told_.metric,
                "dev": asdict(told_.dev),
                "test": asdict(told_.test) if told_.test else None,
                "commonest": told_.majority_share,
                "rows": told_.train_examples,
                "way": asdict(told_.chosen),
                "tried": [asdict(trial) for trial in told_.trials],
                "seconds": round(time.time() - begun, 1),
                "seed": told.seed,
            }
        )
        _write(told.out / f"{task}.json", rows)
        print(markdown(task, rows[-1:]), flush=True)
    _tables(told.out)
    return grid


def relearnt(models: dict[str, str], grid: str | None, told: argparse.Namespace) -> None:
    """STS-bias every so many steps for every model, by the way found."""
    from unmask.core.options import Opening
    from unmask.tasks import Grid, TaskSettings, find
    from unmask.tasks.bias_curve import bias_curve
    from unmask.tasks.finetune import FineTuneJob

    task = find("stsbias")
    settings = TaskSettings(
        data_dir=told.data,
        grid=Grid.parse(grid or "batch=32 rate=1e-4 epochs=5"),
        seed=told.seed,
        rows=told.rows,
        limit=told.templates,
        every=told.every,
        save_every=10**6,
    )
    data = task.load_data(settings)  # type: ignore[misc]
    points: list[dict[str, Any]] = []
    for label, ref in models.items():
        folder = told.out / "work" / f"relearning-{label}"
        curve = bias_curve(task, FineTuneJob(ref, data, settings, folder, Opening()))
        points += [{"model": label, **asdict(point)} for point in curve.points]
        _write(told.out / "relearning.json", points)
        last = curve.points[-1]
        print(
            f"{label}: {last.name} {last.bias.value:.3f} after {last.step} steps, r {last.score:.3f}",
            flush=True,
        )
    _tables(told.out)


def markdown(task: str, rows: list[dict[str, Any]]) -> str:
    """A table of models."""
    bias = rows[0]["bias"].replace("|", "\\|")
    head = f"| model | {bias} | n | dev {rows[0]['metric']} | test | commonest | way | seconds |"
    lines = [head, "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for row in rows:
        way = row["way"]
        lines.append(
            f"| {row['model']} | {row['bias_value']:.3f} ({row['bias_low']:.3f} to {row['bias_high']:.3f}) "
            f"| {row['n']:,} | {_ranged(row['dev'])} | {_ranged(row['test'])} "
            f"| {'–' if row['commonest'] is None else format(row['commonest'], '.3f')} "
            f"| batch {way['batch']}, rate {way['rate']:g}, epochs {way['epochs']:g} | {row['seconds']} |"
        )
    return f"{task}\n\n" + "\n".join(lines) + "\n"


def draw(out: Path) -> None:
    """The curve as SVG and Vega-Lite, where the package is whole."""
    from unmask.findings import charts
    from unmask.findings import figure as drawing

    points = json.loads((out / "relearning.json").read_text(encoding="utf-8"))
    name = points[0]["name"]
    rows = [
        {
            "x": p["step"],
            "y": p["bias"]["value"],
            "low": p["bias"]["low"],
            "high": p["bias"]["high"],
            "series": p["model"],
        }
        for p in points
    ]
    figure = drawing.figure(
        "relearning", "Re-learning", charts.curves(rows, x="step", y=name, band=True), name
    )
    (out / "relearning.svg").write_text(figure.svg, encoding="utf-8")
    (out / "relearning.vl.json").write_text(json.dumps(figure.spec), encoding="utf-8")
    _tables(out)


def _tables(out: Path) -> None:
    parts = []
    for task in ("stsbias", "nlibias"):
        path = out / f"{task}.json"
        if path.is_file():
            parts.append(markdown(task, json.loads(path.read_text(encoding="utf-8"))))
    path = out / "relearning.json"
    if path.is_file():
        points = json.loads(path.read_text(encoding="utf-8"))
        names = list(dict.fromkeys(point["model"] for point in points))
        lines = [f"| step | {' | '.join(names)} |", "| --- " * (len(names) + 1) + "|"]
        for step in sorted({point["step"] for point in points}):
            by = {
                p["model"]: f"{_ranged(p['bias'])}; r {p['score']:.2f}" for p in points if p["step"] == step
            }
            lines.append(f"| {step} | {' | '.join(by.get(name, '–') for name in names)} |")
        parts.append(f"relearning: {points[0]['name']}\n\n" + "\n".join(lines) + "\n")
    (out / "tasks.md").write_text("\n".join(parts), encoding="utf-8")


def _ranged(number: dict[str, Any] | None) -> str:
    return "–" if number is None else f"{number['value']:.3f} ({number['low']:.3f} to {number['high']:.3f})"


def _write(path: Path, rows: object) -> None:
    path.write_text(json.dumps(rows, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
