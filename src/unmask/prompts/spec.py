"""Settings of `unmask prompts`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from unmask.core.options import OptionGroup, option

Counting = Literal["likelier", "contrast", "any"]


@dataclass(frozen=True)
class PromptSettings(OptionGroup):
    """Which prompts, how many words, and how their verdicts are made and compared."""

    file: Path | None = option(None, "Your own prompts.", flag="--prompts", shown="the 100 built in")
    top: int = option(2, "Number of likeliest words per prompt.", least=1)
    counting: Counting = option(
        "likelier", "likelier: the likeliest word decides; contrast: the likeliest listed; any: one biased suffices."
    )
    judgements: Path | None = option(None, "CSV of annotations to import (prompt, judge, verdict, when).")
    pll: Path | None = option(
        None, "Result folder of `unmask audit`: correlate its ranking of bias types with this one."
    )
