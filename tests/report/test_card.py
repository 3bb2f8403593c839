"""The model card: the hub's own reader finds our numbers, and what was in the card stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from huggingface_hub import ModelCard

from unmask.core.errors import ResultError
from unmask.report import card

from . import fake

OWN = """---
license: mit
language: en
model-index:
- name: mine
  results:
  - task: {type: fill-mask}
    dataset: {name: Other, type: other}
    metrics:
    - {type: accuracy, value: 0.5}
---

# Mine

Text before.
"""


def test_huggingface_hub_reads_the_results(tmp_path: Path) -> None:
    made = fake.whole()
    read = ModelCard.load(card.write(made, tmp_path / "card.md")).data
    wanted = {(e.measure, e.data): e for e in made.headlines()}
    assert read.model_name == "tiny-bert"
    assert len(read.eval_results) == len(wanted)
    for one in read.eval_results:
        estimate = wanted[one.metric_config, one.dataset_type]
        assert one.metric_value == estimate.value
        assert one.metric_type == estimate.statistic
        assert one.task_type == "fill-mask"
        assert one.metric_args["n"] == estimate.n
        assert one.metric_args.get("low") == (None if estimate.low != estimate.low else estimate.low)
    ours = next(one for one in read.eval_results if one.dataset_type == "our-pairs")
    assert ours.dataset_name == "Our pairs"
    assert ours.dataset_args == {"sha256": "0" * 64, "items": 10, "verified": True}


def test_the_section_warns_where_checks_failed(tmp_path: Path) -> None:
    text = card.write(fake.whole(), tmp_path / "card.md").read_text(encoding="utf-8")
    assert "**1 of 2 checks failed: do not interpret these numbers.**" in text
    assert "| our-pairs | cps† | bias-score | 61.2 | 57.2 to 65.2 |" in text
    assert "### Limits of these numbers" in text
    assert "unbiased" not in text


def test_other_content_of_the_card_is_kept_and_our_section_replaced(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text(OWN, encoding="utf-8")
    card.write(fake.whole(), path)
    once = path.read_text(encoding="utf-8")
    path.write_text(once + "\nText after.\n", encoding="utf-8")
    card.write(fake.whole(), path)
    twice = path.read_text(encoding="utf-8")
    assert twice == once + "\nText after.\n"
    read = ModelCard.load(path).data
    assert (read.license, read.language, read.model_name) == ("mit", "en", "mine")
    assert [one.metric_value for one in read.eval_results if one.dataset_type == "other"] == [0.5]
    assert len(read.eval_results) == 1 + len(fake.whole().headlines())
    assert "Text before." in twice


def test_numbers_that_could_not_be_computed_are_left_out() -> None:
    nothing = fake.estimate("cps", float("nan"), low=float("nan"), high=float("nan"), n=0)
    assert card.metrics(fake.run(fake.meta(), (nothing,), (), fake.bare().items)) == []


def test_an_empty_run_makes_a_card(tmp_path: Path) -> None:
    empty = fake.run({}, (), (), fake.bare().items)
    assert "## Social bias" in card.write(empty, tmp_path / "c.md").read_text(encoding="utf-8")


def test_a_file_that_is_not_a_card_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text("---\nmodel-index: [1, 2]\n---\ntext\n", encoding="utf-8")
    with pytest.raises(ResultError, match="is not a model card"):
        card.write(fake.whole(), path)
    assert path.read_text(encoding="utf-8").endswith("text\n")


def test_a_card_whose_yaml_is_damaged_is_one_line_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text("---\nlicense: [\n---\ntext\n", encoding="utf-8")
    with pytest.raises(ResultError, match=r"README\.md, line 2: not YAML"):
        card.write(fake.whole(), path)
    assert path.read_text(encoding="utf-8") == "---\nlicense: [\n---\ntext\n"


def test_hostile_text_is_escaped(tmp_path: Path) -> None:
    text = "</x><script>alert(1)</script>\n---\n[x](javascript:1) | =1+1 <!-- unmask: end -->"
    estimate = fake.estimate("cps", 61.0, data=text)
    made = fake.run(fake.meta(model={"id": text}), (estimate,), (), fake.bare().items)
    path = card.write(made, tmp_path / "card.md")
    read = ModelCard.load(path)
    assert read.data.model_name == text
    assert read.data.eval_results[0].dataset_type == text
    assert "<script" not in read.text
    assert read.text.count(card.END) == 1
    before = path.read_text(encoding="utf-8")
    assert card.write(made, path).read_text(encoding="utf-8") == before
