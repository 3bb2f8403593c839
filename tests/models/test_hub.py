"""Opening a model by its hub name, against a real HTTP server on loopback that speaks as the hub does."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tests.models.test_adapter import CONFIGS, make_adapter

import gguf_files
import zoo
from hub_server import COMMIT, serve, serve_nothing
from unmask.models.eraser import Eraser, save_eraser

pytestmark = pytest.mark.thorough  # fresh processes

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
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
    with serve({f"team/{name}": folder for name, folder in folders.items()}) as server:
        yield environment | {
            "HF_ENDPOINT": server.url,
            "HF_HOME": str(tmp_path_factory.mktemp("hub") / "hf"),
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
        }


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


REFUSING = "http://127.0.0.1:9"
LIMIT = 80  # seconds for what takes 2 to 4 on a quiet machine, and two minutes by the library of the hub alone
SECONDS = """
import sys, time
from unmask import Opening, UnmaskError, open_model
for name in sys.argv[1:]:
    begin = time.monotonic()
    try:
        print(open_model(name, Opening()).facts.id)
    except UnmaskError as error:
        print(error)
    print(time.monotonic() - begin)
"""


def timed(environment: dict[str, str], *names: str) -> list[tuple[str, float]]:
    """What a fresh process says of each, and the seconds until then; the first also imports the libraries."""
    command = [sys.executable, "-c", SECONDS, *names]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    return [(line, float(seconds)) for line, seconds in zip(lines[::2], lines[1::2], strict=True)]


def test_without_a_connection_one_line_says_so_soon(hub: dict[str, str], tmp_path: Path) -> None:
    """The library of the hub alone asks again for two minutes."""
    names = ("team/tiny", "team/other", "team/quantised/tiny.gguf", "team/tiny+team/adapter", "team/gated")
    said = timed(hub | {"HF_ENDPOINT": REFUSING, "HF_HOME": str(tmp_path)}, *names)
    for name, (line, _) in zip(names, said, strict=True):
        assert line.startswith(f"cannot open {name.partition('+')[0]}"), line
        assert "no connection to the hub: check the network, or give a local folder" in line
    assert f"{REFUSING} does not answer: [Errno 111] Connection refused" in said[0][0]
    assert max(seconds for _, seconds in said[1:]) < LIMIT


def test_a_server_that_never_answers_is_given_up(hub: dict[str, str], tmp_path: Path) -> None:
    with serve_nothing() as url:
        quick = {"HF_ENDPOINT": url, "HF_HOME": str(tmp_path), "HF_HUB_ETAG_TIMEOUT": "1"}
        said = timed(hub | quick, "team/tiny", "team/tiny")
    assert f"{url} does not answer: timed out" in said[1][0]
    assert 1 <= said[1][1] < LIMIT


def test_what_is_in_the_cache_opens_without_a_connection(hub: dict[str, str]) -> None:
    timed(hub, "team/tiny")
    (first, (line, seconds)) = timed(hub | {"HF_ENDPOINT": REFUSING}, "team/tiny", "team/tiny")
    assert first[0] == line == "team/tiny"
    assert seconds < LIMIT
