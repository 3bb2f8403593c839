"""Counterfactual sentences: a wrong word, case or article would be trained on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import zoo
from mitigate.sentences import EXAMPLES, Example
from unmask.core.errors import DataError, UnknownName
from unmask.mitigate.swap import (
    GroupSwapper,
    ModelPronounChooser,
    PronounSlot,
    Swapper,
    build_lexicon,
    default_lexicon,
    read_pairs,
)
from unmask.mitigate.swap.grammar import article, match_case, tagger
from unmask.models import Engine, open_lm

SWAP = Swapper(default_lexicon(names=True))
TAGGED = (
    "He/PRP gave/VBD her/PRP flowers/NNS ./.",
    "He/PRP gave/VBD her/PRP candy/NN ./.",
    "They/PRP gave/VBD her/PRP books/NNS ./.",
    "She/PRP watered/VBD her/PRP$ flowers/NNS ./.",
    "She/PRP watered/VBD her/PRP$ garden/NN ./.",
    "She/PRP sold/VBD her/PRP$ very/RB old/JJ car/NN ./.",
    "They/PRP sold/VBD her/PRP$ house/NN ./.",
    "They/PRP made/VBD her/PRP$ happy/JJ ./.",
    "They/PRP made/VBD her/PRP$ dinner/NN ./.",
    "He/PRP made/VBD her/PRP$ bed/NN ./.",
)


def test_there_are_sixty_examples() -> None:
    assert len(EXAMPLES) >= 60
    assert len({one.text for one in EXAMPLES}) == len(EXAMPLES)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda one: one.text[:40])
def test_counterfactual(example: Example) -> None:
    assert SWAP(example.text) == example.swapped


@pytest.mark.parametrize("example", [one for one in EXAMPLES if one.back], ids=lambda one: one.text[:40])
def test_swapping_twice_restores_the_sentence(example: Example) -> None:
    assert SWAP(SWAP(example.text)) == example.text


def test_every_unambiguous_pair_is_swapped_both_ways() -> None:
    known = default_lexicon()
    single = [
        word
        for word, other in known.words.items()
        if known.words.get(other) == word and word not in ("his", "her", "him", "hers")
    ]
    assert len(single) > 400
    for word in single:
        assert SWAP(f"the {word} here") == f"the {known.words[word]} here"
        if len(word) > 1:  # one capital is the beginning of a sentence
            assert SWAP(f"The {word.upper()} here") == f"The {known.words[word].upper()} here"


@pytest.mark.parametrize(
    ("word", "model", "wanted"), [("she", "he", "she"), ("she", "He", "She"), ("she", "HE", "SHE"), ("an", "A", "An")]
)
def test_letter_case_is_preserved(word: str, model: str, wanted: str) -> None:
    assert match_case(word, model) == wanted


@pytest.mark.parametrize(
    ("old", "word", "wanted"),
    [("a", "Asian", "an"), ("An", "white", "A"), ("A", "imam", "An"), ("an", "European", "a"), ("a", "heroine", "a")],
)
def test_articles(old: str, word: str, wanted: str) -> None:
    assert article(old, word) == wanted


def test_names_are_swapped_on_request() -> None:
    assert Swapper(default_lexicon())("James said he was tired.") == "James said she was tired."


def test_ambiguous_pronouns_go_to_the_chooser() -> None:
    asked: list[tuple[str, PronounSlot]] = []

    def choose(cases: list[tuple[str, PronounSlot]]) -> list[str]:
        asked.extend(cases)
        return [slot.options[1] for _, slot in cases]

    swap = Swapper(default_lexicon(), choose)
    assert swap.swap_all(["He gave her flowers.", "I saw her."]) == ["She gave him flowers.", "I saw him."]
    ((text, slot),) = asked
    assert text[slot.begin : slot.end] == slot.options[0] == "his"
    assert slot.options[1] == "him"


def test_several_slots_in_one_text() -> None:
    swap = Swapper(
        default_lexicon(), lambda cases: [slot.options[number % 2] for number, (_, slot) in enumerate(cases)]
    )
    assert (
        swap("Her father gave her flowers and her sister candy.")
        == "His mother gave him flowers and his brother candy."
    )


def test_the_model_chooses_the_likelier_form() -> None:
    lm = open_lm(zoo.folder("bert-uncased"))
    choose = ModelPronounChooser(Engine(lm))
    text, slot = "She gave his flowers.", PronounSlot(9, 12, ("his", "him"))
    ids = lm.encode(text).ids
    (place,) = lm.token_positions(text, 9, 12)
    import torch

    masked = torch.tensor([ids])
    masked[0, place] = lm.mask_id
    with torch.no_grad():
        logits = lm.network.model(input_ids=masked).logits[0, place]
    scores = {form: logits[lm.pieces(form)[0]].item() for form in slot.options}
    assert list(choose([(text, slot)])) == [max(scores, key=scores.__getitem__)]


@pytest.mark.thorough
def test_the_built_in_model_leaves_the_examples_right() -> None:
    swap = Swapper(default_lexicon(names=True), ModelPronounChooser(Engine(open_lm())))
    found = swap.swap_all([one.text for one in EXAMPLES])
    assert found == [one.swapped for one in EXAMPLES]
    returning = [text for text, one in zip(found, EXAMPLES, strict=True) if one.back]
    assert swap.swap_all(returning) == [one.text for one in EXAMPLES if one.back]


@pytest.fixture
def tagging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """NLTK's perceptron tagger, trained on a dozen sentences, installed where NLTK looks for it."""
    import nltk
    from nltk.tag.perceptron import PerceptronTagger

    known = [[tuple(word.rsplit("/", 1)) for word in line.split()] for line in TAGGED]
    trained = PerceptronTagger(load=False)
    trained.train(known, nr_iter=20)
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path), *nltk.data.path])
    place = tmp_path / "taggers" / "averaged_perceptron_tagger_eng"
    place.parent.mkdir()
    trained.save_to_json(lang="eng", loc=str(place))
    for cached in (tagger, nltk.tag._get_tagger):
        cached.cache_clear()
    yield
    for cached in (tagger, nltk.tag._get_tagger):
        cached.cache_clear()


@pytest.mark.usefixtures("tagging")
def test_a_tagger_that_is_installed_decides() -> None:
    swap = Swapper(default_lexicon(), lambda _: pytest.fail("the model was asked though there is a tagger"))
    assert "NLTK" in swap.grammar
    assert swap("He gave her flowers.") == "She gave him flowers."
    assert swap("She watered her flowers.") == "He watered his flowers."
    assert swap("They made her happy.") == "They made him happy."  # called a possessive, but no noun follows
    assert swap("She sold her very old car.") == "He sold his very old car."


@pytest.mark.thorough
@pytest.mark.usefixtures("tagging")
def test_a_long_text_is_not_tagged_whole_for_every_pronoun() -> None:
    texts = ["She watered her flowers. He gave her candy. "] * 200
    begin = time.process_time()
    one_by_one = Swapper(default_lexicon()).swap_all(texts)
    between = time.process_time()
    assert Swapper(default_lexicon())("".join(texts)) == "".join(one_by_one)
    assert time.process_time() - between < 20 * (between - begin)


def test_the_built_in_model_resolves_an_indirect_object() -> None:
    swap = Swapper(default_lexicon(), ModelPronounChooser(Engine(open_lm())))
    assert swap("He gave her flowers on the last day.") == "She gave him flowers on the last day."
    assert swap("She watered her flowers every day.") == "He watered his flowers every day."


def test_pairs_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("masculine,feminine\nheer,dame\nbroer,zus\n")
    assert Swapper(build_lexicon(read_pairs(path)))("De Heer en zijn zus.") == "De Dame en zijn broer."


@pytest.mark.parametrize("content", ["", "he\n", "he,\n", "masculine,feminine\n"])
def test_a_bad_file_of_pairs(tmp_path: Path, content: str) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text(content)
    with pytest.raises(DataError, match="two words per line"):
        read_pairs(path)


def test_no_file_of_pairs(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        read_pairs(tmp_path / "none.csv")


RELIGION = (
    ("The mosque was full of Muslims.", 1, "The church was full of Christians."),
    ("A Muslim woman met an Islamic scholar.", 2, "A Jewish woman met a Jewish scholar."),
    ("He is a Jew.", 4, "He is a Christian."),
    ("Judaism is old; so is Hinduism.", 1, "Hinduism is old; so is Buddhism."),
)
RACE = (
    ("An Asian man sat down.", 3, "A white man sat down."),
    ("White people voted.", 1, "Asian people voted."),
    ("She bought a white car and a black hat.", 1, "She bought a white car and a black hat."),
    ("African Americans and Asian Americans", 1, "European Americans and Hispanic Americans"),
    ("Many Latina women came.", 1, "Many Black women came."),
)


@pytest.mark.parametrize(("text", "shift", "wanted"), RELIGION)
def test_religions_are_shifted(text: str, shift: int, wanted: str) -> None:
    swap = GroupSwapper("religion")
    assert swap(text, shift) == wanted


@pytest.mark.parametrize(("text", "shift", "wanted"), RACE)
def test_races_are_shifted(text: str, shift: int, wanted: str) -> None:
    assert GroupSwapper("race", rough="Americans" in text)(text, shift) == wanted


@pytest.mark.parametrize("text", ["The mosque was full of Muslims.", "Christianity and Islam met.", "A rabbi spoke."])
def test_shifting_back_restores_the_text(text: str) -> None:
    swap = GroupSwapper("religion")
    assert all(swap(swap(text, shift), 5 - shift) == text for shift in range(1, 5))


def test_random_shifts_depend_on_the_seed_and_change_every_text() -> None:
    swap, texts = GroupSwapper("religion"), ["The mosque was full."] * 40
    first = swap.swap_randomly(texts, 1)
    assert first == swap.swap_randomly(texts, 1) != swap.swap_randomly(texts, 2)
    assert set(first) == {f"The {one} was full." for one in ("church", "synagogue", "Hindu temple", "Buddhist temple")}


def test_unknown_axis() -> None:
    with pytest.raises(UnknownName, match="religion"):
        GroupSwapper("height")


@pytest.mark.thorough
def test_a_megabyte_takes_seconds() -> None:
    text = " ".join(one.text for one in EXAMPLES) * 400
    begin = time.process_time()
    SWAP(text)
    assert len(text) > 700_000
    assert time.process_time() - begin < 5
