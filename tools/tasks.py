"""Full STS-B and NLI runs and a re-learning curve over given models; for a machine with a GPU.

PYTHONPATH=src python3 tools/tasks.py --data DIR --out OUT original=builtin at=FOLDER cda=FOLDER do=FOLDER
python tools/tasks.py --draw OUT          a table and an SVG of what such a run wrote, where altair is

Every result is written as soon as it is known: `stsbias.json`, `nlibias.json`, `relearning.json`, `tasks.md`.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from unmask.core.files import plain, write_json
from unmask.findings.numbers import number


def main() -> None:
    """Read the command line and run, or draw an earlier run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("models", nargs="*", help="NAME=FOLDER; the first decides the hyper-parameters")
    parser.add_argument("--data", type=Path, help="folder of datasets: stsb, winogender, cad_nli, …")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--draw", type=Path, help="draw what an earlier run wrote, and end")
    parser.add_argument("--sts-grid", default="batch=16,32 rate=5e-5,1e-4,2e-4 epochs=3,5,10")
    parser.add_argument("--nli-grid", default="batch=32 rate=5e-5,1e-4,2e-4 epochs=5")
    parser.add_argument("--every", type=int, default=100)
    parser.add_argument("--templates", type=int, default=80, help="STS-bias templates of each evaluation")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, help="maximum training examples; for trying things out")
    parser.add_argument("--only", default="stsbias,nlibias,relearning")
    args = parser.parse_args()
    if args.draw:
        draw(args.draw)
        return
    if not args.models or args.data is None or args.out is None:
        parser.error("give --data, --out and at least one NAME=FOLDER")
    args.out.mkdir(parents=True, exist_ok=True)
    models = dict(model.partition("=")[::2] for model in args.models)
    names = args.only.split(",")
    grids = {name: run_task(name, models, args) for name in names if name != "relearning"}
    if "relearning" in names:
        run_curves(models, grids.get("stsbias"), args)


def run_task(name: str, models: dict[str, str], args: argparse.Namespace) -> str:
    """Search hyper-parameters with the first model, fine-tune all with them; the grid of those found."""
    from unmask.core.options import Opening
    from unmask.tasks import Grid, find
    from unmask.tasks.finetune import FineTuneJob, fine_tune

    rows: list[dict[str, Any]] = []
    grid = args.sts_grid if name == "stsbias" else args.nli_grid
    task = find(name)
    for label, ref in models.items():
        start = time.time()
        options: type[Any] = task.options
        settings = options(data_dir=args.data, grid=Grid.parse(grid), seed=args.seed, rows=args.rows, save_every=10**6)
        data = task.load_data(settings)  # type: ignore[misc]
        folder = args.out / "work" / f"{name}-{label}"
        fine_tuned = fine_tune(FineTuneJob(ref, data, settings, folder, Opening()))
        if not rows:
            best = fine_tuned.chosen
            grid = f"batch={best.batch} rate={best.rate:g} epochs={best.epochs:g}"
        headline = task.headline(task.observe(fine_tuned.classifier, settings))
        rows.append(
            {
                "model": label,
                "bias": asdict(headline),
                **plain(fine_tuned.facts()),
                "seconds": round(time.time() - start, 1),
                "seed": args.seed,
            }
        )
        write_json(args.out / f"{name}.json", rows)
        print(markdown(name, rows[-1:]), flush=True)
    write_tables(args.out)
    return grid


def run_curves(models: dict[str, str], grid: str | None, args: argparse.Namespace) -> None:
    """STS-bias during the fine-tuning of every model, with the hyper-parameters found."""
    from unmask.core.options import Opening
    from unmask.tasks import Grid, find
    from unmask.tasks.bias_curve import bias_curve
    from unmask.tasks.finetune import FineTuneJob

    task = find("stsbias")
    options: type[Any] = task.options
    settings = options(
        data_dir=args.data,
        grid=Grid.parse(grid or "batch=32 rate=1e-4 epochs=5"),
        seed=args.seed,
        rows=args.rows,
        limit=args.templates,
        every=args.every,
        save_every=10**6,
    )
    data = task.load_data(settings)  # type: ignore[misc]
    points: list[dict[str, Any]] = []
    for label, ref in models.items():
        folder = args.out / "work" / f"relearning-{label}"
        curve = bias_curve(task, FineTuneJob(ref, data, settings, folder, Opening()))
        points += [{"model": label, **asdict(point)} for point in curve.points]
        write_json(args.out / "relearning.json", points)
        last = curve.points[-1]
        print(f"{label}: {last.name} {last.bias.value:.3f} after {last.step} steps, r {last.score:.3f}", flush=True)
    write_tables(args.out)


def markdown(task: str, rows: list[dict[str, Any]]) -> str:
    """A table of models."""
    bias = rows[0]["bias"]["statistic"].replace("|", "\\|")
    metric = rows[0]["metric"]
    columns = f"model | {bias} | n | validation {metric} | test | majority class | hyper-parameters | seconds"
    lines = [f"| {columns} |", "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for row in rows:
        best, majority = row["chosen"], row["majority_share"]
        lines.append(
            f"| {row['model']} | {with_interval(row['bias'])} | {row['bias']['n']:,} "
            f"| {with_interval(row['dev'])} | {with_interval(row['test'])} "
            f"| {'–' if majority is None else format(majority, '.3f')} "
            f"| batch {best['batch']}, rate {best['rate']:g}, epochs {best['epochs']:g} | {row['seconds']} |"
        )
    return f"{task}\n\n" + "\n".join(lines) + "\n"


def draw(out: Path) -> None:
    """Draw the curves as SVG and Vega-Lite; needs altair."""
    from unmask.findings import charts
    from unmask.findings import figure as drawing

    points = json.loads((out / "relearning.json").read_text(encoding="utf-8"))
    name = points[0]["name"]
    keys = {"y": "value", "low": "low", "high": "high"}
    rows = [
        {"x": at["step"], "series": at["model"], **{axis: at["bias"][key] for axis, key in keys.items()}}
        for at in points
    ]
    figure = drawing.figure("relearning", "Re-learning", charts.curves(rows, x="step", y=name, band=True), name)
    (out / "relearning.svg").write_text(figure.svg, encoding="utf-8")
    (out / "relearning.vl.json").write_text(json.dumps(figure.spec), encoding="utf-8")
    write_tables(out)


def write_tables(out: Path) -> None:
    """Write all results so far to `tasks.md`."""
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
            by = {p["model"]: f"{with_interval(p['bias'])}; r {p['score']:.2f}" for p in points if p["step"] == step}
            lines.append(f"| {step} | {' | '.join(by.get(name, '–') for name in names)} |")
        parts.append(f"relearning: {points[0]['name']}\n\n" + "\n".join(lines) + "\n")
    (out / "tasks.md").write_text("\n".join(parts), encoding="utf-8")


def with_interval(estimate: dict[str, Any] | None) -> str:
    """A value with its interval, or a dash."""
    if estimate is None:
        return "–"
    value, low, high = (number(estimate[key], 3) for key in ("value", "low", "high"))
    return f"{value} ({low} to {high})"


if __name__ == "__main__":
    main()
