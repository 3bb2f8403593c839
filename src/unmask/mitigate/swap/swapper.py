"""The counterfactual of a text: every word of a pair is replaced by the other, in one pass."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from unmask.core.errors import Unscorable
from unmask.core.types import Probe
from unmask.data.language import any_of
from unmask.mitigate.swap.grammar import LISTS, WINDOW, article, match_case, pronoun_case, tagged_possessive, tagger
from unmask.mitigate.swap.lexicon import Lexicon

if TYPE_CHECKING:
    from unmask.models import Engine

_EDGE, _END = r"(?<![\w@#])", r"(?![\w@])"
_SURNAME = re.compile(r"\s+([A-Z][\w'’-]+)")
_OWNS = re.compile(r"(['’])(s?)(?=\s+\w)")
_BEFORE = re.compile(r"([A-Z][\w'’-]*)\s+$")


@dataclass(frozen=True, slots=True)
class PronounSlot:
    """An ambiguous pronoun: its span in the swapped text and its two possible forms."""

    begin: int
    end: int
    options: tuple[str, str]  # the current form, and the alternative


# chooses the form of ambiguous pronouns, one for every text and slot
PronounChooser = Callable[[Sequence[tuple[str, PronounSlot]]], Sequence[str]]


@dataclass(frozen=True, slots=True)
class ModelPronounChooser:
    """Chooses by a masked model; forms of several tokens cannot be scored and are left unchanged."""

    engine: Engine

    def __call__(self, cases: Sequence[tuple[str, PronounSlot]]) -> list[str]:
        """The more likely form for every text and slot."""
        probes = [self._probe(text, slot) for text, slot in cases]
        readings = self.engine.read([probe for probe in probes if probe is not None])
        return [
            slot.options[int(probe is not None and np.argmax(readings[probe].logprobs))]
            for (_, slot), probe in zip(cases, probes, strict=True)
        ]

    def _probe(self, text: str, slot: PronounSlot) -> Probe | None:
        """Mask the slot in its context and read both forms."""
        lm = self.engine.lm
        begin = max(0, slot.begin - WINDOW)
        window = text[begin : slot.end + WINDOW]
        try:
            sentence = lm.encode(window)
            positions = lm.token_positions(window, slot.begin - begin, slot.end - begin)
        except Unscorable:
            return None
        forms = [lm.pieces(f" {option}" if lm.marks_spaces else option) for option in slot.options]
        if len(positions) != 1 or any(len(form) != 1 for form in forms):
            return None
        return Probe(sentence.ids, tuple((positions[0], form[0]) for form in forms), positions)


@dataclass(frozen=True)
class Swapper:
    """Swaps the words of a lexicon in both directions; adapts letter case, possessive endings and a/an."""

    lexicon: Lexicon
    chooser: PronounChooser | None = None  # used where the rules are uncertain and no tagger is installed

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """One pattern for all words; the longest match wins."""
        lexicon = self.lexicon
        parts = [
            f"(?P<idiom>(?i:{any_of(LISTS['idioms'])})|{any_of(LISTS['exact_idioms'])})",
            f"(?P<title>{any_of(lexicon.titles)})(?=\\s+[\"'“]?[A-Z])" if lexicon.titles else "",
            f"(?P<exact>{any_of(lexicon.exact)})" if lexicon.exact else "",
            f"(?P<name>{any_of(lexicon.names)})" if lexicon.names else "",
            f"(?P<word>(?i:{any_of(lexicon.words)}))" if lexicon.words else "",
        ]
        return re.compile(rf"(?:\b(?P<article>[Aa]n?)(?P<gap>\s+))?{_EDGE}(?:{'|'.join(filter(None, parts))}){_END}")

    @property
    def grammar(self) -> str:
        """How ambiguous pronouns are resolved."""
        if tagger() is not None:
            return "rule, then NLTK's tagger"
        return f"rule, then the {'commoner form' if self.chooser is None else 'likelier by the model'}"

    def __call__(self, text: str) -> str:
        """The counterfactual of one text; the text itself if it has no word of the lexicon."""
        return self.swap_all([text])[0]

    def swap_all(self, texts: Sequence[str]) -> list[str]:
        """The counterfactuals of many texts; the chooser gets all ambiguous pronouns at once."""
        swapped = [self._swap(text) for text in texts]
        if self.chooser is None:
            return [text for text, _ in swapped]
        cases = [(text, slot) for text, slots in swapped for slot in slots]
        chosen = iter(self.chooser(cases)) if cases else iter(())
        return [_fill_slots(text, [(slot, next(chosen)) for slot in slots]) for text, slots in swapped]

    def _swap(self, text: str) -> tuple[str, list[PronounSlot]]:
        out: list[str] = []
        slots: list[PronounSlot] = []
        at = length = 0
        for match in self.pattern.finditer(text):
            kind = match.lastgroup or ""
            begin, word = match.start(kind), match[kind]
            new, other = self._replacement(text, match, kind, begin, word)
            front = text[at : match.start()]
            if match["article"] is not None:
                front += (match["article"] if new == word else article(match["article"], new)) + match["gap"]
            if other is not None and self.chooser is not None:
                slots.append(PronounSlot(length + len(front), length + len(front) + len(new), (new, other)))
            ending, at = self._possessive(text, match.end(), word, new)
            out += [front, new, ending]
            length += len(front) + len(new) + len(ending)
        return "".join(out) + text[at:], slots

    def _possessive(self, text: str, end: int, old: str, new: str) -> tuple[str, int]:
        """The possessive ending of the new word (ladies', gentlemen's), and where the text continues."""
        mark = _OWNS.match(text, end)
        if mark is None or old == new:
            return "", end
        alone = new.lower() in self.lexicon.plurals
        if alone and mark[2]:
            return mark[1], mark.end(2)
        if old.lower() in self.lexicon.plurals and not mark[2] and not alone:
            return f"{mark[1]}s", mark.end(1)
        return "", end

    def _replacement(self, text: str, match: re.Match[str], kind: str, begin: int, word: str) -> tuple[str, str | None]:
        """The replacement, and the alternative form if it is ambiguous."""
        lexicon = self.lexicon
        if kind == "idiom":
            return word, None
        if kind == "name":
            return (lexicon.names[word] if self._is_person(text, begin, match.end(), word) else word), None
        if kind in ("title", "exact"):
            return getattr(lexicon, "titles" if kind == "title" else "exact")[word], None
        lowered = word.lower()
        if lexicon.possessives and lowered in ("her", "his"):
            new, other = _pronoun(text, begin, match.end(), lowered)
            return match_case(new, word), None if other is None else match_case(other, word)
        new = lexicon.words[lowered]
        return (new if word.isupper() and len(word) == 1 else match_case(new, word)), None

    def _is_person(self, text: str, begin: int, end: int, name: str) -> bool:
        """Whether this is a first name, not a surname after another name, an ordinary word or a place."""
        before = _BEFORE.search(text, max(0, begin - 30), begin)
        if before is not None and before[1] in self.lexicon.names:
            return False
        after = _SURNAME.match(text, end)
        if after is not None and after[1] in LISTS["places"]:
            return False
        return name not in self.lexicon.ambiguous or after is not None


def _pronoun(text: str, begin: int, end: int, lowered: str) -> tuple[str, str | None]:
    """The replacement of her or his, and the alternative where it is ambiguous."""
    possessive, sure = pronoun_case(text[end:], text[max(0, begin - 40) : begin])
    forms = ("his", "him") if lowered == "her" else ("her", "hers")
    ambiguous = not sure and (lowered == "her" or text[:begin].endswith("of "))
    # taggers tag `his` as PRP$ whatever follows
    if ambiguous and lowered == "her" and (by_tag := tagged_possessive(text, begin)) is not None:
        possessive, ambiguous = by_tag, False
    new, other = forms if possessive else forms[::-1]
    return new, other if ambiguous else None


def _fill_slots(text: str, chosen: Sequence[tuple[PronounSlot, str]]) -> str:
    for slot, form in reversed(chosen):
        text = text[: slot.begin] + form + text[slot.end :]
    return text
