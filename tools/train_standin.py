"""Make the stand-in model that ships until the full built-in model does.

    python tools/train_standin.py prepare --encoder DIR --corpus a.txt.xz --corpus b.txt.xz --work WORK
    python tools/train_standin.py train --work WORK --out DIR --seconds 240

`prepare` takes the first three layers of a sentence encoder (all-MiniLM-L6-v2, Apache-2.0), gives them a BERT
head that starts as the identity, keeps the most frequent pieces of its vocabulary, and encodes the corpora
(documents separated by empty lines). `train` trains all weights by masked language modelling (15% of the
tokens, 80/10/10), best on a GPU, and reports masked accuracy on documents held out by hash.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

PIECES, LAYERS, LENGTH, BATCH, RATE, WARM_UP = 8000, 3, 96, 768, 6e-4, 300
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def prepare(args: argparse.Namespace) -> None:
    from transformers import AutoModel, AutoTokenizer, BertTokenizer

    encoder, tokenizer = AutoModel.from_pretrained(args.encoder), AutoTokenizer.from_pretrained(args.encoder)
    documents = [text for path in args.corpus for text in _documents(path, args.characters)]
    print(f"{len(documents):,} documents")
    counts: Counter[int] = Counter()
    for begin in range(0, len(documents), 500):
        for ids in tokenizer(documents[begin : begin + 500], add_special_tokens=False, verbose=False)[
            "input_ids"
        ]:
            counts.update(ids)
    names = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    letters = [i for i, name in enumerate(names) if len(name.removeprefix("##")) == 1 and counts[i]]
    kept = list(dict.fromkeys([*tokenizer.convert_tokens_to_ids(SPECIALS), *letters]))
    frequent = [i for i, _ in counts.most_common()]
    kept = list(dict.fromkeys([*kept, *frequent]))[:PIECES]
    small = BertTokenizer(
        vocab={names[i]: n for n, i in enumerate(kept)}, do_lower_case=True, model_max_length=256
    )
    small.save_pretrained(args.work / "start")
    _start(encoder, kept).save_pretrained(args.work / "start")
    for part in ("train", "held"):
        chosen = [text for text in documents if _held_out(text) == (part == "held")]
        blocks = _blocks(chosen, small)
        np.save(args.work / f"{part}.npy", blocks)
        print(part, blocks.shape)


def train(args: argparse.Namespace) -> None:
    from transformers import BertForMaskedLM

    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = BertForMaskedLM.from_pretrained(args.work / "start").to(device).float()
    blocks = torch.from_numpy(np.load(args.work / "train.npy").astype(np.int64)).to(device)
    held = torch.from_numpy(np.load(args.work / "held.npy").astype(np.int64)).to(device)[:2000]
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.98), weight_decay=0.01)
    generator = torch.Generator(device).manual_seed(args.seed)
    begin, step = time.monotonic(), 0
    while (elapsed := time.monotonic() - begin) < args.seconds:
        rate = RATE * min(1.0, (step + 1) / WARM_UP) * (1 - elapsed / args.seconds)
        for group in optimizer.param_groups:
            group["lr"] = rate
        rows = torch.randint(len(blocks), (BATCH,), generator=generator, device=device)
        loss = _loss(model, blocks[rows], generator)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 200 == 0:
            print(
                f"{elapsed:6.0f} s  step {step}  loss {loss.item():.3f}  "
                f"masked accuracy {_accuracy(model, held):.3f}",
                flush=True,
            )
        step += 1
    _save(model, args, step, _accuracy(model, held))


def _start(encoder: Any, kept: list[int]) -> Any:
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(**{**encoder.config.to_dict(), "num_hidden_layers": LAYERS, "vocab_size": len(kept)})
    config.max_position_embeddings = 256
    model = BertForMaskedLM(config)
    weights = {f"bert.{key}": value for key, value in encoder.state_dict().items()}
    weights["bert.embeddings.word_embeddings.weight"] = weights["bert.embeddings.word_embeddings.weight"][
        kept
    ]
    positions = "bert.embeddings.position_embeddings.weight"
    weights[positions] = weights[positions][:256]
    own = {
        key: value
        for key, value in weights.items()
        if key in model.state_dict() and "position_ids" not in key
    }
    model.load_state_dict(own, strict=False)
    torch.nn.init.eye_(model.cls.predictions.transform.dense.weight)
    return model.half()


def _loss(model: Any, ids: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    chosen, corrupted = _corrupted(ids, generator, model.config.vocab_size)
    with torch.autocast(ids.device.type, dtype=torch.bfloat16):
        states = model.bert(corrupted)[0][chosen]
        logits = model.cls(states)
    return torch.nn.functional.cross_entropy(logits.float(), ids[chosen])


def _corrupted(ids: torch.Tensor, generator: torch.Generator, size: int) -> tuple[torch.Tensor, torch.Tensor]:
    draw = torch.rand(ids.shape, generator=generator, device=ids.device)
    chosen = (draw < 0.15) & (ids >= len(SPECIALS))
    corrupted = torch.where(chosen & (draw < 0.12), torch.full_like(ids, 4), ids)
    random = torch.randint(len(SPECIALS), size, ids.shape, generator=generator, device=ids.device)
    return chosen, torch.where(chosen & (draw >= 0.12) & (draw < 0.135), random, corrupted)


@torch.no_grad()
def _accuracy(model: Any, held: torch.Tensor) -> float:
    """Share of masked tokens (15%, all replaced by the mask) predicted right on held-out text."""
    generator = torch.Generator(held.device).manual_seed(1)
    model.eval()
    right = total = 0
    for some in held.split(500):
        chosen = (torch.rand(some.shape, generator=generator, device=some.device) < 0.15) & (
            some >= len(SPECIALS)
        )
        states = model.bert(torch.where(chosen, torch.full_like(some, 4), some))[0][chosen]
        right += int((model.cls(states).argmax(-1) == some[chosen]).sum())
        total += int(chosen.sum())
    model.train()
    return right / total


def _save(model: Any, args: argparse.Namespace, steps: int, accuracy: float) -> None:
    from transformers import AutoTokenizer

    model.half().save_pretrained(args.out)
    AutoTokenizer.from_pretrained(args.work / "start").save_pretrained(args.out)
    facts = {"steps": steps, "tokens": steps * BATCH * LENGTH, "seconds": args.seconds, "seed": args.seed}
    facts["masked_accuracy_held_out"] = round(accuracy, 4)
    (args.out / "training.json").write_text(json.dumps(facts, indent=2) + "\n")
    print(facts)


def _documents(path: Path, characters: int) -> Iterator[str]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        yield from (part.replace("\n", " ") for part in file.read(characters).split("\n\n") if part.strip())


def _held_out(text: str) -> bool:
    return hashlib.sha256(text.encode()).digest()[0] < 5  # about 2%


def _blocks(documents: list[str], tokenizer: Any) -> np.ndarray:
    """Documents end to end, cut into blocks that begin with [CLS] and end with [SEP]."""
    stream: list[np.ndarray] = []
    for begin in range(0, len(documents), 500):
        for ids in tokenizer(documents[begin : begin + 500], add_special_tokens=False, verbose=False)[
            "input_ids"
        ]:
            stream.append(np.array(ids, dtype=np.uint16))
    flat = np.concatenate(stream)
    inner = LENGTH - 2
    body = flat[: len(flat) // inner * inner].reshape(-1, inner)
    ends = np.empty((len(body), 1), dtype=np.uint16)
    return np.concatenate([ends * 0 + 2, body, ends * 0 + 3], axis=1).astype(np.uint16)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("prepare", "train"))
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--encoder", type=Path)
    parser.add_argument("--corpus", type=Path, action="append", default=[])
    parser.add_argument("--characters", type=int, default=45_000_000, help="of each corpus")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    prepare(args) if args.what == "prepare" else train(args)


if __name__ == "__main__":
    main()
