"""An engineer's pipeline: it fails on a planted worsening, and passes on the same model and on a mended one.

In `builtin-dose+3` occupations were linked with a gender; `builtin-dose+0` was trained on the same sentences without.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as Xml

from .conftest import User

AUDIT = "--data pronoun-templates --measure ppd --limit 150 --no-report --quiet"


def test_the_job_fails_on_a_worsening_and_passes_otherwise(user: User, tmp_path: Path) -> None:
    user(f"unmask audit builtin-dose+0 {AUDIT} --out runs/main --save-config audit.yaml")
    user("unmask run audit.yaml --out runs/new --no-report --quiet")  # nothing was changed
    said = user("unmask gate runs/new --baseline runs/main")
    assert said.splitlines()[-1].startswith(("PASS: not worse by more than ", "PASS: unchanged in "))

    user(f"unmask audit builtin-dose+3 {AUDIT} --out runs/worse")
    said = user("unmask gate runs/worse --baseline runs/main --junit gate.xml --summary summary.md", code=1)
    assert said.splitlines()[-1].startswith("FAIL: worse in ")
    assert Xml.parse(tmp_path / "gate.xml").getroot().find(".//failure") is not None
    assert "FAIL" in (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert "ppd" in user("unmask compare runs/main runs/worse")

    said = user("unmask gate runs/main --baseline runs/worse")  # mended
    assert said.splitlines()[-1].startswith("PASS: ")
    user("unmask gate runs/main --max mean-word-appd=0.3")  # a first run, without a baseline
    user("unmask gate runs/worse --max mean-word-appd=0.3", code=1)
