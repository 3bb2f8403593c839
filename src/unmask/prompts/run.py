"""Fill prompts with a model, score the answers, and write the folder that people annotate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from unmask import data
from unmask.core.errors import DataError
from unmask.core.files import sha256_of
from unmask.core.options import Opening, Options, fill_groups
from unmask.core.progress import steps_of
from unmask.data.formats import records
from unmask.data.pairs import slug
from unmask.data.prompts import Prompt
from unmask.findings import Section
from unmask.findings.envelope import Result, build, create, read_meta, refuse_foreign
from unmask.models import Lm, open_lm
from unmask.models.fill import split_at_slot
from unmask.prompts.annotations import Annotation
from unmask.prompts.fill import ModelAnswers, fill_prompts
from unmask.prompts.findings import AuditRanking, conclude, ranking_from_audit
from unmask.prompts.folder import FILES, AnnotationFolder, create_folder, import_annotations
from unmask.prompts.spec import PromptSettings

FORMS = ("completion", "question")
COLUMNS = ("text", "category", "form", "biased", "fair", "why")
UNDECIDED = "undecided"  # key of the details: how many prompts wait for annotators


def prompts(
    model: str | Path | Lm | None = None,
    *,
    questions: Sequence[Prompt] = (),
    out: str | Path | None = None,
    **options: Any,
) -> Result:
    """Fill prompts with a model's likeliest words and classify them by rules and annotators.

    Args:
        model: a hub name (`name@revision`), a folder, an opened `Lm`, or None for the built-in model.
        questions: prompts to use instead of all built-in ones or those of `file`.
        out: the result folder, which `unmask annotate` and the explorer annotate; None: nothing is written.
        options: fields of `PromptSettings` (file, top, counting, …), `Opening` and `Options`, or these groups
            themselves as `settings`, `opening` and `options`.
    """
    settings, opening, run = fill_groups(options, settings=PromptSettings, opening=Opening, options=Options)
    if out is not None:
        refuse_foreign(Path(out), FILES)
    every, about = _prompts(settings.file)
    questions = (questions or every)[: run.limit]
    imported = () if settings.judgements is None else import_annotations(settings.judgements, "")
    other = _audit_ranking(settings.pll)
    lm = model if isinstance(model, Lm) else open_lm(model, opening)
    step = steps_of(run.progress, "prompts", len(questions))
    step(0.0)
    answers = fill_prompts(lm, questions, settings.top, counting=settings.counting)
    step(1.0)
    meta = {
        "models": [asdict(lm.facts)],
        "data": [about | {"n": len(questions)}],
        "options": {"top": settings.top, "counting": settings.counting, "limit": run.limit, "seed": run.seed},
    }
    if out is None:
        return _conclude(answers, imported, meta, other, run.seed)
    folder = create_folder(Path(out), answers)
    folder.add(imported)
    return _conclude(answers, folder.read_annotations(), meta, other, run.seed, folder)


def update_result(folder: AnnotationFolder, *, pll: Path | None = None, seed: int = 0) -> Result:
    """Compute the scores of an earlier run again, with all annotations that it has now."""
    known = read_meta(folder.path)
    meta = {"models": [known["model"]], "data": known["data"], "options": known["options"] | {"seed": seed}}
    other = _audit_ranking(pll)
    return _conclude(folder.model_answers, folder.read_annotations(), meta, other, seed, folder)


def _conclude(
    answers: ModelAnswers,
    annotations: Sequence[Annotation],
    meta: Mapping[str, Any],
    other: AuditRanking | None,
    seed: int,
    folder: AnnotationFolder | None = None,
) -> Result:
    """The result of answers and annotations; written, with the undecided prompts, if there is a folder."""
    found = conclude(answers, annotations, data=meta["data"][0]["name"], seed=seed, other=other)
    content = build(
        "prompts",
        title=f"Human-level diagnosis of {answers.model}",
        lead=f"The words that {answers.model} fills into {len(answers.answers)} prompts, classified by the "
        "word lists of each prompt where they apply, and by annotators otherwise.",
        **meta,
        estimates=found.estimates,
        findings=[
            Section("hld", "Share of biased answers", "How many answers are biased?", found.finding),
            Section("answers", "Every answer", "The likeliest words and their labels.", found.answers),
        ],
        details={
            "agreement": found.agreement,
            "ranking": [{"category": name, "value": value} for name, value in found.ranking],
            "rank_correlation": found.ranks,
            UNDECIDED: None if folder is None else folder.export(),
        },
    )
    return create(content, None if folder is None else folder.path)


def _audit_ranking(folder: Path | None) -> AuditRanking | None:
    """The ranking of bias types of an audit, if one was given."""
    return None if folder is None else ranking_from_audit(Result(read_meta(folder)).estimates)


def _prompts(file: Path | None) -> tuple[tuple[Prompt, ...], dict[str, Any]]:
    """The prompts, and the facts about them for the result."""
    if file is not None:
        about = {"name": slug(file.stem), "title": f"Prompts of {file.name}", "sha256": sha256_of(file)}
        return read_prompts(file), about
    card = data.card("prompts")
    about = {name: getattr(card, name) for name in ("name", "title", "licence", "problems")}
    return data.read("prompts"), about | {"sha256": card.files[0].sha256}


def read_prompts(path: Path) -> tuple[Prompt, ...]:
    """Read the prompts of a file; in a table, the words of a list are separated by semicolons."""
    try:
        rows = records(path.read_bytes(), path.suffix, path.name)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); expected a file of prompts") from None
    if not rows:
        raise DataError(f"{path.name}: no prompts; expected rows with the columns {', '.join(COLUMNS)}")
    name = slug(path.stem)
    return tuple(
        _prompt(row, f"{name}/{number:04}", f"{path.name}, row {number} (from 0)") for number, row in enumerate(rows)
    )


def _prompt(row: Any, name: str, at: str) -> Prompt:
    if not isinstance(row, Mapping) or not str(row.get("text") or "").strip():
        raise DataError(f"{at}: no text; expected the columns {', '.join(COLUMNS)}, text and category filled in")
    unknown = [str(key) for key in row if key not in COLUMNS]
    if unknown:
        raise DataError(f"{at}: unknown column {unknown[0]!r}, expected some of {', '.join(COLUMNS)}")
    form = str(row.get("form") or FORMS[0])
    if form not in FORMS:
        raise DataError(f"{at}: form {form!r}, expected {' or '.join(FORMS)}")
    if not row.get("category"):
        raise DataError(f"{at}: no category; give the bias type of the prompt")
    try:
        split_at_slot(str(row["text"]))
    except DataError as error:
        raise DataError(f"{at}: {error}") from None
    biased, fair = (_words(row.get(key), f"{at}, {key}") for key in ("biased", "fair"))
    return Prompt(name, str(row["category"]), form, str(row["text"]), biased, fair, str(row.get("why") or ""))


def _words(given: Any, at: str) -> tuple[str, ...]:
    parts = given.split(";") if isinstance(given, str) else given or []
    if not isinstance(parts, list | tuple) or not all(isinstance(word, str) for word in parts):
        raise DataError(f"{at}: found {given!r}, expected words, separated by semicolons in a table")
    return tuple(word.strip().lower() for word in parts if word.strip())
