"""Mitigate the built-in model by AT, CDA, CDS and dropout, in full, and set before beside after.

    PYTHONPATH=src python3 -m tools.mitigations --corpora DIR --gap DIR --out DIR   train and score
    python -m tools.mitigations --out DIR                                           only the table

The first needs torch, transformers, accelerate, safetensors and numpy; it is for a GPU. The table needs
all of unmask's packages: where they are missing it is left out, and the second command makes it from the
scores that were kept.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

METHODS = ("at", "cda", "cds", "dropout")
DOCUMENTS = 16_000  # of the corpus, for AT, CDA and dropout
CORPUS = "simplewiki"
BATCH, RATE, EPOCHS = 64, 5e-5, {"at": 1, "cda": 2, "cds": 3, "dropout": 2}


def main() -> None:
    """Train and score where a corpus is given; then the table, where it can be made."""
    args = _arguments()
    args.out.mkdir(parents=True, exist_ok=True)
    if args.corpora is not None:
        _run(args)
    try:
        import statsmodels  # noqa: F401
    except ImportError:
        print("statsmodels is not installed here: scores are kept, make the table elsewhere", flush=True)
        return
    print(table(args.out))


def _run(args: argparse.Namespace) -> None:
    """Every method from the same start; scores are written after each, those there are not made again."""
    from unmask.mitigate.evaluation import evaluate_model
    from unmask.models import Engine, open_lm

    path = args.out / "scores.json"
    kept: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    wiki = _wiki(args)
    for name in (None, *args.methods):
        label = name or "before"
        if label in kept:
            continue
        begin = time.monotonic()
        engine = Engine(open_lm(args.model))
        if name is None:
            kept[label] = {"seen": scores_json(evaluate_model(engine, wiki.held_out_sentences, seed=args.seed))}
        else:
            kept[label] = _run_method(args, name, engine, wiki)
        kept[label]["seconds"] = round(time.monotonic() - begin, 1)
        print(label, kept[label]["seconds"], "s", json.dumps(kept[label].get("record", {}).get("outcome")), flush=True)
        path.write_text(json.dumps(kept))


def _run_method(args: argparse.Namespace, name: str, engine: Any, wiki: Any) -> dict[str, Any]:
    """One method: its checkpoint is scored and thrown away, unless it is to be kept."""
    from unmask.mitigate import find
    from unmask.mitigate.evaluation import evaluate_model
    from unmask.mitigate.spec import MitigationContext, TrainingOptions
    from unmask.models import Engine, open_lm
    from unmask.training.checkpoints import save_model

    corpus = _gap(args) if name == "cds" else wiki
    epochs = args.epochs or EPOCHS[name]
    training = {"epochs": epochs, "lr": args.rate, "batch": args.batch, "seed": args.seed, "save_every": 100_000}
    folder = args.out / name
    shutil.rmtree(folder, ignore_errors=True)
    method = find(name)
    assert issubclass(method.options, TrainingOptions)
    context = MitigationContext(engine, folder, method.options(**training), _print_steps(name))
    outcome = method.apply(context, corpus)
    save_model(outcome.model, engine.lm.tokenizer, folder)
    seen = evaluate_model(Engine(open_lm(folder)), wiki.held_out_sentences, seed=args.seed)
    if not args.keep:
        shutil.rmtree(folder)
    trained = outcome.trained
    record = {"outcome": dict(outcome.facts), "steps": trained.steps, "losses": trained.losses}
    return {"record": record, "seen": scores_json(seen)}


def table(out: Path) -> str:
    """Before and after of every method as Markdown, also in `table.md`; the whole in `table.json`."""
    from unmask.findings.storage import table_json
    from unmask.mitigate.comparison import compare_evaluations

    kept = json.loads((out / "scores.json").read_text())
    before = read_scores(kept["before"]["seen"])
    lines, whole = [], {}
    for name, one in kept.items():
        if name == "before":
            continue
        finding = compare_evaluations(before, read_scores(one["seen"]), plots=False)
        tables = [table_json(part) for part in finding.tables]
        texts = {"answers": finding.answers, "notes": finding.notes, "tables": tables}
        whole[name] = {"record": one["record"], "seconds": one["seconds"], **texts}
        steps = one["record"]["steps"]
        lines += [
            f"### {name}: {steps:,} steps, {one['seconds']:.0f} s",
            "",
            *(f"* {each}" for each in finding.answers),
            "",
        ]
        for part in finding.tables:
            lines += [
                f"**{part.title}**",
                "",
                "| " + " | ".join(part.columns) + " |",
                "| --- " * len(part.columns) + "|",
            ]
            for cells in part.texts():
                lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
            lines.append("")
    text = "\n".join(lines)
    (out / "table.md").write_text(text + "\n", encoding="utf-8")
    (out / "table.json").write_text(json.dumps(whole, indent=2) + "\n", encoding="utf-8")
    return text


def scores_json(evaluation: Any) -> dict[str, Any]:
    """All scores of an evaluation as JSON, to be compared later."""
    return {
        "rows": [asdict(row) for rows in evaluation.rows.values() for row in rows],
        "ability": {name: value.tolist() for name, value in asdict(evaluation.ability).items()},
    }


def read_scores(stored: dict[str, Any]) -> Any:
    """Inverse of `scores_json`."""
    import numpy as np

    from unmask.core.types import Row
    from unmask.mitigate.evaluation import BiasEvaluation
    from unmask.training.utility import Ability

    rows: dict[tuple[str, str], list[Row]] = {}
    for row in stored["rows"]:
        rows.setdefault((row["measure"], row["data"]), []).append(Row(**row))
    ability = {name: np.array(value) for name, value in stored["ability"].items()}
    return BiasEvaluation(rows, Ability(**ability))


def _wiki(args: argparse.Namespace) -> Any:
    from unmask.core.options import TextLayout
    from unmask.data.texts import load_corpus

    path = args.corpora / f"{CORPUS}.txt.xz"
    return load_corpus([path], TextLayout(unit="block"), limit=args.documents)


def _gap(args: argparse.Namespace) -> Any:
    from unmask.core.options import TextLayout
    from unmask.data.texts import load_corpus

    if args.gap is None:
        raise SystemExit("--gap DIR: the folder of the three GAP files, for cds")
    return load_corpus(sorted(args.gap.glob("gap-*.tsv")), TextLayout("Text"))


def _print_steps(name: str) -> Any:
    begin = time.monotonic()

    def report(label: str, share: float, total: int, note: str = "") -> None:
        if round(share * total) % 200 == 0 or share == 1:
            took = time.monotonic() - begin
            print(f"{name} {round(share * total)}/{total} {note} {took:.0f} s", flush=True)

    return report


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--corpora", type=Path, help=f"folder with {CORPUS}.txt.xz")
    parser.add_argument("--gap", type=Path, help="folder with gap-development.tsv and the others")
    parser.add_argument("--model", help="in the place of the built-in one")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--documents", type=int, default=DOCUMENTS)
    parser.add_argument("--epochs", type=float, help="in the place of each method's own")
    parser.add_argument("--rate", type=float, default=RATE)
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", action="store_true", help="keep the checkpoints")
    return parser.parse_args()


if __name__ == "__main__":
    main()
