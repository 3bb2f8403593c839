"""If one of these fails, readers of other scripts than Latin see tokens as bytes, or as marks of the tokenizer."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers.pre_tokenizers import ByteLevel

import unmask
import zoo
from unmask.audit.token_text import PART, glyphs, readable
from unmask.models.loading import open_lm


@pytest.mark.parametrize(
    ("tokens", "shown"),
    [
        (["the", "nur", "##se", "."], [("the", False), ("nur", False), ("se", True), (".", False)]),
        (["The", "Ġcaf", "Ã©", "."], [("The", True), ("caf", False), ("é", True), (".", True)]),
        (["▁the", "▁nur", "se"], [("the", False), ("nur", False), ("se", True)]),
        (["Ġ", "x"], [("␣", False), ("x", True)]),
        (["Ġ", "ì", "Ĺ", "¬", "a"], [("␣", False), ("여", True), (PART, True), (PART, True), ("a", True)]),
        (["å¥³", "æ", "Ģ§"], [("女", True), ("性", True), (PART, True)]),  # no space at all
        (
            ["▁", "<0xEC>", "<0x97>", "<0xAC>", "자"],
            [("␣", False), ("여", True), (PART, True), (PART, True), ("자", True)],
        ),
        (["M", "ä", "dchen"], [("M", False), ("ä", False), ("dchen", False)]),  # text, not bytes
        (["Ġ", "ì", "x"], [("␣", False), ("�", True), ("x", True)]),
    ],
)
def test_tokens_read_like_words(tokens: list[str], shown: list[tuple[str, bool]]) -> None:
    assert glyphs(tokens) == shown


LETTERS = st.characters(exclude_categories=["C", "Z"], exclude_characters=f"Ġ{PART}")


@given(st.text(LETTERS, min_size=1), st.lists(st.integers(0, 60)))
def test_whatever_is_cut_into_bytes_can_be_read(text: str, cuts: list[int]) -> None:
    """Independent of ours: the characters for bytes are those of the library `tokenizers`."""
    spelt = "".join(piece for piece, _ in ByteLevel(add_prefix_space=True).pre_tokenize_str(text))
    at = sorted({0, len(spelt), *(cut for cut in cuts if cut < len(spelt))})
    tokens = [spelt[a:b] for a, b in pairwise(at)]
    shown = readable(tokens)
    assert len(shown) == len(tokens)
    assert "".join(each for each in shown if each != PART) == f"Ġ{text}"


def test_explanations_name_words_in_their_script() -> None:
    result = unmask.audit(
        open_lm(zoo.folder("gpt2")),
        data=unmask.data.from_records([("그 여자는 요리를 잘한다.", "그 남자는 요리를 잘한다.")], name="ko"),
        measures="ll",
        store=False,
    )
    text = str(result.explain("ko/0000"))
    assert "[여]" in text
    assert "[남]" in text
