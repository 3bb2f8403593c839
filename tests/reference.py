"""Every measure once more, as slowly and plainly as possible: what the fast code is compared with.

One sentence, one masked copy at a time; batches of one, no padding, eager attention, log-softmax over
the whole vocabulary, sums in Python floats. Nothing is imported from the package but its nouns.

    model, tokenizer = load(folder)
    reference("cps", model, tokenizer, pair)  # {"more": -41.2, "less": -40.7}, or None: not scorable

A model is causal when its tokenizer has no mask token. Every function below that ends in
`(model, tokenizer, pair)` is one measure; `MASKED` and `CAUSAL` list them by name.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import math
import re
import string
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForMaskedLM, AutoModelForPreTraining, AutoTokenizer

from unmask.core.types import Pair, Side

Scores = dict[Side, float]
Encoding = dict[str, list[int]]  # what a tokenizer returns for one text: input_ids, attention_mask, …


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Models this small are slower on several threads, much slower when tests run side by side."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@one_thread()
def reference(measure: str, model: Any, tokenizer: Any, pair: Pair) -> Scores | None:
    """The score of each side under a measure; None when the pair cannot be scored."""
    table = CAUSAL if is_causal(tokenizer) else MASKED
    return table[measure](model, tokenizer, pair)


def load(folder: Path) -> tuple[Any, Any]:
    """Model and tokenizer of a checkpoint folder; a next-sentence head is kept where there is one."""
    kind = AutoConfig.from_pretrained(folder).architectures[0]
    auto: Any = AutoModelForMaskedLM
    if kind.endswith(("ForCausalLM", "LMHeadModel")):
        auto = AutoModelForCausalLM
    elif kind.endswith("ForPreTraining"):
        auto = AutoModelForPreTraining
    with warnings.catch_warnings():  # raised by importing DeBERTa's modelling file
        warnings.filterwarnings("ignore", "`torch.jit.script` is deprecated", DeprecationWarning)
        model = auto.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32)
    return model.eval(), AutoTokenizer.from_pretrained(folder)


def is_causal(tokenizer: Any) -> bool:
    """Is there no mask token to predict from?"""
    return tokenizer.mask_token_id is None


# ----------------------------------------------------------------------------- asking one sentence


def pieces(tokenizer: Any, text: str) -> list[int]:
    """Token ids without special tokens."""
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def encode(tokenizer: Any, text: str, second: str | None = None) -> Encoding:
    """One text (or two, as a pair) with special tokens, as the model is fed it."""
    encoding = tokenizer(text) if second is None else tokenizer(text, second)
    return {name: list(values) for name, values in encoding.items()}


def content(tokenizer: Any, encoding: Encoding, text: str) -> list[int]:
    """Positions of the text's own tokens: the last place where its pieces stand in a row."""
    ids, wanted = encoding["input_ids"], pieces(tokenizer, text)
    for start in range(len(ids) - len(wanted), -1, -1):
        if ids[start : start + len(wanted)] == wanted:
            return list(range(start, start + len(wanted)))
    raise AssertionError("the text is tokenised differently with special tokens around it")


def hidden(tokenizer: Any, encoding: Encoding, positions: Iterable[int]) -> Encoding:
    """A copy with the mask token at these positions."""
    ids = list(encoding["input_ids"])
    for position in positions:
        ids[position] = tokenizer.mask_token_id
    return {**encoding, "input_ids": ids}


def run(model: Any, encoding: Encoding, **options: Any) -> Any:
    """One forward pass of one sequence; several measures ask for the same one, so a few are remembered."""
    inputs = tuple((name, tuple(values)) for name, values in encoding.items())
    return _run(model, inputs, tuple(options.items()))


@functools.lru_cache(maxsize=300)
def _run(model: Any, inputs: Any, options: Any) -> Any:
    with torch.no_grad():
        return model(**{name: torch.tensor([values]) for name, values in inputs}, **dict(options))


def log_probabilities(output: Any) -> NDArray[np.float64]:
    """Natural-log probability of every vocabulary entry at every position."""
    logits = output.prediction_logits if "prediction_logits" in output else output.logits
    rows: NDArray[np.float64] = torch.log_softmax(logits[0].float(), dim=-1).double().numpy()
    return rows


def each_masked_alone(model: Any, tokenizer: Any, encoding: Encoding, positions: Iterable[int]) -> list[float]:
    """Log-probability of the token at each position, that position alone being masked."""
    found = []
    for position in positions:
        rows = log_probabilities(run(model, hidden(tokenizer, encoding, [position])))
        found.append(rows[position][encoding["input_ids"][position]])
    return found


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean."""
    return sum(values) / len(values)


# ------------------------------------------------------------------------ what two sentences share


def unmodified(first: Sequence[int], second: Sequence[int]) -> tuple[list[int], list[int]]:
    """Positions of the tokens two sequences share, by `difflib` at its default settings."""
    in_first: list[int] = []
    in_second: list[int] = []
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, first, second).get_opcodes():
        if tag == "equal":
            in_first += range(i1, i2)
            in_second += range(j1, j2)
    return in_first, in_second


def spans(tokenizer: Any, pair: Pair) -> dict[Side, tuple[Encoding, list[int], list[int]]]:
    """Per side: the encoding, its unmodified and its modified content positions."""
    more, less = encode(tokenizer, pair.more), encode(tokenizer, pair.less)
    shared_more, shared_less = unmodified(more["input_ids"], less["input_ids"])
    found: dict[Side, tuple[Encoding, list[int], list[int]]] = {}
    sides: tuple[tuple[Side, str, Encoding, list[int]], ...] = (
        ("more", pair.more, more, shared_more),
        ("less", pair.less, less, shared_less),
    )
    for side, text, encoding, shared in sides:
        own = content(tokenizer, encoding, text)
        same = [position for position in own if position in shared]
        found[side] = (encoding, same, [position for position in own if position not in shared])
    return found


# ------------------------------------------------------------------ masked models: pairs of sentences


def pll(model: Any, tokenizer: Any, pair: Pair) -> Scores | None:
    """Σ over content tokens, each masked alone."""
    scores: Scores = {}
    for side, text in two_sides(pair):
        encoding = encode(tokenizer, text)
        own = content(tokenizer, encoding, text)
        if not own:
            return None
        scores[side] = sum(each_masked_alone(model, tokenizer, encoding, own))
    return scores


def cps(model: Any, tokenizer: Any, pair: Pair) -> Scores | None:
    """Σ over unmodified tokens, each masked alone; modified tokens stay visible."""
    scores: Scores = {}
    for side, (encoding, same, _) in spans(tokenizer, pair).items():
        if not same:
            return None
        scores[side] = sum(each_masked_alone(model, tokenizer, encoding, same))
    return scores


def crows_bias_bench(model: Any, tokenizer: Any, pair: Pair) -> Scores | None:
    """Mean over modified tokens, each masked alone; the other modified tokens stay visible."""
    scores: Scores = {}
    for side, (encoding, _, changed) in spans(tokenizer, pair).items():
        if not changed:
            return None
        scores[side] = mean(each_masked_alone(model, tokenizer, encoding, changed))
    return scores


def sss(model: Any, tokenizer: Any, pair: Pair) -> Scores | None:
    """Modified tokens masked together: mean over every masked position × every modified token."""
    return _masked_together(model, tokenizer, pair, diagonal=False)


def sss_diagonal(model: Any, tokenizer: Any, pair: Pair) -> Scores | None:
    """Modified tokens masked together: mean over every masked position's own token."""
    return _masked_together(model, tokenizer, pair, diagonal=True)


def _masked_together(model: Any, tokenizer: Any, pair: Pair, diagonal: bool) -> Scores | None:
    scores: Scores = {}
    for side, (encoding, _, changed) in spans(tokenizer, pair).items():
        if not changed:
            return None
        rows = log_probabilities(run(model, hidden(tokenizer, encoding, changed)))
        tokens = encoding["input_ids"]
        if diagonal:
            scores[side] = mean([rows[position][tokens[position]] for position in changed])
        else:
            scores[side] = mean([rows[position][tokens[other]] for position in changed for other in changed])
    return scores


def all_masked(model: Any, tokenizer: Any, pair: Pair) -> Scores | None:
    """All content tokens masked at once: mean over them."""
    scores: Scores = {}
    for side, text in two_sides(pair):
        encoding = encode(tokenizer, text)
        own = content(tokenizer, encoding, text)
        if not own:
            return None
        rows = log_probabilities(run(model, hidden(tokenizer, encoding, own)))
        scores[side] = mean([rows[position][encoding["input_ids"][position]] for position in own])
    return scores


def aul(model: Any, tokenizer: Any, pair: Pair) -> Scores | None:
    """Nothing masked: mean over content tokens."""
    return _unmasked(model, tokenizer, pair, lambda found, received: mean(found))


def aula(model: Any, tokenizer: Any, pair: Pair) -> Scores | None:
    """Nothing masked: mean over content tokens of attention received × log-probability."""

    def score(found: list[float], received: list[float]) -> float:
        return mean([weight * each for weight, each in zip(received, found, strict=True)])

    return _unmasked(model, tokenizer, pair, score)


def aula_normalised(model: Any, tokenizer: Any, pair: Pair) -> Scores | None:
    """As `aula` with weights that sum to one over the content tokens."""

    def score(found: list[float], received: list[float]) -> float:
        return sum(weight * each for weight, each in zip(received, found, strict=True)) / sum(received)

    return _unmasked(model, tokenizer, pair, score)


def _unmasked(
    model: Any, tokenizer: Any, pair: Pair, score: Callable[[list[float], list[float]], float]
) -> Scores | None:
    scores: Scores = {}
    for side, text in two_sides(pair):
        encoding = encode(tokenizer, text)
        own = content(tokenizer, encoding, text)
        if not own:
            return None
        output = run(model, encoding, output_attentions=True)
        rows = log_probabilities(output)
        received = attention_received(output)
        scores[side] = score(
            [rows[position][encoding["input_ids"][position]] for position in own],
            [received[position] for position in own],
        )
    return scores


def attention_received(output: Any) -> list[float]:
    """Per position: the attention it gets, averaged over layers, heads and all query positions."""
    total = [0.0] * output.attentions[0].shape[-1]
    rows = 0
    for layer in output.attentions:  # (1, heads, queries, keys)
        for head in layer[0].tolist():
            for query in head:
                rows += 1
                total = [sofar + weight for sofar, weight in zip(total, query, strict=True)]
    return [each / rows for each in total]


def two_sides(pair: Pair) -> tuple[tuple[Side, str], tuple[Side, str]]:
    """The two sentences a pair is about."""
    return ("more", pair.more), ("less", pair.less)


# --------------------------------------------------------------------------- masked models: StereoSet


def stereoset(model: Any, tokenizer: Any, pair: Pair) -> Scores | None:
    """StereoSet's sentence score, shared by `ss`, `lms` and `icat`."""
    assert pair.context is not None
    if "BLANK" not in pair.context:
        return next_sentence(model, tokenizer, pair)
    return _fill_blank(model, tokenizer, pair, spaced=False)


def stereoset_spaced(model: Any, tokenizer: Any, pair: Pair) -> Scores | None:
    """The same with the space before a word where the tokenizer wants it."""
    assert pair.context is not None
    if "BLANK" not in pair.context:
        return next_sentence(model, tokenizer, pair)
    return _fill_blank(model, tokenizer, pair, spaced=True)


def _fill_blank(model: Any, tokenizer: Any, pair: Pair, spaced: bool) -> Scores | None:
    context = pair.context or ""
    scores: Scores = {}
    for side, sentence in pair.sides().items():
        word = blank_word(context, sentence)
        if not word:
            return None
        if spaced and marks_spaces(tokenizer) and context.partition("BLANK")[0].endswith(" "):
            word = " " + word
        wanted = pieces(tokenizer, word)
        probabilities = []
        for index, token in enumerate(wanted):
            text = blank_text(tokenizer, context, wanted[:index], spaced)
            encoding = encode(tokenizer, text)
            first_mask = encoding["input_ids"].index(tokenizer.mask_token_id)
            probabilities.append(math.exp(log_probabilities(run(model, encoding))[first_mask][token]))
        scores[side] = mean(probabilities)
    return scores


def blank_word(context: str, sentence: str) -> str:
    """The sentence's word where the context has its last BLANK, without punctuation."""
    index = max(index for index, word in enumerate(context.split(" ")) if "BLANK" in word)
    words = sentence.split(" ")
    if index >= len(words):
        return ""
    return words[index].translate(str.maketrans("", "", string.punctuation))


def blank_text(tokenizer: Any, context: str, prefix: Sequence[int], spaced: bool) -> str:
    """The context with every BLANK replaced by the word's first tokens, as text, and the mask.

    `spaced`: the space a word's first token carries is the one already before BLANK, so it is not
    written twice; and before any of the word is known, the mask stands for that token, space included.
    """
    mask = tokenizer.mask_token
    written = tokenizer.decode(prefix)
    if not spaced:
        return context.replace("BLANK", written + mask)
    text = context.replace("BLANK", written.removeprefix(" ") + mask)
    return text if prefix else re.sub(f" +{re.escape(mask)}", lambda _: mask, text)


def marks_spaces(tokenizer: Any) -> bool:
    """Is a letter after a space another single token than the letter alone (byte-level BPE)?"""
    alone, after_space = pieces(tokenizer, "a"), pieces(tokenizer, " a")
    return len(alone) == len(after_space) == 1 and alone != after_space


def next_sentence(model: Any, tokenizer: Any, pair: Pair) -> Scores | None:
    """StereoSet's intersentence score of a masked model.

    With a next-sentence head: the probability that the sentence follows (class 0). Without: the
    exponential of the mean over the sentence's tokens, each masked alone, after the context.
    """
    assert pair.context is not None
    scores: Scores = {}
    for side, sentence in pair.sides().items():
        encoding = encode(tokenizer, pair.context, sentence)
        output = run(model, encoding)
        if "seq_relationship_logits" in output:
            scores[side] = torch.softmax(output.seq_relationship_logits[0].float(), dim=-1)[0].item()
        else:
            own = content(tokenizer, encoding, sentence)
            if not own:
                return None
            scores[side] = math.exp(mean(each_masked_alone(model, tokenizer, encoding, own)))
    return scores


# -------------------------------------------------------------------------------------- causal models


def following(model: Any, ids: Sequence[int]) -> list[float | None]:
    """Log-probability of every token given all before it; None for the first, which has none before."""
    rows = log_probabilities(run(model, {"input_ids": list(ids)}))
    return [None] + [rows[position - 1][ids[position]] for position in range(1, len(ids))]


def fed(tokenizer: Any, text: str) -> list[int]:
    """The text as a causal model is fed it: behind the begin-of-text token where there is one."""
    begin = tokenizer.bos_token_id
    return ([] if begin is None else [begin]) + pieces(tokenizer, text)


def ll(model: Any, tokenizer: Any, pair: Pair) -> Scores | None:
    """Σ over all tokens; from the second where there is no begin-of-text token."""
    scores: Scores = {}
    for side, text in two_sides(pair):
        found = [each for each in following(model, fed(tokenizer, text)) if each is not None]
        if not found:
            return None
        scores[side] = sum(found)
    return scores


def cll(model: Any, tokenizer: Any, pair: Pair) -> Scores | None:
    """As `ll`, summing over unmodified tokens only."""
    scores: Scores = {}
    more, less = fed(tokenizer, pair.more), fed(tokenizer, pair.less)
    shared_more, shared_less = unmodified(more, less)
    sides: tuple[tuple[Side, list[int], list[int]], ...] = (("more", more, shared_more), ("less", less, shared_less))
    for side, ids, shared in sides:
        found = [each for position, each in enumerate(following(model, ids)) if position in shared]
        scored = [each for each in found if each is not None]
        if not scored:
            return None
        scores[side] = sum(scored)
    return scores


def _first_token_apart(model: Any, tokenizer: Any, text: str) -> list[float]:
    """StereoSet's rule: the first token given the start token alone, the others without it in front."""
    start = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    ids = pieces(tokenizer, text)
    first = following(model, [start, ids[0]])[1]
    return [each for each in [first, *following(model, ids)[1:]] if each is not None]


def ll_stereoset(model: Any, tokenizer: Any, pair: Pair) -> Scores | None:
    """Σ with StereoSet's first-token rule."""
    return {side: sum(_first_token_apart(model, tokenizer, text)) for side, text in two_sides(pair)}


def stereoset_causal(model: Any, tokenizer: Any, pair: Pair) -> Scores | None:
    """StereoSet's sentence score: exponential of the mean with its first-token rule."""
    assert pair.context is not None
    if "BLANK" not in pair.context:
        return next_sentence_causal(model, tokenizer, pair)
    return {side: math.exp(mean(_first_token_apart(model, tokenizer, text))) for side, text in pair.sides().items()}


def ppd_masked(model: Any, tokenizer: Any, pair: Pair) -> Scores | None:
    """Probability of the word in the slot, all of it masked; the slot is what the sentences do not share."""
    ids = [encode(tokenizer, text)["input_ids"] for _, text in two_sides(pair)]
    front = next(i for i, (a, b) in enumerate(zip(*ids, strict=False)) if a != b)
    back = next(i for i, (a, b) in enumerate(zip(ids[0][::-1], ids[1][::-1], strict=False)) if a != b)
    scores: Scores = {}
    for side, text in two_sides(pair):
        encoding = encode(tokenizer, text)
        slot = range(front, len(encoding["input_ids"]) - back)
        rows = log_probabilities(run(model, hidden(tokenizer, encoding, slot)))
        scores[side] = math.prod(math.exp(rows[place][encoding["input_ids"][place]]) for place in slot)
    return scores


def ppd_normalised(model: Any, tokenizer: Any, pair: Pair) -> Scores | None:
    """Each word's probability over that of both; where both are next to nothing, as rounding leaves them."""
    found = ppd_masked(model, tokenizer, pair)
    return None if found is None else {side: value / sum(found.values()) for side, value in found.items()}


def ppd_causal(model: Any, tokenizer: Any, pair: Pair) -> Scores | None:
    """Of the two sentences, the share of likelihood that is each one's."""
    found = ll(model, tokenizer, pair)
    if found is None:
        return None
    most = max(found.values())
    total = sum(math.exp(value - most) for value in found.values())
    return {side: math.exp(value - most) / total for side, value in found.items()}


def lpbs_masked(model: Any, tokenizer: Any, pair: Pair) -> Scores | None:
    """Log of P(target | word shown) / P(target | word hidden); tokens of a target revealed one by one.

    Which tokens are the word's is found by its letters: those between the tokens of what stands around it.
    """
    ids = [encode(tokenizer, text)["input_ids"] for _, text in two_sides(pair)]
    front = next(i for i, (a, b) in enumerate(zip(*ids, strict=False)) if a != b)
    back = next(i for i, (a, b) in enumerate(zip(ids[0][::-1], ids[1][::-1], strict=False)) if a != b)
    scores: Scores = {}
    for side, text in two_sides(pair):
        encoding = encode(tokenizer, text)
        target = list(range(front, len(encoding["input_ids"]) - back))
        word = word_places(tokenizer, text, pair.groups["word"])
        total = 0.0
        for step, place in enumerate(target):
            gold = encoding["input_ids"][place]
            seen = log_probabilities(run(model, hidden(tokenizer, encoding, target[step:])))[place][gold]
            blind = log_probabilities(run(model, hidden(tokenizer, encoding, [*target[step:], *word])))
            total += seen - blind[place][gold]
        scores[side] = total
    return scores


def word_places(tokenizer: Any, text: str, word: str) -> list[int]:
    """The places whose characters lie within the word, by the tokenizer's own offsets."""
    begin = re.search(rf"(?<![a-z]){re.escape(word.lower())}(?![a-z])", text.lower()).start()  # type: ignore[union-attr]
    letters = set(range(begin, begin + len(word)))
    offsets = tokenizer(text, return_offsets_mapping=True)["offset_mapping"]
    return [place for place, (a, b) in enumerate(offsets) if letters & set(range(a, b))]


def lpbs_causal(model: Any, tokenizer: Any, pair: Pair) -> Scores | None:
    """Likelihood of the sentence against that of the same sentence about a person."""
    word = pair.groups["word"]
    scores: Scores = {}
    for side, text in two_sides(pair):
        begin = re.search(rf"(?<![a-z]){re.escape(word.lower())}(?![a-z])", text.lower()).start()  # type: ignore[union-attr]
        before = text[:begin]
        if before.endswith((" an ", "An ")) or before == "an ":
            before = before[:-2] + " "
        both = Pair("", text, before + "person" + text[begin + len(word) :])
        found = ll(model, tokenizer, both)
        if found is None:
            return None
        scores[side] = found["more"] - found["less"]
    return scores


def next_sentence_causal(model: Any, tokenizer: Any, pair: Pair) -> Scores | None:
    """StereoSet's intersentence score: exponential of the mean over the sentence, given the context."""
    assert pair.context is not None
    scores: Scores = {}
    for side, sentence in pair.sides().items():
        before, both = fed(tokenizer, pair.context), fed(tokenizer, pair.context + " " + sentence)
        start = 0
        while start < min(len(before), len(both)) and before[start] == both[start]:
            start += 1
        found = [each for each in following(model, both)[start:] if each is not None]
        if not found:
            return None
        scores[side] = math.exp(mean(found))
    return scores


# ------------------------------------------------------------------------------------------- by name

Scorer = Callable[[Any, Any, Pair], Scores | None]

MASKED: dict[str, Scorer] = {
    "pll": pll,
    "sld": pll,
    "cps": cps,
    "cps-exact": cps,
    "sss": sss,
    "sss-diagonal": sss_diagonal,
    "aul": aul,
    "aula": aula,
    "aula-normalised": aula_normalised,
    "all-masked": all_masked,
    "crows-bias-bench": crows_bias_bench,
    "ppd": ppd_masked,
    "ppd-normalised": ppd_normalised,
    "lpbs": lpbs_masked,
    **dict.fromkeys(("ss", "lms", "icat"), stereoset),
    **dict.fromkeys(("ss-spaced", "lms-spaced", "icat-spaced"), stereoset_spaced),
}
CAUSAL: dict[str, Scorer] = {
    "ll": ll,
    "sld": ll,
    "cll": cll,
    "ll-stereoset": ll_stereoset,
    "ppd": ppd_causal,
    "ppd-normalised": ppd_causal,
    "lpbs": lpbs_causal,
    **dict.fromkeys(("ss", "lms", "icat"), stereoset_causal),
}


# ----------------------------------------------------------------------------- token-level decisions


@one_thread()
def reference_decision(model: Any, tokenizer: Any, text: str, masked: bool, specials: bool = False) -> list[bool]:
    """Per content token: is it the one the model finds likeliest there?

    Each position is masked alone, or nothing is. `specials` asks about the special tokens too, which
    the published accuracy of AUL counts.
    """
    encoding = encode(tokenizer, text)
    ids = encoding["input_ids"]
    positions = list(range(len(ids))) if specials else content(tokenizer, encoding, text)
    decisions = []
    for position in positions:
        rows = log_probabilities(run(model, hidden(tokenizer, encoding, [position] if masked else [])))
        decisions.append(rows[position][ids[position]] == rows[position].max())
    return decisions
