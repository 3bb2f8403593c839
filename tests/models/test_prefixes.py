"""Sequences run as prefix trees have the scores they have alone, on every causal architecture."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf
from hypothesis import given
from hypothesis import strategies as st

import zoo
from unmask.core import environment
from unmask.core.options import Opening
from unmask.core.types import Probe
from unmask.models import Engine, Lm, open_lm
from unmask.models.fast.shortcuts import Shortcuts
from unmask.models.loading import wrap_lm
from unmask.models.prefixes import LARGEST_TREE, SHORTEST_PREFIX, pack_trees, plant_trees

SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
NEO = {"hidden_size": 32, "num_layers": 2, "num_heads": 4, "attention_types": [[["global", "local"], 1]]}
GEMMA = {**SIZES, "num_key_value_heads": 2, "head_dim": 8, "sliding_window": 24}
WINDOW = 24
SHARING: dict[str, tuple[str, dict[str, Any]]] = {
    "mistral-local": ("Mistral", {**SIZES, "num_key_value_heads": 2, "sliding_window": WINDOW}),
    "gemma2-local": ("Gemma2", GEMMA),
    "gemma3-local": ("Gemma3Text", GEMMA),
    "neox": ("GPTNeoX", SIZES),
    "phi": ("Phi", SIZES),
    "gptj": ("GPTJ", {"n_embd": 32, "n_layer": 2, "n_head": 4, "rotary_dim": 4}),
    "gpt-neo-local": ("GPTNeo", {**NEO, "window_size": WINDOW}),
    "falcon": ("Falcon", {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}),
}
ALONE: dict[str, tuple[str, dict[str, Any]]] = {  # attention biases by column
    "bloom": ("Bloom", {"hidden_size": 32, "n_layer": 2, "n_head": 4}),
    "falcon-alibi": ("Falcon", {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "alibi": True}),
    "mpt": ("Mpt", {"d_model": 32, "n_layers": 2, "n_heads": 4}),
}
SENTENCES = (
    "the nurse said that he was tired",
    "the nurse said that she was tired",
    "the nurse said that",  # the prefix of others is a whole sentence
    "the nurse said that she was tired and that she would not come again before the end of the year",
    "the nurse said that he was tired",  # the same again
    "old men are bad with money",
    "young men are good with money",
    "money",
    "a",
)


@functools.cache
def build(name: str) -> Lm:
    """A tiny model of one architecture with random weights."""
    if name in zoo.NAMES_CAUSAL:
        return open_lm(zoo.folder(name))
    tokenizer = zoo.gpt2_tokenizer()
    kind, options = (SHARING | ALONE)[name]
    specials = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id, "pad_token_id": None}
    config = getattr(hf, f"{kind}Config")(vocab_size=len(tokenizer), **specials, **options)
    model = getattr(hf, "Gemma3ForCausalLM" if kind == "Gemma3Text" else f"{kind}ForCausalLM")(config).eval()
    zoo.randomise(model, seed=len(name))
    return wrap_lm(model, tokenizer)


def probe_all(lm: Lm, rows: Sequence[tuple[int, ...]]) -> list[Probe]:
    """Read every token of sequences given those before it, and the first token in place of the last."""
    reads = [tuple((position, ids[position + 1]) for position in range(len(ids) - 1)) for ids in rows]
    return [Probe(ids, (*own, (len(ids) - 1, ids[0]))) for ids, own in zip(rows, reads, strict=True)]


def texts(lm: Lm) -> list[tuple[int, ...]]:
    """The sentences, and random sequences up to the longest that the model takes."""
    rng = np.random.default_rng(0)
    longest = min(lm.facts.max_length, 150)
    stem = tuple(rng.integers(5, 800, longest - 2).tolist())
    long = [(*stem[:cut], *rng.integers(5, 800, longest - cut).tolist()) for cut in (6, 20, 26, longest - 2)]
    return [*(lm.encode(text).ids for text in SENTENCES), *long, stem]


def check_equal(lm: Lm, rows: Sequence[tuple[int, ...]], tokens: int | None = None) -> None:
    """Compare the engine with the whole model, one sequence at a time."""
    probes = probe_all(lm, rows)
    found = Engine(lm, tokens=tokens).read(probes)
    for probe in probes:
        with torch.inference_mode():
            logprobs = lm.network.model(input_ids=torch.tensor([probe.ids])).logits[0].log_softmax(-1)
        expected = [float(logprobs[position, token]) for position, token in probe.reads]
        np.testing.assert_allclose(found[probe].logprobs, expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize("tokens", [None, 40])
@pytest.mark.parametrize("name", [*zoo.NAMES_CAUSAL, *SHARING])
def test_sequences_that_share_prefixes_have_the_scores_they_have_alone(name: str, tokens: int | None) -> None:
    lm = build(name)
    assert "shared prefixes" in lm.network.shortcut_names
    check_equal(lm, texts(lm), tokens)


@pytest.mark.parametrize("name", ALONE)
def test_architectures_that_cannot_share_prefixes_do_not(name: str) -> None:
    lm = build(name)
    assert "shared prefixes" not in lm.network.shortcut_names
    check_equal(lm, texts(lm)[: len(SENTENCES)])


@pytest.mark.parametrize("name", [name for name in SHARING if "local" in name])
def test_sequences_longer_than_a_window_are_not_in_trees(name: str) -> None:
    """A tree's mask replaces that of a local layer, which would then attend further back."""
    assert build(name).network.longest_in_trees == WINDOW


@pytest.mark.parametrize("name", zoo.NAMES_MASKED[:3])
def test_masked_models_share_no_prefixes(name: str) -> None:
    assert open_lm(zoo.folder(name)).network.longest_in_trees == 0


def test_the_switch_turns_shared_prefixes_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(environment.FAST, "0")
    lm = open_lm(zoo.folder("gpt2"))
    assert lm.network.longest_in_trees == 0
    check_equal(lm, texts(lm)[: len(SENTENCES)])


@pytest.mark.usefixtures("plain_bf16")
@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
@pytest.mark.parametrize("name", zoo.NAMES_CAUSAL)
@pytest.mark.parametrize("broken", ["mask", "positions"])
def test_wrong_trees_are_noticed(name: str, dtype: str, broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    states = Shortcuts.tree_states

    def wrong(self: Shortcuts, ids: torch.Tensor, positions: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
        columns = torch.arange(ids.shape[1]).expand_as(ids)
        return states(self, ids, *((positions, ids.shape[1] + 0 * ends) if broken == "mask" else (columns, ends)))

    how = Opening(dtype=dtype)  # type: ignore[arg-type]
    assert open_lm(zoo.folder(name), how).network.longest_in_trees > 0
    monkeypatch.setattr(Shortcuts, "tree_states", wrong)
    assert open_lm(zoo.folder(name), how).network.longest_in_trees == 0


def test_a_prefix_is_run_and_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lm, run = open_lm(zoo.folder("gpt2")), Shortcuts.tree_states
    tokens: list[int] = []
    heads: list[int] = []
    logits = Shortcuts.logits

    def count_tokens(self: Shortcuts, ids: torch.Tensor, *rest: torch.Tensor) -> torch.Tensor:
        tokens.append(ids.numel())
        return run(self, ids, *rest)

    def count_heads(self: Shortcuts, states: torch.Tensor) -> torch.Tensor:
        heads.append(len(states))
        return logits(self, states)

    monkeypatch.setattr(Shortcuts, "tree_states", count_tokens)
    monkeypatch.setattr(Shortcuts, "logits", count_heads)
    rows = [(1, 2, 3, 4, 5, 6), (1, 2, 3, 4, 7), (1, 2, 3, 4)]
    Engine(lm).read(probe_all(lm, rows))
    assert (sum(tokens), sum(heads)) == (7, 7)


SEQUENCES = st.lists(st.lists(st.integers(1, 2), min_size=1, max_size=9).map(tuple), max_size=9)


@given(SEQUENCES, st.sampled_from([8, 20, 10_000]), st.sampled_from([0, 4, 100]))
def test_a_node_attends_to_the_tokens_before_it_in_its_sequences(
    sequences: list[tuple[int, ...]], tokens: int, padding: int
) -> None:
    found: list[int] = []
    for numbers, tree in pack_trees(sequences, tokens, padding):
        rows = [sequences[number] for number in numbers]
        lengths = np.array([len(row) for row in rows])
        ids = np.array([[*row, *[0] * (lengths.max() - len(row))] for row in rows])
        trees = plant_trees(ids, lengths, tree, pad=-1)
        columns = np.arange(trees.ids.shape[1])
        attends = (columns[:, None] >= columns) & (columns[:, None] < trees.ends[:, None])
        for number, row in enumerate(rows):
            own, path = trees.row[number], trees.columns[number, : len(row)]
            assert trees.ids[own, path].tolist() == list(row)
            assert trees.positions[own, path].tolist() == list(range(len(row)))
            for depth, column in enumerate(path):
                assert np.flatnonzero(attends[own, column]).tolist() == path[: depth + 1].tolist()
        nodes, width = (trees.ids >= 0).sum(), trees.ids.size
        assert len(trees.ids) == 1 or (width <= tokens and width - nodes <= padding)
        found += numbers.tolist()
    assert sorted(found) == list(range(len(sequences)))


def test_short_prefixes_are_not_shared_and_trees_stay_small() -> None:
    stem = tuple(range(100))
    short = [(*stem[: SHORTEST_PREFIX - 1], 200), (*stem[: SHORTEST_PREFIX - 1], 201)]
    ((_, tree),) = pack_trees(short, 1000, 1000)
    assert tree.tolist() == [0, 1]
    many = [(*stem, 200 + number) for number in range(LARGEST_TREE)]
    ((_, tree),) = pack_trees(many, 100_000, 100_000)
    assert np.bincount(tree).tolist() == [LARGEST_TREE - len(stem)] * 4 + [LARGEST_TREE % (LARGEST_TREE - len(stem))]
