"""Language models: safe loading, batched scoring, and readings cached on disk.

`open_lm` gives an `Lm`; `Engine` answers probes with readings and keeps them in a `Store`. Names are imported when
first used: torch is slow to import, and the list of built-in models needs none of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unmask.core.lazy_imports import lazy_names

if TYPE_CHECKING:
    from unmask.models.engine import Engine
    from unmask.models.lm import Lm
    from unmask.models.loading import open_encoder, open_lm
    from unmask.models.store import Store

_LOADING = dict.fromkeys(("open_encoder", "open_lm"), "loading")
__getattr__ = lazy_names(__name__, {"Engine": "engine", "Lm": "lm", "Store": "store", **_LOADING})

__all__ = ["Engine", "Lm", "Store", "open_encoder", "open_lm"]
