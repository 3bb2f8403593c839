from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import zoo
from mitigate.tiny import CORPUS, SETTINGS
from unmask.core.errors import DataError, ModelError, ResultError
from unmask.core.types import Row
from unmask.mitigate import MitigationOptions, find
from unmask.mitigate.comparison import compare_evaluations
from unmask.mitigate.curve import curve_finding, measure_curve, sample_corpus
from unmask.mitigate.evaluation import MEN, TEMPLATES, WOMEN, BiasEvaluation, as_json, from_json, templates
from unmask.mitigate.lean_tables import lean_size, word_leans
from unmask.mitigate.run import RECORD, load_finished_record, mitigate
from unmask.mitigate.spec import Method, Outcome
from unmask.models import Engine, open_lm
from unmask.training.perplexity import Ability


def engine(name: str = "bert-uncased") -> Engine:
    return Engine(open_lm(zoo.folder(name)))


@pytest.mark.thorough
def test_a_checkpoint_opens_and_has_a_record(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = mitigate(find("cda"), engine(), CORPUS, out, settings=SETTINGS)
    record = json.loads((out / RECORD).read_text())
    assert record == json.loads(json.dumps(done.record))
    assert (record["method"], record["behaviour"], record["steps"]) == ("cda", "corrected", 3)
    assert record["data"]["files"] == [{"name": "tiny.txt", "sha256": "0" * 64}]
    assert record["settings"]["seed"] == 1
    assert len(record["losses"]) == 3
    assert sorted(path.name for path in out.iterdir() if path.is_dir()) == []
    before, after = open_lm(zoo.folder("bert-uncased")), open_lm(out)
    assert after.facts.fingerprint != before.facts.fingerprint == record["model"]["fingerprint"]
    weights = dict(before.network.model.state_dict())
    moved = sum(int((one != weights[name]).sum()) for name, one in after.network.model.state_dict().items())
    assert record["changed"]["weights"] == moved > 0


@pytest.mark.thorough
def test_the_same_seed_gives_the_same_checkpoint(tmp_path: Path) -> None:
    for name in ("a", "b"):
        mitigate(find("cds"), engine(), CORPUS, tmp_path / name, settings=SETTINGS)
    mitigate(find("cds"), engine(), CORPUS, tmp_path / "c", settings=replace(SETTINGS, seed=2))
    first, second, other = ((tmp_path / name / "model.safetensors").read_bytes() for name in "abc")
    assert first == second != other
    assert (tmp_path / "a" / RECORD).read_bytes() == (tmp_path / "b" / RECORD).read_bytes()


@pytest.mark.thorough
def test_a_finished_run_is_recognised(tmp_path: Path) -> None:
    asked = engine()
    lm, method = asked.lm, find("cda")
    assert load_finished_record(tmp_path / "out", method, lm, CORPUS, SETTINGS, MitigationOptions()) is None
    done = mitigate(method, asked, CORPUS, tmp_path / "out", settings=SETTINGS)
    kept = load_finished_record(tmp_path / "out", method, lm, CORPUS, SETTINGS, MitigationOptions())
    assert kept == json.loads(json.dumps(done.record))
    assert (
        load_finished_record(
            tmp_path / "out", method, lm, CORPUS, replace(SETTINGS, seed=9), MitigationOptions()
        )
        is None
    )


def test_a_method_that_changes_nothing_is_refused(tmp_path: Path) -> None:
    idle = Method("idle", "", "", lambda context, _: Outcome(context.model), "")
    with pytest.raises(ModelError, match="no weight changed"):
        mitigate(idle, engine(), CORPUS, tmp_path / "out")


def test_misuse_is_refused_before_anything_is_computed(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="at works on masked models"):
        mitigate(find("at"), engine("gpt2"), CORPUS, tmp_path / "out")
    with pytest.raises(DataError, match="does not support the axis race"):
        mitigate(find("dropout"), engine(), CORPUS, tmp_path / "out", options=MitigationOptions(axis="race"))
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(ResultError, match="holds other files"):
        mitigate(find("cda"), engine(), CORPUS, tmp_path)


def row(
    word: str,
    template: int,
    masculine: float,
    feminine: float,
    name: str = TEMPLATES,
    category: str = "medical",
) -> Row:
    groups = {"word": word, "category": category, "template": f"t{template}", "slot": "subject"}
    scores = {"more": masculine, "less": feminine}
    outcome = "more" if masculine > feminine else "less"
    return Row("ppd", name, f"{name}/{word}-{template}", groups, scores, outcome)  # type: ignore[arg-type]


def made(shift: float, *, scored: bool = True) -> BiasEvaluation:
    rows = {
        ("ppd", TEMPLATES): [
            row(word, t, 0.5 + lean * shift, 0.5 - lean * shift)
            for word, lean in (("nurse", -0.2), ("plumber", 0.3), ("clerk", 0.1))
            for t in range(4)
        ],
        ("ppd", WOMEN): [
            row(word, t, 0.1, 0.1 + 0.4 * shift, WOMEN, "gender-word")
            for word in ("pregnant", "uterus")
            for t in range(4)
        ],
        ("ppd", MEN): [
            row(word, t, 0.1 + 0.4 * shift, 0.1, MEN, "gender-word")
            for word in ("beard", "prostate")
            for t in range(4)
        ],
    }
    held = np.array([3.0, 4.0, 5.0, 4.0])
    return BiasEvaluation(
        rows,
        Ability(np.array([1.0, 2.0, 0.0, 1.0]) * shift, np.array([2.0, 2.0, 2.0, 2.0]), held / shift, held),
    )


def test_leans_match_hand_computed_values() -> None:
    before, after = made(1.0), made(0.5)
    found = word_leans(before.rows["ppd", TEMPLATES], after.rows["ppd", TEMPLATES])
    assert found.words == ("nurse", "plumber", "clerk")
    assert found.before.tolist() == pytest.approx([-0.4, 0.6, 0.2])
    assert found.after.tolist() == pytest.approx([-0.2, 0.3, 0.1])
    size = lean_size(found, 0)
    assert (size.before.value, size.after.value, size.change.value) == pytest.approx((0.4, 0.2, -0.2))
    assert size.change.low < -0.2 < size.change.high


def test_the_comparison_matches_hand_computed_values() -> None:
    finding = compare_evaluations(made(1.0), made(0.5))
    bias, proper, cost = finding.tables
    assert bias.rows[0][:4] == ("ppd", "appd", TEMPLATES, 12)
    assert bias.rows[0][4:6] == pytest.approx((0.4 / 3, 0.2 / 3))
    assert bias.rows[1][1] == "mean |APPD| of a word"
    pregnant = next(one for one in proper.rows if one[1] == "the word pregnant")
    assert pregnant[2:5] == pytest.approx((4, -0.4, -0.2))
    assert cost.rows[0][:3] == ("accuracy, %", 4, 8)
    assert cost.rows[0][3].value == 50.0  # type: ignore[union-attr]
    assert cost.rows[0][5].value == -25.0  # type: ignore[union-attr]
    assert cost.rows[1][3].value == pytest.approx(np.e)  # type: ignore[union-attr]
    assert "still expected of women" in " ".join(finding.answers)
    assert "no longer" in " ".join(compare_evaluations(made(1.0), made(-0.5), plots=False).answers)


def test_evaluations_round_trip_through_json() -> None:
    seen = made(1.0)
    again = from_json(json.loads(json.dumps(as_json(seen))))
    assert again.rows == {key: list(rows) for key, rows in seen.rows.items()}
    assert again.ability.lost.tolist() == seen.ability.lost.tolist()


def test_templates_are_split_by_expected_gender() -> None:
    zero, women, men = templates()
    assert [len(one.items) for one in (zero, women, men)] == [2312, 320, 320]
    assert all("goal" not in item.groups for one in (zero, women, men) for item in one.items)
    assert {item.groups["word"] for item in women.items} >= {"pregnant", "actress"}


def test_samples_have_the_requested_number_of_sentences() -> None:
    some = sample_corpus(CORPUS, 4, 0, 0)
    assert len(some.sentences) == 4
    assert set(some.sentences) <= set(CORPUS.sentences)
    assert sample_corpus(CORPUS, 4, 0, 0) == some
    assert any(sample_corpus(CORPUS, 4, draw, 0) != some for draw in range(1, 5))


@pytest.mark.thorough
def test_a_curve_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from unmask.mitigate import curve as module

    asked: list[int] = []

    def fake(engine: Engine) -> float:
        asked.append(1)
        total = sum(one.detach().double().abs().sum() for one in engine.lm.network.model.parameters())
        return float(total % 7)

    monkeypatch.setattr(module, "asld", fake)
    settings, options = replace(SETTINGS, epochs=1), MitigationOptions()

    def run(sizes: list[int]) -> dict[str, object]:
        return measure_curve(
            find("dropout"),
            lambda: open_lm(zoo.folder("bert-uncased")),
            CORPUS,
            sizes,
            2,
            tmp_path,
            settings=settings,
            options=options,
        )

    first = run([3])
    assert len(asked) == 3
    whole = run([3, 6])
    assert len(asked) == 5
    assert whole["asld"]["3"] == first["asld"]["3"]  # type: ignore[index]
    finding = curve_finding(whole, 0)
    assert [one[:2] for one in finding.tables[0].rows] == [(0, 1), (3, 2), (6, 2)]
    assert len(set(whole["asld"]["6"].values())) == 2  # type: ignore[index]
    options = MitigationOptions(remind=1)
    with pytest.raises(ResultError, match="another model, corpus or settings"):
        run([3])


def test_a_curve_size_larger_than_the_corpus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the corpus 10 sentences"):
        measure_curve(find("cds"), lambda: open_lm(zoo.folder("bert-uncased")), CORPUS, [50], 1, tmp_path,
              settings=SETTINGS, options=MitigationOptions())  # fmt: skip
