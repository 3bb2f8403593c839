"""Results in a Hugging Face model card: `model-index` metadata and a section of text."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from huggingface_hub import EvalResult, ModelCard, ModelCardData

from unmask.audit.findings import headlines
from unmask.audit.interpretation import checks_warning, with_companions
from unmask.audit.result import AuditResult
from unmask.core.boundary import parse_yaml, read_text
from unmask.core.errors import ResultError
from unmask.core.estimate import Estimate
from unmask.core.files import plain, write_text
from unmask.findings import markdown
from unmask.report import page, tables
from unmask.report.provenance import repeat_command

BEGIN, END = "<!-- unmask: begin -->", "<!-- unmask: end -->"
TASKS = {"masked": "fill-mask", "causal": "text-generation"}
MADE = "unmask"  # metric argument that marks an entry as written by unmask
MAX_CARD = 16 * 2**20  # bytes
_METADATA = re.compile(r"\s*---[^\n]*\n(.*?)\n---[^\n]*(\n|$)", re.DOTALL)
_OURS = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)


def write(result: AuditResult, path: Path) -> Path:
    """Add the run to the model card at `path`, keeping its other content; create it if there is none."""
    section = f"{BEGIN}\n{text(result)}\n{END}"
    existing = _load_card(path) if path.exists() else None
    data = cast(ModelCardData, existing.data) if existing else ModelCardData()
    foreign = [entry for entry in data.eval_results or [] if MADE not in (entry.metric_args or {})]
    data.model_name = data.model_name or _model(result)
    data.eval_results = [*foreign, *metrics(result)]
    body = existing.text.strip("\n") if existing else f"# {markdown.text(_model(result))}"
    text_with_section = _OURS.sub(lambda _: section, body) if _OURS.search(body) else f"{body}\n\n{section}".strip("\n")
    content = f"---\n{data.to_yaml()}\n---\n\n{text_with_section}\n"
    read = cast(ModelCardData, ModelCard(content).data).eval_results or []
    if len(read) != len(data.eval_results):
        lost = f"only {len(read)} of {len(data.eval_results)} results can be read back from the card"
        raise ResultError(f"{lost}: nothing was written")
    return write_text(path, content)


def metrics(result: AuditResult) -> list[EvalResult]:
    """The headline estimates as `EvalResult`s; estimates that are not finite are left out."""
    cards = {card["name"]: card for card in result.meta["data"]}
    finite = [each for each in with_companions(result, result.headlines()) if math.isfinite(each.value)]
    return [_metric(estimate, result, cards.get(estimate.data, {})) for estimate in finite]


def text(result: AuditResult) -> str:
    """The section for readers: what was measured, the estimates, the checks and the limits."""
    headline = tables.card_table(result)
    warning = checks_warning(result)
    failed = [check for check in result.checks if not check.ok]
    passed = len(result.checks) - len(failed)
    checks = [f"FAILED {check.name}: {check.detail}" for check in failed]
    checks += [f"{passed} of {len(result.checks)} checks passed" if failed else f"all {passed} checks passed"]
    by_dataset = [headlines(result, data) for data in dict.fromkeys(each.data for each in result.headlines())]
    marks = [(line, "" if i else "**") for lines in by_dataset for i, line in enumerate(lines)]
    parts = [
        "## Social bias",
        f"**{warning}.**" if warning else "",
        "\n\n".join(f"{mark}{markdown.text(line)}.{mark}" for line, mark in marks),
        markdown.text(" ".join(page.introduction(result))),
        markdown.table(headline),
        markdown.text(headline.note),
        "\n".join(f"* {markdown.text(line)}" for lines in tables.caution_lines(result) for line in lines),
        *(["### Checks", "\n".join(f"* {markdown.text(line)}" for line in checks)] if result.checks else []),
        "### Limits of these numbers",
        "\n".join(f"* {markdown.text(line)}" for line in page.LIMITS if line != page.COLOURED),
        f"Measured by unmask {markdown.text(str(result.meta.get('unmask', '')))}{_when(result)}; to repeat it: "
        f"{markdown.text(repeat_command(result))}",
    ]
    return "\n\n".join(part for part in parts if part)


def _when(result: AuditResult) -> str:
    return f" on {result.timestamp:%Y-%m-%d}" if result.timestamp else ""


def _metric(estimate: Estimate, result: AuditResult, card: Mapping[str, Any]) -> EvalResult:
    kind = str(result.meta["model"].get("kind", ""))
    measure = result.measure(estimate.measure)
    names = ("low", "high", "null", "n", "ties", "unscored", "method")
    numbers = {name: plain(getattr(estimate, name)) for name in names}
    facts = {
        "sha256": card.get("sha256"),
        "items": card.get("n"),
        "subset_of": card.get("subset_of"),
        "verified": False if "subset_of" in card else card.get("verified"),
    }
    return EvalResult(
        task_type=TASKS.get(kind, "other"),
        task_name="Social bias by likelihood",
        dataset_type=estimate.data,
        dataset_name=str(card.get("title") or estimate.data),
        dataset_args={key: value for key, value in facts.items() if value is not None},
        metric_type=estimate.statistic,
        metric_name=f"{estimate.measure}: {measure.title}",
        metric_config=estimate.measure,
        metric_value=estimate.value,
        metric_args={MADE: result.meta["unmask"], **numbers},
    )


def _load_card(path: Path) -> ModelCard:
    text = read_text(path, ResultError, most=MAX_CARD)
    if (head := _METADATA.match(text)) is not None:
        parse_yaml(head[1], str(path), ResultError)  # a clear message, and no expansion of aliases
    logging.getLogger("huggingface_hub.repocard").setLevel(logging.ERROR)  # it reports a card without metadata
    try:
        return ModelCard(text)
    except Exception as error:  # whatever its metadata makes the library raise
        raise ResultError(f"{path} is not a model card ({error}): choose another file") from error


def _model(result: AuditResult) -> str:
    return str(result.meta["model"]["id"])
