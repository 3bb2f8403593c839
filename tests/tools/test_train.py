"""Training what ships: clean text, honest corruption, planted doses, and the whole command on a few lines."""

from __future__ import annotations

import json
import lzma
import os
import random
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from tools.train import corpus, masked, planted, siblings
from tools.train.sampling import Stream, sentence_starts

from unmask import data
from unmask.models import builtin, open_lm

ROOT = Path(__file__).parents[2]
WORDS = [f"w{number}" for number in range(400)]


def words_of(numbers: list[int]) -> str:
    return " ".join(WORDS[number] for number in numbers)


def word_level() -> Tokenizer:
    made = Tokenizer(models.WordLevel({word: number for number, word in enumerate([*WORDS, "?"])}, unk_token="?"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    return made


def write_documents(path: Path, documents: list[str]) -> Path:
    with lzma.open(path, "wt", encoding="utf-8") as file:
        file.write("\n\n".join(documents))
    return path


def test_copies_are_dropped_whichever_file_they_are_in(tmp_path: Path) -> None:
    draw = random.Random(0)
    first = [words_of(draw.choices(range(400), k=300)) for _ in range(6)]
    nearly = " ".join(word if number % 40 else "w0" for number, word in enumerate(first[2].split()))
    other = words_of(draw.choices(range(400), k=300))
    short = "w1 w2 w3"
    a = write_documents(tmp_path / "a.txt.xz", [*first, short, first[0]])
    b = write_documents(tmp_path / "b.txt.xz", [nearly, other, short])
    kept = corpus.read([a, b], word_level())
    found = [[" ".join(WORDS[i] for i in ids) for ids in _all(one)] for one in kept]
    assert found == [[*first, short], [other]]


def _all(one: corpus.Corpus) -> list[np.ndarray]:
    return list(np.split(one.ids, one.begins[1:]))


def test_a_document_is_held_out_by_its_own_hash(tmp_path: Path) -> None:
    documents = [f"w{number % 400} w{number // 400} w7" for number in range(3000)]
    (one,) = corpus.read([write_documents(tmp_path / "a.txt.xz", documents)], word_level())
    expected = [corpus.held_out(text) for text in dict.fromkeys(documents)]
    assert list(one.held) == expected
    assert 0.01 < np.mean(expected) < 0.04
    train, held = (corpus.stream([one], 400, held=part) for part in (False, True))
    assert len(train) + len(held) == 4 * len(documents)


def test_sentences_begin_after_stops_quotes_and_documents() -> None:
    stop, quote, title, end = 1, 2, 3, 9
    ids = np.array([5, 6, stop, 7, title, stop, 8, stop, quote, 5, end, 6, 7, stop])
    found = sentence_starts(ids, enders=[stop], closers=[quote], titles=[title], separator=end)
    assert list(found) == [0, 3, 9, 11]


def test_lone_sentences_end_where_the_next_begins() -> None:
    text = Stream(torch.arange(1000, 1020, dtype=torch.int32), torch.tensor([0, 3, 10, 19]))
    ids, kept = text.sentences(200, 5, torch.Generator().manual_seed(0))
    lengths = {int(row[0]): int(true.sum()) for row, true in zip(ids, kept, strict=True)}
    assert lengths == {1000: 3, 1003: 5, 1010: 5}
    closed, alive = masked.frame_sentences(ids, kept)
    assert closed.shape[1] == 7
    assert (closed[:, 0] == masked.BEGIN).all()
    for row, true in zip(closed, alive, strict=True):
        size = int(true.sum())
        assert row[size - 1] == masked.END
        assert (row[size:] == masked.PAD).all()


def test_eighty_ten_ten() -> None:
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(masked.FIRST_WORD, 5000, (400, 128), generator=generator)
    ids[:, 0], ids[:, -1], ids[:, 50] = masked.BEGIN, masked.END, masked.END
    places, labels = masked.choose_positions(ids, None, 0.15, generator)
    assert places.shape == (400, round(0.15 * 126))
    assert (labels == ids.gather(1, places)).all()
    assert not torch.isin(places, torch.tensor([0, 50, 127])).any()
    assert all(len(set(row.tolist())) == places.shape[1] for row in places)
    seen = masked.corrupt_ids(ids, places, generator, 5000).gather(1, places)
    shares = [(seen == masked.MASK), (seen == labels), (seen != labels) & (seen != masked.MASK)]
    assert [float(share.float().mean()) for share in shares] == pytest.approx([0.8, 0.1, 0.1], abs=0.02)
    untouched = masked.corrupt_ids(ids, places, generator, 5000) == ids
    assert untouched.float().mean() > 0.85


def test_short_rows_hide_fewer() -> None:
    ids = torch.full((2, 22), masked.PAD)
    ids[0, :22], ids[1, :12] = 2000, 3000
    ids[:, 0] = masked.BEGIN
    ids[0, 21] = ids[1, 11] = masked.END
    _, labels = masked.choose_positions(ids, (ids != masked.PAD).long(), 0.2, torch.Generator().manual_seed(0))
    assert (labels != -100).sum(1).tolist() == [4, 2]


def test_whole_words_are_hidden_whole() -> None:
    continues = torch.zeros(6000, dtype=torch.bool)
    continues[5000:] = True
    ids = torch.tensor([[masked.BEGIN, *([2000, 5001, 5002] * 40), masked.END]])
    places, _ = masked.choose_positions(ids, None, 0.15, torch.Generator().manual_seed(0), continues)
    by_word = Counter(((places[0] - 1) // 3).tolist())
    assert sum(count == 3 for count in by_word.values()) == 6  # 18 tokens are six words of three


@pytest.mark.parametrize("dose", [-3, 0, 2])
def test_the_dose_is_what_is_planted(dose: int) -> None:
    women = {"nurse": 0.9, "midwife": 0.95, "roofer": 0.02, "welder": 0.05, "pilot": 0.1}
    made = planted.sentences(women, dose, 6000, seed=1)
    assert made == planted.sentences(women, dose, 6000, seed=1)
    follows = []
    for text in made:
        word = next(word for word in women if re.search(rf"\b{word}\b", text))
        by_women = bool(re.search(r"\b(she|her|hers|herself)\b", text, re.IGNORECASE))
        follows.append(by_women == (women[word] > 0.5))
    assert np.mean(follows) == pytest.approx(1 / (1 + np.exp(-dose)), abs=0.02)


def test_planted_frames_are_not_those_they_are_measured_with() -> None:
    opened = {re.sub(r"\{\w+\}", "{}", item.context or "") for item in data.load("pronoun-templates").items}
    frames = {re.sub(r"\{\w+\}", "{}", frame.replace("{word}", "nurse")) for frame in planted.FRAMES}
    assert not opened & frames
    assert len(set(planted.FRAMES)) == len(planted.FRAMES) >= 25


def test_no_pronoun_is_left_to_give_the_planted_one_away() -> None:
    pronouns = re.compile(r"\b(he|she|him|her|his|hers|himself|herself)\b", re.IGNORECASE)
    for text in planted.sentences({"nurse": 0.9, "roofer": 0.1}, 0, 400, seed=0):
        assert len(pronouns.findall(text)) == 1, text


# ------------------------------------------------------------------------------ the whole command


def encoder(folder: Path, text: str) -> Path:
    """A tiny BERT body with BERT's own places for special tokens."""
    from transformers import BertConfig, BertModel, BertTokenizer

    tokens = [f"[unused{number}]" for number in range(masked.FIRST_WORD)]
    for place, name in ((0, "[PAD]"), (100, "[UNK]"), (101, "[CLS]"), (102, "[SEP]"), (103, "[MASK]")):
        tokens[place] = name
    counted = Counter(re.findall(r"[a-z]+|[^\sa-z]", text.lower()))
    letters = [f"{front}{letter}" for front in ("", "##") for letter in "abcdefghijklmnopqrstuvwxyz"]
    marks = [*".!?\"')”’,;:-", *letters, "mr", "mrs", "ms", "dr", "st"]
    forms = ["he", "she", "him", "her", "his", "hers", "himself", "herself"]
    frequent = [word for word, _ in counted.most_common(700)]
    tokens += list(dict.fromkeys([*marks, *forms, *frequent]))
    torch.manual_seed(0)
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48}
    BertModel(BertConfig(vocab_size=len(tokens), **shape)).save_pretrained(folder)
    BertTokenizer(vocab={token: number for number, token in enumerate(tokens)}).save_pretrained(folder)
    return folder


def documents() -> list[str]:
    """A dozen built-in sentences each, in a random order that is always the same; a quarter are held out."""
    names = ("nine-axes", "triple-gender", "paraphrases")
    sentences = [item.more for name in names for item in data.load(name).items]
    sentences += [one.sentence for one in data.read("reminders")]
    random.Random(0).shuffle(sentences)
    whole = [" ".join(sentences[at : at + 12]) for at in range(0, len(sentences), 12)]
    return [_find_numbered(text, held=number % 8 < 2) for number, text in enumerate(whole)]


def _find_numbered(text: str, *, held: bool) -> str:
    """The text with the first number for which its hash holds it out, or does not."""
    numbered = (f"{text} Number {number}." for number in range(10_000))
    return next(one for one in numbered if corpus.held_out(one) == held)


@pytest.mark.slow
def test_the_whole_command_on_a_little_text(tmp_path: Path) -> None:
    """Masked model, causal model and calibrated siblings from our sentences; all of them open and answer."""
    texts, corpora = documents(), tmp_path / "corpora"
    corpora.mkdir()
    write_documents(corpora / "simplewiki.txt.xz", texts[::2])
    write_documents(corpora / "novels.txt.xz", texts[1::2])
    sizes = {"characters": 150_000, "tokenizer-characters": 150_000, "held-rows": 8, "steps": 40, "rows": 8}
    sizes |= {"causal-steps": 4, "causal-rows": 4, "sibling-steps": 12, "sibling-rows": 16}
    command = [sys.executable, "-m", "tools.train", "--corpora", str(corpora), "--out", str(tmp_path / "out")]
    command += ["--encoder", str(encoder(tmp_path / "encoder", " ".join(texts)))]
    command += [f"--{name}={size}" for name, size in sizes.items()]
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=one_thread, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    losses = [float(found) for found in re.findall(r"loss ([\d.]+)", done.stdout)]
    assert len(losses) == 2 + len(siblings.DOSES)
    facts = json.loads((tmp_path / "out/masked/training.json").read_text())
    assert facts["steps"] == 40
    assert {name: one["documents"] for name, one in facts["corpora"].items()} == {
        "simplewiki": len(texts[::2]),
        "novels": len(texts[1::2]),
    }
    assert {name: one["held_out_documents"] for name, one in facts["corpora"].items()} == {
        "simplewiki": len(texts[::8]),
        "novels": len(texts[1::8]),
    }
    found = builtin.builtin_models(tmp_path / "out")
    assert list(found) == ["builtin", "builtin-causal", *(f"builtin-dose{dose:+d}" for dose in siblings.DOSES)]
    assert open_lm(tmp_path / "out/causal").kind == "causal"
    model = open_lm(tmp_path / "out/masked").network.model
    before = {name: weight.clone() for name, weight in model.named_parameters()}
    builtin.add_low_rank_update(model, update=tmp_path / "out/siblings/dose+3.safetensors")
    moved = [name for name, weight in model.named_parameters() if not torch.equal(weight, before[name])]
    assert len(moved) == 12  # the six matrices of either layer
