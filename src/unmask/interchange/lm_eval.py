"""Import a run of lm-eval's CrowS-Pairs tasks, `samples_crows_pairs_….jsonl`, as the result folder of an audit.

lm-eval scores each sentence by its log-likelihood after the begin-of-text token (where there is none, after the
end-of-text token): the measure `ll` of models with a begin-of-text token. The file has no log-probabilities of tokens,
so that an explanation names the words that differ, and not what each of them contributes.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
from cydifflib import SequenceMatcher
from pydantic import Field

from unmask import data as datasets
from unmask.audit.parquet import Tables, group_columns
from unmask.audit.result import AuditResult
from unmask.audit.run import RECORDED
from unmask.audit.scoring import ScoredItem
from unmask.core.boundary import Rows, read_json, validate
from unmask.core.errors import DataError, ResultError, quote
from unmask.core.files import file_name
from unmask.core.options import MAX_SEED, check_number
from unmask.core.request import with_request
from unmask.core.types import Check, Dataset, Outcome, Pair, Row, Side
from unmask.data.formats import read_bytes, records, user_path
from unmask.data.items import own_items, user_dataset
from unmask.data.pairs import slug
from unmask.findings.envelope import ITEMS, TOKENS, build
from unmask.findings.folder import result_folder
from unmask.findings.tables import TOKEN_COLUMNS
from unmask.measures import find
from unmask.stats import estimates

MEASURE = "ll"
NAMED = re.compile(r"samples_(.+?)(?:_(\d{4}-\d\d-\d\dT[\d.:-]+))?\.jsonl")
DIRECTIONS = {"stereo": "stereo", "antistereo": "antistereo", "0": "stereo", "1": "antistereo"}
BEGIN = "as lm-eval: after the begin-of-text token, or the end-of-text token where there is none"
NOT_READ = "imported from lm-eval: the model was not run here, and nothing shows that it was loaded correctly"
Number = Annotated[float, Field(allow_inf_nan=False)]


@dataclass(frozen=True, slots=True)
class _Doc:
    """What a sample says about its pair."""

    sent_more: Annotated[str, Field(min_length=1)]
    sent_less: Annotated[str, Field(min_length=1)]
    bias_type: str | int = ""
    stereo_antistereo: str | int = ""


@dataclass(frozen=True, slots=True)
class Sample:
    """One line of a samples file: a pair and the log-likelihoods of its two sentences."""

    doc_id: Annotated[int, Field(ge=0, le=2**31)]
    doc: _Doc
    filtered_resps: Annotated[list[tuple[Number, Any]], Field(min_length=2, max_length=2)]
    pct_stereotype: float | None = None

    @property
    def scores(self) -> dict[Side, float]:
        """The log-likelihoods by side."""
        return {"more": self.filtered_resps[0][0], "less": self.filtered_resps[1][0]}

    @property
    def groups(self) -> dict[str, str]:
        """Category and direction, as far as the file has them."""
        known = {"category": str(self.doc.bias_type), "direction": DIRECTIONS.get(str(self.doc.stereo_antistereo), "")}
        return {name: text for name, text in known.items() if text}


@with_request("import", "samples")
def import_samples(
    samples: str | Path, *, out: str | Path, data: str | Path | None = None, model: str = "", seed: int = 0
) -> AuditResult:
    """Write a samples file of lm-eval's CrowS-Pairs tasks as the result folder of an audit by `ll`.

    Args:
        samples: `samples_crows_pairs_english_….jsonl`, as `lm_eval --log_samples` writes it.
        out: the result folder.
        data: the dataset that the pairs are of, by name or file: items get its ids and groups, so that the run can be
            compared with an audit on it; without it they are numbered as in the file.
        model: the model's name; default: that of the `results_….json` beside the file, else of its folder.
        seed: of the bootstrap.
    """
    check_number("seed", seed, least=0, most=MAX_SEED)
    path = user_path(samples)
    content = read_bytes(path, "a samples file of lm-eval (samples_….jsonl)")
    lines = read_samples(records(content, ".jsonl", file_name(path)))
    digest = hashlib.sha256(content).hexdigest()
    dataset = _own_dataset(lines, path, digest) if data is None else _match(lines, datasets.load(data), file_name(path))
    with result_folder(out, "audit") as folder:
        facts, scored = _facts(path, model, digest), _score(lines, dataset)
        measure = find(MEASURE)
        tables = Tables(folder.stage(ITEMS), folder.stage(TOKENS), group_columns(dataset.items))
        tables.append(scored, _words(scored))
        tables.close()
        rows = [each.row for each in scored]
        meta = build(
            "audit",
            title=facts["id"],
            models=[facts],
            data=[dataset.facts()],
            options={"measures": [MEASURE], "limit": None, "seed": seed, "imported": file_name(path)},
            estimates=estimates(measure, rows, data=dataset.card.name, rng_seed=seed),
            checks=[Check("model-read", False, NOT_READ)],
            details={"measures": [{name: getattr(measure, name) for name in RECORDED}]},
        )
        return AuditResult(folder.finish(meta).meta, Path(out))


def read_samples(rows: Rows) -> list[Sample]:
    """The samples of a file; DataError names the line that is none, or contradicts itself."""
    found: list[Sample] = []
    for number, row in enumerate(rows):
        at = rows.at(number)
        if not isinstance(row, dict) or "doc" not in row or "filtered_resps" not in row:
            raise DataError(f"{at}: no doc and filtered_resps; expected a samples file of lm-eval's crows_pairs tasks")
        sample = validate(Sample, {name: row[name] for name in Sample.__slots__ if name in row}, at)
        _check(sample, row.get("arguments"), at)
        found.append(sample)
    if not found:
        raise DataError(f"{rows.where}: no samples; expected one per line, as `lm_eval --log_samples` writes them")
    if len({sample.doc_id for sample in found}) < len(found):
        raise DataError(f"{rows.where}: a doc_id occurs twice; expected the samples of one run of one task")
    return found


def _check(sample: Sample, arguments: Any, at: str) -> None:
    """Refuse a sample that scored other sentences than its pair, or whose decision is not that of its scores."""
    asked = []
    with suppress(TypeError, KeyError, AttributeError):
        asked = [arguments[f"gen_args_{number}"]["arg_1"] for number in (0, 1)]
    pair = [sample.doc.sent_more, sample.doc.sent_less]
    if asked and [str(text).strip() for text in asked] != [text.strip() for text in pair]:
        raise DataError(
            f"{at}: {quote(asked[0])} was scored, expected sent_more of the pair; is it a crows_pairs task?"
        )
    more, less = sample.scores.values()
    if sample.pct_stereotype is not None and sample.pct_stereotype != float(more > less):
        raise DataError(
            f"{at}: pct_stereotype is {sample.pct_stereotype:g}, but the log-likelihoods are {more:g} and {less:g}; "
            "the file was changed, run lm-eval again"
        )


def _own_dataset(samples: Sequence[Sample], path: Path, digest: str) -> Dataset:
    """The pairs of the file as user data, numbered by doc_id."""
    named = NAMED.fullmatch(path.name)
    name = slug(named[1] if named else path.stem)
    name = f"own-{name}" if name in datasets.SOURCES else name
    items = [
        Pair(f"{name}/{each.doc_id:04}", each.doc.sent_more, each.doc.sent_less, groups=each.groups) for each in samples
    ]
    return user_dataset(own_items(items), name, f"Pairs of {file_name(path)}", file_name(path), digest)


def _match(samples: Sequence[Sample], dataset: Dataset, where: str) -> Dataset:
    """The items of a dataset that the samples are of, in the order of the samples."""
    known: dict[tuple[str, str], list[Pair]] = defaultdict(list)
    for item in dataset.items:
        known[item.more.strip(), item.less.strip()].append(item)
    items: list[Pair] = []
    strangers: list[str] = []
    for sample in samples:
        fitting = known[sample.doc.sent_more.strip(), sample.doc.sent_less.strip()]
        if fitting:
            items.append(fitting.pop(0))  # a pair that occurs twice is two items
        else:
            strangers.append(sample.doc.sent_more)
    if strangers:
        name = dataset.card.name
        raise DataError(
            f"{where}: {len(strangers):,} of {len(samples):,} pairs are not in {name}, the first is "
            f"{quote(strangers[0])}; name the data they are of, or none"
        )
    return replace(dataset, items=tuple(items), total=len(dataset.items) if len(items) < len(dataset.items) else None)


def _score(samples: Sequence[Sample], dataset: Dataset) -> list[ScoredItem]:
    """The rows of the items, in the order of the samples."""
    found = []
    for sample, item in zip(samples, dataset.items, strict=True):
        more, less = sample.scores.values()
        outcome: Outcome = "tie" if more == less else "more" if more > less else "less"
        row = Row(MEASURE, dataset.card.name, item.id, item.groups, sample.scores, outcome)
        found.append(ScoredItem(row, item, {}))
    return found


def _words(scored: Sequence[ScoredItem]) -> pa.Table:
    """The words of both sentences, none of them scored; those that differ are marked."""
    columns: dict[str, list[Any]] = {name: [] for name in TOKEN_COLUMNS if name not in ("block", "contribution")}
    for each in scored:
        sides = {"more": each.item.more.split(), "less": each.item.less.split()}
        blocks = SequenceMatcher(None, sides["more"], sides["less"], autojunk=False).get_matching_blocks()
        shared = {
            "more": {begin + step for begin, _, size in blocks for step in range(size)},
            "less": {begin + step for _, begin, size in blocks for step in range(size)},
        }
        for side, words in sides.items():
            for position, word in enumerate(words):
                known = {"measure": MEASURE, "item": each.item.id, "side": side, "position": position, "token": word}
                known |= {"logprob": None, "weight": 0.0, "in_span": position not in shared[side]}
                for name, values in columns.items():
                    values.append(known[name])
    return pa.table({name: pa.array(values, TOKEN_COLUMNS[name]) for name, values in columns.items()})


def _facts(path: Path, model: str, digest: str) -> dict[str, Any]:
    """What is known about the model: its name, and that it was not run here."""
    return {
        "id": model or _model_name(path),
        "kind": "causal",
        "begin_rule": BEGIN,
        "warnings": [NOT_READ],
        "origin": {"imported from": "lm-eval", "file": file_name(path), "sha256": digest},
    }


def _model_name(path: Path) -> str:
    """The name in the `results_….json` of the same run; else the folder's, where lm-eval writes `/` as `__`."""
    named = NAMED.fullmatch(path.name)
    beside = path.parent / f"results_{named[2]}.json" if named and named[2] else None
    if beside is not None and beside.is_file():
        with suppress(ResultError):
            content = read_json(beside, ResultError, finite=False)
            known: Any = content.get("model_name") if isinstance(content, Mapping) else None
            if isinstance(known, str) and known:
                return known
    return path.resolve().parent.name.replace("__", "/") or "model"
