"""A doctoral student audits two checkpoints of her own and puts the table into her paper."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import unmask
import zoo

from .conftest import User

PAPER = r"""\documentclass{article}
\usepackage{booktabs}
\begin{document}
\input{table}
\end{document}
"""


def test_her_table_compiles_and_has_the_numbers_of_the_runs(user: User, tmp_path: Path, pdflatex: str) -> None:
    for name in ("bert-uncased", "bert-cased"):
        shutil.copytree(zoo.folder(name), tmp_path / name)
        user(
            f"unmask audit ./{name} --data crows-pairs --measure cps aul aula --data-dir {zoo.MINIATURE}"
            f" --out runs/{name} --quiet"
        )
    user("unmask report runs/bert-uncased runs/bert-cased --format latex --layout wide --out table.tex")
    (tmp_path / "paper.tex").write_text(PAPER, encoding="utf-8")
    words = [pdflatex, "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "paper.pdf").read_bytes().startswith(b"%PDF")
    table = (tmp_path / "table.tex").read_text(encoding="utf-8")
    for name in ("bert-uncased", "bert-cased"):
        rows = [line for line in table.splitlines() if line.startswith(name)]
        result = unmask.load(tmp_path / "runs" / name)
        published = [each for each in result.estimates if (each.statistic, each.group) == ("bias-score", "all")]
        for row, numbers in zip(rows, (result.headlines(), published), strict=True):  # both directions alike; all pairs
            shown = [float(value) for value in re.findall(r"(?<=& )\d+\.\d", row)]
            assert shown == [round(estimate.value, 1) for estimate in numbers]
