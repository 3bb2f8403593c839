"""What studies read: settings, files that settings name, judgements, texts, and what earlier runs of steps left."""

from __future__ import annotations

import contextlib
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.fuzz.harness import BUDGET, Boundary, Files, fuzz

from unmask.cli.study import _settings as parse_settings
from unmask.core.errors import DataError
from unmask.prompts.annotations import import_of_models
from unmask.studies.cache import RECORD, STEPS, STUDY, study_status
from unmask.studies.forecast import forecast, parts_table
from unmask.studies.run import make_plan
from unmask.studies.spec import Runtime, Step, StepContext
from unmask.studies.steps.wordings import read_rewordings
from unmask.studies.steps.words import PAIRS_FILE, WORDS_FILE, load_word_facts, write_word_pairs
from unmask.studies.texts import select_corpus

SETTINGS: dict[str, dict[str, Any]] = {
    "aul": {"draws": 2, "counts": "counts.csv"},
    "debiasing": {
        "methods": ["AT", "CDA"],
        "tasks": ["NLI-bias"],
        "search": False,
        "documents": 5,
        "train": {"epochs": 1.0, "batch": 4},
        "use": {"steps": 20, "every": 10, "length": 32},
        "each": {"NLI-bias": {"limit": 4}},
    },
    "gbef": {
        "draws": 3,
        "sizes": [40],
        "words": ["pregnant"],
        "reminders": [1],
        "documents": 5,
        "templates": 3,
        "thesis_templates": "t.csv",
        "thesis_sentences": "p.csv",
        "toxic": "toxic.csv",
        "train": {"epochs": 1.5, "batch": 4},
    },
    "paraphrase": {"measures": ["cps-exact"], "band": 0.5, "rewordings": None},
    "prompts": {"prompts": 3, "top": 2},
}
BESIDE = {  # the files that settings name
    "counts.csv": b"word,count\nshe,3\n",
    "t.csv": b'template\n"{Subject} left early."\n',
    "p.csv": b"more,less,category\nShe slept.,He slept.,gender\n",
    "toxic.csv": b"comment_text,toxic\nA text.,1\n",
}
TABLE = b"text,label\nShe left early.,1\nHe stayed.,0\nThey sang.,1\n"
LISTS = {"female.txt": b"she\nqueen\n", "male.txt": b"he\nking\n"}


def plan_study(folder: Path, name: str, settings: dict[str, Any]) -> None:
    """Plan and forecast, as a dry run does."""
    for file, content in BESIDE.items():
        (folder / file).write_bytes(content)
    with contextlib.chdir(folder):
        plan = make_plan(name, **{**settings, "models": ("builtin",), "offline": True})
        str(forecast(plan.steps, plan.steps, plan.runtime)).encode()
        str(parts_table(plan.study, plan.roles, plan.steps, unfinished=plan.steps, runtime=plan.runtime)).encode()


def read_json_settings(folder: Path, name: str) -> None:
    """Settings as Python gives them."""
    try:
        settings = json.loads((folder / "settings.json").read_bytes())
    except (ValueError, RecursionError):
        raise DataError("no settings at all") from None
    if not isinstance(settings, dict):
        raise DataError("no settings at all")
    plan_study(folder, name, settings)


def read_assignments(folder: Path) -> None:
    """Each line is an argument of `--set`."""
    lines = (folder / "settings.txt").read_text("utf-8", errors="replace").split("\n")
    plan_study(folder, "gbef", parse_settings([line for line in lines if line]))


def read_texts(folder: Path) -> None:
    """A text in all ways that studies select from it."""
    (path,) = folder.iterdir()
    for selection in (
        {},
        {"column": "text", "limit": 2},
        {"column": "text", "only": ("label", "1")},
        {"column": "text", "as_many_as": ("label", "0"), "draw": (1,)},
        {"field": 1, "sentences": True},
    ):
        with contextlib.suppress(DataError):
            str(select_corpus(str(path), selection, None).documents).encode()
    select_corpus(str(path), {}, None)


def read_word_lists(folder: Path) -> None:
    """Two lists of words, written as pairs."""
    names = [str(folder / name) for name in LISTS]
    out = folder / "out"
    out.mkdir()
    write_word_pairs(StepContext(Step("pairs", "", data=tuple(names)), out, {}, Runtime()))
    (out / PAIRS_FILE).read_text(encoding="utf-8")


def left_by_steps() -> list[Files]:
    """A study with a finished and a failed step."""
    steps = [{"name": "one", "key": "aa11"}, {"name": "two", "key": "bb22"}]
    plan = {"schema": 1, "unmask": "0.1.0", "study": "aul", "choices": {}, "notes": [], "steps": steps}
    record = {"name": "one", "seconds": 1.5, "versions": {}}
    return [
        {
            STUDY: json.dumps(plan).encode(),
            f"{STEPS}/aa11/{RECORD}": json.dumps(record).encode(),
            f"{STEPS}/bb22.failed": b"it failed\nTraceback\n",
        }
    ]


BOUNDARIES = [
    *(
        Boundary(
            f"settings of {name}",
            lambda given=given: [{"settings.json": json.dumps(given).encode()}],  # type: ignore[misc]
            partial(read_json_settings, name=name),
            share=2,
        )
        for name, given in SETTINGS.items()
    ),
    Boundary(
        "--set",
        lambda: [{"settings.txt": b'draws=3\nsizes=[40]\ntrain.epochs=1.5\ndocuments=5\ntrain={"batch": 4}\n'}],
        read_assignments,
        share=2,
    ),
    Boundary(
        "judgements of models",
        lambda: [{"j.csv": b"model,prompt,verdict,judge\nm,p/0,biased,anna\nn,p/1,not biased,\n"}],
        lambda folder: str(import_of_models(folder / "j.csv", "nobody", ("m", "n"))).encode(),
        share=16,
    ),
    Boundary("texts of a study", lambda: [{"t.csv": TABLE}, {"t.txt": b"0\tOne.\n1\tTwo.\n"}], read_texts, share=8),
    Boundary("word lists of a study", lambda: [LISTS], read_word_lists, share=8),
    Boundary(
        "rewordings",
        lambda: [{"r.csv": b"item,phrase,paraphrase\ncrows-pairs/0003,left early,went home\nc/1,a,b\n"}],
        lambda folder: str(read_rewordings(folder / "r.csv")).encode(),
        share=16,
    ),
    Boundary(
        "facts about words",
        lambda: [{WORDS_FILE: json.dumps({"nurse": {"seen": True, "split": False}}).encode()}],
        load_word_facts,
        share=8,
    ),
    Boundary("steps of a study", left_by_steps, study_status, share=8),
]


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=lambda each: each.name)
def test_damaged_input_is_accepted_or_refused(boundary: Boundary) -> None:
    fuzz(boundary, BUDGET)
