"""The types of arrays. They are apart from `core.types`, which can thus be imported without numpy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
