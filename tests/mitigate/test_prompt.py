"""`prompt`: prefixes are compared with the model without one, corrected over all, with the ability beside them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

import unmask
import zoo
from mitigate.test_comparison import small_evaluation
from mitigate.test_run import some_of
from mitigate.tiny import CORPUS
from unmask.core.errors import DataError, ModelError, UnknownName
from unmask.mitigate import evaluation, find
from unmask.mitigate.checkpoint import make_checkpoint
from unmask.mitigate.evaluation import MEN, WOMEN, WORD_APPD, compare_headlines
from unmask.mitigate.methods.prompt import compare_prefixes
from unmask.models import Engine, open_lm
from unmask.stats.corrections import holm

PREFIXES = ("Women and men do every kind of work.", "It is a fine day, and nobody is in a hurry.")


def test_p_values_are_corrected_over_all_prefixes_together() -> None:
    """Two prefixes are two chances to find something: corrected one by one, a table of ten would find half a one."""
    before, after = (
        small_evaluation(1.0),
        {"one": small_evaluation(0.5), "two": small_evaluation(0.9), "three": small_evaluation(1.01)},
    )
    finding = compare_prefixes(before, after)
    bias, proper, cost = finding.tables
    uncorrected = [
        row.p for one in after.values() for row in compare_headlines(before, one) if row.statistic != WORD_APPD
    ]
    shown = [row for table in (bias, proper) for row in table.rows if row[2] != WORD_APPD]
    assert sorted(row[-1] for row in shown if row[-1] is not None) == pytest.approx(
        sorted(p for p in holm(uncorrected) if p is not None)
    )
    assert [row[0] for row in bias.rows] == [name for name in after for _ in ("appd", WORD_APPD)]
    assert bias.rows[0][2] == "appd"
    assert [row[5:7] for row in bias.rows[:1]] == [pytest.approx((0.4 / 3, 0.2 / 3))]
    assert {row[1:3] for row in proper.rows} == {
        (name, part) for name in (WOMEN, MEN) for part in ("all", "gender-word")
    }
    assert [row[:2] for row in cost.rows] == [
        (name, figure) for name in after for figure in ("accuracy, %", "perplexity")
    ]
    assert [answer.split(":")[0] for answer in finding.answers] == ["'one'"] * 2 + ["'two'"] * 2 + ["'three'"] * 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bert-uncased", "gpt2"])
def test_prefixes_are_measured_as_any_mitigation(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "data", SimpleNamespace(load=some_of))
    model, out = zoo.folder(name), tmp_path / "out"
    result = unmask.mitigate("prompt", model, corpus=CORPUS, prefix=PREFIXES, out=out, store=False)
    assert sorted(path.name for path in out.iterdir()) == ["result.json"]  # no checkpoint
    assert unmask.load(out).meta == result.meta
    assert {estimate.model for estimate in result.estimates} == {*PREFIXES}
    before = {(one["measure"], one["data"], one["group"], one["statistic"]) for one in result.meta["details"]["before"]}
    by_prefix = [{one.key for one in result.estimates if one.model == prefix} for prefix in PREFIXES]
    assert by_prefix == [before, before]
    bias = result.findings[0].finding.tables[0]
    measures = ("sss", "aul") if name != "gpt2" else ("cll", "ll")
    assert [*dict.fromkeys(row[1] for row in bias.rows)] == ["ppd", "sld", *measures]
    said = [answer for answer in result.findings[0].finding.answers if "Pairs of nine-axes" in answer]
    assert all(answer.startswith(repr(prefix)) for answer, prefix in zip(said, PREFIXES, strict=True))
    one = unmask.mitigate("prompt", model, corpus=CORPUS, prefix=PREFIXES[0], out=tmp_path / "one", store=False)
    assert {estimate.model for estimate in one.estimates} == {""}
    values = {each.key: each.value for each in result.estimates if each.model == PREFIXES[0]}
    assert {each.key: each.value for each in one.estimates} == pytest.approx(values, nan_ok=True)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ((), "no prefix: give"),
        (("  ",), "expected 1 to 2,000 printable characters"),
        (("x" * 2001,), "expected 1 to 2,000 printable characters"),
        (("a\x1b[31m",), "printable"),
        (("Be fair.", "Be fair. "), "the same prefix was given twice"),
    ],
)
def test_bad_prefixes_are_refused_before_a_model_is_opened(given: tuple[str, ...], line: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=line):
        unmask.mitigate("prompt", "no-such-model", prefix=given, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_other_methods_take_no_prefix_and_prompt_makes_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="no option named 'prefix'"):
        unmask.mitigate("cda", "no-such-model", prefix="Be fair.", out=tmp_path / "out")
    engine = Engine(open_lm(zoo.folder("bert-uncased")))
    with pytest.raises(ModelError, match="prompt changes no weight and makes no checkpoint"):
        make_checkpoint(find("prompt"), engine, CORPUS, tmp_path / "out")
