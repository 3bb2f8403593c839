"""Folders of unmask on this machine."""

from __future__ import annotations

import os
from pathlib import Path


def cache_dir() -> Path:
    """The cache of datasets and model outputs: `$UNMASK_CACHE_DIR`, else the user's cache folder."""
    if chosen := os.environ.get("UNMASK_CACHE_DIR"):
        return Path(chosen)
    import platformdirs

    return Path(platformdirs.user_cache_dir("unmask"))
