"""If one of these fails, the page of published models leaves out a measure, or explains a difference wrongly."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import zoo
from tools import real_models
from unmask.core.types import Pair
from unmask.models.loading import open_lm


def test_every_measure_that_applies_is_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real_models, "find_spec", lambda _: None)
    monkeypatch.setattr(real_models, "BUILT_IN", ("nine-axes",))  # for speed
    page = "\n".join(real_models.page_of([f"tiny={zoo.folder('gpt2')}"], 2, zoo.MINIATURE, 1, "printed by the harness"))
    assert "GPT2LMHeadModel, causal language model" in page
    assert "printed by the harness" in page
    for measure in ("cll", "ll", "ll-stereoset", "sld", "lms", "ss", "icat"):
        assert f"| {measure} |" in page
    assert "next-token-accuracy" in page
    assert "lm-eval is not installed" in page
    assert "at most 2 items" in page


class Theirs:
    """Reads a text as lm-eval does: after a prefix, here with or without further tokens in front."""

    def __init__(self, prefix: int, front: tuple[int, ...], lm: object) -> None:
        self.prefix_token_id, self._front, self._lm = prefix, front, lm

    def tok_encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        assert not add_special_tokens  # as for a continuation
        return [*self._front, *self._lm.pieces(text)]  # type: ignore[attr-defined]


def test_a_difference_is_explained_by_tokens_or_by_rounding() -> None:
    lm = open_lm(zoo.folder("gpt2"))
    item = Pair("x/0", "He left.", "She left.")
    begin = lm.begin
    assert begin is not None
    same, twice = Theirs(begin, (), lm), Theirs(begin, (begin,), lm)
    other = Theirs(begin, (lm.pieces("a")[0],), lm)
    near = {"x/0": (-10.0, -10.0)}, {"x/0": (-10.0, -9.99999)}
    far = {"x/0": (-10.0, -11.0)}, {"x/0": (-12.0, -11.0)}
    assert "a tie up to rounding" in real_models.explain(lm, same, item, *near)
    assert "not explained" in real_models.explain(lm, same, item, *far)
    assert real_models.explain(lm, twice, item, *far).endswith("in front twice")
    assert "reads other tokens from position 1" in real_models.explain(lm, other, item, *far)
    none = SimpleNamespace(encode=lambda text: SimpleNamespace(ids=lm.pieces(text)), tokens=lm.tokens, pieces=lm.pieces)
    assert "unmask nothing" in real_models.explain(none, same, item, *far)  # type: ignore[arg-type]


def test_a_model_without_a_head_is_tested_on_the_published_sentences() -> None:
    page = "\n".join(real_models.page_of([f"tiny={zoo.folder('classifier')}"], 2, zoo.MINIATURE, 1))
    assert "encoder, without an LM head" in page
    assert "| seat | seat-6 |" in page
