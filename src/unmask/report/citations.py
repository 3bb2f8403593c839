"""Bibliography: `references.bib` beside this file is the only source, for pages and documentation."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files

_ENTRY = re.compile(r"^@\w+\{\s*([^,\s]+)\s*,.*?^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^\s*(\w+)\s*=\s*\{(.*)\},?\s*$", re.MULTILINE)
_ACCENTS = {"'": "\u0301", "`": "\u0300", "^": "\u0302", '"': "\u0308", "~": "\u0303", "v": "\u030c"}
_ACCENTS |= {"c": "\u0327"}
_ACCENT = re.compile(r"""\{\\(['`^"~vc])\s*\{?(\w)\}?\}""")
_KEY = re.compile(r"@\w+\{\s*([^,\s]+)\s*,")
MAX_NAMED = 2  # authors listed by name; with more, the first and "et al."


@dataclass(frozen=True, slots=True)
class Reference:
    """One entry of the bibliography."""

    key: str
    bibtex: str
    fields: Mapping[str, str]

    @property
    def short(self) -> str:
        """`Salazar et al. (2020). Masked Language Model Scoring.`, the short form of a page."""
        title, year = _plain_text(self.fields["title"]), self.fields.get("year", "no year")
        if "author" not in self.fields:
            return f"{title} ({year})."
        names = [_plain_text(name).partition(",")[0] for name in self.fields["author"].split(" and ")]
        authors = " and ".join(names) if len(names) <= MAX_NAMED else f"{names[0]} et al."
        return f"{authors} ({year}). {title}."


@functools.cache
def references() -> Mapping[str, Reference]:
    """Every entry by its key."""
    entries = _ENTRY.finditer((files("unmask.report") / "references.bib").read_text(encoding="utf-8"))
    return {entry[1]: Reference(entry[1], entry[0], dict(_FIELD.findall(entry[0]))) for entry in entries}


def source(key: str) -> str:
    """The short form of a reference; the key itself if it is not listed."""
    return references()[key].short if key in references() else key


def bibliography(keys: Iterable[str], others: Iterable[str] = ()) -> str:
    """BibTeX of these references and of entries that came with datasets; each key once."""
    entries = {key: references()[key].bibtex for key in keys if key in references()}
    for text in others:
        key = _KEY.search(text)
        entries.setdefault(key[1] if key else text, text.strip())
    return "\n\n".join(entry for entry in entries.values() if entry)


def _plain_text(text: str) -> str:
    """LaTeX markup as plain text: accents as letters, braces removed, dashes converted."""
    plain = _ACCENT.sub(lambda m: unicodedata.normalize("NFC", m[2] + _ACCENTS[m[1]]), text)
    return plain.replace("{", "").replace("}", "").replace("---", "—").replace("--", "–").strip()
