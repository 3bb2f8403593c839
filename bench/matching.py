"""How fast do matchers find words in text? Several libraries side by side, on one core.

pip install ahocorasick_rs hyperscan pyahocorasick
python bench/matching.py [FILE] [--mb 16]

Every matcher finds all whole words of the built-in sets and professions (those of one word, any case) in the
same bytes, and returns their positions and numbers as arrays; they must find the same. Without a file a text
is made up. Processor time, the best of three runs each.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corpus import write_texts
from unmask.corpus.counting import TermCounter
from unmask.corpus.matching import Matcher
from unmask.corpus.terms import builtin_terms

Ints = NDArray[np.int64]
Found = tuple[Ints, Ints]  # positions of words, and their numbers
Find = Callable[[bytes], Found]
TABLE = bytes(c | 32 if chr(c).isalpha() else c if chr(c).isdigit() else 32 for c in range(128)) + b" " * 128


def normalise(text: bytes) -> bytes:
    """Letters in lower case and digits; everything else a space."""
    return b" " + text.translate(TABLE) + b" "


def unmask(words: list[bytes]) -> Find:
    """The matcher of unmask, which also counts all words, and checks neighbours that are not ASCII."""
    matcher = Matcher(tuple(word.decode() for word in words))

    def find(text: bytes) -> Found:
        matches = matcher.find(text, np.zeros(1, np.int64))
        return matches.starts, matches.terms

    return find


def ahocorasick_rs(words: list[bytes]) -> Find:
    """Aho-Corasick in Rust, over words between spaces."""
    from ahocorasick_rs import BytesAhoCorasick, Implementation

    automaton = BytesAhoCorasick([b" " + word + b" " for word in words], implementation=Implementation.DFA)

    def find(text: bytes) -> Found:
        matches = automaton.find_matches_as_indexes(normalise(text), overlapping=True)
        table = np.array(matches, dtype=np.int64).reshape(-1, 3)
        return table[:, 1], table[:, 0]

    return find


def pyahocorasick(words: list[bytes]) -> Find:
    """Aho-Corasick in C, over words between spaces; it takes text, one character per byte here."""
    import ahocorasick

    automaton = ahocorasick.Automaton()
    for number, word in enumerate(words):
        automaton.add_word(f" {word.decode()} ", (number, len(word)))
    automaton.make_automaton()

    def find(text: bytes) -> Found:
        matches = [
            (end - size - 1, number) for end, (number, size) in automaton.iter(normalise(text).decode("latin-1"))
        ]
        table = np.array(matches, dtype=np.int64).reshape(-1, 2)
        return table[:, 0], table[:, 1]

    return find


def hyperscan(words: list[bytes]) -> Find:
    """Hyperscan, over words between spaces; it calls back for every match."""
    from hyperscan import Database

    database = Database()
    expressions = [b" " + word + b" " for word in words]
    database.compile(expressions=expressions, ids=list(range(len(words))), flags=[0] * len(words))
    sizes = np.array([len(word) for word in words])

    def find(text: bytes) -> Found:
        ends, numbers = list[int](), list[int]()

        def add_match(number: int, _start: int, end: int, _flags: int, _context: Any) -> None:
            ends.append(end)
            numbers.append(number)

        database.scan(normalise(text), match_event_handler=add_match)
        which = np.array(numbers, dtype=np.int64)
        return np.array(ends, dtype=np.int64) - sizes[which] - 2, which

    return find


def regular_expression(words: list[bytes]) -> Find:
    """Python's own `re`: one alternation of all words."""
    number_of = {word: number for number, word in enumerate(words)}
    choices = b"|".join(sorted(words, key=len, reverse=True))
    pattern = re.compile(rb"(?<![a-z0-9])(?:" + choices + rb")(?![a-z0-9])")

    def find(text: bytes) -> Found:
        matches = [(match.start(), number_of[match.group()]) for match in pattern.finditer(text.lower())]
        table = np.array(matches, dtype=np.int64).reshape(-1, 2)
        return table[:, 0], table[:, 1]

    return find


MATCHERS: dict[str, tuple[str, Callable[[list[bytes]], Find]]] = {
    "unmask": ("ahocorasick_rs", unmask),
    "ahocorasick_rs alone": ("ahocorasick_rs", ahocorasick_rs),
    "hyperscan": ("hyperscan", hyperscan),
    "pyahocorasick": ("ahocorasick", pyahocorasick),
    "re": ("re", regular_expression),
}


def best_seconds(find: Find, text: bytes) -> tuple[Found, float]:
    """What is found, and the processor time of the best of three runs."""
    times = []
    for _ in range(3):
        begin = time.process_time()
        found = find(text)
        times.append(time.process_time() - begin)
    return found, min(times)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--mb", type=int, default=16, help="megabytes of text, from its beginning")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = asked.file or write_texts(Path(folder) / "made-up.txt", asked.mb)
        with path.open("rb") as stream:
            text = stream.read(asked.mb * 1_000_000)
    text = text.decode("utf-8", errors="ignore").encode("ascii", errors="replace")  # one rule for neighbours
    forms = TermCounter(builtin_terms()).forms
    words = list(dict.fromkeys(form.encode() for form in forms if re.fullmatch("[a-z]+", form)))
    print(f"{path.name}: {len(text) / 1e6:.0f} MB, {len(words)} words, one core")
    expected: Ints | None = None
    for name, (module, make) in MATCHERS.items():
        if find_spec(module) is None:
            print(f"{name:<22} not installed")
            continue
        (starts, numbers), seconds = best_seconds(make(words), text)
        found = np.array(sorted(zip(starts.tolist(), numbers.tolist(), strict=True)))
        expected = found if expected is None else expected
        same = "the same" if np.array_equal(found, expected) else "OTHERS"
        print(f"{name:<22} {len(text) / 1e6 / seconds:8.1f} MB/s per core  found {len(found):>9,}  {same}")


if __name__ == "__main__":
    main()
