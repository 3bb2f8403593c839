"""YAML from outside: JSON's types, lines in messages, and nothing that grows."""

from __future__ import annotations

import time
import tracemalloc

import pytest

from unmask.core.boundary import MAX_YAML, parse_yaml
from unmask.core.errors import DataError, ResultError

LEVELS = ["&a0 [x,x,x,x,x,x,x,x,x,x]", *(f"&a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9))]
BOMB = "templates:\n" + "".join(f"  - {{template: {level}}}\n" for level in LEVELS)
REFUSED = {
    "a:\n  - &x [1]\n  - *x\n": r"line 3: not YAML \(an alias",
    "a: 1\n" + "b: " + "[" * 5000: "line 2: not YAML .*more than 30 levels",
    "a: 1\nb:\n- !!timestamp x\n": "line 3: not YAML .*timestamp",
    "a: !!python/object:os.system x\n": "line 1: not YAML",
    "a: !!int x\n": "line 1: not YAML .*'x' is no int",
    "a: " + "9" * 5000: "line 1: not YAML .* is no int",
    "a: 1\n\nb: 2\na: 3\n": "line 4: not YAML .*the key 'a' was already given",
    'a:\n- "\\ud800"\n': "line 2: not YAML",
    "a: 1\nb: \x00\n": "line 2: not YAML",
    "? [a]\n: b\n": "line 1: not YAML .*unhashable",
    "a\n---\nb\n": "line 2: not YAML",
    "x" * (MAX_YAML + 1): "characters of YAML, expected at most",
}


@pytest.mark.parametrize("text", REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused_has_its_line(text: str) -> None:
    with pytest.raises(ResultError, match=f"^f.yaml,? ?.*{REFUSED[text]}") as caught:
        parse_yaml(text, "f.yaml", ResultError)
    assert len(str(caught.value)) < 500


def test_aliases_do_not_fill_the_memory() -> None:
    tracemalloc.start()
    began = time.process_time()
    with pytest.raises(DataError, match="line 3: not YAML"):
        parse_yaml(BOMB, "b.yaml")
    assert time.process_time() - began < 5
    assert tracemalloc.get_traced_memory()[1] < 20e6
    tracemalloc.stop()


def test_words_and_dates_stay_text() -> None:
    found = parse_yaml("words: [no, yes, on, 2024-99-99, 2024-01-01, ~, true, 3, 0.5]\n", "f.yaml")
    assert found == {"words": ["no", "yes", "on", "2024-99-99", "2024-01-01", None, True, 3, 0.5]}


def test_lists_know_the_lines_of_their_entries() -> None:
    found = parse_yaml("a:\n- 1\n- [2,\n  3]\n\n- 4\n", "f.yaml")["a"]
    assert [found.at(row) for row in range(3)] == ["f.yaml, line 2", "f.yaml, line 3", "f.yaml, line 6"]
