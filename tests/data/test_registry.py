"""The public face: names, cards, and telling a name from a path."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import resources
from pathlib import Path, PurePosixPath

import pytest

from unmask import data
from unmask.core.errors import DataError, UnknownName

ALL = (*data.names(), *data.tables(), *data.score_names())
PUBLISHED = [name for name in data.names() if data.card(name).files[0].url]
PAGE = Path(__file__).parents[2] / "docs" / "data.md"


def test_what_ships_with_the_package_comes_first_then_by_name() -> None:
    shipped = [name for name in data.names() if name not in PUBLISHED]
    assert data.names() == (*sorted(shipped), *sorted(PUBLISHED))
    assert data.tables() == tuple(sorted(data.tables()))
    assert {"nine-axes", "triple-gender"} <= {*shipped}
    assert {"crows-pairs", "stereoset"} <= {*PUBLISHED}
    assert {"prompts", "word-pairs"} <= {*data.tables()}


def test_every_card_has_a_source() -> None:
    """A card without a source could neither be listed nor downloaded by name."""
    cards = {path.name.removesuffix(".toml") for path in resources.files("unmask.data").joinpath("cards").iterdir()}
    assert cards == {*data.SOURCES}


@pytest.mark.parametrize("name", ALL)
def test_cards_are_complete(name: str) -> None:
    card = data.card(name)
    assert card.name == name
    assert card.size > 0 or card.manual
    assert card.licence
    assert card.languages
    assert card.problems.endswith(".")
    assert re.fullmatch(r"@\w+\{[\w-]+,\n.*\n\}", card.citation, re.DOTALL)
    assert card.citation.count("{") == card.citation.count("}")
    assert all(re.fullmatch("[0-9a-f]{64}", file.sha256) for file in card.files) or card.manual


@pytest.mark.parametrize("name", PUBLISHED)
def test_addresses_are_pinned_to_the_commit_the_card_names(name: str) -> None:
    card = data.card(name)
    repository, commit, path = re.fullmatch(r"([\w/-]+)@([0-9a-f]{7}):(\S+).*", card.source).groups()  # type: ignore[union-attr]
    address = rf"https://raw\.githubusercontent\.com/{repository}/{commit}[0-9a-f]{{33}}/{re.escape(path)}"
    assert re.fullmatch(address, card.files[0].url)
    assert PurePosixPath(path).name == card.files[0].name


def test_unknown_names_suggest_the_near_ones() -> None:
    with pytest.raises(UnknownName, match=r"no dataset named 'crows-pair'\. Did you mean crows-pairs"):
        data.load("crows-pair")
    for name in ("nothing", ""):
        with pytest.raises(UnknownName, match="There are: bec-pro, controls, crows-pairs, "):
            data.card(name)
        with pytest.raises(UnknownName):
            data.load(name)
        with pytest.raises(UnknownName):
            data.get(name)


def test_a_table_is_not_mistaken_for_pairs() -> None:
    with pytest.raises(DataError) as caught:
        data.load("prompts")
    assert str(caught.value) == (
        "prompts (Prompts with one open word) is a table, not a dataset of pairs: use "
        "unmask.data.read('prompts'), or show it with `unmask data show prompts`"
    )
    with pytest.raises(DataError, match=r"nine-axes is a dataset of pairs, not a table: use unmask\.data\.load"):
        data.read("nine-axes")
    with pytest.raises(DataError, match=r"stsb .* is data of a task, .* `unmask data get stsb`"):
        data.load("stsb")
    with pytest.raises(UnknownName, match=r"no table named 'prompt'\. Did you mean prompts"):
        data.read("prompt")
    with pytest.raises(UnknownName, match=r"no dataset named 'occupation'\. Did you mean occupations"):
        data.card("occupation")


def test_names_and_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A known name is a name, even beside a file called so; anything that looks like a file is a file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nine-axes").write_text("more,less\n")
    (tmp_path / "prompts").write_text("more,less\n")
    (tmp_path / "here").write_text("more,less\na,b\n")
    assert len(data.load("nine-axes").items) == 360
    with pytest.raises(DataError, match=r"prompts .* is a table"):
        data.load("prompts")
    with pytest.raises(DataError, match=r"gone\.csv does not exist; expected a file of pairs"):
        data.load("gone.csv")
    with pytest.raises(DataError, match="folder/gone does not exist"):
        data.load("folder/gone")
    with pytest.raises(DataError, match=r"unknown kind of file ''; expected one of \.csv, \.tsv"):
        data.load("here")
    with pytest.raises(DataError, match="is a folder; expected a file of pairs"):
        data.load(tmp_path)


def test_user_pairs_never_get_the_name_of_a_published_dataset(tmp_path: Path) -> None:
    path = tmp_path / "CrowS_Pairs.csv"
    path.write_text("more,less\na,b\n")
    loaded = data.load(path)
    assert loaded.card.name == "own-crows-pairs"
    assert loaded.items[0].id == "own-crows-pairs/0000"
    assert data.from_records([("a", "b")], name="StereoSet").card.name == "own-stereoset"
    assert data.from_records([("a", "b")], name="prompts").card.name == "own-prompts"


def test_importing_is_light() -> None:
    code = "import sys, unmask.data; print({'pandas', 'pyarrow', 'pooch', 'requests'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("name", ALL)
def test_the_documentation_tells_of_every_dataset(name: str) -> None:
    card = data.card(name)
    page = PAGE.read_text("utf-8")
    size = f"{card.size:,}" if card.size else "–"
    (line,) = (line for line in page.splitlines() if line.startswith(f"| `{name}` | {size} |"))
    assert card.licence.split(" (")[0] in line
    assert card.languages[0] in line
    if name in PUBLISHED:
        assert f"| `{card.folder}` | `{card.files[0].name}` |" in page
    elif card.files[0].url:
        assert f"`{card.files[0].name}`" in page
    else:
        assert f"\n### `{name}`\n" in page
