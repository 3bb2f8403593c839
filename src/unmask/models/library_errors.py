"""What libraries print and raise while a model is loaded: silenced, or one `ModelError` with its cause and advice."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from logging import CRITICAL

from unmask.core.errors import ModelError, UnmaskError, one_line, shorten
from unmask.core.hub import private_hub
from unmask.models.folder import ModelFolder
from unmask.models.gguf import read_once

_MEMORY = "not enough memory: use a smaller model, another device, or a dtype of 16 bits"
_UNKNOWN = "update transformers; a model that brings its own code needs trust_remote_code, if you trust it"
_ADVICE = {  # words of a library's error: what to do
    "trust_remote_code": "it needs its own code; read that code, then set trust_remote_code",
    "allocate memory": _MEMORY,
    "out of memory": _MEMORY,
    "does not recognize this architecture": _UNKNOWN,
    "is not supported yet": _UNKNOWN,
    "gated repo": "accept its terms on its page of the hub, then log in with `hf auth login` or set HF_TOKEN",
    "couldn't connect": "no connection to the hub: check the network, or give a local folder",
}


@contextmanager
def quiet() -> Iterator[None]:
    """Silence transformers' loading report and progress bars; `refuse_bad_weights` checks what matters."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity(CRITICAL)
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


@contextmanager
def quiet_panics() -> Iterator[None]:
    """Hold back what is written to stderr and drop it if the block fails: Rust prints a backtrace before it raises."""
    try:
        stderr = os.dup(2)
    except OSError:  # closed: nothing is seen anyway
        yield
        return
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
            held.seek(0)
            os.write(stderr, held.read())
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)


@contextmanager
def opening(folder: ModelFolder, part: str = "") -> Iterator[None]:
    """Load a part of a model, quietly and without telemetry; whatever a library raises becomes a ModelError."""
    try:
        parsing = nullcontext() if folder.gguf is None else read_once()
        with quiet(), private_hub(offline=folder.offline), parsing:
            yield
    except UnmaskError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":  # of a library in Rust
            raise
        where = f"{folder.name}, its {part}" if part else folder.name
        raise ModelError(f"cannot open {where}: {_cause(error)} ({_advice(error, folder)})") from error


def _cause(error: BaseException) -> str:
    """The first line of an error (two if it ends in a colon), with its class if the text alone says too little."""
    lines = [line for line in str(error).splitlines() if line.strip()] or [""]
    text = one_line(" ".join(lines[: 2 if lines[0].rstrip().endswith(":") else 1]))
    speaks = isinstance(error, OSError | ValueError | ImportError | RuntimeError) and text
    return shorten(text if speaks else f"{type(error).__name__} {text}".strip(), 300)


def _advice(error: BaseException, folder: ModelFolder) -> str:
    reason = "out of memory" if isinstance(error, MemoryError) else str(error)
    known = next((advice for words, advice in _ADVICE.items() if words in reason), None)
    if known is not None:
        return known
    if isinstance(error, ImportError):
        return "install what is missing"
    if folder.is_local:
        return "a file of the folder is damaged, or needs another version of transformers; copy or download it again"
    if folder.offline:
        return folder.offline_advice if folder.unreachable else f"offline mode is on; {folder.offline_advice}"
    return "check the name, and the network connection"
