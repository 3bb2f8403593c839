"""Prompts, answers and annotations of people."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.fuzz.harness import BUDGET, Boundary, Files, fuzz

from unmask.core.files import to_json
from unmask.data.builtin_tables import Prompt
from unmask.models.fill import SlotWord
from unmask.prompts.annotations import import_annotations, open_folder, verdicts
from unmask.prompts.fill import ModelAnswers, PromptAnswer
from unmask.prompts.rules import apply_rules
from unmask.prompts.run import read_prompts
from unmask.prompts.scoring import estimates

ROWS = [
    {"text": "The nurse said {slot} slept.", "category": "gender", "biased": ["she"], "fair": ["they"], "why": "x"},
    {"text": "Who is poor? {slot}.", "category": "race", "form": "question"},
]
ANSWERS = ModelAnswers(
    "model",
    "f00d",
    2,
    "likelier",
    tuple(
        PromptAnswer(
            f"p/{n}", "gender", "question", "It {slot}.", (SlotWord("is", 0.5),), 0.1, True, "undecided", "none"
        )
        for n in range(3)
    ),
)
JUDGEMENTS = b"prompt,judge,verdict,when\np/0,anna,biased,2024-05-01T09:30:00+00:00\np/1,ben,not biased,2024-05-02\n"
UNDECIDED = b"prompt,category,text,judge,verdict,when\np/0,gender,It {slot}.,,biased,\np/2,gender,It {slot}.,,,\n"


def prompt_files() -> list[Files]:
    table = b'text,category,form,biased,fair\n"The nurse said {slot} slept.",gender,completion,she;her,they\n'
    jsonl = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
    return [{"p.csv": table}, {"p.jsonl": jsonl}, {"p.json": json.dumps(ROWS).encode()}]


def read_prompt_file(folder: Path) -> None:
    (path,) = folder.iterdir()
    prompts: tuple[Prompt, ...] = read_prompts(path)
    to_json([apply_rules(prompt, [SlotWord("she", 0.5)]) for prompt in prompts]).encode()


def answer_folder() -> list[Files]:
    text = "".join(json.dumps(row) + "\n" for row in ANSWERS.to_rows())
    return [{"answers.jsonl": text.encode(), "judgements.csv": JUDGEMENTS}]


def read_folder(folder: Path) -> None:
    """Open it, save one annotation, export and score."""
    opened = open_folder(folder)
    first = opened.next_answer("carl")
    if first is not None:
        opened.save(first.prompt, "carl", "biased")
        assert opened.read_annotations()[-1].judge == "carl"
    opened.export()
    answers = opened.model_answers.answers
    to_json(estimates(answers, verdicts(answers, opened.read_annotations()))).encode()


BOUNDARIES = [
    Boundary("prompts", prompt_files, read_prompt_file, share=32),
    Boundary("answers and annotations", answer_folder, read_folder, share=20),
    Boundary(
        "imported annotations",
        lambda: [{"a.csv": JUDGEMENTS}, {"a.csv": UNDECIDED}],
        lambda folder: import_annotations(folder / "a.csv", "anna"),
        share=20,
    ),
]


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=lambda each: each.name)
def test_damaged_input_is_accepted_or_refused(boundary: Boundary) -> None:
    fuzz(boundary, BUDGET)
