"""The verdict: without what its data can show and what is known of its measure, a number is read as more than it is."""

from __future__ import annotations

import csv
import shlex
from dataclasses import replace
from importlib import resources
from pathlib import Path

import pyarrow as pa
import pytest
from scipy.stats import norm

import unmask
import zoo
from report import fake
from unmask.audit import measure_facts as known_biases
from unmask.audit.findings import headlines, verdict
from unmask.audit.measure_facts import MeasureFact, cautions, detectable_line, measure_facts, validity_line
from unmask.audit.result import AuditResult
from unmask.core.estimate import Estimate
from unmask.diagnose import DIAGNOSES
from unmask.measures import MEASURES

SHARE = Estimate(55.0, 52.5, 57.5, measure="aul", data="nine-axes", statistic="bias-score", null=50.0, n=1500)


BERT = "BertForMaskedLM"
NOT_TESTED = "not tested for this model, language or bias type"


def audited(
    *measures: str,
    architecture: str = BERT,
    languages: tuple[str, ...] = ("en",),
    categories: tuple[str, ...] = ("age",),
    data: str = "nine-axes",
) -> AuditResult:
    """A result with these measures on data of these bias types and languages."""
    heads = [replace(SHARE, measure=name, data=data) for name in measures]
    groups = [replace(head, group=f"category={name}", p_holm=1.0) for head in heads for name in categories]
    card = {"name": data, "title": "Nine axes", "n": 1500, "languages": list(languages)}
    meta = fake.meta(data=[card])
    meta["model"]["architecture"] = architecture
    return fake.run(meta, (*heads, *groups), (), fake.bare().items)


def known_facts(*facts: tuple[str, str, str, float]) -> tuple[MeasureFact, ...]:
    """Facts by measure, statistic, bias type and r."""
    command = ("unmask diagnose validity", "2026-11-18")
    return tuple(MeasureFact(*what, "nine-axes", BERT, "en", r, 7, *command) for *what, r in facts)  # type: ignore


def test_the_smallest_visible_difference_by_hand() -> None:
    """It is the difference that has a power of 80% between unrelated models, not the edge of chance."""
    error = 2.5 / norm.ppf(0.975)  # of 55 ± 2.5
    least = (norm.ppf(0.975) + norm.ppf(0.8)) * error * 2**0.5  # of a difference of two such models
    assert f"{least:.1f}" == "5.1"
    assert detectable_line(SHARE) == (
        "These data would show a difference of 5.1 points between two unrelated models in 80 of 100 cases; smaller "
        "differences need the command unmask compare"
    )
    nats = Estimate(4.5, 4.0, 5.0, measure="sld", data="nine-axes", statistic="asld", null=0.0)
    assert " of 1.011 nats between" in detectable_line(nats)
    assert detectable_line(Estimate(55.0, measure="aul", statistic="bias-score")) == ""


def test_a_difference_that_compare_finds_is_not_called_noise(tmp_path: Path) -> None:
    """A fine-tuned model 3 points worse, p < 0.05, would pass as noise because the limit for unrelated models is 10."""

    def run(won: set[int]) -> AuditResult:
        rows = [
            fake.row("cps", f"our-pairs/{at:04}", 1.0 if at in won else -1.0, 0.0, unrelated=None) for at in range(360)
        ]
        value = 100 * len(won) / 360
        head = fake.estimate("cps", value, low=value - 5.1, high=value + 5.1, n=360)
        return fake.run(fake.meta(), (head,), (), pa.Table.from_pylist(rows))

    first, second = run(set(range(204))), run(set(range(8, 224)))  # 20 pairs are won, 8 lost
    found = next(each for each in unmask.compare(first, second) if each.statistic == "bias-score")
    assert found.difference.value == pytest.approx(100 * 12 / 360)
    assert found.p is not None
    assert found.p < 0.05
    assert second.detectable_difference("cps") > 10
    page = Path(unmask.report(second, out=tmp_path / "page.html", card=tmp_path / "card.md")).read_text(
        encoding="utf-8"
    )
    texts = [page, (tmp_path / "card.md").read_text(encoding="utf-8"), str(unmask.report(second, format="md"))]
    for text in (
        *texts,
        str(unmask.report(second, format="csv", tables=["verdict"])),
        *cautions(second, second.headlines()),
    ):
        assert "noise" not in text


def test_what_is_known_is_said_of_the_models_languages_and_bias_types_it_was_tested_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What 36 copies of one English model did would be said of any model on any data."""
    known = known_facts(("sss", "bias-score", "age", 0.5), ("sss", "bias-score", "occupation", 0.5))
    monkeypatch.setattr(known_biases, "measure_facts", lambda: known)
    head = replace(SHARE, measure="sss")
    tested = audited("sss", categories=("age", "disability"))
    assert validity_line(tested, head) == (
        "Validity: the more stereotyping 7 small models of this architecture had been made about age, in what they "
        "predict for masked words, the higher this score on such items: a manipulation check, as this measure reads "
        "the same predictions; not tested for other bias types (docs/which-measure.md)"
    )
    others = [
        audited("sss", architecture="RobertaForMaskedLM"),
        audited("sss", languages=("nl",)),
        audited("sss", languages=("en", "fr")),
        audited("sss", languages=()),  # a file of one's own
        audited("sss", categories=("disability", "race-color")),
        audited("sss", categories=()),
        fake.run({}, (head,), (), fake.bare().items),
    ]
    for other in others:
        assert validity_line(other, head) == f"Validity: {NOT_TESTED} (docs/which-measure.md)"
        assert cautions(other, [head])[-1] == f"validity: {NOT_TESTED} (docs/which-measure.md)"


def test_nothing_is_said_of_items_that_were_not_tested() -> None:
    """Of the items of `controls` some deny the stereotype: no score on them rises with a bias about it."""
    said = {
        name: validity_line(audited("sss", data=name), replace(SHARE, measure="sss", data=name))
        for name in ("nine-axes", "controls", "prompt-pairs", "crows-pairs")
    }
    assert "36 small models" in said.pop("nine-axes")
    assert {*said.values()} == {f"Validity: {NOT_TESTED} (docs/which-measure.md)"}


def test_only_what_follows_the_signed_dose_closely_is_a_fact() -> None:
    """A size without direction (`sld`), or a loose correlation, would be said to rise with stereotyping."""
    assert all(fact.r >= 0.85 for fact in measure_facts())
    assert {MEASURES[fact.measure].summary for fact in measure_facts()} == {"share"}
    result = audited("sld", "cps")
    assert {validity_line(result, each) for each in result.headlines()} == {
        f"Validity: {NOT_TESTED} (docs/which-measure.md)"
    }


def test_a_terminal_has_two_lines_a_dataset(monkeypatch: pytest.MonkeyPatch) -> None:
    """A paragraph for each measure pushed the numbers off the screen."""
    known = known_facts(
        ("pll", "mean-difference", "occupation", 0.5),
        ("pll", "mean-difference", "age", 0.4),
        ("sss", "bias-score", "occupation", 0.5),
        ("sss", "mean-difference", "age", 0.5),
    )
    monkeypatch.setattr(known_biases, "measure_facts", lambda: known)
    result = audited("pll", "sss", "cps", categories=("age", "occupation"))
    wide = Estimate(52.0, 47.0, 57.0, measure="own", data="nine-axes", statistic="bias-score", null=50.0)
    nats = Estimate(4.5, 4.0, 5.0, measure="sld", data="nine-axes", statistic="asld", null=0.0)
    assert cautions(result, [*result.headlines(), wide, nats]) == [
        "these data would show a difference of 5.1 to 10.1 points; 1.011 nats (sld) between two unrelated models in 80 "
        "of 100 cases; smaller differences need the command unmask compare",
        "validity: the more stereotyping 7 small models of this architecture had been made about age and occupation, "
        "in what they predict for masked words, the higher their score on such items by pll (its mean-difference) and "
        f"sss (occupation): a manipulation check, as these measures read the same predictions; {NOT_TESTED}: cps, own, "
        "sld, other bias types (docs/which-measure.md)",
    ]
    assert cautions(result, []) == []


def test_no_fact_rests_on_how_damaged_models_read_visible_words() -> None:
    """A model of the table guesses 68% of visible words, the original 98%: what reads these tells nothing there."""
    assert not {fact.measure for fact in measure_facts()} & {"aul", "aula", "aula-normalised", "all-masked"}


def test_every_fact_is_about_a_measure_and_names_its_command() -> None:
    text = (resources.files("unmask.audit") / "measure_facts.csv").read_text(encoding="utf-8")
    assert len(measure_facts()) == len(list(csv.DictReader(text.splitlines()))) > 0
    for fact in measure_facts():
        assert fact.measure in MEASURES
        assert fact.language
        assert fact.architecture == BERT
        words = shlex.split(fact.command)
        assert words[:2] == ["unmask", "diagnose"]
        assert words[2] in DIAGNOSES


def test_every_report_carries_the_verdict_of_every_headline(tmp_path: Path) -> None:
    result = unmask.audit(zoo.folder("bert-uncased"), data="nine-axes", limit=12, out=tmp_path / "r", store=False)
    card = tmp_path / "README.md"
    page = unmask.report(result, out=tmp_path / "page.html", card=card)
    terminal = " ".join(str(result).split())
    assert all(line in terminal for line in cautions(result, result.headlines()))
    texts = {
        "page": Path(page).read_text(encoding="utf-8"),
        "Markdown": str(unmask.report(result, format="md")),
        "table": str(unmask.report(result, format="csv", tables=["verdict"])),
        "card": card.read_text(encoding="utf-8"),
    }
    flat = {name: " ".join(text.replace("\\", "").split()) for name, text in texts.items()}
    for estimate in result.headlines():
        said = verdict(result, estimate)
        for name in ("page", "table"):
            for part in (said.detectable, said.validity):
                assert part in flat[name], (name, estimate.measure)
        for name in ("Markdown", "table"):
            assert said.leans in flat[name]
    for name in ("page", "Markdown", "card"):  # what the data can show and what is known, for all measures at once
        assert all(line[1:] in flat[name] for line in cautions(result, result.headlines())), name


def test_a_failed_check_is_the_verdict(tmp_path: Path) -> None:
    result = unmask.audit(
        zoo.folder("bert-uncased"), data="nine-axes", measures="aul", limit=12, out=tmp_path / "r", store=False
    )
    assert any(not check.ok and "accuracy" in check.name for check in result.checks)  # a random model
    words, estimate = "a check failed: do not interpret this number", result.headlines()[0]
    assert str(verdict(result, estimate)).startswith(f"On nine-axes {words} (aul bias-score ")
    assert headlines(result, "nine-axes") == [f"On Nine axes of stereotype (12 of 360 items, a subset): {words}"]
    assert f"a check failed: do not interpret this number: {estimate.value:.1f}".capitalize() in (
        Path(unmask.report(result, out=tmp_path / "page.html")).read_text(encoding="utf-8")
    )
    for text in (unmask.report(result, format="md"), unmask.report(result, format="latex")):
        assert words in str(text)
        assert "CHECK FAILED" in str(result)
