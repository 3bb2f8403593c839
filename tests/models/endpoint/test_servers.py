"""If one of these fails, an audit through a server of llama.cpp is refused without need, or has wrong scores.

They run the servers of other projects, named by `$UNMASK_TEST_SERVERS`: a Python that has xllamacpp and
llama-cpp-python[server].
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType

import gguf_files
from unmask.core.errors import ModelError
from unmask.core.options import Opening, Serving
from unmask.models import open_lm
from unmask.models.endpoint import open_endpoint
from unmask.models.endpoint.lm import EndpointLm

NAME = "smollm2"
BOS = ("--kv_overrides", "tokenizer.ggml.add_bos_token=bool:true")
LLAMA_CPP = """
import sys, time, xllamacpp
parameters = xllamacpp.CommonParams()
parameters.model.path, parameters.port, parameters.model_alias = sys.argv[1], int(sys.argv[2]), {"smollm2"}
parameters.n_ctx = 128
server = xllamacpp.Server(parameters)
time.sleep(3600)
"""
TEXT = "The nurse said that she was late, and the 日 was long."
CACHE_ROUNDING = 0.02  # nats: llama.cpp keeps keys and values in 16 bits
ROUNDING = 0.25  # nats a token on average: llama.cpp multiplies Q4_1 weights by activations rounded to 8 bits


def llama_cpp_python(model: Path, port: int, *more: str) -> tuple[str, ...]:
    options = ("--model", str(model), "--model_alias", NAME, "--port", str(port), "--n_ctx", "128", *more)
    return ("-m", "llama_cpp.server", *options)


def llama_cpp(model: Path, port: int) -> tuple[str, ...]:
    return ("-c", LLAMA_CPP, str(model), str(port))


def free_port() -> int:
    with closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def running(python: str, *arguments: str, port: int) -> Iterator[str]:
    """The URL of a server, while it runs."""
    url = f"http://localhost:{port}/v1"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([python, *arguments], env=environment, **quiet)  # type: ignore[call-overload]
    try:
        for _ in range(600):
            assert process.poll() is None, "the server ended"
            try:
                if httpx.get(f"{url}/models", trust_env=False).status_code == httpx.codes.OK:
                    break
            except httpx.HTTPError:
                time.sleep(0.2)
        yield url
    finally:
        process.kill()
        process.wait()


def plain_logprobs(model: Any, ids: tuple[int, ...]) -> np.ndarray:
    """The log-probability of every token but the first, by a plain forward pass."""
    with torch.inference_mode():
        table = model(torch.tensor([ids])).logits[0].log_softmax(-1)
    return np.array([float(table[at - 1, ids[at]]) for at in range(1, len(ids))])


def opened(url: str) -> EndpointLm:
    return open_endpoint(url, Opening(), Serving(served_model=NAME, timeout=600))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small Llama in F32, whose tokenizer puts no begin-of-text token in front by itself."""
    path = tmp_path_factory.mktemp("served") / "tiny.gguf"
    gguf_files.write(path, gguf_files.llama(), GGMLQuantizationType.F32)
    return path


def test_llama_cpp_ignores_echo(tiny: Path, servers: str) -> None:
    port = free_port()
    server = running(servers, *llama_cpp(tiny, port), port=port)
    with server as url, pytest.raises(ModelError, match="ignores `echo`"):
        opened(url)


def test_llama_cpp_python_shifts_models_without_a_begin_of_text_token(tiny: Path, servers: str) -> None:
    port = free_port()
    server = running(servers, *llama_cpp_python(tiny, port), port=port)
    with server as url, pytest.raises(ModelError, match="shifts log-probabilities"):
        opened(url)


def difference(file: Path, python: str) -> Any:
    """Log-probabilities by llama-cpp-python minus those by a plain forward pass, of all tokens but the first.

    A begin-of-text token is put in front; the text has a character of several tokens.
    """
    port, local = free_port(), open_lm(file)
    with running(python, *llama_cpp_python(file, port, *BOS), port=port) as url:
        served = opened(url)
        served.prime([TEXT])
        found = [token.logprob for token in served.scores[served.encode(TEXT).ids]]
    ids = local.encode(TEXT).ids
    assert found[0] is None
    assert len(found) == len(ids) - 1
    return np.array(found[1:], dtype=float) - plain_logprobs(local.network.model, ids)[1:]


def test_llama_cpp_python_gives_the_log_probabilities_of_a_file(tiny: Path, servers: str) -> None:
    assert np.abs(difference(tiny, servers)).max() < CACHE_ROUNDING


def test_llama_cpp_python_gives_nearly_those_of_a_quantised_file(smollm2: Path, servers: str) -> None:
    assert np.abs(difference(smollm2, servers)).mean() < ROUNDING
