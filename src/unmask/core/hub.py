"""The Hugging Face hub as this package asks it: without telemetry, quietly, and offline if wanted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from logging import ERROR


@contextmanager
def private_hub(*, offline: bool) -> Iterator[None]:
    """No telemetry, no conversion asked of the hub, and with `offline` no request at all."""
    from huggingface_hub import constants
    from huggingface_hub.utils import logging

    os.environ["DISABLE_SAFETENSORS_CONVERSION"] = "1"
    constants.HF_HUB_DISABLE_TELEMETRY = True  # the environment is read only when the library is imported
    before, level = constants.HF_HUB_OFFLINE, logging.get_verbosity()
    constants.HF_HUB_OFFLINE = before or offline
    logging.set_verbosity(ERROR)  # what fails is raised; retries are not worth a line each
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before
        logging.set_verbosity(level)
