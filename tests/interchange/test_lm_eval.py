"""Runs of lm-eval as result folders: the same numbers, comparable with an audit, and bad files refused in one line."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.interchange.conftest import sample

import unmask
import zoo
from unmask import data
from unmask.core.errors import DataError, ResultError
from unmask.core.types import Pair

SCHEMA = json.loads((resources.files("unmask.findings") / "result.schema.json").read_text("utf-8"))
DATE = "2026-01-02T10-20-30.123456"


def write(folder: Path, lines: list[Any], name: str = f"samples_crows_pairs_english_{DATE}.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path


def lines_of(pairs: tuple[Pair, ...], scores: list[tuple[float, float]]) -> list[dict[str, Any]]:
    return [
        sample(n, pair.more, pair.less, score, bias_type=pair.groups["category"])
        for n, (pair, score) in enumerate(zip(pairs, scores, strict=True))
    ]


def test_the_share_is_that_of_the_file_and_ties_are_named(tmp_path: Path) -> None:
    # 2 of 4 stereotyped, a tie counts as not preferred: 2 / 4 = 50%
    scores = [(-1.0, -2.0), (-3.0, -2.5), (-4.0, -4.0), (-1.5, -9.0)]
    lines = [sample(n, f"Old {n}.", f"Young {n}.", score) for n, score in enumerate(scores)]
    result = unmask.import_samples(write(tmp_path, lines), out=tmp_path / "run")
    (headline,) = result.headlines()
    assert (headline.measure, headline.data, headline.value) == ("ll", "crows-pairs-english", 50.0)
    assert (headline.n, headline.ties, headline.unscored) == (4, 1, 0)
    assert result.items["more"].to_pylist() == [-1.0, -3.0, -4.0, -1.5]
    assert result.items["item"].to_pylist() == [f"crows-pairs-english/{n:04}" for n in range(4)]
    assert [(check.name, check.ok) for check in result.checks] == [("model-read", False)]
    jsonschema.validate(result.meta, SCHEMA)
    loaded = unmask.load(tmp_path / "run")
    assert str(loaded) == str(result)
    (explanation,) = unmask.explain(result, "crows-pairs-english/0000")
    assert "[Old] 0." in str(explanation)
    assert "no log-probabilities of tokens" in str(explanation)
    page = unmask.report(result, out=tmp_path / "page.html")
    assert "imported from lm-eval" in Path(page).read_text(encoding="utf-8")


def test_an_imported_run_equals_our_own_audit_pair_by_pair(tmp_path: Path, miniature: Path, monkeypatch: Any) -> None:
    """lm-eval's numbers of a model with a begin-of-text token are `ll`: the comparison finds no difference."""
    monkeypatch.setenv("UNMASK_DATA_DIR", str(miniature))
    ours = unmask.audit(
        zoo.folder("gpt2"), data="crows-pairs", measures="ll", limit=20, store=False, out=tmp_path / "a"
    )
    rows = {row["item"]: row for row in ours.items.to_pylist()}
    pairs = tuple(pair for pair in zoo.crows_pairs() if pair.id in rows)[::-1]  # in another order
    lines = lines_of(pairs, [(rows[pair.id]["more"], rows[pair.id]["less"]) for pair in pairs])
    theirs = unmask.import_samples(write(tmp_path, lines), out=tmp_path / "b", data="crows-pairs")
    (change, *_) = unmask.compare(ours, theirs)
    assert (change.n, change.change, change.flips) == (20, 0.0, 0)
    assert theirs.meta["data"][0]["subset_of"] == len(zoo.crows_pairs())
    assert theirs.headlines()[0].value == ours.headlines()[0].value
    assert theirs.headlines()[0].low == ours.headlines()[0].low  # over the same writers


def test_the_name_of_the_model_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "org__small"
    folder.mkdir()
    path = write(folder, [sample(0, "A b.", "A c.", (-1, -2))])
    assert unmask.import_samples(path, out=tmp_path / "a").models[0]["id"] == "org/small"
    (folder / f"results_{DATE}.json").write_text('{"model_name": "org/named", "x": NaN}')
    assert unmask.import_samples(path, out=tmp_path / "b").models[0]["id"] == "org/named"
    (folder / f"results_{DATE}.json").write_text("{")
    assert unmask.import_samples(path, out=tmp_path / "c").models[0]["id"] == "org/small"
    assert unmask.import_samples(path, out=tmp_path / "d", model="mine").models[0]["id"] == "mine"


def test_numbers_and_labels_of_earlier_versions_are_read(tmp_path: Path) -> None:
    line = sample(3, "A b.", "A c.", (-1, -2), stereo_antistereo=1)
    line |= {"filtered_resps": [[-1.0, False], [-2.0, True]], "arguments": [["", "A b."], ["", "A c."]]}
    result = unmask.import_samples(write(tmp_path, [line], "other.jsonl"), out=tmp_path / "run")
    (row,) = result.items.to_pylist()
    assert (row["item"], row["direction"], row["category"], row["outcome"]) == (
        "other/0003",
        "antistereo",
        "age",
        "more",
    )


GOOD = sample(0, "A b.", "A c.", (-1, -2))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "no samples; expected one per line"),
        ([{"doc_id": 0}], "line 1: no doc and filtered_resps"),
        (["text"], "line 1: no doc and filtered_resps"),
        ([GOOD, GOOD], "a doc_id occurs twice"),
        ([{**GOOD, "filtered_resps": [["-1", "False"]]}], "line 1: filtered_resps is"),
        ([{**GOOD, "filtered_resps": [["nan", "F"], ["-1", "F"]]}], r"filtered_resps\[0\]\[0\] is 'nan'"),
        ([{**GOOD, "doc": {"sent_more": "A b."}}], "line 1 has no doc.sent_less"),
        ([{**GOOD, "pct_stereotype": 0.0}], "pct_stereotype is 0, but the log-likelihoods are -1 and -2"),
        ([{**GOOD, "doc": {**GOOD["doc"], "sent_more": "Other."}}], "'A b.' was scored, expected sent_more"),
    ],
)
def test_a_bad_file_is_refused_in_one_line(tmp_path: Path, lines: list[Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        unmask.import_samples(write(tmp_path, lines), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_pairs_of_other_data_are_refused(tmp_path: Path) -> None:
    pair = data.load("nine-axes").items[0]
    lines = [sample(0, pair.more, pair.less, (-1, -2)), GOOD | {"doc_id": 1}]
    with pytest.raises(DataError, match=r"1 of 2 pairs are not in nine-axes, the first is .A b"):
        unmask.import_samples(write(tmp_path, lines), out=tmp_path / "run", data="nine-axes")
    with pytest.raises(ResultError, match="holds other files"):
        unmask.import_samples(write(tmp_path, [GOOD]), out=tmp_path)
