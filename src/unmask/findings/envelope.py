"""The result of every command: one object, one folder, one loader.

    DIR/result.json      kind, models, data, options, request, versions, estimates, findings, checks, details
    DIR/items.parquet    one row per item and measure, where items are scored
    DIR/tokens.parquet   one row per token, where tokens are scored
    DIR/report.html      the page

`result.schema.json` in this package describes `result.json`.
"""

from __future__ import annotations

import platform
import shutil
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from unmask.core.boundary import read_json, validate
from unmask.core.errors import ResultError, UnknownName
from unmask.core.estimate import Estimate
from unmask.core.files import RESULT_FILES, plain, writing
from unmask.core.request import Request, current_request
from unmask.core.statistic import BALANCED
from unmask.core.types import Check
from unmask.findings import storage
from unmask.findings.model import Section

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

ResultKind = Literal["audit", "task", "diagnosis", "mitigation", "vectors", "prompts", "corpus", "study", "plan"]
SCHEMA = 1
RESULT, ITEMS, TOKENS = RESULT_FILES
PAGE = "report.html"
PACKAGES = ("unmask", "torch", "transformers", "tokenizers", "numpy", "scipy", "statsmodels")
KINDS: tuple[str, ...] = get_args(ResultKind)
_ESTIMATE = (
    *("model", "measure", "data", "group", "statistic", "value", "low", "high", "null", "signed"),
    *("n", "ties", "unscored", "method", "p", "p_holm", "unit", "design_effect", "df"),
)
R = TypeVar("R", bound="Result")


@dataclass(frozen=True, repr=False)
class Result:
    """What a command computed. `meta` is the content of `result.json`; tables are read when first used."""

    meta: dict[str, Any]
    folder: Path | None = None

    @property
    def kind(self) -> str:
        """The kind of result: audit, task, diagnosis, mitigation, vectors, prompts, corpus, study or plan."""
        return str(self.meta["kind"])

    @property
    def models(self) -> tuple[dict[str, Any], ...]:
        """The facts about each model."""
        return tuple(facts for facts in (self.meta.get("models") or [self.meta["model"]]) if facts)

    @property
    def timestamp(self) -> datetime | None:
        """When `result.json` was written (UTC), by its file: equal results have equal content, whenever computed."""
        try:
            time = (self.folder / RESULT).stat().st_mtime if self.folder is not None else None
        except OSError:
            return None
        return None if time is None else datetime.fromtimestamp(time, UTC)

    @property
    def request(self) -> Request | None:
        """What was asked: the command that this is the result of; None if it was not asked by name."""
        stored = self.meta.get("request")
        return None if stored is None else validate(Request, stored, f"the request of {self.folder}", ResultError)

    @cached_property
    def estimates(self) -> tuple[Estimate, ...]:
        """All estimates; within a measure and dataset the headline comes first."""
        return tuple(_estimate(stored) for stored in self.meta["estimates"])

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        """Checks that the model was loaded and scored correctly."""
        return tuple(check for check in self._stored_checks() if not check.is_description)

    @property
    def descriptions(self) -> tuple[Check, ...]:
        """What is recorded beside the checks and has no verdict, such as how many differences are near zero."""
        return tuple(check for check in self._stored_checks() if check.is_description)

    def _stored_checks(self) -> list[Check]:
        return [Check(**{**each, "measures": tuple(each.get("measures", ()))}) for each in self.meta["checks"]]

    @cached_property
    def findings(self) -> tuple[Section, ...]:
        """The answers, tables and plots, section by section."""
        return tuple(storage.load_section(stored) for stored in self.meta["findings"])

    @cached_property
    def items(self) -> pa.Table:
        """One row per item and measure, in full precision."""
        return self._table(ITEMS)

    @cached_property
    def tokens(self) -> pa.Table:
        """One row per token, sentence and measure."""
        return self._table(TOKENS)

    def tokens_of(self, items: Collection[str]) -> pa.Table:
        """The rows of `tokens` of these items; the others are not kept in memory."""
        from unmask.findings.tables import select_items

        return select_items(self.tokens, items) if "tokens" in self.__dict__ else self._table(TOKENS, items)

    @property
    def has_items(self) -> bool:
        """Whether the result has a table of items."""
        return self.folder is not None and (self.folder / ITEMS).is_file()

    def table(self) -> pd.DataFrame:
        """The estimates as a data frame, one row each: value, interval, reference value (`null`), n, p and more."""
        import pandas as pd

        columns = _ESTIMATE if any(estimate.model for estimate in self.estimates) else _ESTIMATE[1:]
        rows = [[getattr(estimate, name) for name in columns] for estimate in self.estimates]
        return pd.DataFrame(rows, columns=list(columns))

    def to_pandas(self) -> pd.DataFrame:
        """The items as a data frame; without items, the estimates (`table`)."""
        return self.items.to_pandas() if self.has_items else self.table()

    def headlines(self, *, published: bool = False) -> tuple[Estimate, ...]:
        """The first estimate of every measure on every dataset, by model.

        Of pairs whose directions are unbalanced that is the mean of both directions; with `published`, the statistic
        that papers print, over all pairs.
        """
        first: dict[tuple[str, str, str], Estimate] = {}
        for estimate in self.estimates:
            if not (published and estimate.statistic.startswith(BALANCED)):
                first.setdefault((estimate.model, estimate.measure, estimate.data), estimate)
        return tuple(first.values())

    def measures(self) -> tuple[str, ...]:
        """The names of the measures, in their order."""
        return tuple(dict.fromkeys(estimate.measure for estimate in self.estimates))

    def is_baseline(self, name: str) -> bool:
        """Whether a measure is a baseline, whose number is no evidence: only audits have such measures."""
        return False

    def require_measure(self, name: str) -> None:
        """Raise when the result has no such measure."""
        if name not in self.measures():
            raise UnknownName("measure in this result", name, self.measures())

    def save(self: R, folder: str | Path) -> R:
        """Write the result, with its tables if it has any, to another folder."""
        from unmask.findings.folder import result_folder

        with result_folder(folder, self.kind) as opened:  # type: ignore[arg-type]
            for name in (ITEMS, TOKENS):
                if self.folder is not None and (self.folder / name).is_file():
                    with writing(Path(folder) / name):
                        shutil.copyfile(self.folder / name, opened.stage(name))
            return type(self)(opened.finish(self.meta).meta, Path(folder))

    def __repr__(self) -> str:
        """The headline estimates and whether a check failed, in at most 15 lines."""
        from unmask.findings.summary import summarise

        return summarise(self)

    def __str__(self) -> str:
        """The answers and tables, as the command prints them."""
        from unmask.findings.terminal import render

        return render(self.findings)

    def _repr_html_(self) -> str:
        """The answers, plots and tables, for notebooks."""
        from unmask.findings.html import fragment

        return fragment(self.findings)

    def _table(self, name: str, items: Collection[str] | None = None) -> pa.Table:
        from unmask.findings.tables import read_table

        path = None if self.folder is None else self.folder / name
        if path is None or not path.is_file():
            raise ResultError(f"this result of kind {self.kind} has no {name}")
        return read_table(path, self.meta, items)


def build(  # noqa: PLR0913 - the parts of a result
    kind: ResultKind,
    *,
    title: str = "",
    lead: str = "",
    models: Sequence[Mapping[str, Any]] = (),
    data: Iterable[Mapping[str, Any]] = (),
    options: Mapping[str, Any] | None = None,
    request: Request | None = None,
    estimates: Iterable[Estimate] = (),
    findings: Iterable[Section] = (),
    checks: Iterable[Check] = (),
    details: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The content of `result.json`; `title` and `lead` head its page, `details` belong to the kind.

    Without `request` it is that of the public function that runs.
    """
    request = request or current_request()
    several = {"models": list(models)} if len(models) > 1 else {}
    content: dict[str, Any] = plain(
        {
            "schema": SCHEMA,
            "kind": kind,
            "unmask": version("unmask"),
            "title": title,
            "lead": lead,
            "model": models[0] if models else None,
            **several,
            "data": list(data),
            "options": options or {},
            "request": None if request is None else request.without_paths(),
            "versions": versions(),
            "estimates": [estimate_json(estimate) for estimate in estimates],
            "checks": list(checks),
            "findings": [storage.section_json(section) for section in storage.with_unique_plots(findings)],
            "tables": {},
            "details": details or {},
        }
    )
    return content


def read_meta(folder: str | Path) -> dict[str, Any]:
    """The content of the `result.json` of a folder, checked."""
    from unmask.findings.schema import check_result

    path = Path(folder) / RESULT
    try:
        is_there = path.is_file()
    except (OSError, ValueError) as error:
        raise ResultError(f"{folder} cannot be read ({error}): give a folder that a command of unmask wrote") from error
    if not is_there:
        raise ResultError(
            f"no {RESULT} in {folder}: give a folder that a command of unmask wrote; if the command was interrupted, "
            "run it again"
        )
    return check_result(read_json(path, ResultError), str(path))


def figure_files(meta: Mapping[str, Any]) -> list[str]:
    """The names of the SVG files that the page of a result writes beside itself."""
    plots = [plot for section in meta["findings"] for plot in section.get("plots", ())]
    return [] if meta["kind"] == "audit" else [f"{plot['id']}.svg" for plot in plots]


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that results depend on."""
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}


def estimate_json(estimate: Estimate) -> dict[str, Any]:
    """An estimate as JSON, with `signed`; the name of the model only where there are several."""
    fields = {name: plain(getattr(estimate, name)) for name in _ESTIMATE}
    return fields if estimate.model else {name: fields[name] for name in _ESTIMATE[1:]}


def _estimate(stored: Mapping[str, Any]) -> Estimate:
    """A stored estimate: null becomes NaN, unknown keys of later versions are dropped."""
    fields = {key: value for key, value in stored.items() if key in Estimate.__dataclass_fields__}
    return Estimate(**{**fields, **{key: float("nan") for key in ("value", "low", "high") if fields[key] is None}})
