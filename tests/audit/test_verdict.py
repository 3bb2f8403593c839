"""The verdict: a number without what is noise, and whether its measure is valid, would be read as more than it is."""

from __future__ import annotations

import csv
import math
import shlex
from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest
from scipy.stats import norm

import unmask
import zoo
from unmask.audit import verdict as verdicts
from unmask.audit.headline import headlines
from unmask.audit.verdict import MeasureFact, cautions, measure_facts, noise_line, validity_line, verdict
from unmask.core.estimate import Estimate
from unmask.diagnose import DIAGNOSES
from unmask.measures import MEASURES

SHARE = Estimate(55.0, 52.5, 57.5, measure="aul", data="nine-axes", statistic="bias-score", null=50.0, n=1500)


def test_the_smallest_visible_difference_by_hand() -> None:
    error = 2.5 / norm.ppf(0.975)  # of 55 ± 2.5
    least = (norm.ppf(0.975) + norm.ppf(0.8)) * error * 2**0.5  # of a difference of two such models
    assert f"{least:.1f}" == "5.1"
    assert noise_line(SHARE) == "With this data and model, a difference under 5.1 points is noise"
    nats = Estimate(4.5, 4.0, 5.0, measure="sld", data="nine-axes", statistic="asld", null=0.0)
    assert noise_line(nats).endswith("a difference under 1.011 nats is noise")
    assert noise_line(Estimate(55.0, measure="aul", statistic="bias-score")) == ""


def test_what_is_known_of_a_measure_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    source = ("unmask diagnose validity", "2026-11-18")
    known = (
        MeasureFact("aul", "mean-difference", "occupation", 0.9, 0.5, 1.0, 7, *source),
        MeasureFact("aul", "bias-score", "occupation", 0.2, -0.5, 0.7, 7, *source),
        MeasureFact("aul", "mean-difference", "age", 0.8, 0.4, 0.9, 7, *source),
        MeasureFact("cps", "bias-score", "age", 0.8, math.nan, math.nan, 6, *source),
    )
    monkeypatch.setattr(verdicts, "measure_facts", lambda: known)
    assert validity_line(SHARE) == (
        "Validity: on 7 models with planted biases, its bias-score does not follow beyond chance that of occupation "
        "(r 0.20, −0.50 to 0.70); its mean-difference follows the dose of occupation (r 0.90, 0.50 to 1.00), age "
        "(r 0.80, 0.40 to 0.90); other biases are untested (docs/which-measure.md)"
    )
    falling = MeasureFact("aul", "bias-score", "religion", -0.5, -0.7, -0.2, 7, *source)
    monkeypatch.setattr(verdicts, "measure_facts", lambda: (*known, falling))
    assert "and falls where it rises for religion (r −0.50, −0.70 to −0.20); its mean" in validity_line(SHARE)
    other = Estimate(55.0, 52.5, 57.5, measure="cps", data="d", statistic="bias-score", null=50.0)
    assert "does not follow beyond chance that of age (r 0.80, too few models" in validity_line(other)
    unknown = Estimate(55.0, 52.5, 57.5, measure="own", data="d", statistic="bias-score", null=50.0)
    assert "has not been tested (docs/which-measure.md)" in validity_line(unknown)


def test_a_terminal_has_two_lines_a_dataset(monkeypatch: pytest.MonkeyPatch) -> None:
    """A paragraph for each measure pushed the numbers off the screen."""
    source = ("unmask diagnose validity", "2026-11-18")
    known = (
        MeasureFact("aul", "mean-difference", "occupation", 0.9, 0.5, 1.0, 7, *source),
        MeasureFact("pll", "bias-score", "occupation", 0.9, 0.5, 1.0, 7, *source),
        MeasureFact("pll", "bias-score", "age", 0.1, -0.5, 1.0, 7, *source),
        MeasureFact("cps", "bias-score", "occupation", 0.2, -0.5, 0.7, 7, *source),
        MeasureFact("aula", "bias-score", "occupation", -0.5, -0.7, -0.2, 7, *source),
    )
    monkeypatch.setattr(verdicts, "measure_facts", lambda: known)
    others = [replace(SHARE, measure=name) for name in ("pll", "cps", "aula")]
    wide = Estimate(52.0, 47.0, 57.0, measure="own", data="nine-axes", statistic="bias-score", null=50.0)
    nats = Estimate(4.5, 4.0, 5.0, measure="sld", data="nine-axes", statistic="asld", null=0.0)
    assert cautions([SHARE, *others, wide, nats]) == [
        "with this data and model, a difference from another model is noise under 5.1 to 10.1 points; 1.011 nats (sld)",
        "validity on planted biases (occupation, age; 7 models): followed by aul (its mean-difference), "
        "pll (occupation); not beyond chance by cps; falling where the bias rises: aula (occupation); "
        "untested: own, sld (docs/which-measure.md)",
    ]
    assert cautions([]) == []


def test_every_fact_is_about_a_measure_and_names_its_command() -> None:
    text = (resources.files("unmask.audit") / "measure_facts.csv").read_text(encoding="utf-8")
    assert len(measure_facts()) == len(list(csv.DictReader(text.splitlines()))) > 0
    for fact in measure_facts():
        assert fact.measure in MEASURES
        assert math.isnan(fact.low) or fact.low <= fact.r <= fact.high
        words = shlex.split(fact.command)
        assert words[:2] == ["unmask", "diagnose"]
        assert words[2] in DIAGNOSES


def test_every_report_carries_the_verdict_of_every_headline(tmp_path: Path) -> None:
    result = unmask.audit(zoo.folder("bert-uncased"), data="nine-axes", limit=12, out=tmp_path / "r", store=False)
    card = tmp_path / "README.md"
    page = unmask.report(result, out=tmp_path / "page.html", card=card)
    terminal = " ".join(str(result).split())
    assert all(line in terminal for line in cautions(result.headlines()))
    texts = {
        "page": Path(page).read_text(encoding="utf-8"),
        "Markdown": str(unmask.report(result, format="md")),
        "table": str(unmask.report(result, format="csv", tables=["verdict"])),
        "card": card.read_text(encoding="utf-8"),
    }
    flat = {name: " ".join(text.replace("\\", "").split()) for name, text in texts.items()}
    for estimate in result.headlines():
        said = verdict(result, estimate)
        assert estimate.measure == said.measure
        for name in ("page", "table"):
            for part in (said.noise, said.validity):
                assert part in flat[name], (name, estimate.measure)
        for name in ("Markdown", "table"):
            assert said.leans in flat[name]
    for name in ("page", "Markdown", "card"):  # what is noise and valid, for all measures at once
        assert all(line[1:] in flat[name] for line in cautions(result.headlines())), name


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
