"""Files of tasks: found in the data directories, which must exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from unmask.core.errors import DataError
from unmask.data.examples import find_local


def test_a_missing_data_directory_is_refused_and_not_ignored(tmp_path: Path) -> None:
    (tmp_path / "biasbios").mkdir()
    assert find_local("biasbios", data_dir=tmp_path) == tmp_path / "biasbios"
    assert find_local("other", data_dir=tmp_path) is None
    with pytest.raises(DataError, match="none, which is not a folder; expected a folder of datasets"):
        find_local("biasbios", data_dir=tmp_path / "none")
