"""Ten pairs scored by unmask and by other packages, on the same model: the table of docs/footguns.md.

    pip install minicons mlm-bias bias-scope FairLangProc     # in an environment of their own
    python -m tools.peers

The pairs are ours (`nine-axes`, the first of every category and one more), the model is the built-in one, saved in fp32
so that all packages read the same weights. Each cell is the score of the stereotyping sentence minus that of the other.
A package that is not installed is left out. Packages are called as their documentation shows, and are asked for the
measure whose name they share with one of the first two columns.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from importlib.metadata import PackageNotFoundError, version
from tempfile import TemporaryDirectory
from typing import Any

from unmask import audit, data
from unmask.core.types import Pair
from unmask.models.builtin import FOLDER

PAIRS = 10
Score = Callable[[str], float]


def ten_pairs() -> list[Pair]:
    """The first pair of every category of nine-axes, and the second of the first category."""
    first: dict[str, Pair] = {}
    items = data.load("nine-axes").items
    for pair in items:
        first.setdefault(pair.groups["category"], pair)
    return [*first.values(), items[1]][:PAIRS]


def ours(pairs: list[Pair]) -> dict[str, list[float]]:
    """The differences of `aul` and `pll` by unmask."""
    records = [(pair.more, pair.less) for pair in pairs]
    result = audit(data=data.from_records(records, name="ten"), measures=["aul", "pll"])
    items = result.to_pandas().sort_values("item")
    return {f"unmask {name}": list(items[items.measure == name]["difference"]) for name in ("aul", "pll")}


def peers(model: str) -> Iterator[tuple[str, str, Callable[[], Score]]]:
    """The other packages that are installed: the name of the column, the measure it shares, and how to get a scorer."""
    for package, measure, title, make in (
        ("bias-scope", "aul", "bias-scope AUL", lambda: _bias_scope(model)),
        ("FairLangProc", "aul", "FairLangProc AUL", lambda: _fair_lang_proc(model)),
        ("mlm-bias", "aul", "mlm-bias AUL", lambda: _mlm_bias(model, 0)),
        ("mlm-bias", "aul", "mlm-bias AUL, again", lambda: _mlm_bias(model, 1)),
        ("minicons", "pll", "minicons PLL, sum", lambda: _minicons(model, sum_tokens=True)),
        ("minicons", "pll", "minicons PLL, default", lambda: _minicons(model, sum_tokens=False)),
    ):
        try:
            yield f"{title} ({version(package)})", measure, make
        except PackageNotFoundError:
            print(f"{package} is not installed: left out", file=sys.stderr)


def _bias_scope(path: str) -> Score:
    from bias_scope.probability_based.scorers import WordPieceBertScorer

    scorer = WordPieceBertScorer(path, device="cpu")
    return lambda text: float(scorer.aul_aula(scorer.encode(text))[0])


def _fair_lang_proc(path: str) -> Score:
    sys.modules.setdefault("datasets", type(sys)("datasets"))  # imported by the package, not by its measures
    from FairLangProc.metrics.probability import AUL
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    model, tokenizer = AutoModelForMaskedLM.from_pretrained(path).eval(), AutoTokenizer.from_pretrained(path)
    return lambda text: float(AUL(model, tokenizer, [text])[0])


def _mlm_bias(path: str, seed: int) -> Score:
    import torch
    from mlm_bias.compute_mlm_bias import BiasMLM, compute_aul

    torch.manual_seed(seed)
    loaded: Any = BiasMLM(path, None)
    return lambda text: float(
        compute_aul(loaded.model, loaded.tokenizer.encode(text, return_tensors="pt"), attention=True)["aul"]
    )


def _minicons(path: str, *, sum_tokens: bool) -> Score:
    from minicons.scorer import MaskedLMScorer

    scorer = MaskedLMScorer(path, "cpu")
    options: dict[str, Any] = {"reduction": lambda scores: scores.sum(0).item()} if sum_tokens else {}
    return lambda text: float(scorer.sequence_score([text], **options)[0])


def main() -> None:
    """Print the table, and for every column how many of the ten signs agree with unmask."""
    pairs = ten_pairs()
    columns = ours(pairs)
    with TemporaryDirectory() as folder:
        agreement = dict.fromkeys(columns, "") | add_peers(columns, pairs, _save_in_fp32(folder))
    print("| pair | " + " | ".join(columns) + " |\n" + "| --- " + "| ---: " * len(columns) + "|")
    for row, pair in enumerate(pairs):
        print(f"| `{pair.id}` | " + " | ".join(f"{values[row]:+.4f}" for values in columns.values()) + " |")
    print("| signs equal to unmask | " + " | ".join(agreement.values()) + " |")


def add_peers(columns: dict[str, list[float]], pairs: list[Pair], model: str) -> dict[str, str]:
    """Add a column for every package; for each, how many signs agree with unmask."""
    agreement = {}
    for title, measure, make in peers(model):
        try:
            with redirect_stdout(io.StringIO()):
                score = make()
                differences = [score(pair.more) - score(pair.less) for pair in pairs]
        except Exception as error:  # what it does is the result
            print(f"{title}: {type(error).__name__}: {error}", file=sys.stderr)
            continue
        right = columns[f"unmask {measure}"]
        same = sum((a > 0) == (b > 0) for a, b in zip(differences, right, strict=True))
        far = max(abs(a - b) for a, b in zip(differences, right, strict=True))
        columns[title], agreement[title] = differences, f"{same} of {len(pairs)}, at most {far:.2g} away"
    return agreement


def _save_in_fp32(folder: str) -> str:
    """A copy of the built-in model: its own files are in half precision, which transformers keeps."""
    import torch
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    source = FOLDER / "masked"
    AutoModelForMaskedLM.from_pretrained(source, dtype=torch.float32).save_pretrained(folder)
    AutoTokenizer.from_pretrained(source).save_pretrained(folder)
    return folder


if __name__ == "__main__":
    main()
