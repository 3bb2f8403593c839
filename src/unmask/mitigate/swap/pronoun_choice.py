"""Which form of a pronoun a masked model finds likelier where it stands."""

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
    """Asks a masked model; where it cannot answer (a form of several tokens), the form at hand stays."""

    engine: Engine

    def __call__(self, cases: Sequence[tuple[str, PronounSlot]]) -> list[str]:
        """Of every text and slot the likelier form."""
        probes = [self._probe(text, slot) for text, slot in cases]
        read = self.engine.read([one for one in probes if one is not None])
        return [_likelier(slot, read[one].logprobs) if one else slot.options[0]
                for (_, slot), one in zip(cases, probes, strict=True)]  # fmt: skip

    def _probe(self, text: str, slot: PronounSlot) -> Probe | None:
        """The slot hidden amid what stands around it; read both forms."""
        lm = self.engine.lm
        begin = max(0, slot.begin - WINDOW)
        seen = text[begin : slot.end + WINDOW]
        try:
            sentence = lm.encode(seen)
            positions = lm.token_positions(seen, slot.begin - begin, slot.end - begin)
        except Unscorable:
            return None
        forms = [lm.pieces(f" {one}" if lm.marks_spaces else one) for one in slot.options]
        if len(positions) != 1 or any(len(form) != 1 for form in forms):
            return None
        return Probe(sentence.ids, tuple((positions[0], form[0]) for form in forms), positions)


def _likelier(slot: PronounSlot, logprobs: Floats) -> str:
    return slot.options[0] if logprobs[0] >= logprobs[1] else slot.options[1]
