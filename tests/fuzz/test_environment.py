"""Environment variables: each is used, or refused in one line that names it."""

from __future__ import annotations

import os
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.fuzz.harness import BUDGET, Boundary, fuzz

from unmask.core import environment
from unmask.core.files import cache_dir
from unmask.data.files import data_dirs
from unmask.diagnose.paraphrase.lexicon import find_wordnet
from unmask.training.distributed import is_main_process, world_size

VARIABLES = (
    "UNMASK_DATA_DIR=.\nUNMASK_DATA_MIRROR=https://mirror.example/data\nUNMASK_CACHE_DIR=cache\nUNMASK_FAST=0\n"
    "NLTK_DATA=nltk:other\nWORLD_SIZE=1\nRANK=0\n"
)


def read_variables(folder: Path) -> None:
    """Each line is a variable, as far as a system can hold it."""
    text = (folder / "variables.txt").read_bytes().decode(errors="surrogateescape").replace("\x00", "")
    given = dict(line.partition("=")[::2] for line in text.split("\n") if line.partition("=")[0])
    with patch.dict(os.environ, given):
        environment.data_mirror()
        environment.fast()
        data_dirs(None)
        str(cache_dir()).encode(errors="surrogateescape")
        if world_size() == 1:
            is_main_process()
        find_wordnet()


BOUNDARIES = [
    Boundary("environment variables", lambda: [{"variables.txt": VARIABLES.encode()}], read_variables, share=16)
]


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=lambda each: each.name)
def test_damaged_input_is_accepted_or_refused(boundary: Boundary) -> None:
    fuzz(boundary, BUDGET)
