"""The likeliest words after a text, by the likeliest next tokens that an endpoint gives.

The search is that of `models.fill`, over the likeliest tokens at each step instead of the whole vocabulary. What the
others have together bounds what any word can gain: it is in `left`, and a prediction is `sure` only if that much
could not change it. A server encodes texts, not tokens: a prefix that it would encode otherwise is not extended.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from unmask.core.errors import ModelError
from unmask.models.endpoint.client import Refused
from unmask.models.endpoint.completions import Answer, AnswerStore, Completion, ScoredToken, spell
from unmask.models.endpoint.lm import EndpointLm, echo_answer
from unmask.models.fill import NO_TEXT, LikeliestTokens, SlotPrediction, Vocabulary, WordSearch

TOPS = (100, 20, 5)  # likeliest tokens asked for: as many as the server gives


def search_words(lm: EndpointLm, befores: Sequence[str], k: int, max_rows: int) -> tuple[SlotPrediction, ...]:
    """The k likeliest words after every text."""
    top = _most(lm)
    none = Vocabulary.of_texts(())
    texts = [before.rstrip(" ") for before in befores]
    searches = [
        WordSearch(none, (), spaces=int(text != before), max_rows=max_rows, max_length=lm.facts.max_length)
        for text, before in zip(texts, befores, strict=True)
    ]
    active = [number for number, text in enumerate(texts) if text]
    while asked := [(number, ids) for number in active if (ids := searches[number].next_prefix(k)) is not None]:
        wholes = {number: texts[number] + lm.text(ids) for number, ids in asked}
        answers = dict(_ask(lm, list(dict.fromkeys(wholes.values())), top))
        for number, ids in asked:
            _update(lm, searches[number], lm.tokens(ids), answers[wholes[number]])
        active = [number for number, _ in asked]
    return tuple(
        search.prediction(k) if text else SlotPrediction((), reason=NO_TEXT)
        for text, search in zip(texts, searches, strict=True)
    )


def _update(lm: EndpointLm, search: WordSearch, path: list[str], given: tuple[Answer, Answer] | str) -> None:
    if isinstance(given, str):
        if not path:
            search.reason, search.prefixes = given, []
            return
        search.leave_out()
        return
    echo, found = given
    if path != [token.text for token in echo[len(echo) - len(path) :]] or not found:
        search.leave_out()
        return
    probabilities = np.exp([token.logprob or 0.0 for token in found])
    ids = tuple(lm.token_id(token.text) for token in found)
    unseen = max(0.0, 1.0 - float(probabilities.sum()))
    search.update(probabilities, LikeliestTokens(Vocabulary.of_texts([token.text for token in found]), ids, unseen))


def _most(lm: EndpointLm) -> int:
    """The most likeliest tokens that the server gives."""
    for top in TOPS[:-1]:
        try:
            lm.server.complete(["The"], top=top)
        except (Refused, ModelError):
            continue
        return top
    return TOPS[-1]


def _ask(lm: EndpointLm, texts: Sequence[str], top: int) -> Iterator[tuple[str, tuple[Answer, Answer] | str]]:
    """For every text its own tokens and the likeliest next ones, or why there are none."""
    echoes, following = AnswerStore(lm.store, "echo"), AnswerStore(lm.store, f"next {top}")
    known, after = echoes.fetch(texts), following.fetch(texts)
    both = {text: (known[text], after[text]) for text in texts if text in known and text in after}
    yield from both.items()
    for text, given in lm.server.complete_all([text for text in texts if text not in both], top=top):
        echo = given if isinstance(given, str) else echo_answer(text, given)
        if isinstance(echo, str) or isinstance(given, str):
            yield text, str(echo)
            continue
        found = _following(text, given)
        if text not in known:
            echoes.save({text: echo})
        following.save({text: found})
        yield text, (echo, found)


def _following(text: str, completion: Completion) -> Answer:
    """The likeliest tokens after the text; none if the server gives none."""
    spelt = spell(text, completion)
    top = completion.top[spelt.end] if spelt is not None and spelt.end < len(completion.top) else {}
    return tuple(ScoredToken(token, float(np.float32(value))) for token, value in top.items() if token)
