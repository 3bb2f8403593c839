"""Read results written before schema 2, when every command had a file of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

ResultKind = Literal["audit", "task", "diagnosis", "mitigation", "vectors", "prompts", "corpus", "study", "plan"]
LEGACY_FILES: dict[str, ResultKind] = {
    "task.json": "task",
    "diagnosis.json": "diagnosis",
    "mitigation.json": "mitigation",
    "curve.json": "mitigation",
    "vectors.json": "vectors",
    "hld.json": "prompts",
    "corpus.json": "corpus",
    "findings.json": "study",
}
_SECTIONS = ("findings", "sections", "finding", "judged")  # where the findings of a kind were
_ENVELOPE = {"schema", "unmask", "model", "models", "data", "options", "settings", "versions"}
_ENVELOPE |= {"estimates", "checks", *_SECTIONS}


def legacy_kind(file: str, meta: Mapping[str, Any]) -> ResultKind | None:
    """The kind of a result before schema 2; None if it is of no known schema."""
    kind = LEGACY_FILES.get(file, "audit")
    unnumbered = kind in ("study", "mitigation") and not {*meta}.isdisjoint({"unmask", "did", *_SECTIONS})
    return kind if meta.get("schema") == 1 or unnumbered else None


def upgrade(file: str, meta: Mapping[str, Any]) -> dict[str, Any] | None:
    """The content of an earlier result file as schema 2, not yet checked; None if it is of no known schema."""
    kind = legacy_kind(file, meta)
    if kind is None:
        return None
    models = meta.get("models") or [meta[key] for key in ("model", "source") if key in meta]
    facts = [model if isinstance(model, Mapping) else {"id": str(model)} for model in _listed(models)]
    sections = next((meta[key] for key in _SECTIONS if key in meta), [meta] if "tables" in meta else [])
    details = {} if kind == "audit" else {key: value for key, value in meta.items() if key not in _ENVELOPE}
    return {
        "schema": 2,
        "kind": kind,
        "unmask": meta.get("unmask", ""),
        "title": "",
        "lead": "",
        "model": facts[0] if facts else None,
        **({"models": facts} if len(facts) > 1 else {}),
        "data": [{"name": "", **each} if isinstance(each, Mapping) else each for each in _listed(meta.get("data", []))],
        "options": meta.get("options") or meta.get("settings") or {},
        "versions": meta.get("versions", {}),
        "estimates": meta.get("estimates", []),
        "checks": meta.get("checks", []),
        "findings": _listed(sections),
        "tables": None,
        "details": details,
    }


def _listed(value: Any) -> list[Any]:
    """A list, or one value as a list of it."""
    return value if isinstance(value, list) else [value]
