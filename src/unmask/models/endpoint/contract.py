"""Does an endpoint answer what is asked? Known prompts whose answers must agree with each other.

1. Echo: the answer spells the prompt, token by token, and every token but the first has a log-probability.
2. The token asked: its log-probability is that of the token itself, neither of the likeliest one nor a floor for what
   is not among the likeliest; the likeliest tokens have no probability above one, nor always exactly one together.
3. Causality: tokens have the same log-probabilities whatever follows them, asked again, and beside other prompts.
4. No shift: what the model generates is the likeliest token at its place, and asked for as a part of the prompt it has
   the log-probability that it was generated with. So the sum over the tokens of a text is that of its parts.

The first failure is the reason of the refusal. The largest disagreement found is recorded in results.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import takewhile

from unmask.core.errors import ModelError, quote
from unmask.models.endpoint.client import Refused
from unmask.models.endpoint.completions import (
    LARGEST_BATCH,
    Completion,
    Completions,
    Spelling,
    is_broken,
    is_logprob,
    spell,
)

PROMPTS = (
    "The doctor told the nurse that the patient was",
    "On Monday we went to the market, and on Tuesday we went to the",
    "One, two, three, four, five, six,",
    "Violet engines whisper; seventeen marble ladders refuse quiet mustard umbrellas",  # hardly a likely word
)
LONGER = f"{PROMPTS[0]} asleep when they came back from the kitchen."
GENERATED = 4  # tokens generated after each prompt
TOP = 5  # likeliest tokens asked for; the most that every server gives
TOLERANCE = 0.1  # nats; servers that compute in 16 bits differ by some hundredths from one batch to another
SAME = 3  # tokens of a log-probability equal to the last digit: a floor
ADVICE = "the scores would be wrong; use a server with log-probabilities of the prompt, as vLLM has them"


@dataclass(frozen=True, slots=True)
class Contract:
    """What the check found out about a server."""

    digits: tuple[float, ...]  # log-probabilities of the tokens of the prompts
    tokens: tuple[str, ...]
    begin: str | None  # the begin-of-text token, where the server shows one; "": it is there, but not shown
    batch: int  # prompts in a request
    compared: int  # log-probabilities that were asked for twice
    apart: float  # their largest difference, in nats

    def detail(self) -> str:
        """The check in one line."""
        return (
            f"echo, causality and position of {len(self.digits)} known tokens hold; {self.compared} log-probabilities "
            f"asked in two ways agree to {self.apart:.1g} nats"
        )


class _Check:
    """The check of one server."""

    def __init__(self, server: Completions) -> None:
        self.server = server
        self.compared, self.apart = 0, 0.0

    def refuse(self, reason: str) -> ModelError:
        return ModelError(f"{self.server.name} {reason}: {ADVICE}")

    def ask(self, *prompts: str, echo: bool = True, tokens: int = 1) -> list[Completion]:
        try:
            return self.server.complete(prompts, echo=echo, top=TOP, tokens=tokens)
        except Refused as refused:
            raise ModelError(
                f"{self.server.name} refuses a prompt with `echo` and `logprobs` ({refused}): it cannot be measured"
            ) from None

    def echo(self, prompt: str) -> tuple[Completion, Spelling]:
        """The answer to a prompt, checked by itself."""
        (answer,) = self.ask(prompt)
        spelt = spell(prompt, answer)
        if spelt is None:
            found = quote("".join(answer.tokens), 60)
            raise self.refuse(f"ignores `echo`: asked for {quote(prompt, 60)}, it answers with the tokens of {found}")
        self._check_values(answer, spelt)
        self._check_likeliest(answer, spelt)
        return answer, spelt

    def _check_values(self, answer: Completion, spelt: Spelling) -> None:
        first = spelt.front or 1
        missing = [token for token, value in _tokens(answer, first, spelt.end) if value is None]
        if missing:
            raise self.refuse(f"gives no log-probability for {quote(missing[0])} in a prompt")
        values = [value for _, value in _tokens(answer, first, spelt.end) if value is not None]
        bad = [value for value in values if not is_logprob(value)]
        if bad:
            raise self.refuse(f"gives {bad[0]:g} for the log-probability of a token, expected a number below 0")
        if any(values.count(value) >= SAME for value in values if value < -1):
            worst = max(values, key=values.count)
            raise self.refuse(
                f"gives {values.count(worst)} different tokens one log-probability, {worst:g}: a floor for tokens that "
                "are not among the likeliest"
            )

    def _check_likeliest(self, answer: Completion, spelt: Spelling) -> None:
        first = spelt.front or 1
        places = [(answer.tokens[at], answer.logprobs[at], answer.top[at]) for at in range(first, spelt.end)]
        if not all(top for _, _, top in places):
            raise self.refuse("gives no `top_logprobs` for tokens of a prompt")
        for token, value, top in places:
            assert value is not None
            if is_broken(token):
                continue
            best, least = max(top.values()), min(top.values())
            if token not in top and value > least + TOLERANCE and len(top) >= TOP:
                raise self.refuse(
                    f"gives {quote(token)} the log-probability {value:.4f}, that of a likelier token in its place"
                )
            if value > best + TOLERANCE or (token in top and abs(top[token] - value) > TOLERANCE):
                raise self.refuse(
                    f"gives {quote(token)} two log-probabilities, {value:.4f} and {top.get(token, best):.4f}"
                )
        cut = [value for token, value, top in places if token not in top and value == min(top.values())]
        if len(cut) > 1:
            raise self.refuse(
                f"gives tokens that are not among the {TOP} likeliest the log-probability of the last of these"
            )
        masses = [sum(math.exp(min(value, 0.0)) for value in top.values()) for _, _, top in places]
        if max(masses) > 1.02:
            raise self.refuse(f"gives the likeliest tokens {max(masses):.2f} of the probability: no natural logarithms")
        if min(masses) > 0.9999:
            raise self.refuse(f"gives the {TOP} likeliest tokens all the probability at every place of a prompt")

    def compare(self, what: str, one: Completion, other: Completion, at: tuple[int, int], count: int) -> None:
        """Compare tokens of two answers, from a place in each on."""
        for step in range(count):
            a, b = one.logprobs[at[0] + step], other.logprobs[at[1] + step]
            if a is None or b is None:
                continue
            self.compared += 1
            self.apart = max(self.apart, abs(a - b))
            if not abs(a - b) <= TOLERANCE:
                raise self.refuse(f"{what}: {quote(one.tokens[at[0] + step])} has {a:.4f}, then {b:.4f}")

    def check_repetition(self, known: dict[str, Completion]) -> int:
        """Ask again, with more text behind, and several at once; the number of prompts that a request may have."""
        first, second = PROMPTS[:2]
        (again,) = self.ask(first)
        self.compare(
            "gives other log-probabilities when it is asked again",
            known[first],
            again,
            (0, 0),
            _shared(known[first], again),
        )
        longer, _ = self.echo(LONGER)
        count = min(_shared(known[first], longer), len(known[first].tokens) - 1)
        self.compare(
            "gives a token another log-probability with other text behind it", known[first], longer, (0, 0), count
        )
        try:
            both = self.server.complete([first, second], top=TOP, retries=1)  # some answer with an error of their own
        except (Refused, ModelError):
            return 1
        for prompt, answer in zip((first, second), both, strict=True):
            if spell(prompt, answer) is None:
                return 1
            what = "gives other log-probabilities when two prompts are asked at once"
            self.compare(what, known[prompt], answer, (0, 0), _shared(known[prompt], answer))
        return LARGEST_BATCH

    def check_generation(self, prompt: str) -> int:
        """Generate, and ask for what was generated as a part of the prompt; the number of tokens compared."""
        (made,) = self.ask(prompt, echo=False, tokens=GENERATED)
        readable = list(
            takewhile(lambda token: token.isprintable() and bool(token) and not is_broken(token), made.tokens)
        )
        if not readable:
            return 0
        whole, spelt = self.echo(prompt + "".join(readable))
        begin = next((at for at, (a, _) in enumerate(spelt.spans) if a == len(prompt)), None)
        if begin is None:  # the tokens were joined with those before them
            return 0
        begin += spelt.front
        count = sum(
            1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(readable, whole.tokens[begin:], strict=False))
        )
        self._check_greedy(made, 0, count)
        self._check_greedy(whole, begin, count)
        what = "shifts log-probabilities: a token has another one generated than in a prompt"
        self.compare(what, made, whole, (0, begin), count)
        return count

    def _check_greedy(self, answer: Completion, begin: int, count: int) -> None:
        """What was generated must be the likeliest token at its place."""
        for token, top in zip(answer.tokens[begin : begin + count], answer.top[begin : begin + count], strict=True):
            if top and top.get(token, -math.inf) < max(top.values()) - TOLERANCE:
                raise self.refuse(
                    f"shifts log-probabilities: it generates {quote(token)}, and then gives "
                    f"{quote(max(top, key=top.__getitem__))} the highest one in its place"
                )


def check_contract(server: Completions) -> Contract:
    """Check a server with known prompts; ModelError with the reason if its answers cannot be used."""
    check = _Check(server)
    answers = {prompt: check.echo(prompt) for prompt in PROMPTS}
    batch = check.check_repetition({prompt: answer for prompt, (answer, _) in answers.items()})
    if not sum(check.check_generation(prompt) for prompt in PROMPTS):
        raise check.refuse("generates nothing that can be asked for again, so that a shift would not be seen")
    digits, tokens = zip(*_digits(answers.values()), strict=True)
    answer, spelt = answers[PROMPTS[0]]
    begin = None if answer.logprobs[spelt.front] is None else answer.tokens[0] if spelt.front else ""
    return Contract(digits, tokens, begin, batch, check.compared, check.apart)


def _digits(answers: Iterable[tuple[Completion, Spelling]]) -> Iterator[tuple[float, str]]:
    for answer, spelt in answers:
        for token, value in _tokens(answer, 0, spelt.end):
            yield (0.0 if value is None else value), token


def _tokens(answer: Completion, begin: int, end: int) -> Iterator[tuple[str, float | None]]:
    yield from zip(answer.tokens[begin:end], answer.logprobs[begin:end], strict=True)


def _shared(one: Completion, other: Completion) -> int:
    """How many tokens two answers begin with in common."""
    pairs = zip(one.tokens, other.tokens, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one.tokens), len(other.tokens)))
