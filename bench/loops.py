"""What unmask is timed against, written plainly: the published loops, and a padded batch in file order.

They compute sentence scores only, and each measure by itself, as the scripts in the field do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any

import torch

from unmask.core.types import Pair

Copy = tuple[list[int], list[int], list[int]]  # input ids, positions read, tokens wanted


@torch.inference_mode()
def one_by_one(measure: str, items: Sequence[Pair], model: Any, tokenizer: Any) -> list[float]:
    """One input at a time, logits over the whole sequence: how the published scripts run."""
    model.set_attn_implementation("eager" if measure == "aula" else "sdpa")
    scores = []
    for sentence in _sentences(measure, items, tokenizer):
        parts = []
        for ids, places, tokens in sentence:
            output = model(torch.tensor([ids], device=model.device), output_attentions=measure == "aula")
            parts.append(_parts(output, 0, len(ids), places, tokens))
        scores.append(sum(parts))
    model.set_attn_implementation("sdpa")
    return scores


@torch.inference_mode()
def score_padded(measure: str, items: Sequence[Pair], model: Any, tokenizer: Any, size: int = 64) -> list[float]:
    """Batches of 64 copies in file order, padded to the longest, logits over sequence and vocabulary."""
    model.set_attn_implementation("eager" if measure == "aula" else "sdpa")
    copies = [(n, copy) for n, sentence in enumerate(_sentences(measure, items, tokenizer)) for copy in sentence]
    scores = [0.0] * (2 * len(items))
    for begin in range(0, len(copies), size):
        some = copies[begin : begin + size]
        longest = max(len(copy[0]) for _, copy in some)
        ids = torch.tensor([copy[0] + [0] * (longest - len(copy[0])) for _, copy in some])
        kept = torch.tensor([[1] * len(copy[0]) + [0] * (longest - len(copy[0])) for _, copy in some])
        output = model(ids, attention_mask=kept, output_attentions=measure == "aula")
        for row, (n, (own, places, tokens)) in enumerate(some):
            scores[n] += _parts(output, row, len(own), places, tokens)
    model.set_attn_implementation("sdpa")
    return scores


@torch.inference_mode()
def by_length(items: Sequence[Pair], model: Any, tokenizer: Any, tokens: int = 65536) -> list[float]:
    """CPS as a quick script would have it: copies by length in batches, the head at the hidden word alone."""
    copies = [(n, copy) for n, sentence in enumerate(_sentences("cps", items, tokenizer)) for copy in sentence]
    copies.sort(key=lambda one: len(one[1][0]))
    scores, begin = [0.0] * (2 * len(items)), 0
    while begin < len(copies):
        end = begin + 1
        while end < len(copies) and (end + 1 - begin) * len(copies[end][1][0]) <= tokens:
            end += 1
        some, begin = copies[begin:end], end
        longest = len(some[-1][1][0])
        ids = torch.tensor([copy[0] + [0] * (longest - len(copy[0])) for _, copy in some]).to(model.device)
        lengths = torch.tensor([len(copy[0]) for _, copy in some]).to(model.device)
        kept = (torch.arange(longest, device=model.device) < lengths[:, None]).long()
        places = torch.tensor([copy[1][0] for _, copy in some]).to(model.device)
        wanted = torch.tensor([copy[2][0] for _, copy in some]).to(model.device)
        rows = torch.arange(len(some), device=model.device)
        states = model.base_model(ids, attention_mask=kept)[0][rows, places]
        logprobs = model.cls(states).float().log_softmax(-1)[rows, wanted].tolist()
        for (n, _), value in zip(some, logprobs, strict=True):
            scores[n] += value
    return scores


def _parts(output: Any, row: int, length: int, places: list[int], tokens: list[int]) -> float:
    logprobs = output.logits[row, places].log_softmax(-1)[range(len(places)), tokens]
    if output.attentions is None:
        return float(logprobs.sum())
    weights = torch.stack([layer[row, :, :length] for layer in output.attentions]).mean((0, 1, 2))[places]
    return float((weights * logprobs).sum())


def _sentences(measure: str, items: Sequence[Pair], tokenizer: Any) -> Iterator[list[Copy]]:
    """The masked copies each sentence needs under a measure."""
    for item in items:
        both = [tokenizer(text)["input_ids"] for text in (item.more, item.less)]
        blocks = SequenceMatcher(None, *both).get_matching_blocks()
        shared = [{b.a + i for b in blocks for i in range(b.size)}, {b.b + i for b in blocks for i in range(b.size)}]
        for ids, same in zip(both, shared, strict=True):
            inner = range(1, len(ids) - 1)
            yield _copies(measure, ids, [p for p in inner if p in same], [p for p in inner if p not in same], tokenizer)


def _copies(measure: str, ids: list[int], same: list[int], changed: list[int], tokenizer: Any) -> list[Copy]:
    mask, inner = tokenizer.mask_token_id, list(range(1, len(ids) - 1))

    def masked_copy(places: Sequence[int]) -> list[int]:
        return [mask if place in places else token for place, token in enumerate(ids)]

    if measure in ("pll", "sld", "cps"):
        return [(masked_copy([p]), [p], [ids[p]]) for p in (same if measure == "cps" else inner)]
    if measure == "sss":
        return [(masked_copy(changed), changed, [ids[p] for p in changed])] if changed else []
    if measure == "all-masked":
        return [(masked_copy(inner), inner, [ids[p] for p in inner])]
    return [(list(ids), inner, [ids[p] for p in inner])]
