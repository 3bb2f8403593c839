"""The tables of a result folder belong to its `result.json` and have the columns that are read."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import unmask
import zoo
from report import fake
from unmask.audit.result import AuditResult, load_audit
from unmask.core.errors import ResultError
from unmask.findings.envelope import ITEMS, RESULT, TOKENS
from unmask.report.run import report


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two audits of one model on one dataset that differ in the number of items only."""
    folders = [tmp_path_factory.mktemp(f"run-{limit}") for limit in (4, 5)]
    for folder, limit in zip(folders, (4, 5), strict=True):
        unmask.audit(zoo.folder("bert-uncased"), data="nine-axes", measures="aul", limit=limit, out=folder, store=False)
    return folders


@pytest.fixture
def folder(runs: list[Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(runs[0], tmp_path / "copy"))


@pytest.mark.parametrize("name", [ITEMS, TOKENS])
def test_the_table_of_another_run_is_refused(name: str, folder: Path, runs: list[Path]) -> None:
    shutil.copy(runs[1] / name, folder / name)
    with pytest.raises(ResultError, match=f"{name} has .* rows, expected the .* of the result.json beside it"):
        unmask.load(folder)


def test_items_that_are_described_and_absent_are_refused(folder: Path) -> None:
    """Without them no number is counted again, and a gate of limits would pass whatever result.json says."""
    (folder / TOKENS).unlink()
    assert load_audit(folder).has_items, "exports leave the tokens out"
    (folder / ITEMS).unlink()
    with pytest.raises(ResultError, match=r"has no items.parquet, which its result.json describes"):
        unmask.load(folder)


def test_the_same_audit_writes_the_same_bytes(runs: list[Path], tmp_path: Path) -> None:
    unmask.audit(zoo.folder("bert-uncased"), data="nine-axes", measures="aul", limit=4, out=tmp_path, store=False)
    for name in (RESULT, ITEMS, TOKENS):
        assert (tmp_path / name).read_bytes() == (runs[0] / name).read_bytes()


def test_a_copy_keeps_its_tables(runs: list[Path], tmp_path: Path) -> None:
    copy = unmask.load(runs[0]).save(tmp_path / "copy")
    assert isinstance(copy, AuditResult)
    assert copy.items.equals(unmask.load(runs[0]).items)
    assert unmask.load(tmp_path / "copy").tokens.num_rows


def test_the_page_and_explanations_do_not_hold_the_tokens_of_all_items(
    runs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 100,000 pairs they take a gigabyte."""
    whole = load_audit(runs[1])
    items = whole.items["item"].to_pylist()
    expected = [whole.explain(item) for item in items]
    wanted = {items[0], items[3]}
    kept = whole.tokens.filter(pc.is_in(whole.tokens["item"], pa.array(sorted(wanted))))
    batches = pq.ParquetFile.iter_batches
    monkeypatch.setattr(AuditResult, "tokens", property(lambda _: pytest.fail("all tokens are read")))
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", lambda file: batches(file, batch_size=7))
    result = load_audit(runs[1])
    assert result.tokens_of(wanted).to_pylist() == kept.to_pylist()
    assert result.tokens_of(set()).num_rows == 0
    assert [result.explain(item) for item in items] == expected
    assert unmask.explain(result, top=2)
    assert report(result, out=tmp_path / "report.html") == tmp_path / "report.html"


def test_damage_is_found_among_the_tokens_of_other_items(folder: Path) -> None:
    """Bytes of a table that were changed on disk must not go unnoticed because a page shows other rows."""
    with (folder / TOKENS).open("r+b") as file:
        file.seek(-pq.read_metadata(folder / TOKENS).serialized_size - 8 - 40, 2)  # the last data page
        file.write(b"damaged")
    result = load_audit(folder)
    with pytest.raises(ResultError, match="cannot be read"):
        result.tokens_of({"nine-axes/0000"})


OTHER = {"more": "less", "less": "more"}
CHANGES: dict[str, tuple[Callable[[pa.Table], pa.Table], str]] = {
    "no outcome": (lambda items: items.drop_columns("outcome"), "has 0 columns outcome, expected one"),
    "two": (lambda items: items.append_column("item", items["item"]), "has 2 columns item, expected one"),
    "numbers": (lambda items: items.set_column(2, "item", pa.array(range(4))), "column item is 'int64', expected text"),
    "text": (
        lambda items: items.set_column(items.schema.get_field_index("more"), "more", pa.array(list("abcd"))),
        "column more is 'string', expected a number",
    ),
    "nulls": (lambda items: items.set_column(2, "item", pa.nulls(4, pa.string())), "4 rows without item"),
    "outcome": (
        lambda items: items.set_column(items.schema.get_field_index("outcome"), "outcome", pa.array(["perhaps"] * 4)),
        "outcome is 'perhaps', expected one of more, less, tie, unscored",
    ),
    "unscored": (lambda items: replaced(items, "difference", [None] * 4), "a scored item has no difference"),
    "nan": (
        lambda items: replaced(items, "more", [math.nan]),
        r"'aul, nine-axes/....' has a score \(more\) that is not",
    ),
    "infinite": (lambda items: replaced(items, "difference_per_token", [math.inf]), "per_token.* that is not finite"),
    "difference": (lambda items: replaced(items, "difference", [9.0]), "has a difference that is not more − less"),
    "sign": (
        lambda items: replaced(items, "outcome", [OTHER[str(items["outcome"][0])]]),
        "has the outcome (more|less), which is not that of its difference",
    ),
    "tie": (
        lambda items: replaced(items, "outcome", ["tie"]),
        "has the outcome tie, which is not that of its difference",
    ),
    "reason": (lambda items: replaced(items, "reason", ["too long"]), "has a reason to be unscored, and a score"),
}
TOKEN_CHANGES = {
    "logprob": ("logprob", 5.0, "a log-probability above 0"),
    "infinite": ("logprob", -math.inf, "a logprob that is not finite"),
    "position": ("position", -1, "a position below 0"),
    "weight": ("weight", math.inf, "a weight that is not finite"),
}


def replaced(table: pa.Table, name: str, first: list[Any]) -> pa.Table:
    """The table with other values in the first rows of a column."""
    kind = table.schema.field(name).type
    values = pa.array([*first, *table[name].to_pylist()[len(first) :]])
    values = values.cast(kind.value_type if pa.types.is_dictionary(kind) else kind)
    return table.set_column(table.schema.get_field_index(name), name, values)


@pytest.mark.parametrize("change", CHANGES)
def test_a_table_without_the_columns_that_are_read_is_refused_in_one_line(change: str, folder: Path) -> None:
    alter, message = CHANGES[change]
    items = pq.read_table(folder / ITEMS)
    fake.rewrite(folder, items=alter(items))
    with pytest.raises(ResultError, match=message):
        _ = unmask.load(folder).items


@pytest.mark.parametrize("change", TOKEN_CHANGES)
def test_tokens_that_no_model_gives_are_refused_in_one_line(change: str, folder: Path) -> None:
    """A log-probability of +5, a probability of 148, would be shown as the reason of a score."""
    name, value, message = TOKEN_CHANGES[change]
    fake.rewrite(folder, tokens=replaced(pq.read_table(folder / TOKENS), name, [value]))
    with pytest.raises(ResultError, match=message):
        _ = unmask.load(folder).tokens


def test_a_tie_by_rounding_is_a_tie(tmp_path: Path) -> None:
    """`cps` compares after rounding to three decimals: a result with such a pair would be refused."""
    row = fake.row(
        "cps", "own/0", -1.0001, -1.0003, data="own", reason="", text_more="a", text_less="b", unrelated=None
    )
    names = {"title": "", "reads": "", "citation": "", "summary": "", "null": 50.0, "in_nats": True, "baseline": False}
    for decimals, fits in ((3, True), (None, False)):
        details = {"measures": [{"name": "cps", **names, "decimals": decimals}]}
        meta = fake.meta(data=[{"name": "own", "n": 1}]) | {"estimates": [], "checks": [], "details": details}
        run = fake.write(tmp_path / str(decimals), meta, pa.Table.from_pylist([{**row, "outcome": "tie"}]))
        with nullcontext() if fits else pytest.raises(ResultError, match="the outcome tie"):
            unmask.load(run)


@pytest.mark.parametrize("name", [ITEMS, TOKENS])
def test_a_table_that_was_changed_is_refused(name: str, folder: Path) -> None:
    """A score that was edited, or a table cut to some rows, would be compared and gated as what was measured."""
    table = pq.read_table(folder / name)
    column = "text_more" if name == ITEMS else "token"
    pq.write_table(replaced(table, column, ["edited"]), folder / name)
    with pytest.raises(ResultError, match=f"{name} does not hold what the result.json beside it describes"):
        _ = unmask.load(folder).items, unmask.load(folder).tokens
    with pytest.raises(ResultError, match=f"{name} does not hold"):  # nor does a copy describe it anew
        load_audit(folder).save(folder.parent / "saved").tokens_of({"nine-axes/0000"})
    pq.write_table(table.slice(0, 3), folder / name)
    with pytest.raises(ResultError, match=rf"{name} has 3 rows, expected the {table.num_rows} of the result\.json"):
        unmask.load(folder)


def test_a_table_written_again_with_the_same_values_is_read(folder: Path) -> None:
    """Another compression, or pandas, which knows neither dictionaries nor int32, is no edit."""
    for name in (ITEMS, TOKENS):
        pq.read_table(folder / name).to_pandas().to_parquet(folder / name, compression="gzip", row_group_size=3)
    result = load_audit(folder)
    assert (result.items.num_rows, result.tokens_of({result.items["item"][0].as_py()}).num_rows > 0) == (4, True)


def test_a_bias_score_that_is_not_that_of_the_items_is_refused(folder: Path) -> None:
    """A number that was edited in `result.json` inside its interval would be quoted as what was measured."""
    meta = json.loads((folder / RESULT).read_text("utf-8"))
    score = next(each for each in meta["estimates"] if (each["statistic"], each["group"]) == ("bias-score", "all"))
    score["value"] = (score["value"] + score["high"]) / 2
    (folder / RESULT).write_text(json.dumps(meta), encoding="utf-8")
    with pytest.raises(ResultError, match=r"aul bias-score on nine-axes, all, is .* in result.json, but .* in items"):
        unmask.load(folder)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ({"null": 90.0}, r"aul bias-score on nine-axes, all, has the reference value 90.0, expected 50.0"),
        ({"group": "category=age"}, r"category=age, is there without the score of all items"),
    ],
)
def test_a_score_of_all_items_that_was_edited_is_refused(edit: dict[str, Any], message: str, folder: Path) -> None:
    """58% against a reference value of 90 reads "less often than chance", and a category would be the headline."""
    meta = json.loads((folder / RESULT).read_text("utf-8"))
    shares = [each for each in meta["estimates"] if each["statistic"] == "bias-score"]
    meta["estimates"] = [{**each, **edit} if each["group"] == "all" else each for each in shares]
    (folder / RESULT).write_text(json.dumps(meta), encoding="utf-8")
    with pytest.raises(ResultError, match=message):
        unmask.load(folder)


def test_a_result_that_does_not_describe_its_tables_is_refused(folder: Path) -> None:
    """Without their hashes any edited table would be read."""
    meta = json.loads((folder / RESULT).read_text("utf-8"))
    (folder / RESULT).write_text(json.dumps({**meta, "tables": None}), encoding="utf-8")
    with pytest.raises(ResultError, match="tables is None: input should be"):
        unmask.load(folder)


def test_damage_to_the_values_of_a_table_is_noticed(folder: Path) -> None:
    """A flipped bit would be another score."""
    group, content = pq.read_metadata(folder / ITEMS).row_group(0), bytearray((folder / ITEMS).read_bytes())
    (scores,) = (group.column(at) for at in range(group.num_columns) if group.column(at).path_in_schema == "more")
    start = scores.dictionary_page_offset or scores.data_page_offset
    content[start + scores.total_compressed_size - 1] ^= 0x01
    (folder / ITEMS).write_bytes(content)
    with pytest.raises(ResultError, match=r"items\.parquet"):
        _ = unmask.load(folder).items
