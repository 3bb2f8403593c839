"""Tiny models of every kind, with their real tokenizer classes, saved as ordinary checkpoint folders.

`build(name, folder)` makes one; `folder(name)` makes it once per process and remembers where.
Weights are random but large and *every* parameter is random (biases, norms and padding rows too), so
log-probabilities differ visibly, attention is far from uniform, and nothing can be left out unnoticed.
Tokenizers are trained on the built-in sentences with small vocabularies: words often split.
"""

from __future__ import annotations

import functools
import io
import json
import os
import tempfile
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sentencepiece
import torch
import transformers as hf
from filelock import FileLock
from safetensors.torch import load_file, save_file
from tokenizers import AddedToken, Tokenizer, decoders, normalizers, pre_tokenizers, processors, trainers
from tokenizers.models import BPE

from unmask import data
from unmask.core.types import Pair

VOCABULARY = 900
POSITIONS = 160  # no sentence pair of the data has more tokens under any tokenizer here

# ------------------------------------------------------------------------------------- sentences

MINIATURE = Path(__file__).parent / "miniature"


@functools.cache
def crows_pairs() -> tuple[Pair, ...]:
    """The pairs of the miniature CrowS-Pairs by 0-based row."""
    return data.load("crows-pairs", data_dir=MINIATURE).items


@functools.cache
def stereoset(part: str) -> tuple[Pair, ...]:
    """The `intrasentence` or `intersentence` triples of the miniature StereoSet by 0-based row."""
    name = "stereoset" if part == "intrasentence" else "stereoset-intersentence"
    return data.load(name, data_dir=MINIATURE).items


@functools.cache
def corpus() -> tuple[str, ...]:
    """Every sentence of the built-in pairs and of the miniature files: enough to train a tokenizer on."""
    pairs = [pair for name in ("nine-axes", "triple-gender", "paraphrases") for pair in data.load(name).items]
    pairs += [*crows_pairs(), *stereoset("intrasentence"), *stereoset("intersentence")]
    return tuple(text for pair in pairs for text in pair.sides().values())


# ------------------------------------------------------------------------------------ tokenizers


@functools.cache
def wordpiece(lowercase: bool) -> tuple[str, ...]:
    """WordPiece vocabulary without special tokens: BPE's pieces, each at the start of a word and inside.

    The trainer made for WordPiece numbers its tokens differently in every process.
    """
    tokenizer = Tokenizer(BPE())
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    pieces, _ = train_bpe(tokenizer, VOCABULARY // 2)
    return (*pieces, *(f"##{piece}" for piece in pieces))


@functools.cache
def byte_bpe() -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Byte-level BPE: its vocabulary without special tokens, and its merges."""
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return train_bpe(tokenizer, VOCABULARY, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())


def train_bpe(tokenizer: Tokenizer, size: int, **options: Any) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Train on the corpus; the tokens in order of their ids, and the merges."""
    trainer = trainers.BpeTrainer(vocab_size=size, show_progress=False, **options)
    tokenizer.train_from_iterator(corpus(), trainer)
    model = json.loads(tokenizer.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].__getitem__)
    return tuple(tokens), tuple((left, right) for left, right in model["merges"])


@functools.cache
def sentencepiece_model(lowercase: bool = False, **options: Any) -> bytes:
    """A trained SentencePiece model file."""
    file = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([text.lower() if lowercase else text for text in corpus()]),
        model_writer=file,
        vocab_size=VOCABULARY,
        num_threads=1,
        minloglevel=2,
        **options,
    )
    return file.getvalue()


def numbered(*groups: tuple[str, ...]) -> dict[str, int]:
    """Token → id, in the order given, the first of equal tokens counting."""
    return {token: number for number, token in enumerate(dict.fromkeys(sum(groups, ())))}


def bert_tokenizer(cls: type, lowercase: bool = True) -> Any:
    """BERT's: WordPiece, `[CLS] … [SEP]`."""
    specials = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    return cls(vocab=numbered(specials, wordpiece(lowercase)), do_lower_case=lowercase)


def mpnet_tokenizer() -> Any:
    """MPNet's: BERT's pieces between RoBERTa's special tokens, both of its unknown tokens included."""
    vocabulary = numbered(("<s>", "<pad>", "</s>", "<unk>", "[UNK]"), wordpiece(True), ("<mask>",))
    return hf.MPNetTokenizer(vocab=vocabulary, do_lower_case=True)


def roberta_tokenizer(lstrip: bool) -> Any:
    """RoBERTa's: byte-level BPE. The published mask swallows the space before it (`lstrip`)."""
    tokens, merges = byte_bpe()
    return hf.RobertaTokenizer(
        vocab=numbered(("<s>", "<pad>", "</s>", "<unk>"), tokens, ("<mask>",)),
        merges=list(merges),
        mask_token=AddedToken("<mask>", lstrip=lstrip, special=True, normalized=False),
    )


def modernbert_tokenizer() -> Any:
    """ModernBERT's: byte-level BPE, `[CLS] … [SEP]` behind the text tokens, a plain fast tokenizer."""
    tokens, merges = byte_bpe()
    specials = ("[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]")
    vocabulary = numbered(("|||IP_ADDRESS|||", "<|padding|>"), tokens, ("<|endoftext|>",), specials)
    backend = Tokenizer(BPE(vocab=vocabulary, merges=list(merges)))
    backend.normalizer = normalizers.NFC()
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:0 [SEP]:0",
        special_tokens=[(token, vocabulary[token]) for token in ("[CLS]", "[SEP]")],
    )
    return hf.PreTrainedTokenizerFast(
        tokenizer_object=backend,
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        pad_token="[PAD]",
        mask_token=AddedToken("[MASK]", lstrip=True, special=True, normalized=False),
        model_input_names=["input_ids", "attention_mask"],
        clean_up_tokenization_spaces=True,
    )


def from_sentencepiece(cls: Any, trained: bytes, **options: Any) -> Any:
    """A tokenizer read from its SentencePiece file alone, as its class reads it."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / cls.vocab_files_names["vocab_file"]).write_bytes(trained)
        return cls.from_pretrained(folder, **options)


def albert_tokenizer() -> Any:
    """ALBERT's: lower-cased SentencePiece unigram, `[CLS] … [SEP]`."""
    trained = sentencepiece_model(
        lowercase=True, pad_id=0, unk_id=1, bos_id=-1, eos_id=-1, control_symbols="[CLS],[SEP],[MASK]"
    )
    mask = AddedToken("[MASK]", lstrip=True, special=True, normalized=False)
    return from_sentencepiece(hf.AlbertTokenizer, trained, mask_token=mask)


def xlm_roberta_tokenizer() -> Any:
    """XLM-RoBERTa's: SentencePiece unigram, its pieces moved one up to make room for `<pad>`."""
    mask = AddedToken("<mask>", lstrip=True, special=True, normalized=False)
    return from_sentencepiece(hf.XLMRobertaTokenizer, sentencepiece_model(), mask_token=mask)


def camembert_tokenizer() -> Any:
    """CamemBERT's: SentencePiece unigram, its pieces moved up by four."""
    return from_sentencepiece(hf.CamembertTokenizer, sentencepiece_model())


def deberta_tokenizer() -> Any:
    """DeBERTa-v2's and -v3's: SentencePiece unigram, `[CLS] … [SEP]`, `[MASK]` added at the end."""
    trained = sentencepiece_model(
        pad_id=0, bos_id=1, eos_id=2, unk_id=3,
        pad_piece="[PAD]", bos_piece="[CLS]", eos_piece="[SEP]", unk_piece="[UNK]",
    )  # fmt: skip
    return from_sentencepiece(hf.DebertaV2Tokenizer, trained)


def gpt2_tokenizer() -> Any:
    """GPT-2's: byte-level BPE, nothing added to a text, one token for begin, end and unknown."""
    tokens, merges = byte_bpe()
    return hf.GPT2Tokenizer(vocab=numbered(tokens, ("<|endoftext|>",)), merges=list(merges))


def opt_tokenizer() -> Any:
    """OPT's: GPT-2's with RoBERTa's specials; puts `</s>` in front of a text."""
    tokens, merges = byte_bpe()
    return hf.GPT2Tokenizer(
        vocab=numbered(("<s>", "<pad>", "</s>", "<unk>"), tokens),
        merges=list(merges),
        bos_token="</s>",
        eos_token="</s>",
        unk_token="</s>",
        pad_token="<pad>",
        add_bos_token=True,
    )


def qwen2_tokenizer() -> Any:
    """Qwen2's: byte-level BPE with its own word splitting; no begin-of-text token at all."""
    tokens, merges = byte_bpe()
    specials = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
    return hf.Qwen2Tokenizer(vocab=numbered(tokens, specials), merges=list(merges))


def llama_tokenizer() -> Any:
    """Llama's: SentencePiece BPE with byte fall-back; puts `<s>` in front of a text."""
    trained = sentencepiece_model(model_type="bpe", byte_fallback=True)
    return from_sentencepiece(hf.LlamaTokenizer, trained, add_bos_token=True)


# ---------------------------------------------------------------------------------------- models


SIZES = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48}
DEBERTA = {
    "relative_attention": True,
    "max_relative_positions": -1,
    "position_buckets": 8,  # few, so that far positions share a bucket
    "norm_rel_ebd": "layer_norm",
    "share_att_key": True,
    "pos_att_type": "p2c|c2p",
    "position_biased_input": False,
    "type_vocab_size": 0,
}


@dataclass(frozen=True)
class Member:
    """How to make one model: its tokenizer, its classes, and what its configuration says."""

    tokenizer: Callable[[], Any]
    config: str
    model: str
    options: dict[str, Any]
    spare_rows: int = 0  # embedding rows beyond the tokenizer's tokens, as published checkpoints have


def _bert(tokenizer: Callable[[], Any], model: str = "BertForMaskedLM") -> Member:
    return Member(tokenizer, "BertConfig", model, {**SIZES, "max_position_embeddings": POSITIONS})


def _roberta(tokenizer: Callable[[], Any], config: str, model: str) -> Member:
    # Positions count from padding_idx + 1, so two more rows are needed than tokens.
    options = {**SIZES, "max_position_embeddings": POSITIONS + 2, "type_vocab_size": 1}
    return Member(tokenizer, config, model, options)


MASKED: dict[str, Member] = {
    "bert-uncased": _bert(lambda: bert_tokenizer(hf.BertTokenizer)),
    "bert-cased": _bert(lambda: bert_tokenizer(hf.BertTokenizer, lowercase=False)),
    "bert-nsp": _bert(lambda: bert_tokenizer(hf.BertTokenizer), "BertForPreTraining"),
    "roberta": _roberta(lambda: roberta_tokenizer(lstrip=True), "RobertaConfig", "RobertaForMaskedLM"),
    "roberta-plainmask": _roberta(lambda: roberta_tokenizer(lstrip=False), "RobertaConfig", "RobertaForMaskedLM"),
    "albert": Member(
        albert_tokenizer,
        "AlbertConfig",
        "AlbertForMaskedLM",
        {**SIZES, "embedding_size": 16, "max_position_embeddings": POSITIONS},
    ),
    "distilbert": Member(
        lambda: bert_tokenizer(hf.DistilBertTokenizer),
        "DistilBertConfig",
        "DistilBertForMaskedLM",
        {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48, "max_position_embeddings": POSITIONS},
    ),
    "mpnet": Member(
        mpnet_tokenizer,
        "MPNetConfig",
        "MPNetForMaskedLM",
        {**SIZES, "max_position_embeddings": POSITIONS + 2, "relative_attention_num_buckets": 32},
    ),
    "electra-generator": Member(
        lambda: bert_tokenizer(hf.ElectraTokenizer),
        "ElectraConfig",
        "ElectraForMaskedLM",
        {**SIZES, "embedding_size": 16, "max_position_embeddings": POSITIONS},
    ),
    "xlm-roberta": _roberta(xlm_roberta_tokenizer, "XLMRobertaConfig", "XLMRobertaForMaskedLM"),
    "camembert": _roberta(camembert_tokenizer, "CamembertConfig", "CamembertForMaskedLM"),
    "deberta-v2": Member(
        deberta_tokenizer,
        "DebertaV2Config",
        "DebertaV2ForMaskedLM",
        {**SIZES, **DEBERTA, "conv_kernel_size": 3, "conv_act": "gelu", "max_position_embeddings": POSITIONS},
        spare_rows=7,
    ),
    "deberta-v3-like": Member(
        deberta_tokenizer,
        "DebertaV2Config",
        "DebertaV2ForMaskedLM",
        {**SIZES, **DEBERTA, "legacy": False, "max_position_embeddings": POSITIONS},
        spare_rows=7,
    ),
    "modernbert": Member(
        modernbert_tokenizer,
        "ModernBertConfig",
        "ModernBertForMaskedLM",
        {
            **SIZES,
            "global_attn_every_n_layers": 2,  # global, local, global
            "local_attention": 8,  # four tokens to either side
            "max_position_embeddings": POSITIONS,
        },
        spare_rows=12,
    ),
}

CAUSAL: dict[str, Member] = {
    "gpt2": Member(
        gpt2_tokenizer,
        "GPT2Config",
        "GPT2LMHeadModel",
        {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": POSITIONS},
    ),
    "llama": Member(
        llama_tokenizer,
        "LlamaConfig",
        "LlamaForCausalLM",
        {**SIZES, "num_key_value_heads": 2, "max_position_embeddings": POSITIONS},
    ),
    "opt": Member(
        opt_tokenizer,
        "OPTConfig",
        "OPTForCausalLM",
        {
            "hidden_size": 32,
            "word_embed_proj_dim": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "ffn_dim": 48,
            "max_position_embeddings": POSITIONS,
        },
    ),
    "qwen2": Member(
        qwen2_tokenizer,
        "Qwen2Config",
        "Qwen2ForCausalLM",
        {**SIZES, "num_key_value_heads": 2, "tie_word_embeddings": True, "max_position_embeddings": POSITIONS},
        spare_rows=9,
    ),
}

NAMES_MASKED = tuple(MASKED)
NAMES_CAUSAL = tuple(CAUSAL)


def randomise(model: torch.nn.Module, seed: int) -> None:
    """Overwrite every parameter with seeded noise, large enough to matter."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if parameter.ndim > 1:
                parameter.copy_(0.25 * noise)
            else:
                parameter.copy_(0.2 * noise + (0.0 if name.endswith("bias") else 1.0))


def teach_frequencies(model: Any, tokenizer: Any) -> None:
    """Let the decoder's bias, where there is one, favour frequent tokens: some guesses are then right."""
    counts = torch.zeros(model.config.vocab_size)
    for ids in tokenizer(list(corpus()[::20]), add_special_tokens=False)["input_ids"]:
        counts.index_add_(0, torch.tensor(ids), torch.ones(len(ids)))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.shape == counts.shape:
                parameter.add_(1.5 * torch.log1p(counts))


def make(name: str) -> tuple[Any, Any]:
    """The model and the tokenizer of a zoo member, in memory."""
    member = (MASKED | CAUSAL)[name]
    tokenizer = member.tokenizer()
    config_class = getattr(hf, member.config)
    ids = {
        role: getattr(tokenizer, role)
        for role in ("pad_token_id", "bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id")
        if hasattr(config_class, role)
    }
    config = config_class(vocab_size=len(tokenizer) + member.spare_rows, **ids, **member.options)
    with warnings.catch_warnings():  # raised by importing DeBERTa's modelling file
        warnings.filterwarnings("ignore", "`torch.jit.script` is deprecated", DeprecationWarning)
        model_class = getattr(hf, member.model)
    model = model_class(config).eval()
    randomise(model, seed=zlib.crc32(name.encode()))
    teach_frequencies(model, tokenizer)
    return model, tokenizer


def build(name: str, folder: Path) -> Path:
    """Write the checkpoint called `name` into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    if name in BAD:
        BAD[name](folder)
    else:
        save(folder, *make(name))
    return folder


@functools.cache
def folder(name: str) -> Path:
    """The checkpoint called `name`, built once for all test processes; do not change it, `build` another."""
    root = Path(os.environ["UNMASK_TEST_ZOO"])  # set in conftest.py
    whole = root / name
    with FileLock(root / f"{name}.lock"):
        if not whole.exists():
            build(name, root / f"{name}.part").rename(whole)
    return whole


def save(folder: Path, model: Any, tokenizer: Any) -> None:
    """An ordinary checkpoint: config.json, model.safetensors, tokenizer files."""
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


# ------------------------------------------------------------------- checkpoints to be refused


def encoder_only(folder: Path) -> None:
    """BERT saved without its language-model head: loading makes one up at random."""
    model, tokenizer = make("bert-uncased")
    save(folder, model.bert, tokenizer)


def classifier(folder: Path) -> None:
    """BERT fine-tuned to classify: `BertForSequenceClassification`."""
    model, tokenizer = make("bert-uncased")
    tuned = hf.BertForSequenceClassification(model.config)
    randomise(tuned, seed=1)
    save(folder, tuned, tokenizer)


def nan_weights(folder: Path) -> None:
    """One weight is not a number, as after a diverged training run; nothing is missing."""
    model, tokenizer = make("bert-uncased")
    with torch.no_grad():
        model.bert.encoder.layer[1].output.dense.weight[0, 0] = float("nan")
    save(folder, model, tokenizer)


def no_mask_token(folder: Path) -> None:
    """A masked model whose tokenizer names no mask token."""
    model, tokenizer = make("bert-uncased")
    roles = {role: token for role, token in tokenizer.special_tokens_map.items() if role != "mask_token"}
    save(folder, model, hf.PreTrainedTokenizerFast(tokenizer_object=tokenizer.backend_tokenizer, **roles))


def pickle_only(folder: Path) -> None:
    """Weights as `pytorch_model.bin`, which is a pickle, and nothing else."""
    model, tokenizer = make("bert-uncased")
    save(folder, model, tokenizer)
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


def missing_bias_only(folder: Path) -> None:
    """BERT whose decoder bias alone is missing: it is set to zero and reported missing under two names."""
    save(folder, *make("bert-uncased"))
    rewrite(folder, lambda weights: weights.pop("cls.predictions.bias"))


def untied(folder: Path) -> None:
    """Says `tie_word_embeddings` but stores a decoder weight that is not the embedding.

    transformers 5.22 keeps the two apart: the stored decoder is what predicts, no key is reported
    missing, `config.tie_word_embeddings` stays true. (A stored decoder equal to the embedding is tied.)
    Older versions tied regardless, and so gave other predictions for the same files.
    """
    save(folder, *make("bert-uncased"))
    noise = torch.Generator().manual_seed(2)

    def add_decoder(weights: dict[str, torch.Tensor]) -> None:
        shape = weights["bert.embeddings.word_embeddings.weight"].shape
        weights["cls.predictions.decoder.weight"] = 0.25 * torch.randn(shape, generator=noise)

    rewrite(folder, add_decoder)


def deberta_v3_as_published(folder: Path) -> None:
    """DeBERTa-v3 as on the hub: no `legacy: false` in its config, so the head it stores is not read.

    The head lies under `lm_predictions.lm_head`; the default class looks under `cls.predictions`, finds
    nothing there and makes up a random head.
    """
    save(folder, *make("deberta-v3-like"))
    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    del settings["legacy"]
    (folder / "config.json").write_text(json.dumps(settings), encoding="utf-8")


def llama_without_head(folder: Path) -> None:
    """A causal decoder saved without its head, which is not tied to the embedding."""
    model, tokenizer = make("llama")
    save(folder, model.model, tokenizer)


BAD: dict[str, Callable[[Path], None]] = {
    each.__name__: each
    for each in (
        encoder_only,
        classifier,
        nan_weights,
        no_mask_token,
        pickle_only,
        missing_bias_only,
        untied,
        deberta_v3_as_published,
        llama_without_head,
    )
}
NAMES_BAD = tuple(BAD)


def rewrite(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    """Change a saved checkpoint's weights in place."""
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
