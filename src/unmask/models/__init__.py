"""Language models: opened safely, asked in batches, remembered on disk.

`open_lm` gives an `Lm`; `Engine` turns probes into readings with the help of a `Store`.
"""

from unmask.models.engine import Engine
from unmask.models.lm import Lm
from unmask.models.loading import open_lm
from unmask.models.store import Store

__all__ = ["Engine", "Lm", "Store", "open_lm"]
