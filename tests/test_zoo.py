"""The zoo's members load as published checkpoints do and tokenise as their kind should."""

import functools

import pytest
import torch
import transformers as hf

import zoo
from reference import one_thread

EVERYONE = zoo.NAMES_MASKED + zoo.NAMES_CAUSAL
TEXT = "The émigré said he's unhappy, and so they were."

# name: tokenizer class, special tokens in front, behind, how a word's pieces are marked
KINDS = {
    "bert-uncased": ("BertTokenizer", ["[CLS]"], ["[SEP]"], "##"),
    "bert-cased": ("BertTokenizer", ["[CLS]"], ["[SEP]"], "##"),
    "bert-nsp": ("BertTokenizer", ["[CLS]"], ["[SEP]"], "##"),
    "distilbert": ("DistilBertTokenizer", ["[CLS]"], ["[SEP]"], "##"),
    "electra-generator": ("BertTokenizer", ["[CLS]"], ["[SEP]"], "##"),
    "mpnet": ("MPNetTokenizer", ["<s>"], ["</s>"], "##"),
    "roberta": ("RobertaTokenizer", ["<s>"], ["</s>"], "Ġ"),
    "roberta-plainmask": ("RobertaTokenizer", ["<s>"], ["</s>"], "Ġ"),
    "modernbert": ("TokenizersBackend", ["[CLS]"], ["[SEP]"], "Ġ"),
    "albert": ("AlbertTokenizer", ["[CLS]"], ["[SEP]"], "▁"),
    "xlm-roberta": ("XLMRobertaTokenizer", ["<s>"], ["</s>"], "▁"),
    "camembert": ("CamembertTokenizer", ["<s>"], ["</s>"], "▁"),
    "deberta-v2": ("DebertaV2Tokenizer", ["[CLS]"], ["[SEP]"], "▁"),
    "deberta-v3-like": ("DebertaV2Tokenizer", ["[CLS]"], ["[SEP]"], "▁"),
    "gpt2": ("GPT2Tokenizer", [], [], "Ġ"),
    "qwen2": ("Qwen2Tokenizer", [], [], "Ġ"),
    "opt": ("GPT2Tokenizer", ["</s>"], [], "Ġ"),
    "llama": ("LlamaTokenizer", ["<s>"], [], "▁"),
}


@pytest.fixture(autouse=True)
def _one_thread():
    with one_thread():
        yield


@functools.cache
def open_model(name, **options):
    folder = zoo.folder(name)
    causal = name in zoo.NAMES_CAUSAL or name == "llama_without_head"
    auto = hf.AutoModelForCausalLM if causal else hf.AutoModelForMaskedLM
    model, info = auto.from_pretrained(folder, output_loading_info=True, **options)
    return model.eval(), info


@functools.cache
def open_tokenizer(name):
    return hf.AutoTokenizer.from_pretrained(zoo.folder(name))


def tokens_of(tokenizer, text):
    return tokenizer.convert_ids_to_tokens(tokenizer(text)["input_ids"])


# ------------------------------------------------------------------------------------------- members


@pytest.mark.parametrize("name", EVERYONE)
def test_loads_whole(name):
    model, info = open_model(name)
    assert not info["missing_keys"]
    assert not info["mismatched_keys"]
    head_of_its_own = {"cls.seq_relationship.weight", "cls.seq_relationship.bias"}
    pooler = {"bert.pooler.dense.weight", "bert.pooler.dense.bias"}
    assert set(info["unexpected_keys"]) == (head_of_its_own | pooler if name == "bert-nsp" else set())
    assert (zoo.folder(name) / "model.safetensors").exists()
    made, _ = zoo.make(name)
    stored = model.state_dict()
    for key, value in made.state_dict().items():
        if key in stored:
            assert torch.equal(value, stored[key]), key


@pytest.mark.parametrize("name", EVERYONE)
def test_speaks_visibly(name):
    """Log-probabilities differ between tokens and depend on far words; attention is not uniform."""
    model, _ = open_model(name, attn_implementation="eager")
    ids = open_tokenizer(name)(TEXT, return_tensors="pt")["input_ids"]
    changed = ids.clone()
    changed[0, 2] = ids[0, -3]
    with torch.no_grad():
        output, other = model(ids, output_attentions=True), model(changed)
    length = ids.shape[1]
    assert output.logits.isfinite().all()
    assert output.logits.std() > 0.8
    assert (output.logits - other.logits)[0, -2].abs().max() > 0.02
    assert len(output.attentions) == model.config.num_hidden_layers
    attention = torch.stack(output.attentions)  # layers, batch, heads, queries, keys
    assert attention.shape[1:] == (1, 4, length, length)
    torch.testing.assert_close(attention.sum(-1), torch.ones(attention.shape[:-1]))
    assert attention.max(-1).values.mean() > 2.5 / length
    received = attention.mean((0, 1, 2, 3))
    assert received.max() > 1.5 * received.min()


@pytest.mark.parametrize("name", EVERYONE)
def test_takes_as_many_tokens_as_it_says(name):
    model, _ = open_model(name)
    tokenizer = open_tokenizer(name)
    ids = tokenizer(" they were" * zoo.POSITIONS)["input_ids"][: zoo.POSITIONS]
    with torch.no_grad():
        assert model(torch.tensor([ids])).logits.shape[:2] == (1, zoo.POSITIONS)


@pytest.mark.parametrize("name", EVERYONE)
def test_no_sentence_is_too_long(name):
    tokenizer = open_tokenizer(name)
    longest = sorted(zoo.stereoset("intersentence"), key=lambda pair: -len(pair.context + pair.more))[:20]
    assert max(len(tokenizer(pair.context, pair.more)["input_ids"]) for pair in longest) <= zoo.POSITIONS
    longest = sorted(zoo.crows_pairs(), key=lambda pair: -len(pair.more))[:20]
    assert max(len(tokenizer(pair.more)["input_ids"]) for pair in longest) <= zoo.POSITIONS


@pytest.mark.thorough
def test_same_bytes_every_time(tmp_path):
    for name in ("bert-cased", "roberta", "camembert", "llama"):
        for file in ("model.safetensors", "tokenizer.json", "config.json"):
            again = zoo.build(name, tmp_path / name) / file
            assert again.read_bytes() == (zoo.folder(name) / file).read_bytes(), (name, file)
    for train in (zoo.wordpiece, zoo.byte_bpe, zoo.sentencepiece_model):
        options = {"lowercase": True} if train is zoo.wordpiece else {}
        assert train.__wrapped__(**options) == train(**options)


# ---------------------------------------------------------------------------------------- tokenizers


@pytest.mark.parametrize("name", EVERYONE)
def test_special_tokens(name):
    kind, front, back, _ = KINDS[name]
    tokenizer = open_tokenizer(name)
    tokens = tokens_of(tokenizer, TEXT)
    inner = tokens[len(front) : len(tokens) - len(back)]
    assert type(tokenizer).__name__ == kind
    assert tokens == front + inner + back
    assert inner == tokenizer.convert_ids_to_tokens(tokenizer(TEXT, add_special_tokens=False)["input_ids"])
    assert not {"<s>", "</s>", "[CLS]", "[SEP]", "<|endoftext|>"} & set(inner)
    flags = tokenizer(TEXT, return_special_tokens_mask=True)["special_tokens_mask"]
    assert flags == [1] * len(front) + [0] * len(inner) + [1] * len(back)


@pytest.mark.parametrize("name", EVERYONE)
def test_pieces_are_marked_as_the_kind_marks_them(name):
    _, front, back, mark = KINDS[name]
    tokenizer = open_tokenizer(name)
    tokens = tokens_of(tokenizer, "The priest was unhappy")
    inner = tokens[len(front) : len(tokens) - len(back)]
    starts = [token for token in inner if token.startswith(mark)]
    assert len(inner) > 4, "some word splits"
    if mark == "##":  # marks what is not the start of a word
        assert len(inner) - len(starts) == 4
    elif mark == "Ġ":  # the first word has no space before it
        assert len(starts) == 3
        assert not inner[0].startswith(mark)
        assert tokenizer.tokenize(" The")[0] != tokenizer.tokenize("The")[0]
    else:  # a space is put before the first word
        assert len(starts) == 4
        assert inner[0].startswith(mark)


@pytest.mark.parametrize("name", EVERYONE)
def test_case_is_kept_or_not(name):
    lowers = name in {"bert-uncased", "bert-nsp", "distilbert", "electra-generator", "mpnet", "albert"}
    tokenizer = open_tokenizer(name)
    assert (tokenizer("THE Man")["input_ids"] == tokenizer("the man")["input_ids"]) == lowers


@pytest.mark.parametrize("name", zoo.NAMES_MASKED)
def test_mask_is_found(name):
    tokenizer = open_tokenizer(name)
    ids = tokenizer(f"They said {tokenizer.mask_token} is here.")["input_ids"]
    assert ids.count(tokenizer.mask_token_id) == 1
    before = tokenizer.convert_ids_to_tokens(ids[ids.index(tokenizer.mask_token_id) - 1])
    assert (before == "Ġ") == (name == "roberta-plainmask"), "a stray space unless the mask takes it in"


@pytest.mark.parametrize("name", zoo.NAMES_CAUSAL)
def test_causal_tokenizers_have_no_mask_and_may_have_no_begin_or_pad(name):
    tokenizer = open_tokenizer(name)
    assert tokenizer.mask_token is None
    assert (tokenizer.bos_token_id is None) == (name == "qwen2")
    assert (tokenizer.pad_token_id is None) == (name in {"gpt2", "llama"})


def test_unknown_tokens_are_text():
    """An unknown word is content, though its token is among `all_special_ids`."""
    for name, text in (("xlm-roberta", "a 大 b"), ("albert", "a 大 b"), ("bert-cased", "a 大 b")):
        tokenizer = open_tokenizer(name)
        encoding = tokenizer(text, return_special_tokens_mask=True)
        where = encoding["input_ids"].index(tokenizer.unk_token_id)
        assert encoding["special_tokens_mask"][where] == 0
        assert tokenizer.unk_token_id in tokenizer.all_special_ids


# ---------------------------------------------------------------------------- what makes them different


def test_modernbert_looks_near_in_its_local_layer():
    model, _ = open_model("modernbert", attn_implementation="eager")
    inputs = open_tokenizer("modernbert")(zoo.crows_pairs()[0].more, return_tensors="pt")
    with torch.no_grad():
        near, far = [], []
        for layer in model(**inputs, output_attentions=True).attentions:
            distance = (torch.arange(layer.shape[-1])[:, None] - torch.arange(layer.shape[-1])).abs()
            near.append(layer[0, :, distance <= 4].sum().item())
            far.append(layer[0, :, distance > 4].sum().item())
    assert far[1] == 0
    assert far[0] > near[0] / 10
    assert far[2] > near[2] / 10


def test_vocabulary_rows_beyond_the_tokenizer():
    for name in ("deberta-v2", "deberta-v3-like", "modernbert", "qwen2"):
        assert open_model(name)[0].config.vocab_size > len(open_tokenizer(name))


def test_bert_nsp_has_both_heads():
    model = hf.AutoModelForPreTraining.from_pretrained(zoo.folder("bert-nsp"))
    assert isinstance(model, hf.BertForPreTraining)
    assert model.cls.seq_relationship.weight.shape == (2, 32)
    assert model.cls.predictions.decoder.weight is model.bert.embeddings.word_embeddings.weight


def test_heads_are_tied_as_configured():
    for name in EVERYONE:
        model, _ = open_model(name)
        head, embedding = model.get_output_embeddings(), model.get_input_embeddings()
        # DeBERTa-v3's head multiplies by the embedding itself and calls its dense layer the output.
        assert (head.weight is embedding.weight) == (name not in {"llama", "deberta-v3-like"}), name


# ---------------------------------------------------------------------------- checkpoints to be refused


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("encoder_only", 6),
        ("classifier", 6),
        ("missing_bias_only", 2),
        ("deberta_v3_as_published", 6),
        ("llama_without_head", 1),
    ],
)
def test_missing_heads_are_reported_by_the_loader_only(name, missing):
    _, info = open_model(name)
    assert len(info["missing_keys"]) == missing
    prefix = "lm_head" if name == "llama_without_head" else "cls.predictions"
    assert all(key.startswith(prefix) for key in info["missing_keys"])


def test_made_up_heads_differ_from_load_to_load():
    for name, differ in (("encoder_only", True), ("missing_bias_only", False)):
        inputs = open_tokenizer(name)(TEXT, return_tensors="pt")
        with torch.no_grad():
            first, second = (open_model.__wrapped__(name)[0](**inputs).logits for _ in range(2))
        assert torch.equal(first, second) != differ


def test_nan_weights_load_silently():
    model, info = open_model("nan_weights")
    assert not info["missing_keys"]
    with torch.no_grad():
        assert model(**open_tokenizer("nan_weights")(TEXT, return_tensors="pt")).logits.isnan().all()


def test_no_mask_token():
    assert open_tokenizer("no_mask_token").mask_token is None
    assert open_tokenizer("no_mask_token")(TEXT)["input_ids"] == open_tokenizer("bert-uncased")(TEXT)["input_ids"]


def test_pickle_only_is_read_unless_forbidden():
    assert not (zoo.folder("pickle_only") / "model.safetensors").exists()
    open_model("pickle_only")
    with pytest.raises(OSError, match="safetensors"):
        open_model("pickle_only", use_safetensors=True)


def test_untied_keeps_the_stored_decoder():
    model, info = open_model("untied")
    assert not info["missing_keys"]
    assert model.config.tie_word_embeddings
    decoder, embedding = model.get_output_embeddings().weight, model.get_input_embeddings().weight
    assert decoder is not embedding
    assert not torch.equal(decoder, embedding)
