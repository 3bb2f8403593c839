"""Paraphrases proposed for review: every number against a slow one, every rule seen to hold."""

from __future__ import annotations

import csv
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import reference
import unmask
import zoo
from unmask import data as datasets
from unmask.audit.session import Session, engine_for
from unmask.core.errors import DataError, ModelError
from unmask.core.types import Dataset, Pair
from unmask.diagnose.paraphrase import PARAPHRASE
from unmask.diagnose.paraphrase import lexicon as wordnet_module
from unmask.diagnose.paraphrase.candidates import (
    Candidate,
    Target,
    changed_words,
    fillers,
    likeliest_form,
    plausibility,
    propose_candidates,
    shared_words,
    similarity,
    targets,
)
from unmask.diagnose.paraphrase.families import family_set
from unmask.diagnose.paraphrase.generate import NO_WORDNET, GenerationRules, generate, generate_file, write_proposals
from unmask.diagnose.paraphrase.lexicon import Form, WordNet, find_wordnet, inflect, is_usable, readings
from unmask.measures import find
from unmask.models import open_lm

from .plainly import run

OPTIONS = unmask.Options(store=False)
MODELS = ("bert-uncased", "roberta")
ANYTHING = GenerationRules(slack=1e6, similarity=-1.0, model_similarity=-1.0)
SIDES = ("more", "less")


@contextmanager
def subject(name: str) -> Iterator[Session]:
    with engine_for(open_lm(zoo.folder(name) if name in zoo.MASKED | zoo.CAUSAL else name), OPTIONS) as engine:
        yield Session(engine)


def ours(*rows: int) -> Dataset:
    whole = datasets.load("nine-axes")
    return replace(whole, items=tuple(whole.items[row] for row in rows))


# ---------------------------------------------------------------------------------------- WordNet


def tiny(folder: Path, nouns: list[Any], **more: Any) -> Path:
    """A dictionary in WordNet's format: by part of speech, synsets of (words, pointers by symbol).

    As in the real files: before its own pointers every noun has one to a verb, verbs have frames behind
    their pointers, adjectives that are only similar to others are satellites.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for part, mark in (("noun", "n"), ("verb", "v"), ("adj", "a")):
        synsets = {"noun": nouns, **more}.get(part, [])
        _write_part(folder, part, mark, synsets)
    return folder


def _write_part(folder: Path, part: str, mark: str, synsets: list[Any]) -> None:
    """Offsets are counted first with zeros, which are as wide, then written."""
    header = "  1 A licence of some lines.\n"
    offsets = [0] * len(synsets)
    similar = [bool(pointers) and {symbol for symbol, _ in pointers} == {"&"} for _, pointers in synsets]
    marks = ["s" if part == "adj" and alone else mark for alone in similar]
    for _ in range(2):
        lines, at = [], len(header)
        for number, (words, pointers) in enumerate(synsets):
            told = [f"{symbol} {offsets[other]:08} {marks[other]} 0000" for symbol, other in pointers]
            told = ["+ 00000028 v 0101", *told] if part == "noun" else told
            spelled = [f"{word.replace(' ', '_')} {place:x}" for place, word in enumerate(words)]
            fields = [f"{offsets[number]:08} 00 {marks[number]} {len(words):02x}", *spelled]
            fields += [f"{len(told):03}", *told, *([FRAMES] if part == "verb" else [])]
            line = " ".join(fields) + ' | a gloss; "an example"  \n'
            lines.append((at, line))
            at += len(line)
        offsets = [start for start, _ in lines]
    (folder / f"data.{part}").write_text(header + "".join(line for _, line in lines), encoding="utf-8")
    entries: dict[str, list[int]] = {}
    for number, (words, _) in enumerate(synsets):
        for word in words:
            plain = word.partition("(")[0].replace(" ", "_").lower()
            entries.setdefault(plain, []).append(offsets[number])
    index = [
        f"{word} {mark} {len(found)} 2 @ + {len(found)} 1 {' '.join(f'{one:08}' for one in found)}  \n"
        for word, found in sorted(entries.items())
    ]
    (folder / f"index.{part}").write_text(header + "".join(index), encoding="utf-8")


FRAMES = "02 + 08 00 + 11 01"
NOUNS = [
    (["thief", "burglar"], [("@", 1)]),
    (["criminal", "crook"], []),
    (["robber"], [("@", 0)]),
    (["money"], []),
    (["suspicion", "misgiving", "distrust"], []),
    (["clock", *(f"timepiece {letter}" for letter in "abcdefghij")], [("@", 1)]),
]
VERBS = [(["steal", "lift", "make off"], [("@", 1)]), (["want", "desire"], []), (["care", "mind"], [])]
ADJECTIVES = [
    (["lucky", "fortunate(a)"], [("!", 1), ("&", 2)]),
    (["unlucky"], [("!", 0)]),
    (["golden", "favorable"], [("&", 0)]),
]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return tiny(tmp_path / "dict", NOUNS, verb=VERBS, adj=ADJECTIVES)


def test_wordnet_is_read_from_its_files(small: Path) -> None:
    wordnet = WordNet(small)
    assert wordnet.synonyms("thief", "NOUN") == ("burglar",)
    assert wordnet.near("thief", "NOUN") == ("criminal", "crook")
    assert wordnet.near("robber", "NOUN") == ("thief", "burglar")
    assert wordnet.synonyms("steal", "VERB") == ("lift", "make off")
    assert wordnet.synonyms("lucky", "ADJ") == ("fortunate",)
    assert wordnet.near("lucky", "ADJ") == ("golden", "favorable")
    assert wordnet.antonyms("lucky", "ADJ") == ("unlucky",)
    assert wordnet.antonyms("thief", "NOUN") == ()
    assert wordnet.synonyms("unknown", "NOUN") == ()
    assert wordnet.synonyms("steal", "NOUN") == ()


def test_only_the_most_frequent_meanings_count(tmp_path: Path) -> None:
    synsets = [(["bank", f"sense{number}"], []) for number in range(5)]
    wordnet = WordNet(tiny(tmp_path / "dict", synsets))
    assert wordnet.synonyms("bank", "NOUN") == ("sense0", "sense1", "sense2")


def test_wordnet_inside_nltks_archive(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = tmp_path / "nltk" / "corpora" / "wordnet.zip"
    packed.parent.mkdir(parents=True)
    with zipfile.ZipFile(packed, "w") as archive:
        for file in small.iterdir():
            archive.write(file, f"wordnet/{file.name}")
    monkeypatch.setenv("NLTK_DATA", str(tmp_path / "nltk"))
    monkeypatch.setattr(wordnet_module, "USUAL", Path("/nowhere"))
    found = find_wordnet()
    assert found is not None
    assert found.synonyms("thief", "NOUN") == ("burglar",)


def test_wordnet_where_its_own_programs_look(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WNSEARCHDIR", str(small))
    found = find_wordnet()
    assert found is not None
    assert found.synonyms("thief", "NOUN") == ("burglar",)


def test_a_folder_that_is_no_wordnet_is_refused(small: Path) -> None:
    (small / "data.verb").unlink()
    with pytest.raises(DataError, match=r"is not a WordNet folder: it has no data.verb; install"):
        find_wordnet(small)


def test_lines_have_all_the_fields_of_the_manual_page(small: Path) -> None:
    """What wndb(5WN) describes and a reader could stumble over is in the files these tests write."""
    nouns, verbs, adjectives = (
        (small / f"data.{part}").read_text(encoding="utf-8") for part in ("noun", "verb", "adj")
    )
    assert nouns.startswith("  1 ")  # a licence, each line after two spaces
    assert " 0b " in nouns  # words are counted in hexadecimal numbers
    assert " 02 + 08 00 + 11 01 |" in verbs  # frames behind the pointers
    assert re.search(r"^\d{8} 00 s ", adjectives, re.MULTILINE)  # satellites
    assert re.search(r" \+ \d{8} v 0101 ", nouns)  # pointers to another part of speech
    wordnet = WordNet(small)
    assert wordnet.synonyms("clock", "NOUN") == tuple(f"timepiece {letter}" for letter in "abcdefghij")
    assert wordnet.near("clock", "NOUN") == ("criminal", "crook")
    assert wordnet.near("golden", "ADJ") == ("lucky", "fortunate")
    assert wordnet.near("steal", "VERB") == ("want", "desire")


# ------------------------------------------------------------------------------------------ forms


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("word", "form", "lemma", "expected"),
    [
        ("stole", Form("steal", "VERB", "VBD"), "take", "took"),
        ("stolen", Form("steal", "VERB", "VBN"), "take", "taken"),
        ("steals", Form("steal", "VERB", "VBZ"), "make off", "makes off"),
        ("thieves", Form("thief", "NOUN", "NNS"), "hit man", "hit men"),
        ("lucky", Form("lucky", "ADJ", "JJ"), "fortunate", "fortunate"),
        ("luckier", Form("lucky", "ADJ", "JJR"), "happy", "happier"),
        ("luckier", Form("lucky", "ADJ", "JJR"), "fortunate", ""),
    ],
)
def test_another_word_in_the_same_form(word: str, form: Form, lemma: str, expected: str) -> None:
    assert form in readings(word)
    assert inflect(lemma, form) == expected


@pytest.mark.parametrize("word", ["was", "the", "qqqzz"])
def test_words_without_a_reading(word: str) -> None:
    assert readings(word) == ()


def test_the_models_own_words_decide_what_a_word_is() -> None:
    verbs, nouns = [("sell", -0.5), ("eat", -1.0)], [("house", -0.5), ("car", -1.0)]
    assert likeliest_form("steal", [verbs, verbs]) == Form("steal", "VERB", "VB")
    assert likeliest_form("walk", [verbs, verbs]).part == "VERB"  # type: ignore[union-attr]
    assert likeliest_form("walk", [nouns, nouns]).part == "NOUN"  # type: ignore[union-attr]
    assert likeliest_form("the", [nouns, nouns]) is None


# ---------------------------------------------------------------------------------------- targets


def test_changed_words_are_protected() -> None:
    pair = Pair("x", "The old man walks; the old man's dog, too.", "The young man walks; the young man's dog, too.")
    assert changed_words(pair) == {"old", "young"}
    assert [pair.more[slice(*more)] for more, _ in shared_words(pair)] == [
        pair.less[slice(*less)] for _, less in shared_words(pair)
    ]


@pytest.mark.parametrize(
    ("word", "fit"),
    [("steal", True), ("Rome", False), ("she", False), ("wife", False), ("people", False), ("of", False)],
)
def test_what_may_be_replaced(word: str, fit: bool) -> None:
    assert is_usable(word) is fit


def words_of(model: str, tokenizer: Any, ids: list[int]) -> list[tuple[str, list[int]]]:
    """Words and the positions of their tokens, put together from the tokens' own marks."""
    found: list[tuple[str, list[int]]] = []
    for place, token in enumerate(tokenizer.convert_ids_to_tokens(ids)):
        if token in tokenizer.all_special_tokens:
            continue
        inner = token.startswith("##") if model.startswith("bert") else not token.startswith("Ġ")
        text = token.removeprefix("##").removeprefix("Ġ")
        if inner and found and text.isalpha() and found[-1][0].isalpha():
            found[-1] = (found[-1][0] + text, [*found[-1][1], place])
        else:
            found.append((text, [place]))
    return found


@pytest.mark.parametrize("name", MODELS)
def test_words_are_ordered_by_how_far_they_move_the_difference(name: str) -> None:
    data = ours(0, 51, 99, 230)
    model, tokenizer = reference.load(zoo.folder(name))
    with subject(name) as one:
        scored = one.scores(data, (find("cps-exact"),))["cps-exact"]
        for item in scored:
            found = targets(item, one.lm)
            moves: dict[str, float] = {}
            for sign, (encoding, same, _) in zip((1, -1), reference.spans(tokenizer, item.item).values(), strict=True):
                for word, places in words_of(name, tokenizer, encoding["input_ids"]):
                    kept = [place for place in places if place in same]
                    values = reference.each_masked_alone(model, tokenizer, encoding, kept)
                    moves[word.lower()] = moves.get(word.lower(), 0.0) + sign * sum(values)
            assert found
            twice = [target.word for target in found if item.item.more.lower().count(target.word) > 1]
            for target in found:
                assert item.item.more[slice(*target.more)] == item.item.less[slice(*target.less)] == target.word
                if target.word not in twice:
                    assert target.moves == pytest.approx(moves[target.word], abs=1e-4)
            assert all(abs(first.moves) >= abs(second.moves) for first, second in pairwise(found))
            assert not {target.word for target in found} & changed_words(item.item)


# ------------------------------------------------------------------------- what the model is asked


PAIR = Pair(
    "x",
    "I think that the Black manager would want more money.",
    "I think that the white manager would want more money.",
)


def target(word: str) -> Target:
    starts = PAIR.more.index(word), PAIR.less.index(word)
    return Target(word, *((start, start + len(word)) for start in starts), 0.0)  # type: ignore[arg-type]


def placed(tokenizer: Any, text: str, word: str) -> tuple[list[int], list[int]]:
    """Token ids with special tokens, and the positions of a word: what is between its front and its back."""
    ids = reference.encode(tokenizer, text)["input_ids"]
    front, _, back = text.partition(word)
    before = len(reference.pieces(tokenizer, front.rstrip()))
    after = len(reference.pieces(tokenizer, back))
    return ids, list(range(1 + before, len(ids) - 1 - after))


@pytest.mark.parametrize("name", MODELS)
def test_the_models_own_words_equal_a_slow_look(name: str) -> None:
    model, tokenizer = reference.load(zoo.folder(name))
    with subject(name) as one:
        slots = Candidate(PAIR, target("money"), "{slot}", "model")
        found = fillers(one.lm, [slots.with_replacement(side)[0] for side in ("more", "less")], 40)
        for words, text in zip(found, (PAIR.more, PAIR.less), strict=True):
            ids, places = placed(tokenizer, text, "money")
            row = [*ids[: places[0]], tokenizer.mask_token_id, *ids[places[-1] + 1 :]]
            logprobs = reference.log_probabilities(reference.run(model, {"input_ids": row}))[places[0]]
            best = sorted(range(len(logprobs)), key=lambda token: -logprobs[token])
            whole = [token for token in best if _is_word(tokenizer, token)][:40]
            assert [word for word, _ in words] == [tokenizer.decode([token]).strip() for token in whole]
            assert [value for _, value in words] == pytest.approx([logprobs[token] for token in whole], abs=1e-4)
        assert any(found)


def _is_word(tokenizer: Any, token: int) -> bool:
    text = tokenizer.decode([token]).strip()
    return text.isalpha() and reference.pieces(tokenizer, f" {text}") == [token]


@pytest.mark.parametrize("name", MODELS)
def test_plausibility_equals_a_slow_one(name: str) -> None:
    model, tokenizer = reference.load(zoo.folder(name))

    def likelihood(text: str, word: str) -> float:
        ids, places = placed(tokenizer, text, word)
        rows = reference.log_probabilities(
            reference.run(model, reference.hidden(tokenizer, {"input_ids": ids}, places))
        )
        return sum(rows[place][ids[place]] for place in places)

    words = ("time", "misfortune", "good luck")
    with subject(name) as one:
        found = plausibility(one, [Candidate(PAIR, target("money"), word, "model") for word in words], "words")
    for word, value in zip(words, found, strict=True):
        gains = [
            likelihood(text.replace("money", word), word) - likelihood(text, "money") for text in (PAIR.more, PAIR.less)
        ]
        assert value == pytest.approx(min(gains), abs=1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_similarity_equals_a_slow_one(name: str) -> None:
    model, tokenizer = reference.load(zoo.folder(name))

    def vector(text: str, word: str) -> Any:
        ids, places = placed(tokenizer, text, word)
        output = reference.run(model, {"input_ids": ids}, output_hidden_states=True)
        return output.hidden_states[-1][0, places].mean(0)

    words = ("time", "misfortune", "money")
    with subject(name) as one:
        found = similarity(one.lm, [Candidate(PAIR, target("money"), word, "model") for word in words])
    for word, value in zip(words, found, strict=True):
        cosines = [
            torch.cosine_similarity(vector(text.replace("money", word), word), vector(text, "money"), dim=0).item()
            for text in (PAIR.more, PAIR.less)
        ]
        assert value == pytest.approx(min(cosines), abs=1e-5)
    assert found[-1] == pytest.approx(1.0)
    assert found[0] < 0.999


# ---------------------------------------------------------------------------------------- proposals


NO_WORDS: list[list[tuple[str, float]]] = [[], []]
SENTENCE = Pair(
    "x", "Then an old man named the lucky number of a thief.", "Then a young man named the lucky number of a thief."
)


def of(word: str) -> Target:
    starts = SENTENCE.more.index(word), SENTENCE.less.index(word)
    return Target(word, *((start, start + len(word)) for start in starts), 0.0)  # type: ignore[arg-type]


def test_words_of_wordnet_come_in_the_targets_form(small: Path) -> None:
    found = propose_candidates(SENTENCE, of("thief"), NO_WORDS, WordNet(small))
    assert {one.word: one.source for one in found} == {
        "burglar": "wordnet",
        "criminal": "wordnet-near",
        "crook": "wordnet-near",
    }


def test_opposites_and_other_groups_are_left_out(small: Path) -> None:
    words = ("unlucky", "happy", "rich", "young", "odd", "Lucky", "went", "the", "lucky")
    model = [[(word, -1.0) for word in words]] * 2
    found = {one.word for one in propose_candidates(SENTENCE, of("lucky"), model, WordNet(small))}
    assert found == {"fortunate", "golden", "favorable", "happy", "odd"}
    without = {one.word for one in propose_candidates(SENTENCE, of("lucky"), model, None)}
    assert without == {"happy", "odd", "unlucky"}  # nobody said that it is the opposite


def test_the_article_must_still_fit_and_the_model_have_a_word_for_both_sentences() -> None:
    model = [[("crook", -1.0), ("boss", -2.0), ("owner", -2.0)], [("owner", -1.0), ("boss", -1.0)]]
    assert [one.word for one in propose_candidates(SENTENCE, of("thief"), model, None)] == ["boss"]


@pytest.mark.parametrize("name", MODELS)
def test_only_the_phrase_differs_from_the_original(name: str, small: Path) -> None:
    data = ours(0, 99, 230, 359)
    with subject(name) as one:
        families = list(generate(one, data, wordnet=WordNet(small), rules=ANYTHING))
    assert len(families) == 4
    assert any(len(family) > 1 for family in families)
    for item, family in zip(data.items, families, strict=True):
        first, *others = family
        assert (first.more, first.less, first.original, first.paraphrase) == (item.more, item.less, item.id, "0")
        assert [one.paraphrase for one in others] == [str(number) for number in range(1, len(family))]
        assert len(others) <= 5
        assert len({one.more for one in others}) == len(others)
        for other in others:
            assert other.phrase not in changed_words(item)
            assert other.more.replace(other.replacement, other.phrase, 1) == item.more
            assert changed_words(Pair("x", other.more, other.less)) == changed_words(item)
            assert (other.category, other.direction, other.keep) == (
                item.groups["category"],
                item.groups["direction"],
                "",
            )


def test_rules_are_kept(small: Path) -> None:
    data = ours(0, 99, 230, 359)
    with subject("bert-uncased") as one:
        loose = [p for family in generate(one, data, wordnet=WordNet(small), rules=ANYTHING) for p in family[1:]]
        middle = float(np.median([float(p.plausibility) for p in loose]))
        rules = replace(ANYTHING, slack=-middle, wanted=100)
        strict = [p for family in generate(one, data, wordnet=WordNet(small), rules=rules) for p in family[1:]]
        assert strict
        assert min(float(p.plausibility) for p in strict) >= middle - 0.001
        close = replace(ANYTHING, model_similarity=2.0, wanted=100)
        vouched = [p for family in generate(one, data, wordnet=WordNet(small), rules=close) for p in family[1:]]
        assert vouched
        assert {p.source for p in vouched} <= {"wordnet", "wordnet-near"}
        few = replace(ANYTHING, wanted=1)
        assert max(len(family) for family in generate(one, data, wordnet=None, rules=few)) == 2


@pytest.mark.thorough
def test_the_built_in_model_finds_words_for_our_pairs(small: Path) -> None:
    with subject("builtin") as one:
        families = list(generate(one, ours(139, 292), wordnet=WordNet(small)))
    rules = GenerationRules()
    assert ("kids", "children") in {(one.phrase, one.replacement) for one in families[1]}
    for other in (other for family in families for other in family[1:]):
        assert float(other.plausibility) >= -rules.slack
        assert float(other.similarity) >= (rules.model_similarity if other.source == "model" else rules.similarity)


# --------------------------------------------------------------------------------------- the file


def test_a_file_is_written_reviewed_and_diagnosed(tmp_path: Path, small: Path) -> None:
    path = tmp_path / "proposals.csv"
    with subject("bert-uncased") as one:
        told = write_proposals(path, one, ours(0, 99, 230), wordnet=WordNet(small), rules=ANYTHING)
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert told.notes == ()
    assert (told.originals, told.paraphrases) == (3, len(rows) - 3)
    assert list(tmp_path.glob("*.partial")) == []
    kept = [row for row in rows if row["paraphrase"] != "0"]
    kept[0]["keep"], kept[1]["keep"] = "no", "yes"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    found = family_set(datasets.load(path))
    texts = {pair.more for pairs in found.pairs.values() for pair in pairs}
    assert kept[0]["more"] not in texts
    assert kept[1]["more"] in texts
    assert any("1 paraphrases rejected by a reviewer" in note for note in found.notes)
    assert any("were used without review" in note for note in found.notes)
    (diagnosed,) = run([PARAPHRASE], [zoo.folder("bert-uncased")], data=path, options=OPTIONS)
    assert diagnosed.finding.tables[0].rows[0][3] == len(found.pairs)


def test_a_sentence_that_looks_like_a_formula_is_none_in_the_file_and_comes_back(tmp_path: Path, small: Path) -> None:
    path, text = tmp_path / "proposals.csv", "=The {} slept."
    pairs = datasets.from_records([(text.format("nurse"), text.format("doctor"))])
    with subject("bert-uncased") as one:
        write_proposals(path, one, pairs, wordnet=WordNet(small), rules=ANYTHING)
    with path.open(encoding="utf-8", newline="") as file:
        assert next(csv.DictReader(file))["more"] == "'=The nurse slept."
    assert datasets.load(path).items[0].more == "=The nurse slept."


def test_without_wordnet_the_model_alone_proposes_and_a_note_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wordnet_module, "_search_paths", lambda: iter(()))
    path = tmp_path / "proposals.csv"
    told = generate_file(path, zoo.folder("roberta"), ours(0, 99), rules=ANYTHING, options=OPTIONS)
    assert told.notes == (NO_WORDNET,)
    with path.open(encoding="utf-8", newline="") as file:
        assert {row["source"] for row in csv.DictReader(file)} == {"", "model"}
    assert told.paraphrases > 0


def test_a_causal_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is causal: proposing words"):
        generate_file(tmp_path / "out.csv", zoo.folder("gpt2"), ours(0), options=OPTIONS)
    assert not (tmp_path / "out.csv").exists()


def test_pairs_without_a_target_keep_their_original() -> None:
    data = datasets.from_records([("He is there.", "She is there."), ("Him", "Her " + "very " * 400)], name="mine")
    with subject("bert-uncased") as one:
        families = list(generate(one, data, wordnet=None, rules=ANYTHING))
    assert [len(family) for family in families] == [1, 1]


def test_without_lemminflect_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from unmask.diagnose.paraphrase import lexicon as words

    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    words.lemminflect.cache_clear()
    monkeypatch.setattr(words, "import_module", missing)
    with pytest.raises(DataError, match=r"lemminflect, which is not installed; run `pip install 'unmask\[words\]'`"):
        words.lemminflect()
    monkeypatch.undo()
    words.lemminflect.cache_clear()
