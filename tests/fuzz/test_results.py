"""Result folders: `result.json` of every kind, and the tables of an audit, through everything that reads them."""

from __future__ import annotations

import functools
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests import zoo
from tests.fuzz.harness import BUDGET, Boundary, check_message, fuzz
from tests.report import fake

import unmask
from unmask.audit.attribution import explain
from unmask.audit.compare import compare
from unmask.audit.gate import gate
from unmask.audit.parquet import rows_of
from unmask.audit.result import AuditResult, load
from unmask.core.errors import ResultError, UnmaskError
from unmask.core.estimate import Estimate, Value
from unmask.data.texts import TrainingCorpus
from unmask.findings import Section
from unmask.findings.envelope import ITEMS, RESULT, TOKENS
from unmask.findings.folder import create
from unmask.findings.renderer import RENDERER
from unmask.mitigate import find
from unmask.mitigate.checkpoint import build_meta, make_checkpoint
from unmask.mitigate.curve import ALL, AsldAtSize, curve_finding
from unmask.models import Engine, open_lm
from unmask.report import card
from unmask.report.run import report
from unmask.studies.cache import study_status

MODEL, TESTS = "bert-uncased", Path(__file__).parents[1]
TEXT = "He is a doctor and she is a nurse.\nThe teacher said that she was late for the meeting again.\n"


def make_audit(out: Path) -> None:
    unmask.audit(zoo.folder(MODEL), data=["nine-axes", "pronoun-templates"], measures=["sld", "aul", "lpbs"],
                 limit=6, out=out, store=False)  # fmt: skip


def make_task(out: Path) -> None:
    unmask.task("winobias", zoo.folder(MODEL), data_dir=zoo.MINIATURE, out=out, limit=6, store=False, offline=True)


def make_diagnosis(out: Path) -> None:
    unmask.diagnose("length", zoo.folder(MODEL), data="nine-axes", out=out, limit=12, store=False)


def make_mitigation(out: Path) -> None:
    """A checkpoint with a curve: measuring it would take a minute."""
    corpus = TrainingCorpus(tuple((line,) for line in TEXT.splitlines() * 9), (), ({"name": "text.txt"},))
    method, lm = find("projection"), open_lm(zoo.folder(MODEL))
    details = make_checkpoint(method, Engine(lm), corpus, out).details
    means = {0: Value(3.0, 2.0, 4.0, "t"), 9: Value(1.0, 0.5, 1.5, "t")}
    points = [AsldAtSize(size, ALL, np.full(3, mean.value), mean) for size, mean in means.items()]
    finding = curve_finding(method.name, points)
    numbers = [Estimate.of(mean, measure="sld", data="own", statistic="asld", null=0.0, n=3) for mean in means.values()]
    sections = [Section(method.name, "Curve", "", finding)]
    create(build_meta(method, lm, corpus, details, estimates=numbers, findings=sections), out)


def make_vectors(out: Path) -> None:
    unmask.vectors(zoo.folder(MODEL), questions="weat-6", out=out)


def make_prompts(out: Path) -> None:
    unmask.prompts(zoo.folder(MODEL), limit=4, top=2, out=out)


def make_corpus(out: Path) -> None:
    text = out.parent / "text.txt"
    text.write_text(TEXT)
    unmask.corpus.count(text, out=out, processes=1)


def make_study(out: Path) -> None:
    if str(TESTS) not in sys.path:  # as pytest does
        sys.path.insert(0, str(TESTS))
    from studies.test_graph import chain, run_steps

    run_steps(chain(), out)


MAKERS: Mapping[str, Callable[[Path], None]] = {
    "audit": make_audit,
    "task": make_task,
    "diagnosis": make_diagnosis,
    "mitigation": make_mitigation,
    "vectors": make_vectors,
    "prompts": make_prompts,
    "corpus": make_corpus,
    "study": make_study,
}


@functools.cache
def make_files(kind: str) -> dict[str, bytes]:
    """The files of a small result of this kind."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("UNMASK_TEST_ZOO", tempfile.mkdtemp(prefix="unmask-zoo-"))
        out = Path(folder) / "run"
        MAKERS[kind](out)
        return {path.name: path.read_bytes() for path in out.iterdir() if path.suffix in (".json", ".parquet")}


@functools.cache
def original(kind: str) -> unmask.Result:
    """The undamaged result, to compare with."""
    folder = Path(tempfile.mkdtemp(prefix="unmask-fuzz-"))
    for name, content in make_files(kind).items():
        (folder / name).write_bytes(content)
    result = load(folder)
    if isinstance(result, AuditResult):
        _ = result.items, result.tokens
    shutil.rmtree(folder)
    return result


def all_of(*readers: Callable[[], object]) -> None:
    """Call every reader; each may refuse in one line."""
    for reader in readers:
        try:
            reader()
        except UnmaskError as error:
            check_message(error)


def read_result(folder: Path) -> None:
    """Everything that opens a result folder, except for drawing."""
    result = load(folder)
    before = original(result.kind)
    all_of(
        lambda: str(result),
        lambda: result.headlines() and result.models and result.checks,
        result.to_pandas,
        lambda: report(result, format="md"),
        lambda: report(result, format="latex"),
        lambda: report(result, format="csv"),
        lambda: report(before, result, format="md"),
        lambda: compare(before, result, categories=True),
        lambda: gate(result, before),
        lambda: gate(before, result),
        *(read_audit(result) if isinstance(result, AuditResult) else ()),
    )


def read_audit(result: AuditResult) -> Sequence[Callable[[], object]]:
    return (
        lambda: rows_of(result.items),
        lambda: explain(result),
        lambda: explain(result, "nine-axes/0000"),
        lambda: card.text(result),
        lambda: card.metrics(result),
    )


def read_page(folder: Path) -> None:
    """The page, alone and compared; the program that draws is not part of it."""
    result, out = load(folder), folder / "page.html"
    with patch.object(type(RENDERER), "call", lambda *_, **__: b"<svg></svg>"):
        all_of(lambda: report(result, out=out), lambda: report(original(result.kind), result, out=out))


def column_examples() -> list[dict[str, bytes]]:
    """The tables of an audit as JSON by column, which `read_columns` turns back into Parquet."""
    files = make_files("audit")
    tables = {}
    for name in (ITEMS, TOKENS):
        table = pq.read_table(pa.BufferReader(files[name]))
        tables[f"{name}.json"] = json.dumps({each: table[each].to_pylist()[:40] for each in table.column_names})
    return [{RESULT: files[RESULT], **{name: text.encode() for name, text in tables.items()}}]


def read_columns(folder: Path) -> None:
    """Write the tables with whatever columns and types they have now, and read them."""
    (folder / RESULT).write_bytes(make_files("audit")[RESULT])
    for name in (ITEMS, TOKENS):
        try:
            columns = json.loads((folder / f"{name}.json").read_bytes())
            table = pa.table(
                {str(key): value if isinstance(value, list) else [value] for key, value in columns.items()}
            )
            fake.rewrite(folder, **{Path(name).stem: table})
        except Exception as error:  # no Parquet file
            raise ResultError(f"no table: {type(error).__name__}") from error
    read_result(folder)
    read_page(folder)


def only(kind: str, *names: str) -> Callable[[], list[dict[str, bytes]]]:
    return lambda: [{name: content for name, content in make_files(kind).items() if not names or name in names}]


def with_tables(kind: str, read: Callable[[Path], None]) -> Callable[[Path], None]:
    """Read a folder in which only `result.json` was damaged."""

    def read_whole(folder: Path) -> None:
        for name, content in make_files(kind).items():
            if not (folder / name).exists():
                (folder / name).write_bytes(content)
        read(folder)

    return read_whole


BOUNDARIES = [
    *(
        Boundary(f"result.json ({kind})", only(kind, RESULT), with_tables(kind, read_result), share=3)
        for kind in MAKERS
    ),
    *(Boundary(f"page ({kind})", only(kind, RESULT), with_tables(kind, read_page)) for kind in MAKERS),
    Boundary("bytes of the tables", only("audit"), read_result, share=3),
    Boundary("columns of the tables", column_examples, read_columns),
    Boundary("study.json", only("study", "study.json"), study_status, share=3),
]


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=lambda each: each.name)
def test_damaged_input_is_accepted_or_refused(boundary: Boundary) -> None:
    fuzz(boundary, BUDGET * 3 // 10 if boundary.share == 1 else BUDGET)
