"""The result of an audit, and `unmask.load`, which opens the result folder of any command."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from unmask.core.errors import ResultError, UnknownName
from unmask.core.estimate import Estimate
from unmask.core.types import Measure
from unmask.findings.envelope import ITEMS, RESULT, TOKENS, Result, read_meta
from unmask.measures import MEASURES

if TYPE_CHECKING:
    from unmask.audit.attribution import Explanation
    from unmask.findings import Section
    from unmask.stats.power import Versus


class AuditResult(Result):
    """The result of one audit: estimates, checks, and a row for every item and token."""

    folder: Path

    @cached_property
    def estimates(self) -> tuple[Estimate, ...]:
        """All estimates; the p-values of the headlines of a dataset are corrected together (`p_holm`)."""
        from unmask.stats.corrections import correct_headlines

        stored = super().estimates
        baselines = [name for name in dict.fromkeys(each.measure for each in stored) if self.is_baseline(name)]
        return correct_headlines(stored, baselines)

    def explain(self, item: str, measure: str | None = None) -> Explanation:
        """Token contributions to one item under a measure (default: the first that scored it)."""
        from unmask.audit.attribution import explain_item

        return explain_item(self, item, measure)

    @cached_property
    def findings(self) -> tuple[Section, ...]:
        """The model, the headline estimates with their readings in words, and the checks."""
        from unmask.audit.findings import findings_of

        return findings_of(self)

    def detectable_difference(self, measure: str, data: str | None = None, *, versus: Versus = "model") -> float:
        """The smallest difference of a measure's headline that can be seen with this model on this data.

        From that of another, unrelated model, or from the reference value (`versus="null"`): 80% power at the 5% level.
        Related models differ on few items: `unmask.compare` finds far smaller differences of theirs. Without `data`, on
        the first that the measure has scored.
        """
        from unmask.stats.power import detectable_difference

        self.require_measure(measure)
        wanted = [each for each in self.headlines() if each.measure == measure and data in (None, each.data)]
        if not wanted:
            raise UnknownName(
                f"data of {measure} in this result", str(data), [each["name"] for each in self.meta["data"]]
            )
        return detectable_difference(wanted[0], versus=versus)

    def measure(self, name: str) -> Measure:
        """A measure of this result; one that is not installed here is known by what the result records."""
        if name in MEASURES:
            return MEASURES[name]
        for facts in self.meta["details"]["measures"]:
            if facts["name"] == name:
                kinds = (self.meta["model"].get("kind", "masked"),)
                return Measure(**facts, kinds=kinds, probes=_not_installed, score=_not_installed)
        raise UnknownName("measure in this result", name, self.measures())

    def is_baseline(self, name: str) -> bool:
        """Whether a measure reads no word of the sentences, so that its number is no evidence of a preference."""
        return self.measure(name).baseline


def load(folder: str | Path) -> Result:
    """Open a result folder, whatever command wrote it; an audit's is an `AuditResult`, whose items are checked."""
    meta, root = read_meta(folder), Path(folder)
    if ITEMS in meta["tables"] and not (root / ITEMS).is_file():
        raise ResultError(f"{root} has no {ITEMS}, which its {RESULT} describes: copy the whole folder")
    if meta["kind"] != "audit":
        return Result(meta, root)
    from unmask.findings.tables import check_schema

    for path in (root / ITEMS, root / TOKENS):
        if path.is_file():
            check_schema(path, meta)
    result = AuditResult(meta, root)
    if result.has_items:
        from unmask.audit.parquet import check_shares

        check_shares(result)
    return result


def load_audit(folder: str | Path) -> AuditResult:
    """Open the result folder of an audit; other kinds are refused."""
    result = load(folder)
    if not isinstance(result, AuditResult):
        raise ResultError(f"{folder} is the result of a {result.kind}, expected that of `unmask audit`")
    return result


def _not_installed(*_: object) -> NoReturn:
    raise ResultError("this measure is not installed: install the package that offers it to score with it")
