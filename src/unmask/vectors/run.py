"""Test word vectors for associations: those of a file, or those a model computes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from unmask import data
from unmask.core.errors import DataError, quote
from unmask.core.files import file_name
from unmask.core.options import Opening, Options, fill_groups
from unmask.core.progress import silent
from unmask.core.request import with_request
from unmask.data.files import sha256_of
from unmask.data.formats import check_words, is_file, read_table, read_words
from unmask.findings import Section
from unmask.findings.envelope import Result, build
from unmask.findings.folder import result_folder
from unmask.models import open_encoder
from unmask.models.loading import GGUF
from unmask.vectors import VECTOR_MEASURES
from unmask.vectors.directions import GENDER
from unmask.vectors.evaluation import Source, run_measure
from unmask.vectors.findings import conclude, estimates_of
from unmask.vectors.questions import Group, Question, default_question_names, load_questions, weat_questions
from unmask.vectors.spec import VectorMeasure, VectorSettings, WordSets
from unmask.vectors.static import format_of

FILES = (".txt", ".vec", ".bin", ".gz")  # what a name of a file of word vectors ends in
LEAD = (
    "Are some words associated with others in the vectors of {}? These numbers describe the geometry of vectors; they "
    "are poor predictors of what a model does in use, and depend on the words, the layer and the pooling."
)


@with_request("vectors", "source")
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
    with result_folder(out, "vectors") as folder:
        return folder.finish(_content(source, measures, questions, settings, opening, run))


def _content(
    source: str | Path | None,
    measures: str | Sequence[str],
    questions: str | Sequence[str],
    settings: VectorSettings,
    opening: Opening,
    run: Options,
) -> dict[str, Any]:
    """The content of `result.json`."""
    chosen = VECTOR_MEASURES.find_all(measures or ("weat" if _is_file(source) else "seat"))
    named = [questions] if isinstance(questions, str) else list(questions)
    asked = {measure.name: questions_of(measure, named, settings, run.data_dir) for measure in chosen}
    sets = word_sets(settings.words, settings.pairs)
    vectors_of, facts = _open(source, opening)
    before = None if settings.before is None else _open(settings.before, opening)[0]
    report = run.progress or silent
    results = []
    for number, measure in enumerate(chosen):
        report(measure.name, number / len(chosen), len(chosen))
        results.append(run_measure(measure, vectors_of, asked[measure.name], sets, settings, before))
        report(measure.name, (number + 1) / len(chosen), len(chosen))
    name, names = str(facts["id"]), [measure.name for measure in chosen]
    question_names = {measure: [question.name for question in asked[measure]] for measure in asked}
    return build(
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


def questions_of(
    measure: VectorMeasure, named: Sequence[str], settings: VectorSettings, data_dir: Path | None = None
) -> tuple[Question, ...]:
    """The questions of a measure; those of rnsb with the words of the lexicon as attributes, if one is given."""
    if measure.asks != "questions":
        return ()
    loaded = load_questions(named or default_question_names(measure.name, data_dir), data_dir)
    if measure.name != "rnsb" or settings.lexicon is None:
        return loaded
    groups = [Group(file_name(path), read_words(path)) for path in map(Path, settings.lexicon)]
    return tuple(replace(question, a=groups[0], b=groups[1]) for question in loaded)


def _is_file(source: str | Path | None) -> bool:
    return source is not None and is_file(Path(source)) and Path(source).suffix != GGUF


def _refuse_missing_file(source: str | Path) -> None:
    """Refuse what can only be a file and is none, before a hub is asked for a model of that name."""
    if Path(source).suffix in FILES and not is_file(Path(source)):
        raise DataError(f"{quote(source)} is not a file: give a file of word vectors, a hub name or a folder")


def _open(source: str | Path | None, opening: Opening) -> tuple[Source, dict[str, Any]]:
    """The file of vectors or the loaded model, and the facts about it."""
    if source is not None and _is_file(source):
        path = Path(source)
        return path, {"id": file_name(path), "kind": "file", "format": format_of(path), "sha256": sha256_of(path)}
    if source is not None:
        _refuse_missing_file(source)
    lm = open_encoder(source, opening)
    return lm, asdict(lm.facts)


def word_sets(words: Path | None, pairs: Path | None) -> WordSets:
    """Neutral words and gender pairs: the built-in occupations and Bolukbasi's pairs, or those of files."""
    named = [each.name for each in data.read("occupations")] if words is None else read_words(words)
    neutral, both = tuple(dict.fromkeys(named)), list(GENDER)
    if pairs is not None:
        rows = read_table(pairs, "a CSV of two columns, the masculine word first")
        if not rows or len(rows[0]) < 2:
            raise DataError(f"{rows.where}: expected a header and two columns of words, the masculine word first")
        both = []
        for number, row in enumerate(rows):
            first, second = check_words(list(row.values())[:2], rows.at(number))
            both.append((first, second))
    more = [word for pair in data.read("word-pairs").pairs for word in (pair.masculine, pair.feminine)]
    others = dict.fromkeys([*more, *(text for question in weat_questions() for text in question.texts())])
    return WordSets(neutral, tuple(both), tuple(word for word in others if word not in neutral))
