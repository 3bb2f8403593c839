"""Language models: safe loading, batched scoring, and readings cached on disk.

`open_lm` gives an `Lm`; `Engine` answers probes with readings and keeps them in a `Store`.
"""

from unmask.models.engine import Engine
from unmask.models.lm import Lm
from unmask.models.loading import open_lm
from unmask.models.store import Store

__all__ = ["Engine", "Lm", "Store", "open_lm"]
