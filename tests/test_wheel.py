"""What is released: the wheel holds nothing but the package, and the source archive nothing but its sources."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MEGABYTES = 65  # the built-in models are most of it; docs/reliability.md states the size
SECRET = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY|AKIA[0-9A-Z]{16}|\bhf_[A-Za-z0-9]{30,}|\bghp_[A-Za-z0-9]{30,}")
TEXT = {".py", ".md", ".json", ".jsonl", ".csv", ".txt", ".yaml", ".yml", ".jinja", ".css", ".js", ".html", ".toml"}

pytestmark = pytest.mark.thorough


def build(kind: str, folder: Path) -> Path:
    """Build a distribution of the working tree; no network."""
    words = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    subprocess.run(words, check=True, cwd=ROOT, capture_output=True)
    (path,) = folder.iterdir()
    return path


def check_contents(files: dict[str, bytes]) -> None:
    """No paths of this machine, no secrets, no left-overs."""
    here = str(ROOT).encode()
    for name, content in files.items():
        assert not name.endswith((".pyc", ".orig", ".rej", ".swp", ".partial", ".pem", ".key", ".env", ".lock")), name
        assert not SECRET.search(content), name
        if Path(name).suffix in TEXT:
            assert here not in content, name


def test_the_wheel_holds_nothing_but_the_package(tmp_path: Path) -> None:
    path = build("wheel", tmp_path)
    assert path.stat().st_size < MEGABYTES * 1e6
    with zipfile.ZipFile(path) as wheel:
        files = {name: wheel.read(name) for name in wheel.namelist()}
    assert {name.split("/")[0] for name in files} == {
        "unmask",
        next(name for name in files if "/METADATA" in name).split("/")[0],
    }
    package = {name.removeprefix("unmask/") for name in files if name.startswith("unmask/")}
    source = ROOT / "src" / "unmask"
    kept = subprocess.run(["git", "ls-files", "."], cwd=source, capture_output=True, text=True, check=True).stdout
    assert package - {*kept.splitlines()} <= {str(each.relative_to(source)) for each in source.rglob("*.py")}
    assert {*kept.splitlines()} - package <= {name for name in kept.splitlines() if not (source / name).exists()}
    assert not [name for name in files if "test" in Path(name).name.removesuffix(".py").split("_")]
    scripts = next(content for name, content in files.items() if name.endswith("entry_points.txt")).decode()
    assert "unmask = unmask.__main__:main" in scripts
    check_contents(files)


def test_the_source_archive_holds_nothing_but_sources(tmp_path: Path) -> None:
    path = build("sdist", tmp_path)
    with tarfile.open(path) as archive:
        members = [member for member in archive.getmembers() if member.isfile()]
        files = {member.name.partition("/")[2]: archive.extractfile(member).read() for member in members}  # type: ignore[union-attr]
    assert {name.split("/")[0] for name in files} <= {
        *("src", "docs", "README.md", "CHANGELOG.md", "LICENSE", "PKG-INFO", "pyproject.toml", ".gitignore")
    }
    check_contents(files)
