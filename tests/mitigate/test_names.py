"""Names of a user's table would be left as they are, or paired with rarer ones, if these failed."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from mitigate.tiny import make_context, make_options
from unmask.core.errors import DataError
from unmask.data.builtin_tables import NamePair
from unmask.mitigate.methods.cda import counterfactuals
from unmask.mitigate.swap import Swapper
from unmask.mitigate.swap.lexicon import build_lexicon, mark_words, match_names, read_names, swappable_pairs


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("n.json", '[["timothy", "kathleen"], ["jean-luc", "MARIE"], ["McKay", "Ann"]]'),
        ("n.csv", "male,female\ntimothy,kathleen\njean-luc,MARIE\nMcKay,Ann\n"),
        ("n.tsv", "timothy\tkathleen\njean-luc\tMARIE\nMcKay\tAnn\n"),
    ],
)
def test_pairs_are_read_in_every_form_and_written_as_names(name: str, text: str, tmp_path: Path) -> None:
    found = read_names(write(tmp_path / name, text))
    assert [(pair.masculine, pair.feminine, pair.rank) for pair in found] == [
        ("Timothy", "Kathleen", 1),
        ("Jean-Luc", "Marie", 2),
        ("McKay", "Ann", 3),
    ]


def test_names_are_matched_by_popularity_and_gender(tmp_path: Path) -> None:
    """The least sum of distances over all ways to pair them, tried one by one."""
    rows = ["James,M,4800", "James,F,20", "Mary,F,3700", "Mary,M,10", "Leslie,M,110", "Leslie,F,260", "Robin,F,290",
            "Robin,M,240", "Jessie,M,310", "Jessie,F,120", "Enid,F,30", "Otto,M,40"]  # fmt: skip
    found = read_names(write(tmp_path / "n.csv", "name,sex,count\n" + "\n".join(rows) + "\n"))
    men, women = ["James", "Jessie", "Otto"], ["Mary", "Robin", "Leslie", "Enid"]
    counts = {"James": (4820, 4800), "Mary": (3710, 3700), "Leslie": (370, 260), "Robin": (530, 290),
              "Jessie": (430, 310), "Enid": (30, 30), "Otto": (40, 40)}  # fmt: skip
    points = {name: np.array([np.log10(n), own / n]) for name, (n, own) in counts.items()}
    scale = np.std([points[name] for name in men + women], axis=0)
    best = min(
        permutations(women, 3),
        key=lambda some: sum(np.linalg.norm((points[a] - points[b]) / scale) for a, b in zip(men, some, strict=True)),
    )
    assert {(pair.masculine, pair.feminine) for pair in found} == {*zip(men, best, strict=True)}
    assert ("James", "Mary") in {(pair.masculine, pair.feminine) for pair in found}


def test_a_name_that_the_text_has_in_lower_case_is_a_word_too() -> None:
    texts = ["Mark met Bill. The bill was paid.", "Hope met Bill Gates. We hope so.", "Tim left. Tim slept."]
    marked = mark_words([NamePair("Bill", "Zoe", 1), NamePair("Tim", "Ida", 2), NamePair("Mark", "Eva", 3)], texts)
    assert [pair.ambiguous for pair in marked] == [True, False, True]  # Mark: in the package's list
    swap = Swapper(build_lexicon(swappable_pairs(), marked))
    assert swap("Bill Gates met Tim. Bill me.") == "Zoe Gates met Ida. Bill me."


def test_a_name_that_is_not_in_the_table_keeps_its_gender() -> None:
    """As docs/mitigations/counterfactuals.md says: pronouns and nouns around it change all the same."""
    swap = Swapper(build_lexicon(swappable_pairs(), [NamePair("Timothy", "Kathleen", 1)]))
    assert swap("Kathleen Nott met her brother Zbigniew.") == "Timothy Nott met his sister Zbigniew."


def test_a_mitigation_swaps_the_names_of_the_table(tmp_path: Path) -> None:
    path = write(tmp_path / "names.json", json.dumps([["zbigniew", "kathleen"]]))
    context = make_context(tmp_path, name_table=path)
    swapped, _ = counterfactuals(context, ["Kathleen met James and her aunt."], names=False)
    assert swapped == ["Zbigniew met James and his uncle."]


def test_the_published_table_is_read(published: Path) -> None:
    """Hall Maudslay et al. (2019): a thousand pairs, each name once."""
    found = read_names(published / "cds" / "names_pairs_1000_scaled.json")
    assert len(found) == 1000
    assert len({name for pair in found for name in (pair.masculine, pair.feminine)}) == 2000
    swap = Swapper(build_lexicon(swappable_pairs(), mark_words(found, ["James met Kathleen."])))
    assert swap("Kathleen Nott met her brother.") == "Timothy Nott met his sister."


def test_what_is_no_table_of_names_is_refused(tmp_path: Path) -> None:
    for name, text, message in (
        (
            "a.csv",
            "name,sex,count\nAnn,F,3\nTom,x,4\n",
            r"a.csv, line 3: found .* expected a name, M or F, and a count",
        ),
        ("b.csv", "Ann,F,3\nEve,F,4\n", "0 names of men and 2 of women"),
        ("c.csv", "Tom\n", "expected two words per line"),
        ("d.json", '[["Tom", 3]]', "expected pairs of words"),
    ):
        with pytest.raises(DataError, match=message):
            read_names(write(tmp_path / name, text))
    with pytest.raises(DataError, match="names is False"):
        make_options(names=False, name_table=tmp_path / "a.csv")
    assert [(each.masculine, each.feminine) for each in match_names({"a": (1.0, 0.0), "b": (0.0, 1.0)})] == [("A", "B")]
