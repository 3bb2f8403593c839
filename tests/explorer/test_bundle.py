"""The static copy of the page: what it holds, what it does not, and where it is written."""

from __future__ import annotations

import base64
import getpass
import gzip
import json
import re
import socket
from pathlib import Path
from typing import Any

import pytest

from unmask.audit.result import load
from unmask.cli import main
from unmask.core.errors import DataError, ResultError
from unmask.explorer.app import STATIC, Site, overview
from unmask.explorer.bundle import CHUNK, PAGE, joined_modules, write_bundle
from unmask.explorer.pairs import Runs, compare_runs
from unmask.findings.envelope import Result, build

from . import samples


@pytest.fixture
def site(tmp_path: Path) -> Site:
    folders = [samples.run(tmp_path / "one", "tiny"), samples.run(tmp_path / "two", "other", samples.SECOND)]
    other = Result(build("task", title="Toy"))
    return Site(Runs(tuple(load(folder) for folder in folders)), samples.TOKEN, others=(other,))


def answers(page: str) -> dict[str, Any]:
    found = re.findall(r'<script type="text/plain" data-answer="([^"]+)" data-chunk="\d+">([^<]*)</script>', page)
    return {address: json.loads(gzip.decompress(base64.b64decode(packed))) for address, packed in found}


def test_it_holds_what_the_server_would_answer(site: Site, tmp_path: Path) -> None:
    page = write_bundle(site, tmp_path / "copy").read_text(encoding="utf-8")
    held = answers(page)
    assert held["/api/runs"]["runs"] == json.loads(json.dumps(overview(site)["runs"]))
    assert held["/api/pairs"] == json.loads(json.dumps(site.runs.columns))
    assert held["/api/compare/0/1"] == compare_runs(*site.runs.results)
    assert [pair["item"] for pair in held["/api/pair/0"]] == [samples.item(n) for n in range(len(samples.PAIRS))]
    assert {"/api/compare/1/0", "/api/pair/0"} <= {*held}
    assert (tmp_path / "copy" / "result-0.html").is_file()


def test_nothing_that_needs_a_server_is_in_it(site: Site, tmp_path: Path) -> None:
    page = write_bundle(site, tmp_path / "copy").read_text(encoding="utf-8")
    held = answers(page)["/api/runs"]
    assert (held["live"], held["judging"], held["uploads"]) == (None, None, False)
    assert " src=" not in page
    assert not re.search(r'<link[^>]+href="/', page)
    assert "import " not in joined_modules("app").replace("that it imports", "")


def test_it_names_no_place_and_no_user(site: Site, tmp_path: Path) -> None:
    page = write_bundle(site, tmp_path / "copy").read_text(encoding="utf-8")
    whole = page + json.dumps(answers(page)) + (tmp_path / "copy" / "result-0.html").read_text(encoding="utf-8")
    for name in (str(tmp_path), tmp_path.name, str(Path.home()) + "/", socket.gethostname(), samples.TOKEN):
        assert len(name) < 6 or name not in whole, name
    assert getpass.getuser() in ("root",) or getpass.getuser() not in whole


def test_only_its_own_scripts_may_run(site: Site, tmp_path: Path) -> None:
    import hashlib

    page = write_bundle(site, tmp_path / "copy").read_text(encoding="utf-8")
    policy = re.search(r'content-security-policy" content="([^"]+)"', page)
    assert policy is not None
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert len(scripts) == 2
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"sha256-{digest}" in policy[1]
    assert "default-src &#x27;none&#x27;" in policy[1]


def test_every_module_of_the_page_is_in_the_script() -> None:
    script = joined_modules("app")
    modules = {path.stem for path in STATIC.glob("*.js")} - {"theme"}
    assert set(re.findall(r"^modules\.(\w+) = ", script, re.MULTILINE)) == modules
    assert not re.search(r"^(import|export) ", script, re.MULTILINE)


def test_many_pairs_are_in_chunks(tmp_path: Path) -> None:
    runs = Runs((load(samples.large(tmp_path / "large", 2 * CHUNK + 1)),))
    held = answers(write_bundle(Site(runs, samples.TOKEN), tmp_path / "copy").read_text(encoding="utf-8"))
    assert [len(held[f"/api/pair/{n}"]) for n in range(3)] == [CHUNK, CHUNK, 1]
    assert held["/api/pair/2"][0]["item"] == f"big/{2 * CHUNK:05}"


def test_it_is_written_into_a_folder_of_its_own(site: Site, tmp_path: Path) -> None:
    first = write_bundle(site, tmp_path / "copy").read_bytes()
    assert write_bundle(site, tmp_path / "copy").read_bytes() == first
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / PAGE).write_text("<html>my page</html>")
    with pytest.raises(DataError, match="mine holds other files: give a new or empty folder"):
        write_bundle(site, tmp_path / "mine")
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="file cannot be read"):
        write_bundle(site, tmp_path / "file")
    with pytest.raises(ResultError, match="no runs to copy"):
        write_bundle(Site(Runs(()), samples.TOKEN), tmp_path / "new")


def test_the_command_writes_it_and_ends(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warnings.showwarning", None)
    folders = [str(samples.run(tmp_path / name, name)) for name in ("one", "two")]
    with pytest.raises(SystemExit) as left:
        main(["explore", *folders, "--bundle", str(tmp_path / "copy")])
    assert left.value.code == 0
    assert f"copy in {tmp_path / 'copy' / PAGE}: open it in a browser" in capsys.readouterr().err
