"""Choose the form of a pronoun that a masked model finds more likely in context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unmask.core.errors import Unscorable
from unmask.core.types import Floats, Probe
from unmask.mitigate.swap.grammar import WINDOW
from unmask.mitigate.swap.swapper import PronounSlot
from unmask.models import Engine


@dataclass(frozen=True, slots=True)
class ModelPronounChooser:
    """Chooses by a masked model; forms of several tokens cannot be scored and are left unchanged."""

    engine: Engine

    def __call__(self, cases: Sequence[tuple[str, PronounSlot]]) -> list[str]:
        """The more likely form for every text and slot."""
        probes = [self._probe(text, slot) for text, slot in cases]
        readings = self.engine.read([probe for probe in probes if probe is not None])
        return [_likelier(slot, readings[probe].logprobs) if probe else slot.options[0]
                for (_, slot), probe in zip(cases, probes, strict=True)]  # fmt: skip

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


def _likelier(slot: PronounSlot, logprobs: Floats) -> str:
    return slot.options[0] if logprobs[0] >= logprobs[1] else slot.options[1]
