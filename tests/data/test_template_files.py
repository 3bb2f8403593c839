"""Your own templates: YAML and tables, what they become, and what is refused with file and row."""

from __future__ import annotations

from pathlib import Path

import pytest

import zoo
from unmask import data
from unmask.core.errors import DataError

YAML = """\
slots:
  person: [man, woman, person]
words:
  - {word: nurse, category: care}
  - {word: heir, category: care, goal: male, article: an}
templates:
  - {category: care, template: "{A} {word} said that {subject} slept."}
  - {category: care, template: "The {person} was {a} {word}."}
  - "{Person} or not, it rained."
  - {word: queen, goal: female, template: "The {word} hurt {reflexive}."}
"""


def test_a_yaml_file_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "My Templates.yaml"
    path.write_text(YAML)
    found = data.load(path)
    assert found.card.name == "my-templates"
    made = {item.id: item for item in found.items}
    assert list(made) == [
        "my-templates/care-nurse-00",
        "my-templates/care-nurse-01",
        "my-templates/care-heir-00",
        "my-templates/care-heir-01",
        "my-templates/queen-00",
        "my-templates/alone-00",
    ]
    first = made["my-templates/care-heir-00"]
    assert (first.more, first.less, first.unrelated) == (
        "An heir said that he slept.",
        "An heir said that she slept.",
        None,
    )
    assert first.groups == {
        "category": "care",
        "word": "heir",
        "goal": "male",
        "slot": "subject",
        "template": "care-00",
    }
    noun = made["my-templates/care-nurse-01"]
    assert noun.sides() == {
        "more": "The man was a nurse.",
        "less": "The woman was a nurse.",
        "unrelated": "The person was a nurse.",
    }
    alone = made["my-templates/alone-00"]
    assert (alone.more, alone.less) == ("Man or not, it rained.", "Woman or not, it rained.")
    assert "word" not in alone.groups
    assert made["my-templates/queen-00"].groups["goal"] == "female"


def test_a_table_says_the_same(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(
        "category,word,goal,template,first,second\n"
        "care,nurse,,,,\n"
        'care,,,"The {word} is a {slot}.",guy,gal\n'
        ',,,"We saw {object}.",,\n'
    )
    found = data.load(path)
    assert [(item.more, item.less) for item in found.items] == [
        ("The nurse is a guy.", "The nurse is a gal."),
        ("We saw him.", "We saw her."),
    ]
    assert not found.verified


def test_a_table_of_pairs_is_still_one_of_pairs(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("more,less,template\na b,a c,one\n")
    assert data.load(path).items[0].groups == {"template": "one"}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("- a\n", r"bad\.yaml: found \['a'\], expected slots, words, templates"),
        ("frames: []\n", "unknown entry 'frames'"),
        ("words: nurse\n", "bad.yaml, words: found 'nurse', expected a list"),
        ("slots: {person: [man]}\n", r"slot 'person': found \['man'\], expected two or three different words"),
        ("templates: ['{a} {word} left.']\n", r"bad\.yaml, line 1: no word of category ''"),
        ("templates: ['She left.']\n", r"bad\.yaml, line 1: template 'She left.' has 0 slots"),
        ("words:\n- nurse\n", r"bad\.yaml, line 2: no template with \{word\}"),
        ("templates: [{word: x}]\n", r"bad\.yaml, line 1: no template"),
        ("templates: [{template: '{object}', mood: 1}]\n", "unknown column 'mood'"),
        ("templates: [{template: '{object}', goal: left}]\n", "goal 'left', expected zero, male, female"),
        ("templates: ['{job} met {object}']\n", r"unknown mark '\{job\}'"),
        ("templates: [\n", r"bad\.yaml, line 2: not YAML"),
        ("words: []\n", "no templates; expected at least one"),
        ("words: [nurse, Nurse]\ntemplates: ['The {word} met {object}.']\n", "a word is listed twice in one category"),
    ],
)
def test_errors_name_the_invalid_entry(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(DataError, match=complaint):
        data.load(path)


def test_a_bad_row_of_a_table_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text('template,first,second\n"{slot} left.",he,she\n"{slot} left.",he,he\n')
    with pytest.raises(DataError, match=r"bad\.csv, line 3, first and second: found"):
        data.load(path)


def test_they_only_where_it_is_grammatical() -> None:
    whole, some = data.load("pronoun-templates"), data.load("pronoun-templates-they")
    kept = {(item.more, item.less) for item in some.items}
    dropped = [item for item in whole.items if (item.more, item.less) not in kept]
    assert len(dropped) == 2952 - 2710
    assert {item.groups["slot"] for item in dropped} == {"subject"}
    they = {"they", "them", "their", "theirs", "themselves"}
    for item in some.items:
        assert item.unrelated is not None
        changed = [
            (a.strip(".,?").lower(), b.strip(".,?").lower())
            for a, b in zip(item.more.split(), item.unrelated.split(), strict=True)
            if a != b
        ]
        assert len(changed) == 1, item.id
        assert changed[0][1] in they, item.id


def test_winogender_by_hand(tmp_path: Path, data_dir: Path) -> None:
    ours = data_dir == zoo.MINIATURE
    name, occupations = ("librarian.reader", 12) if ours else ("technician.customer", 60)
    found = data.load("winogender", data_dir=data_dir)
    assert found.verified is not ours
    assert len(found.items) == 4 * occupations
    one = next(item for item in found.items if item.id == f"winogender/{name}.1")
    assert one.more.replace(" he ", " she ") == one.less
    assert one.more.replace(" he ", " they ") == one.unrelated
    assert one.groups["category"] == "participant"
    assert one.groups["slot"] == "subject"
    assert len({item.groups["word"] for item in found.items}) == occupations
    folder = tmp_path / "winogender"
    folder.mkdir()
    (folder / "all_sentences.tsv").write_text("sentid\tsentence\nx.y\tOne.\n")
    with pytest.raises(DataError, match=r"all_sentences\.tsv, line 2: 'x\.y', expected"):
        data.load("winogender", data_dir=tmp_path)


def test_winobias_pairs_the_files_line_by_line(data_dir: Path) -> None:
    ours = data_dir == zoo.MINIATURE
    found = data.load("winobias", data_dir=data_dir)
    assert found.verified is not ours
    number, left_out = (62, 2) if ours else (1522, 62)
    assert len(found.items) == number
    assert any(line.startswith(f"{left_out} lines without one occupation") for line in found.warnings)
    men = (data_dir / "winobias" / "data" / "male_occupations.txt").read_text().split("\n")
    male = {line.strip().lower() for line in men if line.strip()}
    for item in found.items:
        assert (item.groups["word"] in male) == (item.groups["category"] == "male"), item.id
        differing = [(a, b) for a, b in zip(item.more.split(), item.less.split(), strict=True) if a != b]
        assert len(differing) == 1
        assert differing[0][0].strip(".").lower() in {"he", "him", "his", "himself"}, item.id


def test_all_files_of_a_dataset_must_be_there(tmp_path: Path, miniature: Path) -> None:
    folder = tmp_path / "winobias" / "data"
    folder.mkdir(parents=True)
    name = "pro_stereotyped_type1.txt.dev"
    (folder / name).write_bytes((miniature / "winobias" / "data" / name).read_bytes())
    with pytest.raises(DataError, match=r"looked for winobias/data/anti_stereotyped_type1\.txt\.dev"):
        data.load("winobias", data_dir=tmp_path)


NATIONS = "slots: {who: [Turkish, German]}\ntemplates:\n  - {word: baker, template: 'The {who} man is {a} {word}.'}\n"


@pytest.mark.parametrize(
    ("text", "sides"),
    [
        (NATIONS, ("Turkish", "German")),
        ("templates: ['{Subject} smiled.']", None),
        ("slots: {person: [man, woman]}\ntemplates: ['A {person} smiled.']", None),
        (
            "slots: {a1: [Turk, Dane], a2: [Pole, Swede]}\ntemplates: ['A {a1} ate.', 'A {a2} ate.']",
            ("Turk/Pole", "Dane/Swede"),
        ),
    ],
)
def test_templates_not_about_gender_name_their_own_words(
    tmp_path: Path, text: str, sides: tuple[str, str] | None
) -> None:
    (tmp_path / "mine.yaml").write_text(text)
    loaded = data.load(str(tmp_path / "mine.yaml"))
    assert loaded.sides == sides
    assert loaded.facts().get("sides") == (list(sides) if sides else None)


def test_a_goal_needs_a_masculine_and_a_feminine_word(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(NATIONS.replace("word: baker", "word: baker, goal: male"))
    with pytest.raises(DataError, match=r"goal 'male' of mine/baker-00, whose words .*Turkish.* are not a masculine"):
        data.load(str(tmp_path / "mine.yaml"))
