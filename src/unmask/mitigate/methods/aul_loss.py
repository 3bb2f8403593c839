"""`aul-loss`: training on the measure itself, the future work of Kaneko & Bollegala (2022).

AUL, the mean log-probability of the tokens of a sentence with nothing masked, is made equal for the two sentences of
a pair, while masked tokens of other text are predicted as before:

    strength · mean (AUL(more) − AUL(less))² / its value before + (1 − strength) · mean KL(original ‖ model)

The first mean is over pairs, the second over masked tokens of the corpus.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unmask.core.errors import DataError, Unscorable
from unmask.mitigate.spec import Method, MitigationContext, Outcome, PairOptions

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from unmask.core.types import Encoded, Pair
    from unmask.data.texts import TrainingCorpus
    from unmask.models import Lm
    from unmask.models.network import Network
    from unmask.training.collators import TokenRow
    from unmask.training.spec import Batch

_BATCH = 64
_TEXT = "text_"  # the names of the tensors of the corpus in a batch


@dataclass(frozen=True, slots=True)
class EncodedPair:
    """The two sentences of a pair as token ids."""

    more: Encoded
    less: Encoded


@dataclass(frozen=True, slots=True)
class AulCollator:
    """Batches of pairs, each with as many random rows of the corpus, masked as for masked language modelling."""

    tokenizer: Any
    rows: Sequence[TokenRow]

    def __call__(self, pairs: Sequence[EncodedPair], rng: np.random.Generator) -> Batch:
        """The sentences of the pairs, first all `more`, then all `less`, and the masked rows."""
        from unmask.training.collators import MaskedLMCollator

        chosen = [self.rows[at] for at in rng.integers(len(self.rows), size=len(pairs))]
        text = MaskedLMCollator(self.tokenizer, positions=True)(chosen, rng)
        return collate_pairs(pairs, self.tokenizer.pad_token_id) | {f"{_TEXT}{name}": text[name] for name in text}


def collate_pairs(pairs: Sequence[EncodedPair], pad: int) -> dict[str, Tensor]:
    """Token ids, attention mask, and of every content token: place in the batch, sentence, share of its mean."""
    import torch

    from unmask.training.collators import pad_rows

    sentences = [*(pair.more for pair in pairs), *(pair.less for pair in pairs)]
    ids, mask = pad_rows([sentence.ids for sentence in sentences], pad)
    width = ids.shape[1]
    places = [number * width + at for number, sentence in enumerate(sentences) for at in sentence.content]
    owners = [number for number, sentence in enumerate(sentences) for _ in sentence.content]
    weights = [1 / len(sentence.content) for sentence in sentences for _ in sentence.content]
    tokens = {"places": torch.tensor(places), "owners": torch.tensor(owners), "weights": torch.tensor(weights)}
    return {"ids": ids, "mask": mask, **tokens}


def aul_scores(network: Network, batch: Batch) -> Tensor:
    """AUL of each sentence of a batch."""
    places, weights = batch["places"], batch["weights"]
    states = network.run(batch["ids"], batch["mask"]).flatten(0, 1)[places]
    own = network.raw_logits(states).to(weights.dtype).log_softmax(-1).gather(-1, batch["ids"].flatten()[places, None])
    return weights.new_zeros(len(batch["ids"])).index_add(0, batch["owners"], weights * own[:, 0])


def squared_differences(network: Network, batch: Batch) -> Tensor:
    """(AUL(more) − AUL(less))² of each pair of a batch."""
    more, less = aul_scores(network, batch).chunk(2)
    return (more - less).square()


@dataclass(frozen=True, slots=True)
class AulLoss:
    """strength × squared AUL differences, relative to those of the original, + (1 − strength) × KL divergence."""

    network: Network  # of the model in training
    original: Network  # of a frozen copy of the original model
    strength: float
    scale: float  # the mean squared difference of the original model

    def __call__(self, model: Any, batch: Batch) -> Tensor:
        """The loss of a batch, without dropout: AUL is defined without it."""
        model.eval()
        text = {name.removeprefix(_TEXT): batch[name] for name in batch if name.startswith(_TEXT)}
        bias = squared_differences(self.network, batch).mean() / self.scale
        return self.strength * bias + (1 - self.strength) * self._divergence(text)

    def _divergence(self, text: Batch) -> Tensor:
        """Mean Kullback-Leibler divergence from the original's predictions of masked tokens."""
        import torch
        from torch.nn.functional import kl_div

        with torch.no_grad():
            expected = _log_probabilities(self.original, text)
        return kl_div(_log_probabilities(self.network, text), expected, reduction="batchmean", log_target=True)


def _log_probabilities(network: Network, text: Batch) -> Tensor:
    """Log-probabilities over the vocabulary at the predicted positions of a batch."""
    states = network.run(text["input_ids"], text["attention_mask"]).flatten(0, 1)[text["positions"]]
    return network.logits(states).log_softmax(-1)


def apply(context: MitigationContext[PairOptions], corpus: TrainingCorpus) -> Outcome:
    """Train on pairs of sentences, and preserve the predictions of masked tokens of the corpus."""
    from unmask.mitigate.evaluation import load_training_pairs
    from unmask.mitigate.mlm import frozen_copy, reminders, rows_digest, tokenize_texts
    from unmask.models.network import Network
    from unmask.training import train

    options, pad = context.options, context.lm.tokenizer.pad_token_id
    data = load_training_pairs(options)
    pairs, skipped = encode_pairs(context.lm, data.items, options.length)
    if len(pairs) < 2:
        raise DataError(
            f"{data.card.name}: {len(pairs)} of {len(data.items)} pairs can be scored, at least 2 are needed"
        )
    rows = tokenize_texts(context, [*(" ".join(document) for document in corpus.documents), *reminders(options)])
    if not rows:
        raise DataError("the corpus has no text of at least 3 tokens: give more text, which keeps the model's ability")
    network, original = Network(context.model.eval()), Network(frozen_copy(context.model))
    before = _pair_facts(original, pairs, pad)
    if not before["squared_difference"]:
        raise DataError(f"{data.card.name}: AUL is equal within every pair: there is nothing to train")
    training = train(
        context.model,
        pairs,
        AulCollator(context.lm.tokenizer, rows),
        options,
        context.folder,
        loss=AulLoss(network, original, options.strength, before["squared_difference"]),
        progress=context.progress,
        key=[options.strength, [(pair.more.ids, pair.less.ids) for pair in pairs], rows_digest(rows)],
    )
    facts = {
        "pairs": len(pairs),
        "pairs_of": data.card.name,
        "pairs_sha256": data.sha256,
        "unscored_pairs": skipped,
        "rows": len(rows),
        "weights": [options.strength, 1 - options.strength],
        "before": before,
        "after": _pair_facts(network, pairs, pad),
    }
    return Outcome(context.model, facts, training)


def encode_pairs(lm: Lm, items: Sequence[Pair], length: int) -> tuple[list[EncodedPair], int]:
    """The pairs whose sentences the model can take, and the number of the others."""
    encoded = []
    for item in items:
        try:
            pair = EncodedPair(lm.encode(item.more), lm.encode(item.less))
        except Unscorable:
            continue
        if all(side.content and len(side.ids) <= length for side in (pair.more, pair.less)):
            encoded.append(pair)
    return encoded, len(items) - len(encoded)


def _pair_facts(network: Network, pairs: Sequence[EncodedPair], pad: int) -> dict[str, float]:
    """Over the training pairs: the mean squared difference of AUL, and the mean AUL of a sentence."""
    import torch

    scores = []
    for begin in range(0, len(pairs), _BATCH):
        batch = collate_pairs(pairs[begin : begin + _BATCH], pad)
        batch = {name: tensor.to(network.device) for name, tensor in batch.items()}
        with torch.no_grad():
            scores.append(aul_scores(network, batch).double().cpu().view(2, -1))
    both = torch.cat(scores, dim=1)
    return {"squared_difference": float((both[0] - both[1]).square().mean()), "aul": float(both.mean())}


AUL_LOSS = Method(
    name="aul-loss",
    title="AUL as a training loss",
    about="sentences of a pair get equal AUL; predictions of masked tokens of the corpus are kept",
    apply=apply,
    citation="kaneko-bollegala-2022-unmasking",
    options=PairOptions,
    kinds=("masked",),
    languages=(),
)
