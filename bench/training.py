"""Time fine-tuning by `unmask mitigate` and `unmask task` against plain Trainer scripts, in turns in one run.

    python bench/training.py
    python bench/training.py --shape tiny --device cpu --steps 40

Texts of varied length are generated. The Trainer scripts are those of transformers' examples `run_mlm
--line_by_line` and `run_glue`: tokenised beforehand, rows in random order, padded to the longest of the batch, the
loss of the model itself. Both sides have the same model, texts, maximum length, batch size, steps and precision,
and a time includes tokenising; on a CPU it is processor time. Tokens per second are those of text and special tokens,
not of padding. unmask runs a batch in parts of rows of similar length where that saves padding; a third side has
unmask run its batches whole.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import torch
from transformers import (
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DataCollatorForLanguageModeling,
    DataCollatorWithPadding,
    Trainer,
    TrainingArguments,
)
from transformers.trainer_callback import PrinterCallback

import shapes
from unmask.core.options import Opening
from unmask.data.examples import Example
from unmask.mitigate.mlm import train_language_model
from unmask.mitigate.spec import MitigationContext, TrainingOptions
from unmask.models import Engine, open_lm
from unmask.models.folder import quiet
from unmask.tasks.finetune import FineTuneJob, Trial, train_trial
from unmask.tasks.spec import FineTuningOptions, Grid, TaskData
from unmask.training import trainer

SHAPES = {
    "BERT-base": shapes.BERT_BASE,
    "RoBERTa-large": shapes.ROBERTA_LARGE,
    "small": {**shapes.BERT_BASE, "hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4}
    | {"intermediate_size": 1024},
    "tiny": {"vocab_size": 8192, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    | {"intermediate_size": 256},
}
LABELS = ("first", "second")
LENGTH = 128
RATE = 5e-5


@dataclass(slots=True)
class Observation:
    """What one training saw: tokens, padded positions, seconds, peak memory."""

    tokens: int = 0
    positions: int = 0
    seconds: float = 0.0
    peak: float = 0.0

    @property
    def rate(self) -> float:
        """Real tokens per second."""
        return self.tokens / self.seconds

    @property
    def padding(self) -> float:
        """The share of the positions that is padding."""
        return 1 - self.tokens / self.positions


@dataclass(frozen=True, slots=True)
class Setup:
    """What both sides train: a model, texts, and how."""

    folder: Path
    texts: Sequence[str]
    device: str
    batch: int
    steps: int
    bf16: bool

    @property
    def opening(self) -> Opening:
        """How unmask opens the model."""
        return Opening(device=self.device, offline=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", default="BERT-base", choices=list(SHAPES))
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2, help="of a CPU")
    parser.add_argument("--modes", nargs="+", choices=["fp32", "TF32", "bf16"], help="default: all the device has")
    parser.add_argument("--work", nargs="+", default=list(WORK), choices=list(WORK))
    args = parser.parse_args()
    cuda = args.device.startswith("cuda")
    if not cuda:
        torch.set_num_threads(args.threads)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["UNMASK_CACHE_DIR"] = f"{folder}/cache"
        items = shapes.pairs(None)
        built = shapes.build(Path(folder) / "model", items, SHAPES[args.shape])
        texts = generate(items, args.batch * args.steps)
        name = torch.cuda.get_device_name() if cuda else f"{args.threads} threads"
        print(
            f"{args.shape} shape, {args.steps} steps of {args.batch} texts, at most {LENGTH} tokens each, "
            f"on {name}, torch {torch.__version__}; median of {args.rounds} rounds"
        )
        print("| training | mode | side | tokens/s | padding | seconds | peak GB | ratio |")
        print("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |")
        for work in args.work:
            plain_fp32 = None
            for mode in args.modes or (["fp32", "TF32", "bf16"] if cuda else ["fp32"]):
                torch.set_float32_matmul_precision("high" if mode == "TF32" else "highest")
                setup = Setup(built, texts, args.device, args.batch, args.steps, mode == "bf16")
                plain = compare(work, mode, setup, args.rounds, plain_fp32)
                plain_fp32 = plain_fp32 or plain


def compare(work: str, mode: str, setup: Setup, rounds: int, plain_fp32: float | None) -> float:
    """Train with both sides in turns and print a line for each; the tokens per second of the Trainer script."""
    warm_up = Setup(setup.folder, setup.texts[: 4 * setup.batch], setup.device, setup.batch, 4, setup.bf16)
    for run in WORK[work].values():
        observe_training(run, warm_up)
    seen: dict[str, list[Observation]] = {side: [] for side in WORK[work]}
    for _ in range(rounds):
        for side, run in WORK[work].items():
            seen[side].append(observe_training(run, setup))
    for side, each in seen.items():
        rate = median(one.rate for one in each)
        ratio = median(mine.rate / its.rate for mine, its in zip(each, seen["Trainer"], strict=True))
        note = "" if side == "Trainer" else f"{ratio:.2f}×"
        if note and plain_fp32 and mode != "fp32":
            note += f" ({rate / plain_fp32:.2f}× of Trainer in fp32)"
        padding, seconds, peak = (median(getattr(one, name) for one in each) for name in ("padding", "seconds", "peak"))
        print(
            f"| {work} | {mode} | {side} | {rate:,.0f} | {padding:.1%} | {seconds:.2f} | {peak:.2f} | {note} |",
            flush=True,
        )
    return median(one.rate for one in seen["Trainer"])


def observe_training(run: Callable[[Setup], Callable[[], object]], setup: Setup) -> Observation:
    """Train once; the model is opened before the clock starts."""
    train = run(setup)
    seen = Observation()
    with counting(seen):
        _reset_peak(setup.device)
        _synchronize(setup.device)
        clock = time.perf_counter if setup.device.startswith("cuda") else time.process_time
        begin = clock()
        train()
        _synchronize(setup.device)
        seen.seconds = clock() - begin
        seen.peak = _peak(setup.device)
    return seen


@contextmanager
def counting(seen: Observation) -> Iterator[None]:
    """Count the tokens and positions of every batch the Trainer trains on; summed at the end, without waiting."""
    original, masks = Trainer.training_step, []

    def step(self: Trainer, model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        parts = [part for _, part in inputs[trainer.PARTS]] if trainer.PARTS in inputs else [inputs]
        masks.extend((part["attention_mask"].sum(), part["attention_mask"].numel()) for part in parts)
        return original(self, model, inputs, *args, **kwargs)

    Trainer.training_step = step  # type: ignore[assignment,method-assign]
    try:
        yield
    finally:
        Trainer.training_step = original  # type: ignore[method-assign]
    seen.tokens, seen.positions = sum(int(tokens) for tokens, _ in masks), sum(size for _, size in masks)


def generate(items: Any, count: int, seed: int = 0) -> list[str]:
    """Texts of words of the data; their lengths are log-normal, as those of sentences and short documents are."""
    rng = random.Random(seed)
    words = sorted({word for item in items for text in item.sides().values() for word in text.split()})
    lengths = (min(120, max(4, round(rng.lognormvariate(3.2, 0.7)))) for _ in range(count))
    return [" ".join(rng.choices(words, k=length)) for length in lengths]


def examples(texts: Sequence[str]) -> list[Example]:
    return [Example(text, None, LABELS[len(text.split()[0]) % 2]) for text in texts]


def plain_mlm(setup: Setup) -> Callable[[], object]:
    """The Trainer script of masked language modelling."""
    model = AutoModelForMaskedLM.from_pretrained(setup.folder).to(setup.device)
    tokenizer = AutoTokenizer.from_pretrained(setup.folder)

    def train() -> None:
        encoded = tokenizer(list(setup.texts), truncation=True, max_length=LENGTH, return_special_tokens_mask=True)
        rows = [{key: encoded[key][at] for key in encoded} for at in range(len(setup.texts))]
        _plain(setup, model, rows, DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.15))

    return train


def plain_classifier(setup: Setup) -> Callable[[], object]:
    """The Trainer script of classification."""
    model = AutoModelForSequenceClassification.from_pretrained(setup.folder, num_labels=2).to(setup.device)
    tokenizer = AutoTokenizer.from_pretrained(setup.folder)

    def train() -> None:
        encoded = tokenizer(list(setup.texts), truncation=True, max_length=LENGTH)
        labels = [LABELS.index(str(example.label)) for example in examples(setup.texts)]
        rows = [{**{key: encoded[key][at] for key in encoded}, "label": label} for at, label in enumerate(labels)]
        _plain(setup, model, rows, DataCollatorWithPadding(tokenizer))

    return train


def _plain(setup: Setup, model: Any, rows: Any, collator: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            max_steps=setup.steps,
            per_device_train_batch_size=setup.batch,
            learning_rate=RATE,
            bf16=setup.bf16,
            use_cpu=setup.device == "cpu",
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
        )
        script = Trainer(model=model, args=arguments, train_dataset=rows, data_collator=collator)
        script.remove_callback(PrinterCallback)
        script.train()


def unmask_mlm(setup: Setup) -> Callable[[], object]:
    """The training of `unmask mitigate`, on texts that have their counterfactuals."""
    engine = Engine(open_lm(setup.folder, setup.opening))
    options = TrainingOptions(
        epochs=1.0, lr=RATE, batch=setup.batch, steps=setup.steps, save_every=10**9, bf16=setup.bf16, length=LENGTH
    )

    def train() -> None:
        with tempfile.TemporaryDirectory() as folder:
            context = MitigationContext(engine, Path(folder), options)
            train_language_model(context, setup.texts, {})

    return train


def unmask_classifier(setup: Setup) -> Callable[[], object]:
    """The training of `unmask task`."""
    rows = examples(setup.texts)
    settings = FineTuningOptions(
        grid=Grid((setup.batch,), (RATE,), (1.0,)), steps=setup.steps, save_every=10**9, length=LENGTH, bf16=setup.bf16
    )
    data = TaskData(LABELS, rows, rows[:8], (), ())

    def train() -> None:
        with tempfile.TemporaryDirectory() as folder:
            job = FineTuneJob(setup.folder, data, settings, Path(folder), setup.opening)
            train_trial(job, classifier, Trial(setup.batch, RATE, 1.0), Path(folder) / "work")

    classifier = FineTuneJob(setup.folder, data, settings, setup.folder, setup.opening).classifier()
    return train


def whole(side: Callable[[Setup], Callable[[], object]], setup: Setup) -> Callable[[], object]:
    """A training of unmask that runs every batch whole, with its padding."""
    run = side(setup)

    def train() -> None:
        original = trainer.split_batch
        trainer.split_batch = lambda batch, *_, **__: [(1.0, batch)]
        try:
            run()
        finally:
            trainer.split_batch = original

    return train


WORK: dict[str, dict[str, Callable[[Setup], Callable[[], object]]]] = {
    "masked LM": {"Trainer": plain_mlm, "unmask": unmask_mlm, "unmask, whole batches": partial(whole, unmask_mlm)},
    "classifier": {
        "Trainer": plain_classifier,
        "unmask": unmask_classifier,
        "unmask, whole batches": partial(whole, unmask_classifier),
    },
}


def _synchronize(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize()


def _reset_peak(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.reset_peak_memory_stats()
    else:
        Path("/proc/self/clear_refs").write_text("5")  # resets the peak of the resident memory


def _peak(device: str) -> float:
    """GB held at most since the last reset: of the GPU, or resident on a CPU."""
    if device.startswith("cuda"):
        return torch.cuda.max_memory_allocated() / 1e9
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1e6


if __name__ == "__main__":
    with quiet():
        main()
