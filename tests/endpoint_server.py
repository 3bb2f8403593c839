"""An HTTP server on loopback that serves a causal model as vLLM does, computed by its plain forward pass, with faults.

A fault is a name in `Server.faults`; those of the transport hold for the next `Server.failures` requests only.
"""

from __future__ import annotations

import contextlib
import json
import random
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import torch

import zoo
from serving import running
from unmask.models import Lm
from unmask.models.endpoint import client
from unmask.models.loading import open_lm

KEY = "sk-zz-secret-5d1f"
NAME = "served"


class Server(ThreadingHTTPServer):
    """Serves `lm`; `asked` are the prompts of all requests that were answered or refused."""

    daemon_threads = True

    def __init__(self, lm: Lm) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.lm = lm
        self.reset()

    def reset(self) -> None:
        """Without faults, and with nothing asked."""
        self.faults: set[str] = set()
        self.failures = 0
        self.chance = random.Random(0)
        self.asked: list[str] = []
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.shows_begin = True
        self.most = 20  # likeliest tokens that may be asked for

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def complete(self, prompt: str, tokens: int, top: int, echo: bool) -> dict[str, Any]:
        """The choice for one prompt."""
        ids = list(self.lm.encode(prompt).ids)
        begin = len(ids)
        for _ in range(tokens):
            ids.append(int(self._logprobs(ids)[-1].argmax()))
        table = self._logprobs(ids)
        texts = [self.lm.text([token]) for token in ids]
        values: list[float | None] = [None, *(float(table[at - 1, ids[at]]) for at in range(1, len(ids)))]
        tops: list[dict[str, float] | None] = [None, *(self._top(table[at - 1], top) for at in range(1, len(ids)))]
        if "shift" in self.faults:  # as if the logits at a token were those of the token itself
            values = [None, *(float(table[at, ids[at]]) for at in range(1, len(ids)))]
            tops = [None, *(self._top(table[at], top) for at in range(1, len(ids)))]
        if "shifted echo" in self.faults and echo:  # the lists begin one token too late
            values, tops = [*values[1:], values[-1]], [*tops[1:], tops[-1]]
            values[0] = tops[0] = None
        for at in range(1, begin):
            if values[at] is not None and tops[at] is not None:
                values[at], tops[at] = self._distort(texts[at], values[at], tops[at])
        if "wrong" in self.faults:  # depends on the whole text
            values = [None if value is None else value - 0.3 * (len(prompt) % 7) for value in values]
        if (
            "llama-cpp-python" in self.faults and echo
        ):  # without a begin-of-text token: the same, and the end is left out
            values = [None, *(float(table[at, ids[at]]) for at in range(1, begin))]
            tops = [None, *({**self._top(table[at], top), texts[at]: values[at]} for at in range(1, begin))]
            texts = texts[:begin]
        start = 0 if echo and "echo" not in self.faults else begin
        if start == 0 and not self.shows_begin:
            start = 1
        logprobs = {
            "tokens": texts[start:],
            "token_logprobs": values[start:],
            "top_logprobs": tops[start:],
            "text_offset": [0] * len(texts[start:]),
        }
        if "no logprobs" in self.faults:
            return {"text": "", "logprobs": None}
        if "llama.cpp" in self.faults:  # `echo` is ignored, and tokens are objects
            ends = [
                {"token": t, "logprob": v, "top_logprobs": [{"token": t, "logprob": v}]}
                for t, v in zip(texts[begin:], values[begin:], strict=True)
            ]
            return {"text": "", "logprobs": {"content": ends}, "finish_reason": "length"}
        if "no top" in self.faults:
            logprobs["top_logprobs"] = None
        return {"text": "".join(texts[start:]), "logprobs": logprobs, "finish_reason": "length"}

    def _distort(self, token: str, value: Any, top: Any) -> tuple[Any, Any]:
        """The log-probability of a token of the prompt and the likeliest ones, with the faults in either."""
        if token not in top:
            floors = {"floor": -20.0, "null": None, "infinity": float("-inf"), "last": min(top.values())}
            floors |= {"nan": float("nan"), "sentinel": -9999.0, "positive": 5.0}
            value = next((floor for fault, floor in floors.items() if fault in self.faults), value)
        if "random" in self.faults:
            value -= self.chance.random()
        if "likeliest" in self.faults:
            value = max(top.values())
        if "renormalised" in self.faults:
            total = torch.tensor(list(top.values())).logsumexp(0).item()
            top = {text: each - total for text, each in top.items()}
            value = top.get(token, value)
        return value, top

    def _logprobs(self, ids: list[int]) -> torch.Tensor:
        with torch.inference_mode():
            return self.lm.network.model(torch.tensor([ids])).logits[0].float().log_softmax(-1)

    def _top(self, row: torch.Tensor, top: int) -> dict[str, float]:
        values, ids = row.topk(top)
        return {self.lm.text([int(token)]): float(value) for token, value in zip(ids, values, strict=True)}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        if self._lets_in():
            names = [NAME, "other"] if "two models" in self.server.faults else [NAME]
            self._say(200, {"object": "list", "data": [{"id": name} for name in names]})

    def do_POST(self) -> None:
        server = self.server
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        prompts = [body["prompt"]] if isinstance(body["prompt"], str) else body["prompt"]
        server.bodies.append(body)
        if not self._lets_in() or self._fails():
            return
        server.asked += prompts
        if body["model"] != NAME:
            self._say(404, {"error": {"message": f"The model `{body['model']}` does not exist.", "code": 404}})
        elif len(prompts) > 1 and "one prompt" in server.faults:
            self._say(400, {"error": {"message": "one prompt only"}})
        elif len(prompts) > 1 and "two prompts fail" in server.faults:  # as llama-cpp-python's
            self._say(500, {"error": {"message": "Internal Server Error"}})
        elif any("REFUSED" in prompt for prompt in prompts) or body["logprobs"] > server.most:
            self._say(400, {"error": {"message": "the text is too long"}})
        else:
            lists = (server.complete(p, body["max_tokens"], body["logprobs"], body["echo"]) for p in prompts)
            choices = [{"index": at, **choice} for at, choice in enumerate(lists)]
            name = "another-model" if "other name" in server.faults else NAME
            self._say(200, {"object": "text_completion", "model": name, "choices": choices})

    def _lets_in(self) -> bool:
        given = self.headers.get("authorization")
        self.server.keys.append(given)
        if "key" not in self.server.faults or given == f"Bearer {KEY}":
            return True
        self._say(401, {"error": {"message": f"Incorrect API key provided: {given}"}})
        return False

    def _fails(self) -> bool:
        """Whether this request is to fail on the way."""
        server = self.server
        if server.failures <= 0:
            return False
        server.failures -= 1
        if "429" in server.faults:
            self._say(429, {"error": {"message": "slow down"}}, **{"retry-after": "0"})
        elif "wait" in server.faults:
            self._say(429, {"error": "slow down"}, **{"retry-after": "86400"})
        elif "500" in server.faults:
            self._say(500, {"detail": "out of memory"})
        elif "redirect" in server.faults:
            self._say(302, {}, location="https://elsewhere.example/v1")
        elif "slow" in server.faults:
            time.sleep(1.0)
            self._say(200, {})
        elif "dropped" in server.faults:
            self.close_connection = True
            self.connection.close()
        elif "truncated" in server.faults:
            self._say(200, b'{"choices": [{"index": 0, "logpr')
        elif "half" in server.faults:  # fewer bytes than promised
            self.send_response(200)
            self.send_header("content-length", "1000")
            self.end_headers()
            self.wfile.write(b'{"choices"')
            self.close_connection = True
        else:
            return False
        return True

    def _say(self, status: int, content: Any, **headers: str) -> None:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        with contextlib.suppress(OSError):  # the client may have gone
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass

    def handle(self) -> None:
        with contextlib.suppress(OSError, ValueError):  # a dropped connection
            super().handle()


@contextlib.contextmanager
def serve(lm: Lm) -> Iterator[Server]:
    """Run a server in a thread."""
    server = Server(lm)
    with running(server):
        yield server


@pytest.fixture(scope="module")
def served() -> Iterator[Server]:
    """Serves the zoo's GPT-2 to the tests of a module."""
    with serve(open_lm(zoo.folder("gpt2"))) as server:
        yield server


@pytest.fixture
def server(served: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """The same without faults, and with nothing asked; back-off takes no time."""
    served.reset()
    monkeypatch.setattr(client, "FIRST_WAIT", 0.001)
    return served
