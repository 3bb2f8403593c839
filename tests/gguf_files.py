"""Tiny GGUF files, written by the `gguf` package as llama.cpp's converter writes them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
import transformers as hf
from gguf import GGMLQuantizationType, quants

import zoo

HEADS, KV_HEADS, SIZE, INNER, LAYERS = 4, 2, 64, 96, 2
BLOCK = {
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
NAMES = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"} | {
    f"blk.{layer}.{name}": f"model.layers.{layer}.{key}" for layer in range(LAYERS) for name, key in BLOCK.items()
}


def llama(**options: Any) -> Any:
    """A Llama of two layers with large random weights."""
    tokens, _ = zoo.byte_bpe()
    config = hf.LlamaConfig(
        vocab_size=len(tokens) + 1,
        hidden_size=SIZE,
        intermediate_size=INNER,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=KV_HEADS,
        max_position_embeddings=zoo.POSITIONS,
        bos_token_id=len(tokens),
        eos_token_id=len(tokens),
        rms_norm_eps=1e-6,
        **options,
    )
    model = hf.LlamaForCausalLM(config).eval()
    zoo.randomise(model, 7)
    return model


def permute(weights: np.ndarray, heads: int) -> np.ndarray:
    """Rows of a query or key matrix in llama.cpp's order: the halves of a head's rotary pairs interleaved."""
    return weights.reshape(heads, 2, -1, weights.shape[1]).swapaxes(1, 2).reshape(weights.shape)


def unpermute(weights: np.ndarray, heads: int) -> np.ndarray:
    """The inverse of `permute`."""
    return weights.reshape(heads, -1, 2, weights.shape[1]).swapaxes(1, 2).reshape(weights.shape)


def write(
    path: Path, model: Any, kind: GGMLQuantizationType = GGMLQuantizationType.F32, **extra: Mapping[str, np.ndarray]
) -> dict[str, torch.Tensor]:
    """Write a Llama with matrices of one type; its weights as the file has them, dequantised by `gguf.quants`."""
    writer = gguf.GGUFWriter(path, "llama")
    config = model.config
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_vocab_size(config.vocab_size)
    tokens, merges = zoo.byte_bpe()
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list([*tokens, "<|endoftext|>"])
    writer.add_token_types([*[gguf.TokenType.NORMAL] * len(tokens), gguf.TokenType.CONTROL])
    writer.add_token_merges([" ".join(pair) for pair in merges])
    writer.add_bos_token_id(len(tokens))
    writer.add_eos_token_id(len(tokens))
    for name, value in extra.get("metadata", {}).items():
        writer.add_string(name, value)
    weights = _add_tensors(writer, model, kind)
    for name, tensor in extra.get("tensors", {}).items():
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return weights


def _add_tensors(writer: Any, model: Any, kind: GGMLQuantizationType) -> dict[str, torch.Tensor]:
    state, weights = model.state_dict(), {}
    heads = {"attn_q": model.config.num_attention_heads, "attn_k": model.config.num_key_value_heads}
    for name, key in NAMES.items():
        tensor = state[f"{key}.weight"].numpy()
        part = name.rpartition(".")[2]
        tensor = permute(tensor, heads[part]) if part in heads else tensor
        stored = kind if tensor.ndim > 1 else GGMLQuantizationType.F32
        blocks = quants.quantize(tensor, stored)
        writer.add_tensor(f"{name}.weight", blocks, raw_dtype=stored)
        back = quants.dequantize(blocks, stored)
        weights[f"{key}.weight"] = torch.tensor(unpermute(back, heads[part]) if part in heads else back)
    return weights
