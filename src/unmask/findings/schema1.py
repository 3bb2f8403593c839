"""Read results written before schema 2, when every command had a file of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

LEGACY_FILES = {
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


def upgrade(file: str, meta: Mapping[str, Any]) -> dict[str, Any] | None:
    """The content of an earlier result file as schema 2; None if it is of no known schema."""
    kind = LEGACY_FILES.get(file, "audit")
    if meta.get("schema") != 1 and kind not in ("study", "mitigation"):  # these two had no schema number
        return None
    models: Sequence[Any] = meta.get("models") or [meta[key] for key in ("model", "source") if key in meta]
    facts = [model if isinstance(model, Mapping) else {"id": str(model)} for model in models]
    data = meta.get("data", [])
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
        "data": data if isinstance(data, list) else [data],
        "options": meta.get("options") or meta.get("settings") or {},
        "versions": meta.get("versions", {}),
        "estimates": meta.get("estimates", []),
        "checks": meta.get("checks", []),
        "findings": [sections] if isinstance(sections, Mapping) else list(sections),
        "details": details,
    }
