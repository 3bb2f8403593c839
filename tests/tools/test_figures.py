"""The figures of a model's card: each against a slow computation of its own, then the whole command."""

from __future__ import annotations

import json
import lzma
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from tools.figures import english, examples, held
from tools.figures.__main__ import main
from tools.figures.types import Answers, Job, Measurements, Sample
from tools.train.corpus import held_out

import unmask
import zoo
from unmask.core.types import Encoded
from unmask.data.templates import fill_template
from unmask.measures.probes import each_masked_probe, next_tokens_probe
from unmask.models import Engine, Lm

TEXT = "The old man went down to the river. He said that nobody had seen the boat since Sunday."


@pytest.fixture(scope="module")
def masked() -> Lm:
    return unmask.open_model(zoo.folder("bert-uncased"), unmask.Opening(device="cpu"))


@pytest.fixture(scope="module")
def causal() -> Lm:
    return unmask.open_model(zoo.folder("gpt2"), unmask.Opening(device="cpu"))


def documents(number: int) -> list[str]:
    """Documents that are held out, of benchmark sentences."""
    pairs = iter(zoo.crows_pairs())
    made: list[str] = []
    while len(made) < number:
        text = " ".join(next(pairs).more for _ in range(4))
        made += [one for nr in range(400) if held_out(one := f"{text} Number {nr}.")][:1]
    return made


@torch.inference_mode()
def logprobs(lm: Lm, ids: list[int]) -> torch.Tensor:
    """Of the whole model, without our code."""
    return lm.network.model(input_ids=torch.tensor([ids])).logits[0].double().log_softmax(-1)


def ask(lm: Lm, rows: list[Encoded], probe: object) -> Answers:
    return held.answers(Engine(lm), [Sample("toy", tuple(rows), 1)], probe)[0]  # type: ignore[arg-type]


def test_masked_accuracy_is_the_share_of_hidden_tokens_guessed_first(masked: Lm) -> None:
    rows = [held.frame_ids(masked, masked.pieces(text)) for text in documents(6)]
    right = total = 0
    for row in rows:
        positions = held.partly_masked_probe(row).masked
        assert len(positions) == round(0.15 * len(row.content))
        ids = [masked.mask_id if place in positions else token for place, token in enumerate(row.ids)]
        guessed = logprobs(masked, ids).argmax(-1).tolist()
        right += sum(guessed[place] == row.ids[place] for place in positions)
        total += len(positions)
    figure = held.accuracy("masked accuracy, %", "rows", ask(masked, rows, held.partly_masked_probe))
    assert 0 < right < total
    assert (figure.value, figure.n) == (pytest.approx(100 * right / total), total)
    assert figure.low < figure.value < figure.high


def test_pseudo_perplexity_hides_one_token_at_a_time(masked: Lm) -> None:
    sentence = masked.encode("The old man went down to the river.")
    lost = []
    for place in sentence.content:
        ids = [masked.mask_id if at == place else token for at, token in enumerate(sentence.ids)]
        lost.append(-logprobs(masked, ids)[place, sentence.ids[place]].item())
    asked = ask(masked, [sentence], lambda one: each_masked_probe(one, one.content))
    figure = held.perplexity("pseudo-perplexity", "sentences", asked)
    assert (figure.value, figure.n) == (pytest.approx(math.exp(np.mean(lost)), rel=1e-4), len(lost))


def test_perplexity_of_a_causal_model_begins_with_begin_of_text(causal: Lm) -> None:
    row = held.frame_ids(causal, causal.pieces(TEXT))
    assert row.ids[0] == causal.begin
    table = logprobs(causal, list(row.ids))
    lost = [-table[at, token].item() for at, token in enumerate(row.ids[1:])]
    asked = ask(causal, [row], lambda one: next_tokens_probe(one, one.content))
    figure = held.perplexity("perplexity", "rows", asked)
    assert (figure.value, figure.n) == (pytest.approx(math.exp(np.mean(lost)), rel=1e-4), len(lost))


def test_samples_are_pooled_over_tokens_not_over_corpora(masked: Lm) -> None:
    rows = [held.frame_ids(masked, masked.pieces(text)) for text in documents(5)]
    samples = [Sample("a", tuple(rows[:1]), 1), Sample("b", tuple(rows[1:]), 4)]
    a, b, whole = (
        held.accuracy("", "rows", one) for one in held.answers(Engine(masked), samples, held.partly_masked_probe)
    )
    assert (whole.data, whole.n) == ("all", a.n + b.n)
    assert whole.value == pytest.approx((a.value * a.n + b.value * b.n) / whole.n)


def test_rows_are_cut_from_the_beginning_of_a_document(masked: Lm) -> None:
    text = " ".join(documents(8))
    sample = held.masked_rows(masked, "toy", [text], 100)
    longest = min(held.LENGTH, masked.facts.max_length)
    assert max(len(row.ids) for row in sample.rows) == longest
    pieces = masked.pieces(text)
    cut = {pieces[at : at + longest - 2] for at in range(0, len(pieces), longest - 2)}
    assert {row.ids[1:-1] for row in sample.rows} == {one for one in cut if len(one) >= held.SHORTEST}


def test_causal_rows_are_whole_and_documents_stand_end_to_end(causal: Lm) -> None:
    texts = documents(8)
    sample = held.causal_rows(causal, "toy", texts, 100)
    ids = [token for text in texts for token in (*causal.pieces(text), causal.begin)]
    length = causal.facts.max_length - 1
    assert {row.ids for row in sample.rows} == {
        (causal.begin, *ids[at : at + length]) for at in range(0, len(ids) - length + 1, length)
    }


def test_sentences_end_where_a_sentence_does() -> None:
    text = 'Mr. Hill met J. Smith. "Is it late?" he asked. "Yes!" She left. Then St. Paul rang.'
    assert held.SENTENCE_END.split(text) == [
        "Mr. Hill met J. Smith.",
        '"Is it late?" he asked.',
        '"Yes!"',
        "She left.",
        "Then St. Paul rang.",
    ]


def test_log_odds_compare_the_pronouns_behind_the_mask(masked: Lm) -> None:
    he, she = masked.pieces("he"), masked.pieces("she")
    assert len(he) == len(she) == 1
    leads = []
    for frame in english.FRAMES:
        ids = list(masked.encode(fill_template(frame, "nurse").masculine).ids)
        place = ids.index(he[0])
        ids[place] = masked.mask_id
        row = logprobs(masked, ids)[place]
        leads.append((row[she[0]] - row[he[0]]).item())
    assert english.log_odds(masked, ("nurse",))["nurse"] == pytest.approx(np.mean(leads), abs=1e-4)


def test_the_occupations_of_winobias_are_those_of_its_files(data_dir: Path) -> None:
    folder = data_dir / "winobias" / "data"
    texts = [(folder / f"{gender}_occupations.txt").read_text() for gender in ("male", "female")]
    men, women = ([line.strip() for line in text.splitlines() if line.strip()] for text in texts)
    assert set(men) | set(women) == english.WINOBIAS.keys()
    assert max(english.WINOBIAS[word] for word in men) < 50 < min(english.WINOBIAS[word] for word in women)


def test_log_odds_of_a_causal_model_compare_whole_sentences(causal: Lm) -> None:
    def likelihood(text: str) -> float:
        ids = [causal.begin, *causal.pieces(text)]
        return float(sum(logprobs(causal, ids)[at, token] for at, token in enumerate(ids[1:])))

    both = [fill_template(frame, "nurse") for frame in english.FRAMES]
    leads = [likelihood(one.feminine) - likelihood(one.masculine) for one in both]
    assert english.log_odds(causal, ("nurse",))["nurse"] == pytest.approx(np.mean(leads), abs=1e-3)


def test_spearman_ranks_before_it_correlates() -> None:
    x, y = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 10.0, 100.0, 1e6])
    assert english._spearman(x, y) == pytest.approx(1.0)
    assert english._pearson(x, y) < 0.9


def test_guesses_are_the_likeliest_words(masked: Lm) -> None:
    ids = list(masked.encode(f"The man is {masked.mask_token}.").ids)
    shares = logprobs(masked, ids)[ids.index(masked.mask_id)].exp().sort(descending=True)
    tokens = [(masked.text([one]).strip(), one) for one in shares.indices.tolist()]
    whole = [one for one in tokens if one[0].isalpha() and masked.pieces(one[0]) == (one[1],)][:3]
    found = examples.guesses(masked, "The man is ___.")
    assert [word for word, _ in found] == [word for word, _ in whole]
    expected = dict(zip(shares.indices.tolist(), shares.values.tolist(), strict=True))
    assert [share for _, share in found] == pytest.approx([expected[one] for _, one in whole], rel=1e-4)


def test_a_continuation_is_greedy(causal: Lm) -> None:
    ids = [causal.begin, *causal.pieces("The man")]
    begin = len(ids)
    for _ in range(examples.CONTINUED):
        ids.append(int(logprobs(causal, ids)[-1].argmax()))
    assert examples.continuation(causal, "The man")[0] == causal.text(ids[begin:]).strip()


@pytest.fixture
def inputs(tmp_path: Path, miniature: Path) -> Path:
    """A corpus and the beginnings of the benchmarks; no novels, no StereoSet."""
    (tmp_path / "corpora").mkdir()
    kept = [text for text in ("Of no use.", "Nor this.") if not held_out(text)]
    with lzma.open(tmp_path / "corpora" / "simplewiki.txt.xz", "wt", encoding="utf-8") as file:
        file.write("\n\n".join([*documents(8), *kept]))
    lines = (miniature / "crows_pairs" / "crows_pairs_anonymized.csv").read_text(encoding="utf-8").splitlines()
    (tmp_path / "data" / "crows_pairs").mkdir(parents=True)
    (tmp_path / "data" / "crows_pairs" / "crows_pairs_anonymized.csv").write_text("\n".join(lines[:5]))
    (tmp_path / "data" / "winogender").mkdir()
    stats = (miniature / "winogender" / "occupations-stats.tsv").read_text(encoding="utf-8").splitlines()
    (tmp_path / "data" / "winogender" / "occupations-stats.tsv").write_text("\n".join(stats[:16]))
    return tmp_path


def command(model: str, inputs: Path, *more: str) -> dict[str, object]:
    out = inputs / "figures.json"
    where = ["--corpora", str(inputs / "corpora"), "--data-dir", str(inputs / "data"), "--out", str(out)]
    main([str(zoo.folder(model)), *where, "--rows", "5", *more])
    return dict(json.loads(out.read_text(encoding="utf-8")))


def names(found: dict[str, object]) -> set[tuple[str, str]]:
    return {(one["name"], one["data"]) for one in found["figures"]}  # type: ignore[attr-defined]


def test_a_held_out_copy_of_another_document_is_not_read(masked: Lm, tmp_path: Path) -> None:
    texts = documents(4)
    with lzma.open(tmp_path / "simplewiki.txt.xz", "wt", encoding="utf-8") as file:
        file.write("\n\n".join([*texts, texts[2]]))
    job, found = Job(masked, tmp_path, tmp_path, 5, None), Measurements()
    assert held.held_text(job, found) == {"simplewiki": texts}


@pytest.mark.thorough
def test_the_command_measures_a_masked_model(inputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = command("bert-uncased", inputs)
    assert {("masked accuracy, %", "simplewiki"), ("pseudo-perplexity", "simplewiki")} < names(found)
    assert {("unmasked accuracy, %", "simplewiki"), ("she/he Pearson r", "winogender")} < names(found)
    assert len(found["examples"]) == 20  # type: ignore[arg-type]
    assert {one["measure"] for one in found["estimates"]} > {"cps", "aul"}  # type: ignore[attr-defined]
    said = capsys.readouterr()
    left_out = [line for line in said.out.splitlines() if line.startswith("left out")]
    assert [line.split(":")[1].strip() for line in left_out] == ["novels", "stereoset"]
    assert "no novels.txt.xz in the folder of corpora" in left_out[0]
    assert "masked accuracy: done" in said.err


def test_the_command_measures_a_causal_model(inputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = command("gpt2", inputs, "--markdown")
    assert {("perplexity", "simplewiki"), ("she/he Spearman r", "winogender")} < names(found)
    assert len(found["examples"]) == 10  # type: ignore[arg-type]
    assert {one["measure"] for one in found["estimates"]} == {"ll"}  # type: ignore[attr-defined]
    assert "| prompt | greedy continuation |" in capsys.readouterr().out


def test_a_model_that_cannot_be_opened_is_one_line(inputs: Path) -> None:
    with pytest.raises(SystemExit, match="no folder"):
        main(["./nowhere", "--corpora", "c", "--data-dir", "d", "--out", str(inputs / "x.json")])
