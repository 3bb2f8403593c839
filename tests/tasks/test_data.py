"""Readers of task data: published files, the user's own, and what they refuse."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import zoo
from unmask import data
from unmask.core.errors import DataError
from unmask.data import biasbios, examples, nli, riddles, stsb
from unmask.data.examples import find_local, user_source


def test_stsb_as_published(published: Path) -> None:
    files = examples.published_sources(stsb.CARD, data_dir=published)
    parts = [stsb.load(file) for file in files]
    assert [len(part) for part in parts] == [5749, 1500, 1379]
    assert all(file.verified for file in files)
    first = parts[1][0]
    assert (first.text, first.second, first.label) == (
        "A man with a hard hat is dancing.",
        "A man wearing a hard hat is dancing.",
        5.0,
    )


def test_a_file_in_the_format_of_stsb(miniature: Path) -> None:
    """Tab-separated in spite of its name, no header, and a quote is a plain character."""
    files = examples.published_sources(stsb.CARD, data_dir=miniature)
    parts = [stsb.load(file) for file in files]
    assert [len(part) for part in parts] == [60, 15, 30]
    assert not any(file.verified for file in files)
    (quoted, *_) = [part for part in parts[0] if '"' in part.text]
    assert (quoted.text, quoted.second, quoted.label) == (
        'He answered "no and then hung up.',
        "He hung up after saying no.",
        4.8,
    )


def test_a_line_without_its_second_sentence_is_named(tmp_path: Path) -> None:
    path = tmp_path / "sts-dev.csv"
    path.write_text("main-captions\tx\t2024\t1\t5.0\tA man sings.\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"sts-dev\.csv, line 1: 6 fields, expected genre, file, year"):
        stsb.load(user_source(path))


def test_own_similarities(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text('sentence1,sentence2,score\n"A, b",c,2.5\n', encoding="utf-8")
    (one,) = stsb.load(user_source(path))
    assert (one.text, one.second, one.label) == ("A, b", "c", 2.5)
    path.write_text("sentence1,sentence2,score\na,b,7\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"line 2: score 7, expected a number from 0 to 5"):
        stsb.load(user_source(path))
    path.write_text("sentence1,sentence2,score\na,b,high\n", encoding="utf-8")
    with pytest.raises(DataError, match="score 'high'"):
        stsb.load(user_source(path))
    path.write_text("one,two\na,b\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"no column score or similarity or label; found \['one', 'two'\]"):
        stsb.load(user_source(path))


def test_nli_as_published(published: Path) -> None:
    parts = [nli.load(file) for file in examples.published_sources(nli.CARD, data_dir=published)]
    assert [len(part) for part in parts] == [8330, 1000, 2000]
    place = find_local(nli.MNLI_DEV, data_dir=published)
    assert place is not None
    assert len(nli.load(user_source(place))) == 9815


def test_files_in_the_formats_of_nli(miniature: Path) -> None:
    parts = [nli.load(file) for file in examples.published_sources(nli.CARD, data_dir=miniature)]
    assert [Counter(one.label for one in part) for part in parts] == [
        dict.fromkeys(nli.LABELS, number) for number in (9, 3, 3)
    ]
    assert parts[0][1].second == "A man is frying fish for his guests."
    place = find_local(nli.MNLI_DEV, data_dir=miniature)
    assert place is not None
    mnli = nli.load(user_source(place))
    assert len(mnli) == 6  # the seventh has no agreed label
    assert mnli[3].text == 'The old "ferry house burned down in 1911.'
    assert find_local("mnli_dev_matched/none.tsv", data_dir=miniature) is None


def test_own_inferences(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    rows = [
        {"premise": "p", "hypothesis": "h", "label": 2},
        {"premise": "p", "hypothesis": "h", "label": "Neutral"},
        {"premise": "p", "hypothesis": "h", "label": -1},
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert [one.label for one in nli.load(user_source(path))] == ["contradiction", "neutral"]
    path.write_text(json.dumps({"premise": "p", "hypothesis": "h", "label": "maybe"}), encoding="utf-8")
    with pytest.raises(DataError, match="label 'maybe', expected one of entailment, neutral, contradiction"):
        nli.load(user_source(path))
    ragged = tmp_path / "ragged.tsv"
    ragged.write_text("sentence1\tsentence2\tgold_label\na\tb\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 2: 2 fields, expected 3"):
        nli.load(user_source(ragged))


def test_winobias_items(published: Path) -> None:
    found, warnings = riddles.load_winobias(examples.published_sources(riddles.WINOBIAS, data_dir=published))
    assert len(found) + len(warnings) == 8 * 396
    assert len(warnings) == 5
    first = next(item for item in found if item.id == "type1.dev/0000/pro")
    assert first.text == "The developer argued with the designer because he did not like the design."
    assert (first.pronoun, first.gold, first.other) == ("he", "developer", "designer")


def test_winobias_items_in_miniature(miniature: Path) -> None:
    found, warnings = riddles.load_winobias(examples.published_sources(riddles.WINOBIAS, data_dir=miniature))
    assert len(found) == 8 * 16 - len(warnings)
    assert warnings == tuple(
        f"{side}_stereotyped_type1.txt.test, line 16 left out: 0 antecedents and 1 pronouns in brackets, expected one"
        for side in ("pro", "anti")
    )
    by = {item.id: item for item in found}
    second = by["type1.dev/0001/anti"]
    assert second.text == "The driver asked the cashier for change because his drawer was full of coins."
    assert (second.pronoun, second.gold, second.other) == ("his", "cashier", "driver")
    assert second.groups == {"type": "type1", "gender": "male", "occupation": "cashier", "pronouns": "1"}
    assert by["type1.dev/0014/pro"].groups["pronouns"] == "2"
    doubled = by["type2.test/0015/pro"]
    assert (doubled.gold, doubled.pronoun, doubled.other) == ("hairdresser", "her", "mover")


def test_every_winobias_item_names_both_people(data_dir: Path) -> None:
    found, _ = riddles.load_winobias(examples.published_sources(riddles.WINOBIAS, data_dir=data_dir))
    men = (data_dir / "winobias" / "data" / "male_occupations.txt").read_text(encoding="utf-8").lower()
    for item in found:
        assert item.pronoun.lower() in riddles.PRONOUNS
        assert item.gold.lower() in item.text.lower()
        assert item.other.lower() in item.text.lower()
        usual = "male" if item.gold.lower() in [job.strip() for job in men.splitlines()] else "female"
        assert (item.groups["gender"] == usual) == (item.stereotype == "pro"), item.id


def test_winogender_items(data_dir: Path) -> None:
    templates, stats = examples.published_sources(riddles.WINOGENDER, data_dir=data_dir)
    women = riddles.share_of_women(stats)
    first, share, number = ("engineer", 0.165, 24) if data_dir == zoo.MINIATURE else ("technician", 0.4034, 120)
    assert women[first] == pytest.approx(share)
    found = riddles.load_winogender(templates, women)
    assert len({item.text for item in found}) == len(found) == 6 * number
    sentences = (data_dir / "winogender" / "all_sentences.tsv").read_text(encoding="utf-8")
    assert {line.split("\t")[1] for line in sentences.splitlines()[1:]} == {item.text for item in found}
    assert Counter(item.stereotype for item in found) == {"pro": 2 * number, "anti": 2 * number, "neutral": 2 * number}
    assert Counter(item.groups["participant"] for item in found) == {"named": 3 * number, "someone": 3 * number}
    # most engineers and technicians are men: `he` for the other person goes against the statistics
    assert found[0].groups == {
        **{"gender": "male", "occupation": first, "answer": "participant"},
        **{"participant": "named", "case": "nominative", "template": "0000"},
    }
    someone = found[3]
    assert (someone.id, someone.gold, someone.other) == ("0000/someone/male", "someone", first)
    assert {item.groups["gender"]: item.stereotype for item in found[:3]} == {
        "male": "anti",
        "female": "pro",
        "neutral": "neutral",
    }


def winopron(folder: Path) -> tuple[riddles.CoreferenceItem, ...]:
    (templates,) = examples.published_sources(riddles.WINOPRON, data_dir=folder)
    shares = examples.published_sources(riddles.WINOGENDER, data_dir=zoo.MINIATURE)[1]
    return riddles.load_winopron(templates, riddles.share_of_women(shares))


def test_winopron_items(miniature: Path) -> None:
    """360 templates with four pronouns and three cases: here twelve, in the published format."""
    found = winopron(miniature)
    assert Counter(item.groups["gender"] for item in found) == dict.fromkeys(("male", "female", "neutral", "xe"), 12)
    cases = Counter(item.groups["case"] for item in found)
    assert cases == dict.fromkeys(("nominative", "possessive", "accusative"), 16)
    texts = {item.text for item in found}
    assert "The engineer told the client that they were almost done with the drawings." in texts
    assert "The librarian helped the child because they are in charge of the shelves." in texts
    assert "The librarian helped the child because they have lost the way to the exit." in texts
    assert "The librarian helped the child because xe is in charge of the shelves." in texts
    assert "The engineer showed the client xyr latest plans for the bridge." in texts
    assert "The librarian gave the child a book that would teach xem to swim." in texts
    assert all(item.pronoun in item.text.split() or item.pronoun + "." in item.text for item in found)
    # most librarians are women: `she` for the librarian and `he` for the child go with the statistics
    sides = {(item.pronoun, item.gold): item.stereotype for item in found if item.groups["occupation"] == "librarian"}
    assert (sides["she", "librarian"], sides["he", "librarian"]) == ("pro", "anti")
    assert (sides["she", "child"], sides["he", "child"], sides["xe", "child"]) == ("anti", "pro", "neutral")


def test_winopron_cannot_be_downloaded_by_name(tmp_path: Path) -> None:
    """Its archive has a password: the user is told what to do, in one line."""
    for refused in (
        lambda: data.get("winopron", data_dir=tmp_path),
        lambda: data.get("winopron", data_dir=tmp_path, offline=True),
        lambda: winopron(tmp_path),
    ):
        with pytest.raises(DataError, match=r"winopron cannot be downloaded .* put new_templates\.tsv into winopron/"):
            refused()
    assert "WinoPron" in data.card("winogender").problems
    assert data.get("winopron", data_dir=zoo.MINIATURE, offline=True) == (
        zoo.MINIATURE / "winopron" / "new_templates.tsv",
    )


def test_bad_templates_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "winopron"
    folder.mkdir()
    path = folder / "new_templates.tsv"
    path.write_text("occupation(0)\tother-participant(1)\tanswer\tsentence\nengineer\tclient\t2\tX $NOM_PRONOUN\n")
    with pytest.raises(DataError, match=r"line 2: expected an occupation with a share, answer 0 or 1"):
        winopron(tmp_path)
    path.write_text("occupation\tsentence\na\tb\n")
    with pytest.raises(DataError, match=r"no column occupation\(0\); found"):
        winopron(tmp_path)


BIO = "She is a nurse in Leeds. She looks after children. Her patients like her."


def test_biographies_of_all_formats(tmp_path: Path) -> None:
    rows = [
        {"hard_text": "Text one.", "profession": 13, "gender": 1},
        {"hard_text": "Two.", "profession": 0, "gender": 0},
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "train.parquet")
    (tmp_path / "more.jsonl").write_text(
        json.dumps({"bio": BIO, "title": "Yoga Teacher", "gender": "F"}), encoding="utf-8"
    )
    found = biasbios.load(biasbios.files(tmp_path, None))
    assert [(item.text, item.label, item.groups["gender"]) for item in found] == [
        ("She looks after children. Her patients like her.", "yoga_teacher", "female"),
        ("Text one.", "nurse", "female"),
        ("Two.", "accountant", "male"),
    ]


def test_a_pickle_is_read_only_if_allowed(tmp_path: Path) -> None:
    path = tmp_path / "BIOS.pkl"
    path.write_bytes(pickle.dumps([{"raw": BIO, "start_pos": 25, "title": "nurse", "gender": "F"}]))
    with pytest.raises(DataError, match="is a pickle, which can run arbitrary code"):
        biasbios.load(biasbios.files(path, None))
    (one,) = biasbios.load(biasbios.files(path, None), allow_pickle=True)
    assert one.text == "She looks after children. Her patients like her."


@pytest.mark.parametrize(
    ("row", "line"),
    [
        ({"hard_text": "x", "profession": 28, "gender": 0}, "profession '28', expected a number below 28"),
        ({"hard_text": "x", "profession": 1, "gender": "x"}, "gender 'x', expected F or M"),
        ({"hard_text": "x", "gender": "F"}, "no column profession or title or occupation"),
    ],
)
def test_bad_biographies(tmp_path: Path, row: dict[str, object], line: str) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps(row), encoding="utf-8")
    with pytest.raises(DataError, match=line):
        biasbios.load(biasbios.files(path, None))


def test_no_biographies_anywhere(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no biographies: looked for a folder biasbios"):
        biasbios.files(None, tmp_path)


def test_a_folder_of_biographies_by_occupation(miniature: Path) -> None:
    sources = biasbios.files(None, miniature)
    assert [source.name for source in sources] == [f"{job}.csv" for job in sorted(biasbios.PROFESSIONS)]
    found = biasbios.load(sources)
    assert Counter(item.label for item in found) == dict.fromkeys(biasbios.PROFESSIONS, 7)
    for item in found:
        pronouns = {"she", "her"} if item.groups["gender"] == "female" else {"he", "his"}
        assert pronouns & set(item.text.lower().replace(".", "").split()), item.text
    assert {biasbios.part_of(item.text) for item in found} == {"train", "dev", "test"}


def test_the_sample(published: Path) -> None:
    found = biasbios.load(biasbios.files(None, published))
    assert len(found) > 1200
    assert {item.label for item in found} == set(biasbios.PROFESSIONS)
    parts = Counter(biasbios.part_of(item.text) for item in found)
    assert 0.75 < parts["train"] / len(found) < 0.85
    assert parts["dev"] > 90 < parts["test"]


def test_scrubbing_and_the_first_sentence() -> None:
    scrub = biasbios.scrubber(["she", "her", "hers"])
    assert scrub("She said: hers, not here; HER.") == "_ said: _, not here; _."
    assert biasbios.without_first_sentence("Only one sentence.") == ""
    assert biasbios.without_first_sentence("A b. C d.") == "C d."


TASK_FILES = ("stsb", "nli-counterfactual", "winobias-riddles", "winogender-riddles")


@pytest.mark.parametrize("name", TASK_FILES)
def test_files_of_tasks_are_the_published_ones(name: str, published: Path) -> None:
    paths = data.get(name, data_dir=published, offline=True)
    assert len(paths) == len(data.card(name).files)


@pytest.mark.parametrize("name", TASK_FILES)
def test_files_of_tasks_are_found_by_name(name: str, miniature: Path) -> None:
    card = data.card(name)
    found = examples.published_sources(card, data_dir=miniature)
    assert [source.path for source in found] == [miniature / card.folder / file.name for file in card.files]
    assert name not in data.names()
    with pytest.raises(DataError, match=f"{card.files[0].name}.* cannot be downloaded offline"):
        data.get(name, data_dir=miniature, offline=True)


def test_missing_task_files_say_how_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="run `unmask data get stsb`"):
        examples.published_sources(stsb.CARD, data_dir=tmp_path)
