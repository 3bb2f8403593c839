"""If one of these fails, log-probabilities are given to the wrong tokens of a text."""

from __future__ import annotations

from typing import Any

import pytest

from endpoint_server import Server
from models.endpoint.conftest import opened
from unmask.core.errors import ModelError, Unscorable
from unmask.models.endpoint.completions import Completion, ScoredToken, Spelling, pack, spell, unpack


def completion(*tokens: str, first: float | None = None) -> Completion:
    return Completion(tokens, (first, *[-1.0] * (len(tokens) - 1)), ({},) * len(tokens))


@pytest.mark.parametrize(
    ("prompt", "tokens", "expected"),
    [
        ("ab cd", ("ab", " cd", " x"), Spelling(0, ((0, 2), (2, 5)))),
        ("ab cd", ("<s>", "ab", " cd", " x"), Spelling(1, ((0, 2), (2, 5)))),
        ("ab cd", ("", "ab", " cd"), Spelling(1, ((0, 2), (2, 5)))),
        ("ab cd", (" ab", " cd"), Spelling(0, ((0, 2), (2, 5)))),  # a space in front of the first
        ("é!", ("\ufffd", "\ufffd", "!", "x"), Spelling(0, ((0, 1), (0, 1), (1, 2)))),
        (
            "日本 a",
            ("bytes:\\xe6", "bytes:\\x97", "bytes:\\xa5", "本", " a"),
            Spelling(0, ((0, 1),) * 3 + ((1, 2), (2, 4))),
        ),
        ("a é", ("a", " ", "\ufffd", "\ufffd"), Spelling(0, ((0, 1), (1, 2), (2, 3), (2, 3)))),
        ("a é!", ("a", " ", "", "", "!"), Spelling(0, ((0, 1), (1, 2), (2, 3), (2, 3), (3, 4)))),  # llama-cpp-python
        ("日本", ("", "", "", "本"), Spelling(0, ((0, 1),) * 3 + ((1, 2),))),
        ("ab cd", ("ab", "", "cd"), Spelling(0, ((0, 2), (2, 3), (3, 5)))),
        ("ab cd", ("ab", "", "", "x"), None),
        ("ab cd", ("ab",), None),  # cut off
        ("ab cd", ("x", "y"), None),  # what was generated
        ("ab cd", ("ab", " ce"), None),
        ("ab", (), None),
    ],
)
def test_the_tokens_of_a_prompt_are_found(prompt: str, tokens: tuple[str, ...], expected: Spelling | None) -> None:
    given = completion(*tokens) if tokens else Completion((), (), ())
    assert spell(prompt, given) == expected


def test_generated_tokens_are_not_the_prompts() -> None:
    """A part of a character that was generated must not be taken for one of the prompt's last character."""
    values, top = (None, -1.0, -1.0), ({},) * 3
    assert spell("aé", Completion(("a", "\ufffd", "\ufffd"), values, top, 1)) == Spelling(0, ((0, 1), (1, 2)))
    left_out = Completion(("a", " b", " c"), values, top, 1)  # the answer ends with the prompt
    assert spell("a b c", left_out) == Spelling(0, ((0, 1), (1, 3), (3, 5)))


def test_an_answer_is_stored_whole() -> None:
    answer = (ScoredToken("", None), ScoredToken(" naïve 😀", -1.5, True), ScoredToken("b", -0.25))
    assert unpack(pack(answer)) == answer
    damaged = pack(answer)
    damaged.reads = damaged.reads[1:]
    assert unpack(damaged) is None


ANSWERS: dict[str, Any] = {
    "no choices": [],
    "0 choices": {"choices": []},
    "no text": {"choices": [{"logprobs": {"tokens": [1], "token_logprobs": [0]}}]},
    "not as many": {"choices": [{"logprobs": {"tokens": ["a"], "token_logprobs": []}}]},
    "expected a number": {"choices": [{"logprobs": {"tokens": ["a"], "token_logprobs": ["x"]}}]},
    f"{10**400}"[:20]: {"choices": [{"logprobs": {"tokens": ["a"], "token_logprobs": [10**400]}}]},
    "expected an object": {"choices": [{"logprobs": {"tokens": ["a"], "token_logprobs": [0], "top_logprobs": [3]}}]},
    "numbers its": {"choices": [{"index": 7}]},
    "gives no log-probabilities": {"choices": [{"index": 0, "logprobs": {"content": []}}]},
}


@pytest.mark.parametrize("reason", ANSWERS)
def test_an_answer_of_another_shape_is_one_line(server: Server, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lm = opened(server)
    monkeypatch.setattr(lm.server.client, "ask", lambda *_, **__: ANSWERS[reason])
    with pytest.raises(ModelError, match=reason):
        lm.server.complete(["a"])


def test_a_text_that_the_server_refuses_is_unscored_with_its_reason(server: Server) -> None:
    lm = opened(server)
    lm.prime(["This is REFUSED.", "This is not.", ""])
    with pytest.raises(Unscorable, match="the server refuses the text: HTTP 400: the text is too long"):
        lm.encode("This is REFUSED.")
    assert lm.encode("This is not.").content
    with pytest.raises(Unscorable, match="no text"):
        lm.encode("")
