"""The catalogue: every measure, dataset, diagnosis, mitigation, task and study, with its facts, from the code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from unmask.data import SOURCES, facts
from unmask.diagnose import DIAGNOSES
from unmask.measures import MEASURES
from unmask.mitigate import METHODS
from unmask.report.citations import source
from unmask.studies import STUDIES
from unmask.tasks import TASKS
from unmask.vectors import VECTOR_MEASURES

NEEDS = {"lm": "language model", "classifier": "classifier", "training": "fine-tunes"}


def write(folder: Path) -> None:
    """Write the index, a page for every kind, and one for every dataset."""
    (folder / "data").mkdir(parents=True)
    kinds = {
        "measures": ("Measures", "of sentence pairs and templates", _measures(), "measures"),
        "vectors": ("Measures on vectors", "of word vectors and hidden states", _vectors(), "measures/vectors"),
        "data": ("Data", "with their cards", _data(folder / "data"), "data"),
        "diagnoses": ("Diagnoses", "of what a score depends on besides bias", _diagnoses(), "diagnoses"),
        "mitigations": ("Mitigations", "with their cost", _mitigations(), "mitigations"),
        "tasks": ("Tasks", "in which bias does harm", _tasks(), "tasks"),
        "studies": ("Studies", "of published papers", _studies(), "studies"),
    }
    for name, (title, _, (columns, rows), pages) in kinds.items():
        text = f"# {title}\n\n{len(rows)} are installed; `unmask list {name}` prints them.{_guide(name, pages)}\n\n"
        (folder / f"{name}.md").write_text(text + table(columns, rows) + _toctree(folder, name, pages), "utf-8")
    lines = [f"* [{title}]({name}.md): {len(rows)} {about}" for name, (title, about, (_, rows), _) in kinds.items()]
    tree = "\n".join(kinds)
    head = "# Catalogue\n\nWhat is installed, written from the code when this site was built. Other packages can add"
    head += " theirs ([how](../adding.md)).\n\n"
    text = head + "\n".join(lines) + f"\n\n```{{toctree}}\n:hidden:\n\n{tree}\n```\n"
    (folder / "index.md").write_text(text, encoding="utf-8")


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


Table = tuple[Sequence[str], list[Sequence[str]]]


def _measures() -> Table:
    columns = ("measure", "title", "models", "a value above the reference value says", "reference value", "paper")
    return columns, [
        (_link(name, "measures"), each.title, _models(each.kinds), each.reads, _number(each.null), cite(each.citation))
        for name, each in MEASURES.items()
    ]


def _vectors() -> Table:
    return ("measure", "title", "reads", "how to read a value", "paper"), [
        (
            _link(name, "measures/vectors"),
            each.title,
            "models" if each.models_only else "files and models",
            each.reads,
            cite(each.citation),
        )
        for name, each in VECTOR_MEASURES.items()
    ]


def _diagnoses() -> Table:
    return ("diagnosis", "question", "models", "default data", "paper"), [
        (_link(name, "diagnoses"), each.question, _models(each.kinds), _codes(each.data), cite(each.citation))
        for name, each in DIAGNOSES.items()
    ]


def _mitigations() -> Table:
    return ("mitigation", "what it does", "models", "axes", "paper"), [
        (_link(name, "mitigations"), each.about, _models(each.kinds), ", ".join(each.axes), cite(each.citation))
        for name, each in METHODS.items()
    ]


def _tasks() -> Table:
    return ("task", "question", "needs", "paper"), [
        (_link(name, "tasks"), each.question, NEEDS[each.needs], cite(each.citation)) for name, each in TASKS.items()
    ]


def _studies() -> Table:
    return ("study", "question", "paper"), [
        (_link(name, "studies"), each.question, cite(each.citation)) for name, each in STUDIES.items()
    ]


def _data(folder: Path) -> Table:
    rows: list[Sequence[str]] = []
    for name, each in SOURCES.items():
        card = each.card
        (folder / f"{name}.md").write_text(_card(card), encoding="utf-8")
        where = "in the package" if not card.files[0].url else "`unmask data get`"
        rows.append(
            (
                f"[`{name}`](data/{name}.md)",
                card.title,
                f"{card.size:,}",
                ", ".join(card.languages),
                card.licence,
                where,
            )
        )
    return ("data", "title", "items", "languages", "licence", "where"), rows


def _card(card: Any) -> str:
    """The page of a dataset: its card, and what was measured about it."""
    rows = [
        ("items", f"{card.size:,}"),
        ("languages", ", ".join(card.languages)),
        ("licence", card.licence),
        ("source", f"`{card.source}`"),
        *((f"sha256 of `{file.name}`", f"`{file.sha256 or 'none'}`") for file in card.files),
    ]
    text = f"# `{card.name}`: {card.title}\n\n" + table(("card", ""), rows)
    text += f"\n## Known problems\n\n{card.problems or 'None listed.'}\n"
    measured = [(fact.about, fact.value, f"`{fact.command}`", fact.date) for fact in facts(card.name)]
    if measured:
        text += "\n## Measured\n\n" + table(("what", "value", "command", "date"), measured)
    if card.citation:
        text += f"\n## Citation\n\n```bibtex\n{card.citation.strip()}\n```\n"
    return (
        text + f"\n`unmask data show {card.name}` prints this card. [All data](../data.md), [formats](../../data.md).\n"
    )


def cite(key: str) -> str:
    """Authors and year of a reference, without its title."""
    authors, found, _ = source(key).partition("). ")
    return authors + ")" if found else authors


def _link(name: str, pages: str) -> str:
    """The name of a thing with a link to the page that describes it: its own, or one with its name in a heading."""
    folder = Path(__file__).parents[2] / "docs" / pages
    named = re.compile(rf"^(# |## |\| ).*`{re.escape(name)}`", re.MULTILINE)
    others = (path for path in sorted(folder.glob("*.md")) if path.stem != "README")
    page = folder / f"{name}.md"
    if not page.is_file():
        page = next((path for path in others if named.search(path.read_text(encoding="utf-8"))), page)
    return f"[`{name}`](../{pages}/{page.name})" if page.is_file() else f"`{name}`"


def _guide(name: str, pages: str) -> str:
    return f" [Guide](../{'data.md' if name == 'data' else f'{pages}/index.md'})."


def _toctree(folder: Path, name: str, pages: str) -> str:
    if name == "data":
        listed = ["/data", *(f"data/{path.stem}" for path in sorted((folder / "data").glob("*.md")))]
    else:
        found = sorted((folder.parent / pages).glob("*.md"), key=lambda path: (path.stem != "index", path.stem))
        listed = [f"/{pages}/{path.stem}" for path in found]
    return "\n```{toctree}\n:hidden:\n\n" + "\n".join(listed) + "\n```\n"


def _models(kinds: Sequence[str]) -> str:
    return "masked, causal" if len(kinds) > 1 else str(kinds[0])


def _codes(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:g}"
