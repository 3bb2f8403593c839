"""The reference itself, checked by hand: on toys whose answers one can add up, then on real models."""

import functools
import math
from types import SimpleNamespace

import pytest
import torch
import transformers as hf

import reference as ref
import zoo
from unmask.core.types import Pair

opened = functools.cache(lambda name: ref.load(zoo.folder(name)))


@pytest.fixture(autouse=True)
def _one_thread():
    with ref.one_thread():
        yield


# -------------------------------------------------------------------------- toys with known answers

WORDS = ["[CLS]", "[SEP]", "[MASK]", "he", "she", "cooks", "well", "and", "very"]


class ToyTokenizer:
    """One token a word; `[CLS] … [SEP]` unless causal, then `begin …` where there is a begin."""

    def __init__(self, causal=False, begin=True):
        self.causal = causal
        self.mask_token_id = None if causal else WORDS.index("[MASK]")
        self.mask_token = None if causal else "[MASK]"
        self.bos_token_id = WORDS.index("[CLS]") if causal and begin else None
        self.eos_token_id = WORDS.index("[SEP]")

    def __call__(self, text, second=None, add_special_tokens=True):
        ids = [WORDS.index(word) for word in text.split()]
        if add_special_tokens and not self.causal:
            ids = [0, *ids, 1]
            ids += [WORDS.index(word) for word in second.split()] + [1] if second else []
        return {"input_ids": ids}


class Answer(SimpleNamespace):
    def __contains__(self, name):
        return name in self.__dict__


class ToyModel:
    """At every position: `rule(ids, position)` gives the probabilities of some words, the rest share."""

    def __init__(self, rule, attentions=()):
        self.rule = rule
        self.attentions = attentions

    def __call__(self, input_ids, output_attentions=False):
        ids = input_ids[0].tolist()
        rows = []
        for position in range(len(ids)):
            known = self.rule(ids, position)
            rest = (1 - sum(known.values())) / (len(WORDS) - len(known))
            rows.append([known.get(word, rest) for word in WORDS])
        return Answer(logits=torch.tensor([rows]).log() + 3.0, attentions=self.attentions)


PAIR = Pair("toy/0", more="he cooks well", less="she and he cooks very well")
# [CLS] he cooks well [SEP]  /  [CLS] she and he cooks very well [SEP]: `he cooks` and `well` are shared.


def masks_seen(ids, position):
    """`he` 1/2, `cooks` 1/4, `well` 1/8, each halved for every mask elsewhere."""
    others = sum(token == 2 for index, token in enumerate(ids) if index != position)
    return {word: value / 2**others for word, value in (("he", 1 / 2), ("cooks", 1 / 4), ("well", 1 / 8))}


def approx(more, less):
    return {"more": pytest.approx(more, abs=1e-6), "less": pytest.approx(less, abs=1e-6)}


def test_toy_pll_and_cps():
    model, tokenizer = ToyModel(masks_seen), ToyTokenizer()
    rest = (1 - 7 / 8) / 6  # each of the six other words
    shared = math.log(1 / 2 * 1 / 4 * 1 / 8)
    assert ref.reference("cps", model, tokenizer, PAIR) == approx(shared, shared)
    assert ref.reference("pll", model, tokenizer, PAIR) == approx(shared, shared + 3 * math.log(rest))


def test_toy_empty_span_is_not_scored():
    """`more` is contained in `less`: nothing of it is modified."""
    model, tokenizer = ToyModel(masks_seen), ToyTokenizer()
    assert ref.spans(tokenizer, PAIR)["more"][1:] == ([1, 2, 3], [])
    assert ref.spans(tokenizer, PAIR)["less"][1:] == ([3, 4, 6], [1, 2, 5])
    for measure in ("sss", "sss-diagonal", "crows-bias-bench"):
        assert ref.reference(measure, model, tokenizer, PAIR) is None


def test_toy_modified_tokens():
    """`he cooks` against `she cooks`, then two words against one, masked apart and together."""
    tokenizer = ToyTokenizer()

    def by_position(ids, position):
        return {"he": 1 / 2, "very": 1 / 4} if position == 1 else {"he": 1 / 8, "very": 1 / 16}

    pair = Pair("toy/1", more="he very well", less="she well")
    rest_first, rest_other = (1 - 3 / 4) / 7, (1 - 3 / 16) / 7
    model = ToyModel(by_position)
    # more: positions 1 and 2, tokens `he` and `very`; less: position 1, token `she`.
    grid = (math.log(1 / 2) + math.log(1 / 4) + math.log(1 / 8) + math.log(1 / 16)) / 4
    diagonal = (math.log(1 / 2) + math.log(1 / 16)) / 2
    assert ref.reference("sss", model, tokenizer, pair) == approx(grid, math.log(rest_first))
    assert ref.reference("sss-diagonal", model, tokenizer, pair) == approx(diagonal, math.log(rest_first))
    assert ref.reference("crows-bias-bench", model, tokenizer, pair) == approx(diagonal, math.log(rest_first))
    assert ref.reference("cps", model, tokenizer, pair) == approx(math.log(rest_other), math.log(rest_other))


def test_toy_masked_together_differs_from_apart():
    tokenizer, model = ToyTokenizer(), ToyModel(masks_seen)
    pair = Pair("toy/2", more="he cooks very", less="she and very")
    apart = (math.log(1 / 2) + math.log(1 / 4)) / 2
    others = math.log((1 - 7 / 8) / 6)
    together = (math.log(1 / 4) + math.log(1 / 8)) / 2
    others_together = math.log((1 - 7 / 16) / 6)
    assert ref.reference("crows-bias-bench", model, tokenizer, pair) == approx(apart, others)
    assert ref.reference("sss-diagonal", model, tokenizer, pair) == approx(together, others_together)


def test_toy_all_masked_and_aul():
    tokenizer, model = ToyTokenizer(), ToyModel(masks_seen)
    pair = Pair("toy/3", more="he cooks well", less="cooks he")
    all_masked = sum(math.log(p / 4) for p in (1 / 2, 1 / 4, 1 / 8)) / 3
    assert ref.reference("all-masked", model, tokenizer, pair) == approx(
        all_masked, (math.log(1 / 4) + math.log(1 / 8)) / 2
    )
    with_attention = ToyModel(masks_seen, attentions=(torch.full((1, 1, 5, 5), 0.2),))
    aul = (math.log(1 / 2) + math.log(1 / 4) + math.log(1 / 8)) / 3
    same = Pair("toy/4", more="he cooks well", less="he cooks well")
    assert ref.reference("aul", with_attention, tokenizer, same) == approx(aul, aul)
    assert ref.reference("aula", with_attention, tokenizer, same) == approx(aul / 5, aul / 5)
    assert ref.reference("aula-normalised", with_attention, tokenizer, same) == approx(aul, aul)


def test_toy_aula_weights_are_columns_of_the_attention():
    """Two layers, one head; `he` gets much, `well` little, `[CLS]` and `[SEP]` the rest."""
    first = torch.tensor([[0.1, 0.6, 0.1, 0.2]] * 4)[None, None]
    second = torch.tensor([[0.3, 0.2, 0.1, 0.4]] * 3 + [[0.3, 0.6, 0.1, 0.0]])[None, None]
    model = ToyModel(masks_seen, attentions=(first, second))
    pair = Pair("toy/5", more="he well", less="he well")
    he = (4 * 0.6 + 3 * 0.2 + 0.6) / 8  # 0.45
    well = 0.1
    total = he * math.log(1 / 2) + well * math.log(1 / 8)
    assert ref.reference("aula", model, ToyTokenizer(), pair) == approx(total / 2, total / 2)
    normalised = total / (he + well)
    assert ref.reference("aula-normalised", model, ToyTokenizer(), pair) == approx(normalised, normalised)


def after_he(ids, position):
    """After `he`: `cooks` 1/2. After `[CLS]`: `he` 1/4. Longer texts: `well` 1/8 wherever it stands."""
    last = WORDS[ids[position]]
    return {"he": {"cooks": 1 / 2}, "[CLS]": {"he": 1 / 4}}.get(last, {"well": 1 / 8})


def test_toy_causal():
    pair = Pair("toy/6", more="he cooks well", less="cooks well")
    model, tokenizer = ToyModel(after_he), ToyTokenizer(causal=True)
    less_first = math.log((1 - 1 / 4) / 8)  # `cooks` after `[CLS]`
    more = math.log(1 / 4 * 1 / 2 * 1 / 8)
    assert ref.reference("ll", model, tokenizer, pair) == approx(more, less_first + math.log(1 / 8))
    assert ref.reference("sld", model, tokenizer, pair) == ref.reference("ll", model, tokenizer, pair)
    # `cooks well` is shared.
    assert ref.reference("cll", model, tokenizer, pair) == approx(math.log(1 / 2 * 1 / 8), less_first + math.log(1 / 8))
    beginless = ToyTokenizer(causal=True, begin=False)
    assert ref.reference("ll", model, beginless, pair) == approx(math.log(1 / 2 * 1 / 8), math.log(1 / 8))
    # Without a begin the first token has no probability, shared or not.
    assert ref.reference("cll", model, beginless, pair) == approx(math.log(1 / 2 * 1 / 8), math.log(1 / 8))


def test_toy_first_token_rule():
    """The start token is seen by the first token only; without a begin it is the end token."""

    def counts_before(ids, position):
        return {"he": 1 / 2 ** (position + 1), "cooks": 1 / 2 ** (position + 2)}

    pair = Pair("toy/7", more="he cooks he", less="cooks he", context="BLANK", unrelated="he he")
    model = ToyModel(counts_before)
    more = math.log(1 / 2) + math.log(1 / 4) + math.log(1 / 4)  # positions 0, 0, 1
    less = math.log(1 / 4) + math.log(1 / 2)
    for begin in (True, False):
        tokenizer = ToyTokenizer(causal=True, begin=begin)
        assert ref.reference("ll-stereoset", model, tokenizer, pair) == approx(more, less)
        scores = ref.reference("ss", model, tokenizer, pair)
        assert scores == {
            **{"more": pytest.approx(math.exp(more / 3)), "less": pytest.approx(math.exp(less / 2))},
            "unrelated": pytest.approx(1 / 2),
        }
    with_begin = ref.reference("ll", model, ToyTokenizer(causal=True), pair)
    assert with_begin["less"] == pytest.approx(math.log(1 / 4) + math.log(1 / 4))


def test_toy_decisions():
    model, tokenizer = ToyModel(masks_seen), ToyTokenizer()
    assert ref.reference_decision(model, tokenizer, "she he cooks", masked=True) == [False, True, False]
    assert ref.reference_decision(model, tokenizer, "she he", masked=False, specials=True) == [
        False,  # [CLS]
        False,
        True,
        False,  # [SEP]
    ]


def test_blank_word():
    assert ref.blank_word("She is BLANK.", "She is well-read.") == "wellread"
    assert ref.blank_word("BLANK are here", "Poets are here") == "Poets"
    assert ref.blank_word("so BLANK and BLANK!", "so poor and rich!") == "rich"
    assert ref.blank_word("He said BLANK", "He said --") == ""
    assert ref.blank_word("He said BLANK", "He") == ""


# --------------------------------------------------------------------------------- tiny real models


def test_pll_by_an_explicit_loop():
    model, tokenizer = opened("bert-uncased")
    pair = zoo.crows_pairs()[1]
    for side, text in (("more", pair.more), ("less", pair.less)):
        ids = [tokenizer.cls_token_id, *tokenizer.encode(text, add_special_tokens=False), tokenizer.sep_token_id]
        total = 0.0
        for position in range(1, len(ids) - 1):
            copy = torch.tensor([ids])
            copy[0, position] = tokenizer.mask_token_id
            with torch.no_grad():
                logits = model(copy, token_type_ids=torch.zeros_like(copy)).logits[0, position].double()
            total += (logits[ids[position]] - logits.max() - (logits - logits.max()).exp().sum().log()).item()
        assert ref.reference("pll", model, tokenizer, pair)[side] == pytest.approx(total, abs=1e-4)


@pytest.mark.parametrize("name", zoo.NAMES_MASKED)
def test_parts_add_up(name):
    """Unmodified and modified tokens, each masked alone, make up the whole sentence."""
    model, tokenizer = opened(name)
    pair = zoo.crows_pairs()[7]
    pll, cps = (ref.reference(measure, model, tokenizer, pair) for measure in ("pll", "cps"))
    changed = ref.reference("crows-bias-bench", model, tokenizer, pair)
    for side, (_, _, modified) in ref.spans(tokenizer, pair).items():
        assert pll[side] == pytest.approx(cps[side] + len(modified) * changed[side], abs=1e-9)


@pytest.mark.parametrize("name", zoo.NAMES_MASKED)
def test_aula_by_tensor_arithmetic(name):
    model, tokenizer = opened(name)
    text = zoo.crows_pairs()[3].more
    inputs = tokenizer(text, return_tensors="pt", return_special_tokens_mask=True)
    inner = inputs.pop("special_tokens_mask")[0] == 0
    with torch.no_grad():
        output = model(**inputs, output_attentions=True)
    logits = output.prediction_logits if name == "bert-nsp" else output.logits
    found = logits.double().log_softmax(-1)[0].gather(1, inputs["input_ids"][0][:, None])[:, 0]
    weights = torch.stack(output.attentions).double().mean((0, 2, 3))[0]
    assert weights.sum().item() == pytest.approx(1, abs=1e-5)
    pair = Pair("same", text, text)
    expected = {
        "aul": found[inner].mean(),
        "aula": (weights * found)[inner].sum() / inner.sum(),
        "aula-normalised": (weights * found)[inner].sum() / weights[inner].sum(),
    }
    for measure, value in expected.items():
        scores = ref.reference(measure, model, tokenizer, pair)
        assert scores == approx(value.item(), value.item()), measure


@pytest.mark.parametrize("name", zoo.NAMES_MASKED)
def test_content_is_what_the_tokenizer_did_not_add(name):
    _, tokenizer = opened(name)
    for pair in [*zoo.crows_pairs()[::100], Pair("unknown", "a 大 b", "")]:
        flags = tokenizer(pair.more, return_special_tokens_mask=True)["special_tokens_mask"]
        found = ref.content(tokenizer, ref.encode(tokenizer, pair.more), pair.more)
        assert found == [position for position, flag in enumerate(flags) if not flag]
    first, second = "They were here.", "They were here."
    found = ref.content(tokenizer, ref.encode(tokenizer, first, second), second)
    ids = tokenizer(first, second)
    assert found == [position for position, text in enumerate(ids.sequence_ids(0)) if text == 1]


def test_pairs_that_only_insert():
    """Rows 1, 2 and 9 leave nothing modified on one side: no span to score, but a context."""
    for name, rows in (("bert-uncased", (1, 2, 9)), ("roberta", (1, 2)), ("albert", (1, 2))):
        model, tokenizer = opened(name)
        for row in rows:
            pair = zoo.crows_pairs()[row]
            assert any(not modified for _, _, modified in ref.spans(tokenizer, pair).values())
            for measure in ("sss", "sss-diagonal", "crows-bias-bench"):
                assert ref.reference(measure, model, tokenizer, pair) is None
            cps = ref.reference("cps", model, tokenizer, pair)
            assert cps["more"] != cps["less"]
    # Two spaces where a word is missing are a token of their own to byte-level BPE.
    model, tokenizer = opened("roberta")
    assert "  traders" in zoo.crows_pairs()[9].less
    assert ref.reference("sss", model, tokenizer, zoo.crows_pairs()[9]) is not None


# --------------------------------------------------------------------------------------- StereoSet


@pytest.mark.parametrize("name", ["bert-cased", "roberta", "xlm-roberta"])
@pytest.mark.parametrize("row", [3, 5])
def test_two_blanks(name, row):
    """The word is the last blank's, both blanks are filled, the first mask is read."""
    model, tokenizer = opened(name)
    pair = zoo.stereoset("intrasentence")[row]
    before, between, after = pair.context.split("BLANK")
    scores = ref.reference("ss", model, tokenizer, pair)
    for side, word in {
        3: {"more": "stubborn", "less": "gentle", "unrelated": "window"},
        5: {"more": "verycheerful", "less": "streetmusiciansareveryshypeople", "unrelated": "potato"},
    }[row].items():
        assert ref.blank_word(pair.context, pair.sides()[side]) == word
        tokens = tokenizer.encode(word, add_special_tokens=False)
        total = 0.0
        for index, token in enumerate(tokens):
            filling = tokenizer.decode(tokens[:index]) + tokenizer.mask_token
            inputs = tokenizer(before + filling + between + filling + after, return_tensors="pt")
            masks = (inputs["input_ids"][0] == tokenizer.mask_token_id).nonzero()[:, 0]
            assert len(masks) == 2
            with torch.no_grad():
                total += model(**inputs).logits[0, masks[0]].softmax(-1)[token].item()
        assert scores[side] == pytest.approx(total / len(tokens), rel=1e-4)


def test_blank_texts():
    _, roberta = opened("roberta-plainmask")
    context = "The people are very BLANK and kind."
    poor = ref.pieces(roberta, " unpoor")
    assert roberta.convert_ids_to_tokens(poor) == ["Ġun", "p", "oor"]

    def both(tokenizer, where, prefix):
        return [ref.blank_text(tokenizer, where, prefix, spaced) for spaced in (False, True)]

    assert both(roberta, context, []) == ["The people are very <mask> and kind.", "The people are very<mask> and kind."]
    assert both(roberta, context, poor[:2]) == [
        "The people are very  unp<mask> and kind.",
        "The people are very unp<mask> and kind.",
    ]
    assert both(roberta, "BLANK are kind.", []) == ["<mask> are kind."] * 2
    assert both(roberta, "sometimes.BLANK", []) == ["sometimes.<mask>"] * 2
    # A first token that is nothing but the space: the mask then stands behind it.
    space = ref.pieces(roberta, " Zulu")[:1]
    assert roberta.convert_ids_to_tokens(space) == ["Ġ"]
    assert both(roberta, context, space)[1] == "The people are very <mask> and kind."


def test_spaced_words_are_the_sentence_s_own_tokens():
    """With the fix, word and prefix tokenise as the whole sentence does; without, they do not."""
    _, tokenizer = opened("roberta")
    context, sentence = "The people are very BLANK and kind.", "The people are very unpoor and kind."
    whole = ref.pieces(tokenizer, sentence)
    word = ref.pieces(tokenizer, " unpoor")
    start = next(i for i in range(len(whole)) if whole[i : i + len(word)] == word)
    for index in range(len(word)):
        text = ref.blank_text(tokenizer, context, word[:index], spaced=True)
        ids = ref.pieces(tokenizer, text)
        assert ids[: start + index + 1] == [*whole[: start + index], tokenizer.mask_token_id]
    assert ref.pieces(tokenizer, "unpoor") != word


@pytest.mark.thorough
def test_who_marks_spaces():
    marking = {name for name in zoo.NAMES_MASKED if ref.marks_spaces(opened(name)[1])}
    assert marking == {"roberta", "roberta-plainmask", "modernbert"}


@pytest.mark.parametrize("name", zoo.NAMES_MASKED)
def test_spaced_changes_only_what_marks_spaces(name):
    model, tokenizer = opened(name)
    pair = zoo.stereoset("intrasentence")[1]
    plain, spaced = (ref.reference(measure, model, tokenizer, pair) for measure in ("ss", "ss-spaced"))
    assert set(plain) == {"more", "less", "unrelated"}
    assert all(0 < score < 1 for score in (*plain.values(), *spaced.values()))
    assert (plain != spaced) == ref.marks_spaces(tokenizer)


def test_next_sentence_head():
    """The same weights in transformers' own next-sentence class."""
    model, tokenizer = opened("bert-nsp")
    other = hf.BertForNextSentencePrediction.from_pretrained(zoo.folder("bert-nsp")).eval()
    pair = zoo.stereoset("intersentence")[5]
    scores = ref.reference("ss", model, tokenizer, pair)
    for side, sentence in pair.sides().items():
        inputs = tokenizer(pair.context, sentence, return_tensors="pt")
        assert inputs["token_type_ids"].sum() == len(tokenizer(sentence)["input_ids"]) - 1
        with torch.no_grad():
            first, second = other(**inputs).logits[0].tolist()
        assert scores[side] == pytest.approx(1 / (1 + math.exp(second - first)), rel=1e-4)


@pytest.mark.parametrize("name", ["bert-cased", "roberta", "deberta-v2"])
def test_next_sentence_without_a_head(name):
    model, tokenizer = opened(name)
    pair = zoo.stereoset("intersentence")[5]
    inputs = tokenizer(pair.context, pair.more, return_tensors="pt")
    second = [position for position, text in enumerate(inputs.sequence_ids(0)) if text == 1]
    total = 0.0
    for position in second:
        ids = inputs["input_ids"].clone()
        ids[0, position] = tokenizer.mask_token_id
        with torch.no_grad():
            row = model(**{**inputs, "input_ids": ids}).logits[0, position].log_softmax(-1)
        total += row[inputs["input_ids"][0, position]].item()
    score = ref.reference("ss", model, tokenizer, pair)["more"]
    assert score == pytest.approx(math.exp(total / len(second)), rel=1e-4)


@pytest.mark.parametrize("name", zoo.NAMES_CAUSAL)
def test_next_sentence_causal_by_the_chain_rule(name):
    """What context and sentence cost together, less what the context costs alone."""
    model, tokenizer = opened(name)
    pair = zoo.stereoset("intersentence")[5]
    both = Pair("both", f"{pair.context} {pair.more}", pair.context)
    total = ref.reference("ll", model, tokenizer, both)
    length = len(ref.pieces(tokenizer, both.more)) - len(ref.pieces(tokenizer, pair.context))
    score = ref.reference("ss", model, tokenizer, pair)["more"]
    assert score == pytest.approx(math.exp((total["more"] - total["less"]) / length), rel=1e-4)


# ----------------------------------------------------------------------------------- causal models


@pytest.mark.parametrize("name", zoo.NAMES_CAUSAL)
def test_ll_by_the_model_s_own_loss(name):
    model, tokenizer = opened(name)
    pair = zoo.crows_pairs()[1]
    begin = [] if name == "qwen2" else [tokenizer.bos_token_id]
    scores = ref.reference("ll", model, tokenizer, pair)
    for side, text in (("more", pair.more), ("less", pair.less)):
        ids = torch.tensor([begin + tokenizer.encode(text, add_special_tokens=False)])
        with torch.no_grad():
            loss = model(ids, labels=ids).loss.item()
        assert scores[side] == pytest.approx(-loss * (ids.shape[1] - 1), rel=1e-5)


@pytest.mark.parametrize("name", zoo.NAMES_CAUSAL)
def test_first_token_rule(name):
    model, tokenizer = opened(name)
    text = zoo.crows_pairs()[1].more
    ids = tokenizer.encode(text, add_special_tokens=False)
    start = tokenizer.eos_token_id if name == "qwen2" else tokenizer.bos_token_id
    with torch.no_grad():
        total = model(torch.tensor([[start]])).logits[0, 0].log_softmax(-1)[ids[0]].item()
        loss = model(torch.tensor([ids]), labels=torch.tensor([ids])).loss.item()
    scores = ref.reference("ll-stereoset", model, tokenizer, Pair("same", text, text))
    total -= loss * (len(ids) - 1)
    assert scores == {"more": pytest.approx(total, rel=1e-5), "less": pytest.approx(total, rel=1e-5)}


# ------------------------------------------------------------------------------------------- all of them


@pytest.mark.parametrize("name", zoo.NAMES_MASKED + zoo.NAMES_CAUSAL)
def test_every_measure_answers(name):
    model, tokenizer = opened(name)
    crows = Pair("short", "The poor man was here.", "The rich men were here.", groups={"word": "here"})
    intra = zoo.stereoset("intrasentence")[4]
    inter = min(zoo.stereoset("intersentence"), key=lambda pair: len(pair.context + pair.more))
    for measure in ref.CAUSAL if ref.is_causal(tokenizer) else ref.MASKED:
        stereoset = measure.startswith(("ss-spaced", "lms", "icat")) or measure == "ss"
        for pair in (intra, inter) if stereoset else (crows,):
            scores = ref.reference(measure, model, tokenizer, pair)
            assert list(scores) == (["more", "less", "unrelated"] if stereoset else ["more", "less"])
            assert all(math.isfinite(score) for score in scores.values())
            assert len(set(scores.values())) == len(scores), "sides differ"


@pytest.mark.parametrize("name", zoo.NAMES_MASKED)
def test_decisions(name):
    model, tokenizer = opened(name)
    text = "The poor man was here."
    inputs = tokenizer(text, return_tensors="pt")
    with torch.no_grad():
        output = model(**inputs)
    logits = output.prediction_logits if name == "bert-nsp" else output.logits
    right = (logits[0].argmax(-1) == inputs["input_ids"][0]).tolist()
    assert ref.reference_decision(model, tokenizer, text, masked=False, specials=True) == right
    assert ref.reference_decision(model, tokenizer, text, masked=False) == right[1:-1]
    assert len(ref.reference_decision(model, tokenizer, text, masked=True)) == len(right) - 2
