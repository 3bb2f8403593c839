"""Mitigate a file of word vectors: read it, change it by an eraser, write it, and measure both."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from unmask import data
from unmask.core.errors import DataError, ModelError
from unmask.core.files import file_name, plain, writing
from unmask.core.options import Options
from unmask.core.progress import silent
from unmask.data.files import sha256_of
from unmask.data.formats import read_words
from unmask.findings import Section
from unmask.findings.envelope import Result, build, estimate_json
from unmask.findings.folder import ResultFolder
from unmask.mitigate import METHODS
from unmask.mitigate.erase import word_pairs
from unmask.mitigate.spec import Method, StaticOptions, StaticPlan
from unmask.mitigate.static_comparison import compare_vectors, evaluate_vectors
from unmask.mitigate.swap import package_words, read_pairs
from unmask.vectors.directions import GENDER, Pairs
from unmask.vectors.output import write_vectors, written_name
from unmask.vectors.static import WordVectors, format_of, read_vectors

FILES = ("vectors.txt", "vectors.bin")
LEAD = "Changes of association and of neighbours, whether the former lean can still be read, and what it cost."


def mitigate_vectors(
    method: Method, path: Path, opened: ResultFolder, options: StaticOptions, pairs: Path | None, run: Options
) -> Result:
    """Change the vectors of a file; the changed file, in the same format, is in the result folder."""
    if method.change_vectors is None:
        fit = ", ".join(name for name, other in METHODS.items() if other.change_vectors is not None)
        raise ModelError(f"{method.name} changes models, and {path.name} is a file of word vectors: use one of {fit}")
    assert opened.path is not None
    report = run.progress or silent
    form = format_of(path)
    report("read", 0.0, 4)
    plan = make_plan(read_vectors(path, None, limit=run.limit), options, pairs, run.seed)
    report(method.name, 0.25, 4)
    changed, facts = method.change_vectors(plan)
    report("measure", 0.5, 4)
    before, after = (evaluate_vectors(vectors, plan) for vectors in (plan.vectors, changed))
    report("write", 0.75, 4)
    name = written_name(form)
    with writing(opened.path / name):
        write_vectors(changed, opened.stage(name), form)
    report("write", 1.0, 4)
    source = {"id": file_name(path), "kind": "file", "format": form, "sha256": sha256_of(path)}
    return opened.finish(
        build(
            "mitigation",
            title=f"Mitigation by {method.name}",
            lead=f"{method.title}, of word vectors. The changed vectors are in {name}.",
            models=[source],
            options={"method": method.name, **asdict(options), "pairs": pairs, "limit": run.limit, "seed": run.seed},
            estimates=after.estimates,
            findings=[Section(method.name, "Before and after", LEAD, compare_vectors(before, after, plan))],
            details=plain(
                {
                    "citation": method.citation,
                    "outcome": {**facts, **_sizes(plan, changed)},
                    "before": [estimate_json(estimate) for estimate in before.estimates],
                }
            ),
        )
    )


def make_plan(vectors: WordVectors, options: StaticOptions, pairs: Path | None, seed: int) -> StaticPlan:
    """The words of the options that have a vector; those that have a gender in every letter case."""
    cased = str.lower if options.lower else str

    def with_vectors(given: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        both = dict.fromkeys((cased(first), cased(second)) for first, second in given)
        return tuple(pair for pair in both if not vectors.missing(pair) and pair[0] != pair[1])

    direction = with_vectors(GENDER if pairs is None else _pairs_of(pairs))
    if not direction:
        raise DataError(f"{vectors.source} has vectors of no pair of words: check its language and letter case (lower)")
    equalised: Pairs = () if options.neutralise_only else word_pairs()
    if options.equalise is not None:
        equalised = _pairs_of(options.equalise)
    words = occupations() if options.neutral is None else read_words(options.neutral)
    kept = gendered_words() if options.keep is None else read_words(options.keep)
    forms = {form for word in kept for form in (word, word.lower(), word.capitalize(), word.upper())}
    return StaticPlan(
        vectors,
        direction,
        frozenset(word for word in forms if word in vectors),
        with_vectors(equalised),
        tuple(word for word in dict.fromkeys(map(cased, words)) if word in vectors),
        options,
        seed,
    )


def gendered_words() -> tuple[str, ...]:
    """The package's words that have a gender: those of its pairs, and those said of one gender only."""
    tables = package_words()
    both = (word for pair in tables.pairs for word in (pair.masculine, pair.feminine))
    return tuple(dict.fromkeys((*both, *(each.word for each in tables.proper))))


def occupations() -> tuple[str, ...]:
    """The names of the built-in occupations."""
    return tuple(each.name for each in data.read("occupations"))


def _pairs_of(path: Path) -> list[tuple[str, str]]:
    return [(pair.masculine, pair.feminine) for pair in read_pairs(path)]


def _sizes(plan: StaticPlan, changed: WordVectors) -> dict[str, Any]:
    moved = (changed.matrix != plan.vectors.matrix).any(1)
    return {
        "words": len(plan.vectors.words),
        "changed words": int(moved.sum()),
        "kept words": len(plan.keep),
        "pairs": len(plan.pairs),
    }
