"""Language models: safe loading, batched scoring, and readings cached on disk.

`open_lm` gives a model; its `answerer` (an `Engine`, or an endpoint) answers probes with readings and keeps them in a
`Store`. Names are imported when first used: torch is slow to import, and the list of built-in models needs none of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unmask.core.lazy_imports import lazy_names

if TYPE_CHECKING:
    from unmask.models.answerer import Answerer
    from unmask.models.engine import Engine
    from unmask.models.lm import Lm, TextModel
    from unmask.models.loading import Model, list_models, open_encoder, open_lm
    from unmask.models.store import Store

_LOADING = dict.fromkeys(("Model", "list_models", "open_encoder", "open_lm"), "loading")
_MODELS = dict.fromkeys(("Lm", "TextModel"), "lm")
_HOMES = {"Answerer": "answerer", "Engine": "engine", "Store": "store", **_MODELS, **_LOADING}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = ["Answerer", "Engine", "Lm", "Model", "Store", "TextModel", "list_models", "open_encoder", "open_lm"]
