"""Execute the notebooks of docs/notebooks and store what they print: `python -m tools.notebooks [NAME …] [--check]`.

Every notebook is executed from its first cell to its last in an empty folder; a cell that fails is an error, and claims
that the text makes are asserted in its cells. With `--check` nothing is written, as in the tests.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"
SECONDS = 1800  # for one cell


def execute(path: Path) -> Any:
    """The executed notebook, without what differs between runs: times, warnings and progress."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(
            notebook, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": folder}}
        ).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    nbformat.validate(notebook)
    return notebook


def main() -> int:
    """Execute the named notebooks, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="names without .ipynb; default: all")
    parser.add_argument("--check", action="store_true", help="write nothing")
    given = parser.parse_args()
    import nbformat

    for path in sorted(FOLDER.glob("*.ipynb")):
        if not given.names or path.stem in given.names:
            notebook = execute(path)
            if not given.check:
                nbformat.write(notebook, path)
            print(f"{path.name}: {sum(cell.cell_type == 'code' for cell in notebook.cells)} cells executed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
