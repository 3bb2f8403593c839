"""If one of these fails, scores through an endpoint are not those of the model that it serves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import unmask
import zoo
from endpoint_server import NAME, Server, serve
from models.endpoint.conftest import opened
from unmask.audit.interpretation import doubt_of
from unmask.core.errors import ModelError
from unmask.core.options import Opening, Serving
from unmask.core.types import Pair
from unmask.data import from_records
from unmask.measures import find
from unmask.measures.probes import next_tokens_probe
from unmask.models import Engine, Store
from unmask.models.endpoint import lm as endpoint_lm
from unmask.models.endpoint import open_endpoint, words
from unmask.models.endpoint.lm import LEAST_REPEATED
from unmask.models.fill import top_words
from unmask.models.loading import open_lm

SENTENCES = ("The nurse said so.", "Their naïve 日本 neighbour 😀 left!", "  Two  spaces. ", "日木 and 日本")


@pytest.mark.parametrize("name", ["gpt2", "qwen2"])  # with and without a begin-of-text token
def test_readings_are_those_of_the_local_engine(name: str) -> None:
    local = open_lm(zoo.folder(name))
    with serve(local) as server:
        remote = opened(server)
        engines = remote.answerer(), Engine(local)
        for text in SENTENCES:
            probes = [next_tokens_probe(lm.encode(text), lm.encode(text).content) for lm in (remote, local)]
            mine, theirs = (engine.read([probe])[probe] for engine, probe in zip(engines, probes, strict=True))
            np.testing.assert_allclose(mine.logprobs, theirs.logprobs, atol=1e-4)
            assert ((mine.ranks == 0) == (theirs.ranks == 0)).all()
            assert remote.text(remote.encode(text).ids) == text
            if text.isascii():
                assert remote.offsets(text) == local.offsets(text)
    assert (remote.begin is None) == (local.begin is None)


def test_texts_that_differ_inside_a_character_have_different_tokens(server: Server) -> None:
    lm = opened(server)
    assert lm.encode("日木").ids != lm.encode("日本").ids


@pytest.fixture(scope="module")
def builtin() -> Iterator[Server]:
    with serve(open_lm("builtin-causal")) as server:
        yield server


def test_an_audit_has_the_digits_of_the_local_one(builtin: Server) -> None:
    both = [
        unmask.audit(model, data=data, limit=6, **more)
        for data in ("nine-axes", "pronoun-templates")
        for model, more in ((builtin.url, {"served_model": NAME}), ("builtin-causal", {}))
    ]
    for remote, local in zip(both[::2], both[1::2], strict=True):
        rows = [{(row["measure"], row["item"]): row for row in result.items.to_pylist()} for result in (remote, local)]
        assert rows[0].keys() == rows[1].keys()
        for key, row in rows[0].items():
            assert row["difference"] == pytest.approx(rows[1][key]["difference"], abs=2e-4)
            assert row["outcome"] == rows[1][key]["outcome"]
        accuracy = [next(c.detail for c in result.checks if c.name.endswith("accuracy")) for result in (remote, local)]
        assert accuracy[0] == accuracy[1]
    facts = both[0].meta["model"]
    assert (facts["id"], facts["dtype"], facts["parameters"]) == (NAME, "as served", None)
    assert facts["origin"]["endpoint"] == builtin.url
    assert {check.name for check in both[0].checks} >= {"contract", "next-token-accuracy"}
    assert "lm-head" not in {check.name for check in both[0].checks}


def test_nothing_is_asked_twice_in_a_run_or_the_next(server: Server) -> None:
    texts = ["The nurse said so.", "The doctor said so."]
    first = opened(server)
    known = len(server.asked)
    first.prime([*texts, *texts])
    first.prime(texts)
    assert server.asked[known:] == [*texts, *texts]  # the second time to compare the answers
    again = opened(server)
    known = len(server.asked)
    again.prime([*texts, "A third."])
    assert server.asked[known:] == ["A third.", *texts, "A third."]
    assert again.facts.fingerprint == first.facts.fingerprint
    assert again.tokens(again.encode(texts[0]).ids) == first.tokens(first.encode(texts[0]).ids)


IMPOSSIBLE = {
    **{"null": "gives no log-probability for", "nan": "gives the log-probability nan for"},
    **{"infinity": "gives the log-probability -inf for", "sentinel": "gives the log-probability -9999 for"},
    "positive": "gives the log-probability 5 for",
}


@pytest.mark.parametrize("fault", IMPOSSIBLE)
def test_impossible_numbers_after_the_contract_check_are_unscored(server: Server, fault: str) -> None:
    """A server that answers only the known prompts well would be measured by what is no log-probability."""
    lm = opened(server)
    server.faults = {fault}
    result = unmask.audit(lm, data=[from_records([SENTENCES[:2]], name="one")], measures="ll")
    (row,) = result.items.to_pylist()
    assert row["outcome"] == "unscored"
    assert f"the server {IMPOSSIBLE[fault]}" in row["reason"]
    assert row["reason"].endswith("expected a number below 0")
    server.faults = set()
    opened(server).encode(SENTENCES[0])  # the wrong answer was not stored


def test_a_server_that_answers_at_random_fails_a_check(server: Server) -> None:
    """Its scores are noise; only the known prompts were asked twice before. Stored answers do not hide it."""
    lm = opened(server)
    server.faults = {"random"}
    pairs = from_records([SENTENCES[:2]], name="one")
    result = unmask.audit(lm, data=[pairs], measures="ll", options=unmask.Options(store=False))
    assert "contract" in {check.name for check in unmask.gate(result, baseline=result).failed_checks}
    assert doubt_of(result, "one", "ll") == "invalid"
    lm.prime(SENTENCES)
    check = lm.opening_check()
    assert not check.ok
    assert "the answers to 3 texts asked a second time differ by 0." in check.detail
    server.faults = set()
    later = opened(server)
    server.faults = {"random"}
    later.prime(SENTENCES)
    assert not later.opening_check().ok


def test_a_server_that_refuses_or_splits_a_text_the_second_time_fails_a_check(server: Server) -> None:
    lm = opened(server)
    lm.prime(SENTENCES)
    assert lm.opening_check().ok
    assert "3 texts asked a second time agree to" in lm.opening_check().detail
    server.faults = {"null"}
    lm.sentences.clear()
    lm._repeats.asked = 0
    lm.prime(SENTENCES)
    assert "differ by their tokens, expected 0.1 at most" in lm.opening_check().detail


def test_one_text_of_a_hundred_is_asked_a_second_time(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint_lm, "REPEATED", 0.1)
    lm = opened(server)
    known = len(server.asked)
    for begin in range(0, 45, 15):
        lm.prime([f"Sentence number {number}." for number in range(begin, begin + 15)])
    assert len(server.asked) == known + 45 + 5
    assert lm.opening_check().detail.count("5 texts asked a second time") == 1


def test_progress_is_shown_while_a_server_is_asked(server: Server) -> None:
    """A slow server would otherwise look like a command that hangs."""
    shares: list[float] = []
    opened(server).prime(["One sentence.", "", "Another sentence.", "One sentence."], shares.append)
    assert shares == [0.5, 1.0]


def test_a_run_that_broke_off_is_resumed(server: Server, tmp_path: Path) -> None:
    texts = [f"Sentence number {number}." for number in range(40)]
    lm = opened(server, retries=0, parallel=1)
    lm.answerer(Store(tmp_path / "kept.sqlite"))
    lm.server.batch = 1
    lm.prime(texts[:25])
    server.faults, server.failures = {"dropped"}, 10**6
    with pytest.raises(ModelError, match="no connection"):
        lm.prime(texts)
    server.faults, server.failures = set(), 0
    again = opened(server)
    again.answerer(Store(tmp_path / "kept.sqlite"))
    known = len(server.asked)
    again.prime(texts)
    assert server.asked[known : known + 15] == texts[25:]
    assert len(server.asked) == known + 15 + LEAST_REPEATED


def test_another_model_behind_the_same_name_has_another_fingerprint(server: Server) -> None:
    before = opened(server)
    before.prime(["The nurse said so."])
    kept = server.lm
    try:
        server.lm = open_lm(zoo.folder("opt"))
        after = opened(server)
        known = len(server.asked)
        after.prime(["The nurse said so."])
    finally:
        server.lm = kept
    assert after.facts.fingerprint != before.facts.fingerprint
    assert server.asked[known:] == ["The nurse said so."] * 2  # the second time to compare the answers


def test_the_only_model_of_a_server_needs_no_name(server: Server) -> None:
    assert open_endpoint(server.url, Opening(), Serving()).facts.id == NAME
    server.faults = {"two models"}
    with pytest.raises(ModelError, match=r"has 2 models .*served, other.*: name one by served_model"):
        open_endpoint(server.url, Opening(), Serving())


def test_an_unknown_model_is_one_line(server: Server) -> None:
    with pytest.raises(ModelError, match="The model `gone` does not exist"):
        open_endpoint(server.url, Opening(), Serving(served_model="gone"))


def test_what_an_endpoint_cannot_give_is_one_line(server: Server) -> None:
    lm = opened(server)
    with pytest.raises(ModelError, match="is an endpoint, which gives log-probabilities of texts only"):
        unmask.diagnose("accuracy", lm)
    engine = lm.answerer()
    pair = Pair("x/0", "He left early.", "She left early.")
    probes = find("ll-stereoset").probes(pair, lm)
    with pytest.raises(ModelError, match="and nothing else; use measures such as ll"):
        engine.read([probe for side in probes.values() for probe in side])
    for how, reason in ((Opening(kind="masked"), "causal models"), (Opening(dtype="bf16"), "leave out dtype")):
        with pytest.raises(ModelError, match=reason):
            open_endpoint(server.url, how, Serving())
    with pytest.raises(ModelError, match="certified decisions"):
        unmask.audit(lm, data="nine-axes", precision="certified")
    with pytest.raises(ModelError, match="names a model of an endpoint"):
        open_lm("builtin-causal", Opening(), Serving(served_model="x"))


def test_the_likeliest_words_are_bounded_by_what_is_not_seen(builtin: Server) -> None:
    texts = ["The nurse said that {slot} was tired.", "My mother is a {slot}.", "{slot} is it."]
    remote = top_words(opened(builtin), texts, 2)
    local = [{word.text: word.probability for word in each.words} for each in top_words(builtin.lm, texts, 40)]
    for mine, theirs in zip(remote[:2], local[:2], strict=True):
        assert len(mine.words) == 2
        for word in mine.words:
            assert word.probability - 1e-5 <= theirs[word.text] <= word.probability + mine.left + 1e-5
        if mine.sure:
            assert [word.text for word in mine.words] == list(theirs)[:2]
    assert remote[2].reason == top_words(builtin.lm, texts[2:], 2)[0].reason
    known = len(builtin.asked)
    top_words(opened(builtin), texts, 2)
    assert len(builtin.asked) - known < 30  # the contract check only


def test_a_server_that_gives_all_tokens_gives_the_words_of_the_local_search(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.most = size = server.lm.network.vocab_size
    monkeypatch.setattr(words, "TOPS", (size, 5))
    texts = ["The nurse said that {slot}.", "My mother is a {slot}."]
    remote, local = (top_words(lm, texts, 3, max_rows=12) for lm in (opened(server), server.lm))
    for mine, theirs in zip(remote, local, strict=True):
        assert [word.text for word in mine.words] == [word.text for word in theirs.words]
        for word, other in zip(mine.words, theirs.words, strict=True):
            assert word.probability == pytest.approx(other.probability, rel=1e-3)
