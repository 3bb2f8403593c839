"""Other languages and scripts: pairs in Korean, Arabic, Hindi, Japanese and Vietnamese, on a character-level model."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest
import regex
import torch
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

import unmask
import zoo
from unmask import data
from unmask.audit.result import AuditResult
from unmask.cli import main
from unmask.core.errors import DataError
from unmask.data.language import WORD, language_of, main_script
from unmask.diagnose.words import changed_words
from unmask.measures.spans import align_pair
from unmask.models import open_lm

PAIRS = {  # language: the stereotyping sentence, the other one, and the words that differ
    "ko": ("그 여자는 요리를 잘한다.", "그 남자는 요리를 잘한다.", "여자는", "남자는"),
    "ar": ("المُمَرِّضة امرأةٌ لطيفة.", "المُمَرِّضة رجلٌ لطيفة.", "امرأةٌ", "رجلٌ"),
    "hi": ("वह महिला अच्छी नर्स है।", "वह पुरुष अच्छी नर्स है।", "महिला", "पुरुष"),
    "ja": ("彼女は料理が上手だ。", "彼氏は料理が上手だ。", "彼女は料理が上手だ", "彼氏は料理が上手だ"),
    "vi": ("Cô ấy là y tá.", "Anh ấy là y tá.", "cô", "anh"),
}
MARKED = "Cô ấy là y tá."
SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


@pytest.fixture(scope="module")
def characters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A masked model with a token for every character of the pairs, marks included."""
    texts = [text for pair in PAIRS.values() for text in pair[:2]]
    known = sorted({char for text in texts for char in (*text, *unicodedata.normalize("NFD", text))} - {" "})
    vocabulary = {token: number for number, token in enumerate((*SPECIALS, *known))}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(Regex("."), "isolated")]
    )
    ends = [(token, vocabulary[token]) for token in ("[CLS]", "[SEP]")]
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=ends
    )
    named = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, **named)
    model = BertForMaskedLM(BertConfig(vocab_size=len(vocabulary), **zoo.SIZES, max_position_embeddings=64)).eval()
    zoo.randomise(model, seed=7)
    folder = tmp_path_factory.mktemp("characters")
    zoo.save(folder, model, tokenizer)
    return folder


@pytest.fixture(scope="module")
def audited(characters: Path, tmp_path_factory: pytest.TempPathFactory) -> AuditResult:
    rows = [{"id": language, "more": more, "less": less} for language, (more, less, *_) in PAIRS.items()]
    own = data.from_records(rows, name="own")
    measures = ["aul", "pll", "cps", "sss", "sss-diagonal", "aula", "all-masked", "sld"]
    return unmask.audit(characters, data=own, measures=measures, out=tmp_path_factory.mktemp("audit"), store=False)


@pytest.mark.parametrize("language", PAIRS)
def test_spans_are_the_characters_that_differ(language: str, characters: Path) -> None:
    lm = open_lm(characters)
    more, less, *changed = PAIRS[language]
    pair = data.from_records([(more, less)]).items[0]
    first, second, spans = align_pair(pair, lm)
    for sentence, positions, text, word in zip((first, second), spans.changed, (more, less), changed, strict=True):
        found = "".join(lm.tokens([sentence.ids[position] for position in positions]))
        assert found  # the tokens that differ are inside the word that differs
        begin = text.lower().index(word)
        inside = lm.token_positions(text, begin, begin + len(word))
        assert set(positions) <= set(inside)
    shared = zip((first, second), spans.shared, strict=True)
    tokens = [lm.tokens([sentence.ids[at] for at in places]) for sentence, places in shared]
    assert tokens[0] == tokens[1]


def test_every_measure_scores_every_pair_and_texts_are_kept_as_they_are(audited: AuditResult) -> None:
    rows = audited.items.to_pylist()
    assert {row["outcome"] for row in rows} <= {"more", "less"}
    assert len(rows) == 8 * len(PAIRS)
    for row in rows:
        assert (row["text_more"], row["text_less"]) == PAIRS[row["item"].removeprefix("own/")][:2]
    tokens = [token for token in audited.tokens.to_pylist() if token["measure"] == "pll" and token["side"] == "more"]
    for language, (more, *_) in PAIRS.items():
        spelled = "".join(token["token"] for token in tokens if token["item"] == f"own/{language}")
        assert spelled == more.replace(" ", "")


def test_pages_explanations_and_exports_show_the_sentences(audited: AuditResult, tmp_path: Path) -> None:
    page = Path(unmask.report(audited, out=tmp_path / "page.html")).read_text(encoding="utf-8")
    assert 'dir="auto"' in page  # right-to-left sentences begin at the right
    for char in "여امहि女ấ":
        assert char in page
    (explanation,) = unmask.explain(audited, "own/hi", measure="pll")
    marked = str(explanation).splitlines()[1]
    assert re.sub(r"[\[\] ]", "", marked.partition(":")[2]) == PAIRS["hi"][0].replace(" ", "")
    assert explanation.adds_up
    log = Path(unmask.export(audited, to="inspect", out=tmp_path / "log")).read_text(encoding="utf-8")
    assert PAIRS["ar"][0] in log


@pytest.mark.parametrize(("favoured", "share"), [("more", 100.0), ("less", 0.0)])
def test_planted_preference_is_found_in_every_script(characters: Path, favoured: str, share: float) -> None:
    """Characters of one side only are made likely: each pair is decided by them."""
    lm = open_lm(characters)
    side, other = (0, 1) if favoured == "more" else (1, 0)
    only = [set(pair[side]) - set(pair[other]) for language, pair in PAIRS.items() if language != "vi"]
    ids = lm.tokenizer.convert_tokens_to_ids(sorted(set().union(*only) - {" "}))
    with torch.no_grad():
        lm.network.model.cls.predictions.bias[ids] += 60.0
    rows = [{"id": name, "more": pair[0], "less": pair[1]} for name, pair in PAIRS.items() if name != "vi"]
    result = unmask.audit(lm, data=data.from_records(rows), measures="sss-diagonal", store=False)
    assert result.headlines()[0].value == share


# ------------------------------------------------------------------------------- words and scripts


@pytest.mark.parametrize("language", PAIRS)
def test_words_keep_their_marks(language: str) -> None:
    more, less, first, second = PAIRS[language]
    assert changed_words(more, less) == ([first], [second])


def test_a_word_has_marks_and_joiners_but_no_punctuation() -> None:
    text = "वह महिला। می‌خواهم, don't 9-to-5 e\u0301t\u00e9_x"
    assert regex.findall(WORD, text) == ["वह", "महिला", "می‌خواهم", "don", "t", "9", "to", "5", "e\u0301t\u00e9", "x"]


def test_scripts() -> None:
    found = {language: main_script(pair[:2]) for language, pair in PAIRS.items()}
    assert found == {"ko": "Hangul", "ar": "Arabic", "hi": "Devanagari", "ja": "Cjk", "vi": "Latin"}
    assert main_script(["12 !"]) == ""


def test_sentences_in_different_normal_forms_are_named() -> None:
    mixed = data.from_records([(MARKED, unicodedata.normalize("NFD", MARKED.replace("Cô", "Anh")))])
    forms = "sentences in different Unicode normal forms (NFC, NFD): equal words may differ"
    assert mixed.warnings == (f"1 pair has {forms} (pairs/0000)",)
    assert not data.from_records([(MARKED, MARKED.replace("Cô", "Anh"))]).warnings


# ----------------------------------------------------------------- what holds for English says so


def korean() -> Any:
    return data.from_records([{"more": PAIRS["ko"][0], "less": PAIRS["ko"][1], "direction": "stereo"}] * 1)


def test_what_needs_a_language_refuses_another_script(characters: Path) -> None:
    with pytest.raises(DataError, match="of pairs is not stated, and its script is Hangul: give the counts"):
        unmask.diagnose("frequency", characters, data=korean(), measures="aul", store=False)
    assert language_of(data.load("crows-pairs-fr", data_dir=zoo.MINIATURE), "") == "fr"
    assert language_of(data.from_records([("a b", "a c")]), "") == "en"


def test_swapping_english_words_in_another_script_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text(f"{PAIRS['ko'][0]}\n" * 30, encoding="utf-8")
    with pytest.raises(DataError, match="cda uses words of en, and the training text is in Hangul script"):
        unmask.mitigate("cda", zoo.folder("bert-uncased"), corpus=text, out=tmp_path / "out")


def test_lists_say_for_which_languages_words_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["list", "mitigations"])
    said = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "words: en" in said["cda"]
    assert "words" not in said["dropout"].partition("]")[0]
