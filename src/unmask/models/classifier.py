"""A sequence classifier as tasks use it: texts, or pairs of texts, in; logits out."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmask.core.errors import ModelError
from unmask.core.options import Opening
from unmask.core.types import Floats
from unmask.models.batches import chunks_by_length
from unmask.models.checkpoint import AUTO_CLASSES, auto_class, device_for, try_out
from unmask.models.lm import ModelFacts, max_length, refuse_bad_outputs
from unmask.models.loading import find_checkpoint

TextOrPair = tuple[str, str | None]
Texts = Sequence[TextOrPair]
CPU_TOKENS, GPU_TOKENS = 2_048, 131_072  # tokens per forward pass

MAX_LENGTH = 128  # tokens of an input, as published


@dataclass(frozen=True, slots=True)
class ClassifierInput:
    """A tokenized input: its token ids, token type ids where the model uses them, and whether it was truncated."""

    rows: dict[str, NDArray[np.int32]]
    truncated: bool

    def __len__(self) -> int:
        """The number of tokens."""
        return len(self.rows["input_ids"])


class Classifier:
    """A classifier and its tokenizer; inputs longer than `length` tokens are truncated, and counted."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        length: int = MAX_LENGTH,
        new_weights: Sequence[str] = (),
        facts: ModelFacts | None = None,
    ) -> None:
        self.model, self.tokenizer = model, tokenizer
        self.facts = facts  # of the checkpoint it was opened from; None for a model in memory
        self.new_weights = tuple(new_weights)  # not in the checkpoint: initialised at random
        self.length = min(length, max_length(model, tokenizer))
        self.truncated = 0  # inputs truncated so far
        # inputs tokenized so far, where they are used again; None: not kept
        self.encodings: dict[TextOrPair, ClassifierInput] | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the classes, in the order of the logits."""
        names = self.model.config.id2label
        return tuple(str(names[index]) for index in sorted(names))

    def logits(self, texts: Texts, progress: Callable[[float], None] | None = None) -> Floats:
        """One row of logits per input, in order; a batch holds inputs of one length, so nothing is padded.

        ModelError if one is not finite.
        """
        import torch

        encoded = self.encode(texts)
        self.truncated += sum(each.truncated for each in encoded)
        device = next(self.model.parameters()).device
        budget = CPU_TOKENS if device.type == "cpu" else GPU_TOKENS
        logits = np.full((len(encoded), self.model.config.num_labels), np.nan)
        self.model.eval()
        done = 0
        with torch.inference_mode():
            for chunk in chunks_by_length([len(each) for each in encoded], budget):
                batch = {
                    key: torch.from_numpy(np.stack([encoded[index].rows[key] for index in chunk]).astype(np.int64))
                    for key in encoded[chunk[0]].rows
                }
                batch = {key: tensor.to(device) for key, tensor in batch.items()}
                logits[chunk] = self.model(**batch).logits.double().cpu().numpy()
                done += len(chunk)
                if progress is not None:
                    progress(done / len(encoded))
        refuse_bad_outputs(int((~np.isfinite(logits).all(1)).sum()), len(logits), "predictions", self.facts)
        return logits

    def probabilities(self, texts: Texts, progress: Callable[[float], None] | None = None) -> Floats:
        """Logits as probabilities: softmax, or a sigmoid per label for multi-label models."""
        from scipy.special import expit, softmax

        logits = self.logits(texts, progress)
        multi_label = self.model.config.problem_type == "multi_label_classification" or logits.shape[1] == 1
        return np.asarray(expit(logits) if multi_label else softmax(logits, axis=1))

    def batch(self, texts: Texts, multiple: int = 1) -> dict[str, Any]:
        """Inputs padded to one length, a multiple of `multiple`, for training."""
        import torch

        encoded = self.encode(texts)
        lengths = np.array([len(each) for each in encoded])
        width = -(-int(lengths.max()) // multiple) * multiple
        is_token = np.arange(width) < lengths[:, None]
        if self.tokenizer.padding_side == "left":
            is_token = is_token[:, ::-1]
        padding = {"input_ids": self.tokenizer.pad_token_id, "token_type_ids": self.tokenizer.pad_token_type_id}
        batch = {"attention_mask": torch.from_numpy(is_token.astype(np.int64))}
        for key in encoded[0].rows:
            values = np.full(is_token.shape, padding[key], dtype=np.int64)
            values[is_token] = np.concatenate([each.rows[key] for each in encoded])
            batch[key] = torch.from_numpy(values)
        return batch

    def encode(self, texts: Texts) -> list[ClassifierInput]:
        """The tokens of every input; those in `encodings` are not tokenized again."""
        known = {} if self.encodings is None else self.encodings
        new = [text for text in dict.fromkeys(texts) if text not in known]
        known.update(zip(new, self._tokenize(new), strict=True))
        return [known[text] for text in texts]

    def _tokenize(self, texts: Texts) -> list[ClassifierInput]:
        inputs: dict[int, ClassifierInput] = {}
        for paired in (False, True):
            indices = [index for index, (_, second) in enumerate(texts) if (second is not None) == paired]
            rows = self._call_tokenizer([texts[index][: 1 + paired] for index in indices])
            long = [at for at, row in enumerate(rows) if len(row["input_ids"]) > self.length]
            cut = self._call_tokenizer(
                [texts[indices[at]][: 1 + paired] for at in long], truncation=True, max_length=self.length
            )
            inputs |= {index: ClassifierInput(row, truncated=False) for index, row in zip(indices, rows, strict=True)}
            inputs |= {indices[at]: ClassifierInput(row, truncated=True) for at, row in zip(long, cut, strict=True)}
        empty = next((index for index, each in inputs.items() if not len(each)), None)
        if empty is not None:
            raise ModelError(f"the tokenizer finds no token in {texts[empty][0]!r}: leave that text out")
        return [inputs[index] for index in range(len(texts))]

    def _call_tokenizer(
        self, texts: Sequence[tuple[str | None, ...]], **options: Any
    ) -> list[dict[str, NDArray[np.int32]]]:
        """The token ids of texts, all single or all paired, and their token type ids where there are some."""
        if not texts:
            return []
        encoded = self.tokenizer(*map(list, zip(*texts, strict=True)), verbose=False, **options)
        keys = [key for key in ("input_ids", "token_type_ids") if key in encoded]
        return [{key: np.array(encoded[key][at], np.int32) for key in keys} for at in range(len(texts))]


def open_classifier(ref: str | Path, how: Opening, *, length: int = MAX_LENGTH) -> Classifier:
    """Load a sequence classifier, in fp32; the checkpoint must hold its head."""
    checkpoint = find_checkpoint(ref, replace(how, dtype="fp32"))
    model, tokenizer, facts = checkpoint.load("classifier")
    with checkpoint.folder.loading():
        return _classifier(model, tokenizer, facts, how, length)


def new_classifier(
    ref: str | Path, how: Opening, *, labels: Sequence[str], seed: int, length: int = MAX_LENGTH
) -> Classifier:
    """A language model with a new head, in fp32; without `labels` the head is a regression.

    Everything the language model does not have, the pooler included, is initialised from `seed` in the same
    way for all checkpoints of an architecture: a pooler in the checkpoint is ignored, because a copy of the
    model saved as a language model has none. The facts are those of the language model.
    """
    import torch

    from unmask.models.eraser import attach, attached_eraser

    checkpoint = find_checkpoint(ref, replace(how, dtype="fp32"))
    lm, tokenizer, facts = checkpoint.load()
    config = copy.deepcopy(lm.config)
    config.num_labels = max(1, len(labels))
    if labels:
        config.id2label = dict(enumerate(labels))
        config.label2id = {name: index for index, name in enumerate(labels)}
    config.problem_type = "single_label_classification" if labels else "regression"
    auto = auto_class(AUTO_CLASSES["classifier"])
    with checkpoint.folder.loading(), torch.random.fork_rng(devices=[]):
        with torch.device("meta"):
            architecture = type(auto.from_config(config, trust_remote_code=how.trust_remote_code))
        torch.manual_seed(seed)
        model, loading = architecture.from_pretrained(
            None, config=config, state_dict=lm.state_dict(), dtype=torch.float32, output_loading_info=True
        )
    new = sorted(map(str, loading["missing_keys"]))
    body = [key for key in new if key.startswith(f"{model.base_model_prefix}.") and "pooler" not in key]
    if body:
        raise ModelError(
            f"{facts.id} cannot be fine-tuned: a {architecture.__name__} needs {', '.join(body[:4])}, which "
            f"a {facts.architecture} does not have"
        )
    eraser = attached_eraser(lm)
    if eraser is not None:
        attach(model, eraser)
    with checkpoint.folder.loading():
        return _classifier(model, tokenizer, facts, how, length, new)


def is_classifier(ref: str | Path, how: Opening) -> bool:
    """Whether the configuration names a sequence-classification architecture."""
    architectures = find_checkpoint(ref, how).config.architectures or []
    return any(name.endswith("ForSequenceClassification") for name in architectures)


def _classifier(
    model: Any, tokenizer: Any, facts: ModelFacts, how: Opening, length: int, new: Sequence[str] = ()
) -> Classifier:
    """The classifier on its device, after a forward pass."""
    if tokenizer.pad_token is None:  # a causal model pools the last token that is not padding
        tokenizer.pad_token = tokenizer.eos_token
    if model.config.pad_token_id is None:
        model.config.pad_token_id = tokenizer.pad_token_id
    model.to(device_for(how.device)).eval()
    try_out(model, tokenizer)
    return Classifier(model, tokenizer, length=length, new_weights=new, facts=facts)
