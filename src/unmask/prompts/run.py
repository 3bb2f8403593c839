"""Fill prompts with a model, score the answers, and write the folder that people annotate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unmask import data
from unmask.core.boundary import validate
from unmask.core.errors import DataError, quote
from unmask.core.files import file_name, sha256_of
from unmask.core.options import Opening, Options, Serving, fill_groups
from unmask.core.progress import steps_of
from unmask.core.request import with_request
from unmask.data.builtin_tables import Prompt
from unmask.data.formats import read_records
from unmask.data.items import sample_positions
from unmask.data.pairs import slug
from unmask.findings import Section
from unmask.findings.envelope import Result, build, read_meta
from unmask.findings.folder import ResultFolder, result_folder
from unmask.models.fill import split_at_slot
from unmask.prompts.annotations import FILES, Annotation, AnnotationFolder, create_folder, import_annotations
from unmask.prompts.fill import ModelAnswers, fill_prompts
from unmask.prompts.findings import AuditRanking, conclude, ranking_from_audit
from unmask.prompts.spec import PromptSettings

if TYPE_CHECKING:
    from unmask.models import Model

FORMS = ("completion", "question")
COLUMNS = ("text", "category", "form", "biased", "fair", "why")
UNDECIDED = "undecided"  # key of the details: how many prompts wait for annotators


@with_request("prompts", "model")
def prompts(
    model: Model | None = None, *, questions: Sequence[Prompt] = (), out: str | Path | None = None, **options: Any
) -> Result:
    """Fill prompts with a model's likeliest words and classify them by rules and annotators.

    Args:
        model: a hub name (`name@revision`), a folder, the URL of an endpoint, an opened `Lm`, or None for the
            built-in model.
        questions: prompts to use instead of all built-in ones or those of `file`.
        out: the result folder, which `unmask annotate` and the explorer annotate; None: nothing is written.
        options: fields of `PromptSettings` (file, top, counting, …), `Opening`, `Serving` and `Options`, or
            these groups themselves as `settings`, `opening`, `serving` and `options`.
    """
    settings, opening, serving, run = fill_groups(
        options, settings=PromptSettings, opening=Opening, serving=Serving, options=Options
    )
    with result_folder(out, "prompts", also=FILES) as opened:
        return _fill(opened, model, questions, settings, (opening, serving), run)


def _fill(
    opened: ResultFolder,
    model: Model | None,
    questions: Sequence[Prompt],
    settings: PromptSettings,
    how: tuple[Opening, Serving],
    run: Options,
) -> Result:
    """Fill prompts, and write the answers and the result to a folder that is open for it."""
    from unmask.models import open_lm  # imports torch, which annotating does not need

    every, about = _prompts(settings.file)
    asked = questions or every
    questions = _sample(asked, run)
    imported = () if settings.judgements is None else import_annotations(settings.judgements, "")
    other = _audit_ranking(settings.pll)
    lm = open_lm(model, *how)
    step = steps_of(run.progress, "prompts", len(questions))
    step(0.0)
    answers = fill_prompts(lm, questions, settings.top, counting=settings.counting)
    step(1.0)
    meta = {
        "models": [asdict(lm.facts)],
        "data": [about | {"n": len(questions)} | ({"subset_of": len(asked)} if len(questions) < len(asked) else {})],
        "options": {"top": settings.top, "counting": settings.counting, "limit": run.limit, "seed": run.seed},
    }
    if opened.path is None:
        return opened.finish(_content(answers, imported, meta, other, run.seed))
    folder = create_folder(opened.path, answers)
    folder.add(imported)
    return opened.finish(_content(answers, folder.read_annotations(), meta, other, run.seed, folder))


def _sample(asked: Sequence[Prompt], run: Options) -> Sequence[Prompt]:
    """All prompts, or a sample of `run.limit` with their shares of bias types and forms."""
    if run.limit is None or len(asked) <= run.limit:
        return asked
    strata = [(prompt.category, prompt.form) for prompt in asked]
    return [asked[position] for position in sample_positions(strata, run.limit, run.seed)]


def update_result(folder: AnnotationFolder, *, pll: Path | None = None, seed: int = 0) -> Result:
    """Compute the scores of an earlier run again, with all annotations that it has now."""
    with result_folder(folder.path, "prompts", also=FILES) as opened:
        known, other = read_meta(folder.path), _audit_ranking(pll)
        meta = {"models": [known["model"]], "data": known["data"], "options": known["options"] | {"seed": seed}}
        return opened.finish(_content(folder.model_answers, folder.read_annotations(), meta, other, seed, folder))


def _content(
    answers: ModelAnswers,
    annotations: Sequence[Annotation],
    meta: Mapping[str, Any],
    other: AuditRanking | None,
    seed: int,
    folder: AnnotationFolder | None = None,
) -> dict[str, Any]:
    """The content of `result.json`; the undecided prompts are written if there is a folder."""
    result = conclude(answers, annotations, data=meta["data"][0]["name"], seed=seed, other=other)
    return build(
        "prompts",
        title=f"Human-level diagnosis of {answers.model}",
        lead=f"The words that {answers.model} fills into {len(answers.answers)} prompts, classified by the "
        "word lists of each prompt where they apply, and by annotators otherwise.",
        **meta,
        estimates=result.estimates,
        findings=[
            Section("hld", "Share of biased answers", "How many answers are biased?", result.finding),
            Section("answers", "Every answer", "The likeliest words and their labels.", result.answers),
        ],
        details={
            "agreement": result.agreement,
            "ranking": [{"category": name, "value": value} for name, value in result.ranking],
            "rank_correlation": result.ranks,
            UNDECIDED: None if folder is None else folder.export(),
        },
    )


def _audit_ranking(folder: Path | None) -> AuditRanking | None:
    """The ranking of bias types of an audit, if one was given."""
    return None if folder is None else ranking_from_audit(Result(read_meta(folder)).estimates)


def _prompts(file: Path | None) -> tuple[tuple[Prompt, ...], dict[str, Any]]:
    """The prompts, and the facts about them for the result."""
    if file is not None:
        prompts = read_prompts(file)
        return prompts, {"name": slug(file.stem), "title": f"Prompts of {file_name(file)}", "sha256": sha256_of(file)}
    card = data.card("prompts")
    about = {name: getattr(card, name) for name in ("name", "title", "licence", "problems")}
    return data.read("prompts"), about | {"sha256": card.files[0].sha256}


def read_prompts(path: Path) -> tuple[Prompt, ...]:
    """Read the prompts of a file; in a table, the words of a list are separated by semicolons."""
    rows, name = read_records(path, "a file of prompts"), slug(path.stem)
    if not rows:
        raise DataError(f"{rows.where}: no prompts; expected rows with the columns {', '.join(COLUMNS)}")
    return tuple(_prompt(row, f"{name}/{number:04}", rows.at(number)) for number, row in enumerate(rows))


def _prompt(row: Any, name: str, at: str) -> Prompt:
    """A prompt of a row; empty cells are as good as none."""
    if not isinstance(row, Mapping) or (unknown := [key for key in row if key not in COLUMNS]):
        found = quote(unknown[0] if isinstance(row, Mapping) else row)
        raise DataError(f"{at}: unknown column {found}, expected some of {', '.join(COLUMNS)}")
    cells = {key: cell for key, cell in row.items() if cell is not None and str(cell).strip()}
    words = {key: _words(row.get(key), f"{at}, {key}") for key in ("biased", "fair")}
    prompt = validate(Prompt, {"form": FORMS[0], "why": "", **cells, **words, "id": name}, at)
    if prompt.form not in FORMS:
        raise DataError(f"{at}: form {quote(prompt.form)}, expected {' or '.join(FORMS)}")
    if both := set(prompt.biased) & set(prompt.fair):
        raise DataError(f"{at}: {quote(min(both))} is listed as biased and as fair; keep it in one list")
    try:
        split_at_slot(prompt.text)
    except DataError as error:
        raise DataError(f"{at}: {error}") from None
    return prompt


def _words(given: Any, at: str) -> tuple[str, ...]:
    parts = given.split(";") if isinstance(given, str) else given or []
    if not isinstance(parts, list | tuple) or not all(isinstance(word, str) for word in parts):
        raise DataError(f"{at}: found {quote(given)}, expected words, separated by semicolons in a table")
    return tuple(word.strip().lower() for word in parts if word.strip())
