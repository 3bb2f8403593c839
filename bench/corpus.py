"""How fast are words counted? `unmask corpus count` beside a plain Python loop and GNU `grep -ow`.

python bench/corpus.py [FILE] [--mb 64]

Without a file a text is made up, of words as frequent as in English. All three run on one core and count the
same single words (grep and the loop: the two sets only); processor time is what is compared.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import tempfile
import time
from collections import Counter as Tally
from collections.abc import Callable
from pathlib import Path

import numpy as np

from unmask.corpus.counting import TermCounter, count_files
from unmask.corpus.terms import TermSets, builtin_terms

COMMON = [
    "the",
    "of",
    "and",
    "to",
    "in",
    "a",
    "is",
    "was",
    "for",
    "on",
    "as",
    "with",
    "by",
    "he",
    "at",
    "from",
    "his",
    "it",
    "an",
    "were",
    "her",
    "she",
    "which",
    "are",
    "be",
]


def write_texts(path: Path, megabytes: int) -> Path:
    """A text of random words, some of them gendered, in lines of a few sentences."""
    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    rare = ["".join(rng.choice(letters, size)) for size in rng.integers(3, 11, 20_000)]
    words = np.array([*COMMON * 300, *rare, *(w for side in builtin_terms().sets for w in side)])
    with path.open("w", encoding="utf-8") as stream:
        while stream.tell() < megabytes * 1_000_000:
            drawn = rng.choice(words, (200, 60))
            stream.writelines(" ".join(row[:30]) + ". " + " ".join(row[30:]) + ".\n" for row in drawn)
    return path


def loop(path: Path, terms: TermSets) -> int:
    """A plain Python loop: every word looked up in a set."""
    wanted = {word.lower() for side in terms.sets for word in side}
    pattern, found = re.compile(r"[^\W_]+"), Tally[str]()
    with path.open(encoding="utf-8") as stream:
        for line in stream:
            found.update(word for word in pattern.findall(line.lower()) if word in wanted)
    return found.total()


def grep(path: Path, terms: TermSets) -> int:
    """GNU grep: whole words, any case, only what matches."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as words:
        words.writelines(f"{word}\n" for side in terms.sets for word in side)
        words.flush()
        options = ["grep", "-owiFf", words.name, str(path)]
        done = subprocess.run(options, capture_output=True, check=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
    return done.stdout.count(b"\n")


def ours(path: Path, terms: TermSets) -> int:
    """`unmask corpus count`, in this process."""
    found = count_files([path], TermCounter(terms), processes=1)
    return found.set_total(0) + found.set_total(1)


def time_count(what: Callable[[Path, TermSets], int], path: Path, terms: TermSets) -> tuple[int, float, float]:
    """What was found, processor seconds (children's too), and seconds on the clock."""
    begin, before = time.perf_counter(), _processor_seconds()
    found = what(path, terms)
    return found, _processor_seconds() - before, time.perf_counter() - begin


def _processor_seconds() -> float:
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in both)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--mb", type=int, default=64, help="megabytes of made-up text")
    asked = parser.parse_args()
    whole = builtin_terms()
    plain = tuple(tuple(w for w in side if w.isalpha() and w.islower()) for side in whole.sets)
    words = TermSets(whole.names, (plain[0], plain[1]), {}, "single words")
    with tempfile.TemporaryDirectory() as folder:
        path = asked.file or write_texts(Path(folder) / "made-up.txt", asked.mb)
        size = path.stat().st_size / 1e6
        everything = TermSets(whole.names, whole.sets, whole.professions, "all terms and professions")
        runs = (
            ("unmask, single words", ours, words),
            ("unmask, all terms and professions", ours, everything),
            ("plain Python loop", loop, words),
            ("grep -owiF", grep, words),
        )
        print(f"{path.name}: {size:.0f} MB, one core")
        base = None
        for name, what, terms in runs:
            found, used, clock = time_count(what, path, terms)
            base = base or size / used
            print(
                f"{name:<34} {size / used:8.1f} MB/s per core  {clock:7.1f} s  found {found:>10,}  "
                f"first is {base / (size / used):.1f} times as fast"
            )


if __name__ == "__main__":
    main()
