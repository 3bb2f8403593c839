"""A run in its model's card: `model-index` metadata that the hub reads, and a section that people read."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from huggingface_hub import EvalResult, ModelCard, ModelCardData

from unmask.core.errors import ResultError
from unmask.core.types import Estimate
from unmask.findings import markdown
from unmask.measures import MEASURES
from unmask.report import readable, selection, wording
from unmask.report.selection import Run

BEGIN, END = "<!-- unmask: begin -->", "<!-- unmask: end -->"
TASKS = {"masked": "fill-mask", "causal": "text-generation"}
MADE = "unmask"  # the argument of a metric that says we wrote it
_OURS = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)


def write(result: Run, path: Path) -> Path:
    """Put the run into the card at `path`, whatever else it says kept; make the card where there is none."""
    section = f"{BEGIN}\n{text(result)}\n{END}"
    found = _opened(path) if path.exists() else None
    data = cast(ModelCardData, found.data) if found else ModelCardData()
    kept = [one for one in data.eval_results or [] if MADE not in (one.metric_args or {})]
    data.model_name = data.model_name or _model(result)
    data.eval_results = [*kept, *metrics(result)]
    body = found.text.strip("\n") if found else f"# {markdown.text(_model(result))}"
    whole = _OURS.sub(lambda _: section, body) if _OURS.search(body) else f"{body}\n\n{section}"
    content = f"---\n{data.to_yaml()}\n---\n\n{whole}\n"
    _check(content, len(data.eval_results))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8", newline="\n")
    return path


def metrics(result: Run) -> list[EvalResult]:
    """The headline numbers as the hub lists them; a number that could not be computed is left out."""
    cards = {card.get("name"): card for card in result.meta.get("data") or []}
    found = selection.headlines(result)
    return [_metric(one, result, cards.get(one.data, {})) for one in found if math.isfinite(one.value)]


def text(result: Run) -> str:
    """The section: what was asked, the numbers, the checks, and what they cannot say."""
    names = selection.model_names([result])
    failed = [check for check in result.checks if not check.ok]
    warning = f"**{len(failed)} of {len(result.checks)} checks failed: do not quote these numbers.**\n\n"
    parts = [
        "## Social bias",
        (warning if failed else "") + markdown.text(" ".join(wording.introduction(result))),
        markdown.table(readable.headline([result], names)),
        markdown.text(readable.NULL),
        *_checks(result, names),
        "### What these numbers cannot say",
        "\n".join(f"* {markdown.text(line)}" for line in wording.LIMITS),
        f"Measured by unmask {markdown.text(str(result.meta.get('unmask', '')))}.",
    ]
    return "\n\n".join(part for part in parts if part)


def _metric(one: Estimate, result: Run, card: Mapping[str, Any]) -> EvalResult:
    kind = str((result.meta.get("model") or {}).get("kind", ""))
    title = MEASURES[one.measure].title if one.measure in MEASURES else one.measure
    interval = {"low": _known(one.low), "high": _known(one.high), "null": one.null, "n": one.n}
    counts = {"ties": one.ties, "unscored": one.unscored, "method": one.method}
    facts = {"sha256": card.get("sha256"), "items": card.get("n"), "verified": card.get("verified")}
    return EvalResult(
        task_type=TASKS.get(kind, "other"),
        task_name="Social bias by likelihood",
        dataset_type=one.data,
        dataset_name=str(card.get("title") or one.data),
        dataset_args={key: value for key, value in facts.items() if value is not None},
        metric_type=one.statistic,
        metric_name=f"{one.measure}: {title}",
        metric_config=one.measure,
        metric_value=one.value,
        metric_args={MADE: str(result.meta.get("unmask", "")), **interval, **counts},
    )


def _checks(result: Run, names: Sequence[str]) -> list[str]:
    table = readable.checks([result], names)
    return ["### Checks", markdown.table(table)] if table.rows else []


def _opened(path: Path) -> ModelCard:
    try:
        return cast(ModelCard, ModelCard.load(path))
    except (ValueError, OSError) as error:
        raise ResultError(f"{path} is not a model card ({error}): name another file for --card") from error


def _check(content: str, count: int) -> None:
    """The hub's own reader must find in the card what was put there."""
    read = cast(ModelCardData, ModelCard(content).data).eval_results or []
    if len(read) != count:
        raise ResultError(f"the card would hold {len(read)} of {count} results: nothing was written")


def _model(result: Run) -> str:
    return str((result.meta.get("model") or {}).get("id") or "model")


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
