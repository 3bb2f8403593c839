"""Test word vectors for associations: those of a file, or those a model computes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from unmask import data
from unmask.core.errors import DataError
from unmask.core.files import sha256_of
from unmask.core.options import Opening, Options, fill_groups
from unmask.core.progress import silent
from unmask.core.registry import Registry
from unmask.data.formats import decode, table
from unmask.findings import Section
from unmask.findings.envelope import Result, build, create, refuse_foreign
from unmask.models import open_lm
from unmask.vectors.directions import GENDER
from unmask.vectors.evaluation import Source, read_lines, run_measure
from unmask.vectors.findings import conclude, estimates_of
from unmask.vectors.questions import default_question_names, load_questions, weat_questions
from unmask.vectors.spec import VectorMeasure, VectorSettings, WordSets
from unmask.vectors.static import format_of

VECTOR_MEASURES = Registry("vector measure", VectorMeasure, package="unmask.vectors", group="unmask.vector_measures")
LEAD = (
    "Are some words associated with others in the vectors of {}? These numbers describe the geometry of vectors; they "
    "are poor predictors of what a model does in use, and depend on the words, the layer and the pooling."
)


def vectors(
    source: str | Path | None = None,
    *,
    measures: str | Sequence[str] = (),
    questions: str | Sequence[str] = (),
    out: str | Path | None = None,
    **options: Any,
) -> Result:
    """Run vector measures on a file of word vectors or on a model.

    Args:
        source: a file (word2vec, GloVe, fastText), a hub name, a folder, or None for the built-in model.
        measures: names; default: weat for a file, seat for a model.
        questions: names such as weat-6, or files; default: those of the measure.
        out: the result folder; None: nothing is written.
        options: fields of `VectorSettings`, `Opening` and `Options`, or these groups themselves as
            `settings`, `opening` and `options`.
    """
    settings, opening, run = fill_groups(options, settings=VectorSettings, opening=Opening, options=Options)
    if out is not None:
        refuse_foreign(Path(out))
    chosen = VECTOR_MEASURES.find_all(measures or ("weat" if _is_file(source) else "seat"))
    named = [questions] if isinstance(questions, str) else list(questions)
    asked = {
        measure.name: load_questions(named or default_question_names(measure.name, run.data_dir), run.data_dir)
        if measure.asks == "questions"
        else ()
        for measure in chosen
    }
    sets = _sets(settings.words, settings.pairs)
    vectors_of, facts = _open(source, opening)
    report = run.progress or silent
    results = []
    for number, measure in enumerate(chosen):
        report(measure.name, number / len(chosen), len(chosen))
        results.append(run_measure(measure, vectors_of, asked[measure.name], sets, settings))
        report(measure.name, (number + 1) / len(chosen), len(chosen))
    name, names = str(facts["id"]), [measure.name for measure in chosen]
    question_names = {measure: [question.name for question in asked[measure]] for measure in asked}
    meta = build(
        "vectors",
        title=f"Vectors of {name}",
        lead=LEAD.format(name),
        models=[facts],
        options=asdict(settings) | {"measures": names, "questions": question_names},
        estimates=[estimate for result in results for estimate in estimates_of(result)],
        findings=[
            Section(
                result.measure.name,
                result.measure.title,
                f"{result.measure.reads[:1].upper()}{result.measure.reads[1:]}.",
                conclude(result, name),
            )
            for result in results
        ],
        details={"citations": {measure.name: measure.citation for measure in chosen}},
    )
    return create(meta, out)


def _is_file(source: str | Path | None) -> bool:
    return source is not None and Path(source).is_file()


def _open(source: str | Path | None, opening: Opening) -> tuple[Source, dict[str, Any]]:
    """The file of vectors or the loaded model, and the facts about it."""
    if source is not None and _is_file(source):
        path = Path(source)
        return path, {"id": path.name, "kind": "file", "format": format_of(path), "sha256": sha256_of(path)}
    lm = open_lm(source, opening)
    return lm, asdict(lm.facts)


def _sets(words: Path | None, pairs: Path | None) -> WordSets:
    """Neutral words and gender pairs: the built-in occupations and Bolukbasi's pairs, or those of files."""
    named = read_lines(words, "word") if words else [each.name for each in data.read("occupations")]
    neutral, both = tuple(dict.fromkeys(named)), list(GENDER)
    if pairs is not None:
        if not pairs.is_file():
            raise DataError(f"{pairs} does not exist; expected a CSV of two columns, the masculine word first")
        rows = [list(row.values()) for row in table(decode(pairs.read_bytes(), pairs.name), pairs.name)]
        if not rows or len(rows[0]) < 2:
            raise DataError(f"{pairs.name}: expected a header and two columns of words, the masculine word first")
        both = [(row[0].strip(), row[1].strip()) for row in rows]
    more = [word for pair in data.read("word-pairs").pairs for word in (pair.masculine, pair.feminine)]
    others = dict.fromkeys([*more, *(text for question in weat_questions() for text in question.texts())])
    return WordSets(neutral, tuple(both), tuple(word for word in others if word not in neutral))
