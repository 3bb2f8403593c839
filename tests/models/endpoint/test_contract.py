"""If one of these fails, a server that answers something else than what was asked is measured."""

from __future__ import annotations

import pytest

from endpoint_server import Server
from models.endpoint.conftest import opened
from unmask.core.errors import ModelError

REASONS = {
    "echo": "ignores `echo`",
    "llama.cpp": "ignores `echo`",
    "shift": "shifts log-probabilities",
    "llama-cpp-python": "shifts log-probabilities: it generates .*, and then gives .* the highest one in its place",
    "shifted echo": "two log-probabilities|that of a likelier token|shifts|other text behind|no log-probability",
    "floor": "a floor for tokens that are not among the likeliest",
    "null": "no log-probability for",
    "infinity": "gives -inf for the log-probability",
    "nan": "gives nan for the log-probability",
    "sentinel": "gives -9999 for the log-probability",
    "positive": "gives 5 for the log-probability",
    "random": "other log-probabilities when it is asked again|two log-probabilities|likelier token",
    "last": "the log-probability of the last of these",
    "likeliest": "that of a likelier token|two log-probabilities",
    "renormalised": "all the probability at every place|two log-probabilities|likelier token",
    "wrong": "other text behind it|two log-probabilities|below 0|likelier token",
    "no logprobs": "gives no log-probabilities",
    "no top": "no `top_logprobs`",
    "other name": "answers as 'another-model', another model; give served_model another-model",
}


@pytest.mark.parametrize("fault", REASONS)
def test_a_server_with_a_fault_is_refused_with_its_reason(server: Server, fault: str) -> None:
    server.faults = {fault}
    with pytest.raises(ModelError, match=REASONS[fault]) as refused:
        opened(server)
    assert len(str(refused.value).splitlines()) == 1


def test_a_sound_server_is_accepted_and_the_check_is_recorded(server: Server) -> None:
    lm = opened(server)
    assert lm.contract.apart < 1e-4
    assert lm.contract.compared > 40
    assert lm.contract.batch > 1
    assert "agree to" in lm.facts.origin["contract"]
    assert lm.opening_check().name == "contract"
    assert lm.facts.begin_rule == "the server puts <|endoftext|> in front of every sentence"


def test_a_begin_of_text_token_that_is_not_shown_is_noticed(server: Server) -> None:
    server.shows_begin = False
    lm = opened(server)
    assert lm.begin is not None
    assert "does not show" in lm.facts.begin_rule


@pytest.mark.parametrize("fault", ["one prompt", "two prompts fail"])
def test_a_server_that_takes_one_prompt_a_request_gets_one(server: Server, fault: str) -> None:
    """One that fails at two prompts (HTTP 500) would otherwise be asked with all retries, for half a minute."""
    server.faults = {fault}
    lm = opened(server)
    assert sum(isinstance(body["prompt"], list) for body in server.bodies) <= 2
    assert lm.contract.batch == 1
    lm.prime(["One sentence.", "Another sentence."])
    assert all(isinstance(body["prompt"], str) for body in server.bodies[-2:])
