"""The Hugging Face hub as this package asks it: without telemetry, quietly, and offline if wanted."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from logging import ERROR

from unmask.core.errors import one_line, shorten

PAUSE = 1.0  # seconds before a failed connection is tried again
_ANSWERED: set[str] = set()  # hubs that answered this process


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


def connection_problem() -> str:
    """Why the hub does not answer; empty if it does.

    The hub's library repeats every request for half a minute, and opening a model takes several. Here a refused or
    failed connection is tried twice; the time for an answer is the library's own, $HF_HUB_ETAG_TIMEOUT (10 seconds).
    """
    from huggingface_hub import constants, get_session

    url = constants.ENDPOINT
    if url in _ANSWERED:
        return ""
    with private_hub(offline=False):
        for wait in (PAUSE, None):
            begin = time.monotonic()
            try:
                get_session().head(url, timeout=constants.HF_HUB_ETAG_TIMEOUT, follow_redirects=False)
            except Exception as error:  # of a library that has changed its HTTP client more than once
                problem = one_line(str(error)) or type(error).__name__
            else:  # an error of the server is an answer too
                _ANSWERED.add(url)
                return ""
            if wait is None or time.monotonic() - begin > wait:  # it has waited long enough
                break
            time.sleep(wait)
    return f"{url} does not answer: {shorten(problem, 200)}"
