"""Opening a model by its hub name, against a real HTTP server on loopback that speaks as the hub does."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tests.models.test_adapter import CONFIGS, make_adapter

import gguf_files
import zoo
from unmask.models.eraser import Eraser, save_eraser

pytestmark = pytest.mark.thorough  # fresh processes

COMMIT = "0123456789abcdef0123456789abcdef01234567"
SCRIPT = """
import sys
from unmask import Opening, UnmaskError, open_model
for asked in sys.argv[1:]:
    name, _, how = asked.partition("|")
    try:
        facts = open_model(name, Opening(offline=how == "offline")).facts
        print(facts.id, facts.revision, facts.architecture, *facts.warnings)
    except UnmaskError as error:
        print(f"refused: {error}")
"""


class Hub(BaseHTTPRequestHandler):
    """Files of each model NAME below /team/NAME/resolve/REVISION/."""

    folders: dict[str, Path]
    asked: list[str]

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        type(self).asked.append(self.path)
        path = self.path.split("?")[0]
        found = re.fullmatch(r"/team/(\w+)/resolve/\w+/(.+)", path)
        folder = self.folders.get(found[1]) if found else None
        name = found[2] if found and folder else ""
        file = (folder or Path()) / name
        if re.match(rf"/api/models/team/({'|'.join(self.folders)})/tree/", path):
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"[]")
            return
        if path.startswith("/team/gated/"):
            self.send_response(403)
            self.send_header("X-Error-Code", "GatedRepo")
            self.send_header("X-Error-Message", "Access to model team/gated is restricted.")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if not name or not file.is_file():
            self.send_response(404)
            self.send_header("X-Error-Code", "EntryNotFound" if name else "RepoNotFound")
            self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        content = file.read_bytes()
        self.send_response(200)
        self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of a process whose hub is our server."""
    erased = Path(shutil.copytree(zoo.folder("bert-uncased"), tmp_path_factory.mktemp("hub") / "erased"))
    save_eraser(Eraser("projection", {"removed": torch.eye(32)[:2]}), erased)
    sharded = Path(shutil.copytree(zoo.folder("bert-uncased"), tmp_path_factory.mktemp("hub") / "sharded"))
    (sharded / "model.safetensors").rename(sharded / "model-00001-of-00001.safetensors")
    places = dict.fromkeys(load_file(sharded / "model-00001-of-00001.safetensors"), "model-00001-of-00001.safetensors")
    (sharded / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": places}))
    folders = {"tiny": zoo.folder("bert-uncased"), "erased": erased, "sharded": sharded}
    folders["pickled"] = zoo.folder("pickle_only")
    folders |= {name: tmp_path_factory.mktemp("hub") / name for name in ("quantised", "adapter")}
    folders["quantised"].mkdir()
    gguf_files.write(folders["quantised"] / "tiny.gguf", gguf_files.llama())
    make_adapter(zoo.folder("bert-uncased"), folders["adapter"], CONFIGS["lora"])
    handler = type("Bound", (Hub,), {"folders": folders, "asked": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
    yield environment | {
        "HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
        "HF_HOME": str(tmp_path_factory.mktemp("hub") / "hf"),
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }
    server.shutdown()
    server.server_close()


def opened(environment: dict[str, str], *asked: str) -> list[str]:
    """What a fresh process says of each: the model it opened, or why it did not."""
    command = [sys.executable, "-c", SCRIPT, *asked]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def said(hub: dict[str, str]) -> list[str]:
    """In one process, the cache empty at first: asked offline, by a name nobody has, and by the right one."""
    found = opened(hub, "team/tiny|offline", "team/other", "team/tiny@main")
    assert len(found) == 3  # each one line
    return found


def test_a_hub_name_is_fetched_then_opened_offline(hub: dict[str, str], said: list[str]) -> None:
    assert said[2].split() == ["team/tiny", COMMIT, "BertForMaskedLM"]
    assert opened(hub | {"HF_ENDPOINT": "http://127.0.0.1:9"}, "team/tiny|offline") == [said[2]]


def test_offline_refuses_what_is_not_in_the_cache(said: list[str]) -> None:
    assert said[0].startswith("refused: cannot open team/tiny")
    assert "offline mode is on" in said[0]


def test_an_unknown_name_is_one_line(said: list[str]) -> None:
    assert said[1].startswith("refused: cannot open team/other")


def test_an_eraser_in_the_repository_is_attached(hub: dict[str, str]) -> None:
    """A mitigated model on the hub would otherwise be opened as it was before."""
    (line,) = opened(hub, "team/erased")
    assert line.startswith(f"team/erased {COMMIT} BertForMaskedLM an eraser (projection)")
    assert opened(hub | {"HF_ENDPOINT": "http://127.0.0.1:9"}, "team/erased|offline") == [line]


def test_gguf_files_and_adapters_of_the_hub(hub: dict[str, str]) -> None:
    quantised, adapted = opened(hub, "team/quantised/tiny.gguf", "team/tiny+team/adapter@main")
    assert quantised.startswith(f"team/quantised/tiny.gguf {COMMIT} LlamaForCausalLM weights were dequantised")
    assert adapted == f"team/tiny+team/adapter {COMMIT} BertForMaskedLM"


def test_a_gated_model_is_refused_with_what_to_do(hub: dict[str, str]) -> None:
    (line,) = opened(hub, "team/gated")
    assert line.startswith("refused: cannot open team/gated")
    assert "accept its terms" in line
    assert "HF_TOKEN" in line


def test_a_sharded_model_is_fetched_whole_and_opened_offline(hub: dict[str, str]) -> None:
    (line,) = opened(hub, "team/sharded")
    assert line == f"team/sharded {COMMIT} BertForMaskedLM"
    assert opened(hub | {"HF_ENDPOINT": "http://127.0.0.1:9"}, "team/sharded|offline") == [line]


def test_pickled_weights_of_the_hub_are_refused_without_asking_for_a_conversion(hub: dict[str, str]) -> None:
    (line,) = opened(hub, "team/pickled")
    assert line.startswith("refused: cannot open team/pickled: it has no model.safetensors")


@pytest.mark.slow  # the library of the hub asks again for two minutes
def test_without_a_connection_one_line_says_what_to_do(hub: dict[str, str], tmp_path: Path) -> None:
    (line,) = opened(hub | {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(tmp_path)}, "team/tiny")
    assert line.startswith("refused: cannot open team/tiny")
    assert "no connection to the hub: check the network, or give a local folder" in line
