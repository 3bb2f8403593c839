"""Completions of prompts with the log-probabilities of their tokens, by the API that OpenAI's completions have.

The answer to a prompt is the tokens of the prompt and of what follows it, each with its log-probability and the
likeliest tokens at its place. Which tokens belong to the prompt is found by spelling it (`spell`): offsets in the
answer count the begin-of-text token on some servers and not on others.

Answers are kept in the store of readings, by text: a text that was answered is never asked again. A row of the store
holds numbers, so an answer is stored by characters: the number of the token (as its position), the character (as its
token), the token's log-probability, and as its rank what is known of it.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from unmask.core.errors import ModelError, quote
from unmask.models.endpoint.client import Client, Refused
from unmask.models.store import READ, Store, StoredReadings

BROKEN = "\N{REPLACEMENT CHARACTER}"  # in a token that is a part of a character
LARGEST_BATCH = 16  # prompts in a request
AHEAD = 2  # requests waiting for each that runs
FIRST, OTHER, UNKNOWN = 0, 1, 2  # the likeliest token at its place; another one; without a log-probability
_START = 0  # precedes the characters of a token, which may have none
FLOOR, CEILING = -1000.0, 1e-3  # no softmax in 32 bits gives less; servers round a little above 0


@dataclass(frozen=True, slots=True)
class Completion:
    """The tokens of an answer, their log-probabilities (None: not given), and the likeliest tokens at each place."""

    tokens: tuple[str, ...]
    logprobs: tuple[float | None, ...]
    top: tuple[dict[str, float], ...]
    generated: int = 0  # tokens at the end that are not the prompt's, as far as the server says so


@dataclass(frozen=True, slots=True)
class Spelling:
    """Which tokens of an answer are the prompt's: those from `front` on, one for each span of its characters."""

    front: int  # tokens before the text: the begin-of-text token, where the server shows it
    spans: tuple[tuple[int, int], ...]

    @property
    def end(self) -> int:
        """Where the tokens begin that were generated."""
        return self.front + len(self.spans)


class Completions:
    """Asks one model of an endpoint for completions."""

    def __init__(self, client: Client, model: str) -> None:
        self.client, self.model = client, model
        self.batch = 1  # prompts in a request; the contract check finds out whether several are allowed

    @property
    def name(self) -> str:
        """How messages call it."""
        return f"{self.model} at {self.client.address.url}"

    def complete(
        self, prompts: Sequence[str], *, echo: bool = True, top: int = 1, tokens: int = 1, retries: int | None = None
    ) -> list[Completion]:
        """The answers to some prompts, in one request; Refused if the server does not take them."""
        asked: str | list[str] = prompts[0] if len(prompts) == 1 else list(prompts)
        body = {"model": self.model, "prompt": asked, "max_tokens": tokens, "temperature": 0, "logprobs": top}
        answer = self.client.ask("/completions", {**body, "echo": echo}, retries=retries)
        return self._parse(answer, len(prompts), tokens)

    def complete_all(self, prompts: Sequence[str], *, top: int = 1) -> Iterator[tuple[str, Completion | str]]:
        """The answer to every prompt, or why the server refuses it, as they come; several requests at once."""
        waiting = deque(prompts[begin : begin + self.batch] for begin in range(0, len(prompts), self.batch))
        running: deque[tuple[Sequence[str], Future[list[Completion]]]] = deque()
        pool = ThreadPoolExecutor(self.client.serving.parallel, "endpoint")
        try:
            while waiting or running:
                while waiting and len(running) < AHEAD * self.client.serving.parallel:
                    part = waiting.popleft()
                    running.append((part, pool.submit(self.complete, part, top=top)))
                part, done = running.popleft()
                try:
                    yield from zip(part, done.result(), strict=True)
                except Refused as refused:
                    if len(part) == 1:
                        yield part[0], f"the server refuses the text: {refused}"
                    else:  # one of them is refused: ask each alone
                        waiting.extendleft([prompt] for prompt in part)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _parse(self, answer: Any, count: int, tokens: int) -> list[Completion]:
        choices = answer.get("choices") if isinstance(answer, dict) else None
        if not isinstance(choices, list) or len(choices) != count:
            found = f"{len(choices)} choices" if isinstance(choices, list) else "no choices"
            raise ModelError(f"{self.name} answers {count} prompts with {found}: it is no completions endpoint")
        served = answer.get("model")
        if isinstance(served, str) and served != self.model and not served.startswith(f"{self.model}:"):
            raise ModelError(
                f"{self.name}: the server answers as {quote(served)}, another model; give served_model {served}, "
                "if it is the one you mean"
            )
        numbers = [choice.get("index", at) if isinstance(choice, dict) else at for at, choice in enumerate(choices)]
        if sorted(map(str, numbers)) != sorted(map(str, range(count))):
            raise ModelError(f"{self.name} numbers its {count} choices {quote(numbers)}, expected 0 to {count - 1}")
        by_number = dict(zip(numbers, choices, strict=True))
        return [self._choice(by_number[number], tokens) for number in range(count)]

    def _choice(self, choice: Any, most: int) -> Completion:
        given = _listed(choice.get("logprobs") if isinstance(choice, dict) else None)
        if not isinstance(given, dict) or not isinstance(given.get("tokens"), list):
            raise ModelError(
                f"{self.name} gives no log-probabilities (`logprobs.tokens`): it cannot be measured; start the server "
                "with log-probabilities of prompts, as vLLM has them"
            )
        tokens, logprobs = given["tokens"], given.get("token_logprobs")
        if not all(isinstance(token, str) for token in tokens):
            raise ModelError(f"{self.name} answers with tokens that are no text, expected `logprobs.tokens` as strings")
        if not isinstance(logprobs, list) or len(logprobs) != len(tokens):
            raise ModelError(f"{self.name} answers with {len(tokens)} tokens, but not as many `token_logprobs`")
        tops = given.get("top_logprobs")
        tops = tops if isinstance(tops, list) and len(tops) == len(tokens) else [None] * len(tokens)
        numbers = tuple(_number(value, self.name) for value in logprobs)
        generated = most if choice.get("finish_reason") == "length" else 0
        return Completion(tuple(tokens), numbers, tuple(_top(top, self.name) for top in tops), generated)


def is_logprob(value: float | None) -> bool:
    """Whether a number can be the log-probability of a token; NaN, infinities and sentinels such as -9999 cannot."""
    return value is not None and FLOOR < value < CEILING


def _listed(given: Any) -> Any:
    """Log-probabilities as lists, where a server answers with an object for each token (`logprobs.content`)."""
    rows = given.get("content") if isinstance(given, dict) and "tokens" not in given else None
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        return given
    tops = [row.get("top_logprobs") for row in rows]
    return {
        "tokens": [row.get("token") for row in rows],
        "token_logprobs": [row.get("logprob") for row in rows],
        "top_logprobs": [
            {each["token"]: each.get("logprob") for each in top if isinstance(each, dict) and "token" in each}
            if isinstance(top, list)
            else None
            for top in tops
        ],
    }


def _number(value: Any, name: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or (isinstance(value, int) and abs(value) > 10**9):
        raise ModelError(f"{name} answers with the log-probability {quote(value)}, expected a number")
    return float(value)


def _top(given: Any, name: str) -> dict[str, float]:
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise ModelError(f"{name} answers with `top_logprobs` {quote(given)}, expected an object of tokens and numbers")
    found = {token: _number(value, name) for token, value in given.items()}
    return {token: value for token, value in found.items() if value is not None and is_logprob(value)}


def spell(prompt: str, completion: Completion) -> Spelling | None:
    """Find the tokens that spell the prompt; None if they do not."""
    prompt_tokens = completion.tokens[: len(completion.tokens) - completion.generated]
    found = _spell(prompt, completion, prompt_tokens)
    if found is None and completion.generated:  # some servers leave out what they generated
        found = _spell(prompt, completion, completion.tokens)
    return found


def _spell(prompt: str, completion: Completion, tokens: Sequence[str]) -> Spelling | None:
    front = 0
    if tokens and completion.logprobs[0] is None and _is_front(prompt, tokens):
        front = 1
    spans: list[tuple[int, int]] = []
    at, number = 0, front
    while at < len(prompt):
        if number == len(tokens):
            return None
        end = _step(prompt, at, tokens[number])
        if end is not None:
            spans.append((at, end))
            at, number = end, number + 1
            continue
        last = number
        while last < len(tokens) and is_broken(tokens[last]):
            last += 1
        end = _resume(prompt, at, tokens[last] if last < len(tokens) else None, last - number)
        if last == number or end is None:
            return None
        spans += [(at, end)] * (last - number)
        at, number = end, last
    return Spelling(front, tuple(spans))


def _step(prompt: str, at: int, token: str) -> int | None:
    """Where a token ends that begins at this character; some servers put a space in front of the first."""
    if token and prompt.startswith(token, at):
        return at + len(token)
    bare = token.removeprefix(" ")
    return len(bare) if at == 0 and bare and prompt.startswith(bare) else None


def _is_front(prompt: str, tokens: Sequence[str]) -> bool:
    """Whether the first token stands before the text; one without a text may also be a part of a character."""
    if tokens[0]:
        return _step(prompt, 0, tokens[0]) is None and not is_broken(tokens[0])
    return len(tokens) > 1 and _step(prompt, 0, tokens[1]) is not None


def is_broken(token: str) -> bool:
    """Whether a token is a part of a character, which servers show by a mark, its bytes, or nothing."""
    return not token or BROKEN in token or token.startswith("bytes:")


def _resume(prompt: str, at: int, token: str | None, count: int) -> int | None:
    """Where the first whole token after so many parts of characters begins."""
    last = min(len(prompt), at + count)
    found = (end for end in range(at + 1, last + 1) if token and prompt.startswith(token, end))
    return next(found, last if last == len(prompt) else None)


# ---------------------------------------------------------------------------------- stored answers


class ScoredToken(NamedTuple):
    """A token as text, its log-probability (None: not given), and whether it is the likeliest at its place."""

    text: str
    logprob: float | None
    is_first: bool = False


Answer = tuple[ScoredToken, ...]


class AnswerStore:
    """The answers to one kind of question."""

    def __init__(self, store: Store, question: str) -> None:
        self.store, self.question = store, question

    def fetch(self, texts: Sequence[str]) -> dict[str, Answer]:
        """The stored answers to some texts."""
        keys = {self._key(text): text for text in texts} if self.store.is_open else {}
        found = {keys[key]: unpack(stored) for key, stored in self.store.fetch(list(keys)).items()}
        return {text: answer for text, answer in found.items() if answer is not None}

    def save(self, answers: Mapping[str, Answer]) -> None:
        """Add answers, of texts that have none yet."""
        if self.store.is_open:
            self.store.save({self._key(text): pack(answer) for text, answer in answers.items() if answer})

    def _key(self, text: str) -> bytes:
        content = f"{self.question}\0{text}".encode("utf-8", "surrogatepass")
        return hashlib.blake2b(content, digest_size=16, person=b"endpoint").digest()


def pack(answer: Answer) -> StoredReadings:
    """An answer as rows of numbers."""
    rows = []
    for number, (text, logprob, is_first) in enumerate(answer):
        known = UNKNOWN if logprob is None else FIRST if is_first else OTHER
        rows += [(number, character, logprob or 0.0, known) for character in (_START, *map(ord, text))]
    return StoredReadings(np.array(rows, dtype=READ))


def unpack(stored: StoredReadings) -> Answer | None:
    """Inverse of `pack`; None for rows that are no answer."""
    tokens: list[ScoredToken] = []
    for number, character, logprob, known in stored.reads.tolist():
        if character == _START and number == len(tokens):
            tokens.append(ScoredToken("", None if known == UNKNOWN else logprob, known == FIRST))
        elif character == _START or number != len(tokens) - 1 or character > 0x10FFFF:
            return None
        else:
            tokens[-1] = tokens[-1]._replace(text=tokens[-1].text + chr(character))
    return tuple(tokens)
