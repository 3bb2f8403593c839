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

from unmask.core.errors import ModelError
from unmask.core.options import Opening, Serving
from unmask.models import open_lm
from unmask.models.endpoint.lm import EndpointLm
from unmask.models.endpoint.loading import open_endpoint

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
ROUNDING = 0.5  # nats a token: llama.cpp multiplies Q4_1 weights by activations that it rounds to 8 bits


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


def test_llama_cpp_ignores_echo(smollm2: Path, servers: str) -> None:
    port = free_port()
    server = running(servers, *llama_cpp(smollm2, port), port=port)
    with server as url, pytest.raises(ModelError, match="ignores `echo`"):
        opened(url)


def test_llama_cpp_python_shifts_models_without_a_begin_of_text_token(smollm2: Path, servers: str) -> None:
    port = free_port()
    server = running(servers, *llama_cpp_python(smollm2, port), port=port)
    with server as url, pytest.raises(ModelError, match="shifts log-probabilities"):
        opened(url)


def test_llama_cpp_python_gives_the_log_probabilities_of_the_file(smollm2: Path, servers: str) -> None:
    """With a begin-of-text token in front all but the first token's are there; characters of several tokens too."""
    port, local = free_port(), open_lm(smollm2)
    with running(servers, *llama_cpp_python(smollm2, port, *BOS), port=port) as url:
        served = opened(url)
        served.prime([TEXT])
        found = [token.logprob for token in served.scores[served.encode(TEXT).ids]]
    ids = local.encode(TEXT).ids
    assert found[0] is None
    assert len(found) == len(ids) - 1
    expected = plain_logprobs(local.network.model, ids)
    np.testing.assert_allclose(np.array(found[1:], dtype=float), expected[1:], atol=ROUNDING)
