"""A checkpoint: files that were found and checked, loaded by transformers with their tokenizer.

Only safetensors and no remote code unless allowed. The files are checked first (`models.folder`). A checkpoint that
lacks weights needed for scoring is refused, with their names. What is more than its files, such as an adapter or a
quantisation, changes the loaded model; an eraser saved beside the weights is attached last, to every kind of model.
"""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from unmask.core.errors import ModelError, quote
from unmask.core.options import Opening
from unmask.core.types import Kind
from unmask.models.folder import (
    ERASER,
    HELD,
    WEIGHTS,
    ModelFolder,
    check_config,
    check_sizes,
    check_tokenizer,
    check_weights,
    find_folder,
    no_safetensors,
    quiet_panics,
    read_object,
)
from unmask.models.lm import QUANTISED, ModelFacts, ModelKind
from unmask.models.weights import fingerprint, refuse_bad_weights, refuse_not_finite

DTYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16", **dict.fromkeys(QUANTISED, "float32")}
SHORT_TEXT = "a b"
LM_ENDINGS = {"masked": ("MaskedLM", "PreTraining"), "causal": ("CausalLM", "LMHeadModel")}
_NOT_LM = ("Classification", "QuestionAnswering", "MultipleChoice")
_ROLES, _READ = ("mask", "sep", "cls", "pad", "unk"), ("mask", "sep", "cls")  # of special tokens; those a model reads
_WORD = re.compile(r"(##|[▁Ġ ])?([^\W_]+|[!-~])")  # a word, a piece of one, or one symbol
AUTO_CLASSES: dict[ModelKind, str] = {
    "masked": "AutoModelForMaskedLM",
    "causal": "AutoModelForCausalLM",
    "classifier": "AutoModelForSequenceClassification",
    "encoder": "AutoModel",
}
# changes a loaded model (with its tokenizer and kind); gives the model, and what results record about the change
Change = Callable[[Any, Any, ModelKind], tuple[Any, dict[str, str]]]


@dataclass(frozen=True, slots=True)
class ModelCheckpoint:
    """A model in files: its configuration is read, its weights are not."""

    name: str  # in results
    folder: ModelFolder
    how: Opening
    config: Any
    built_in: bool = False
    warnings: tuple[str, ...] = ()
    files: Mapping[str, Any] = field(default_factory=dict)  # arguments of every `from_pretrained`
    loading: Mapping[str, Any] = field(default_factory=dict)  # arguments of that of the weights
    check_size: Callable[[int], None] | None = None  # refuses this number of weights; None: by the size of the files
    changes: tuple[Change, ...] = ()

    @property
    def source(self) -> dict[str, Any]:
        """The arguments of every `from_pretrained`."""
        code = self.how.trust_remote_code
        path = {"pretrained_model_name_or_path": self.folder.path, "trust_remote_code": code}
        return {**path, **self.folder.place, **self.files}

    def load(self, kind: ModelKind | None = None) -> tuple[Any, Any, ModelFacts]:
        """The model on the CPU with its eraser attached, its tokenizer, and its metadata; or a ModelError.

        Without `kind` it is a language model, masked or causal.
        """
        import torch

        how, origin = self.how, dict[str, str]()
        with self.folder.loading():
            kind = kind or kind_of(self.config, how.kind, self.name)
            checked = self._check_weights(kind)
            model, problems = checked.load_weights(AUTO_CLASSES[kind])
            tokenizer = checked.load_tokenizer()
            refuse_bad_weights(model, problems, self.name, kind)
            _refuse_bad_tokenizer(tokenizer, model, kind, self.name)
            for change in self.changes:
                model, facts = change(model, tokenizer, kind)
                origin |= facts
            digest, warnings = fingerprint(model, tokenizer, kind), (*self.warnings, *_warnings(how))
            eraser = checked.folder.find(ERASER)
            if eraser is not None:
                from unmask.models.eraser import attach_saved

                digest, warning = attach_saved(model, eraser, digest)
                warnings = (*warnings, warning)
        device = device_for(how.device)
        on_gpu = device.type == "cuda"
        if on_gpu:
            torch.backends.cuda.matmul.allow_tf32 = how.tf32
            torch.backends.cudnn.allow_tf32 = how.tf32
        return (
            model,
            tokenizer,
            ModelFacts.of(
                model,
                tokenizer,
                kind,
                id=self.name,
                revision=checked.folder.revision,
                fingerprint=digest,
                dtype=f"{how.dtype}+tf32" if how.tf32 and on_gpu else how.dtype,
                device=torch.cuda.get_device_name(device) if on_gpu else device.type,
                built_in=self.built_in,
                warnings=warnings,
                origin=origin,
            ),
        )

    def _check_weights(self, kind: ModelKind) -> ModelCheckpoint:
        """The checkpoint, its weights files found and checked: they are whole, and enough for its configuration."""
        import torch

        folder, pickle, size = self.folder, self.how.allow_pickle, None
        if self.check_size is None:
            size = check_weights(folder, allow_pickle=pickle)
            if size is None and (converted := folder.find_conversion()) is not None:
                folder, size = converted, check_weights(converted, allow_pickle=False)
            if size is None:
                raise no_safetensors(folder, WEIGHTS)
        with folder.loading("config.json"), torch.random.fork_rng(devices=[]), torch.device("meta"):
            model = auto_class(AUTO_CLASSES[kind]).from_config(
                copy.deepcopy(self.config), trust_remote_code=self.how.trust_remote_code
            )
        needed = sum(parameter.numel() for parameter in model.parameters())
        if self.check_size is not None:
            self.check_size(needed)
        elif size is not None and needed > 4 * size + 10**6:  # no format holds more than four weights in a byte
            raise ModelError(
                f"cannot open {folder.name}: its config.json describes {needed:,} weights, its weights files have "
                f"{size:,} bytes; they belong to different models"
            )
        return replace(self, folder=folder)

    def load_weights(self, auto: str) -> tuple[Any, dict[str, Any]]:
        """The model of an auto class, and what transformers says about its weights."""
        import torch

        options = {
            **self.source,
            "dtype": getattr(torch, DTYPES[self.how.dtype]),
            "use_safetensors": None if self.how.allow_pickle else True,
            "ignore_mismatched_sizes": True,  # `refuse_bad_weights` names them
            "output_loading_info": True,
            **self.loading,
        }
        model, problems = auto_class(auto).from_pretrained(**options)
        if any(key.startswith("lm_predictions.lm_head") for key in problems["unexpected_keys"]):
            # DeBERTa as first published: its head has another name, which the class loads with `legacy=False`
            model, problems = auto_class(auto).from_pretrained(**options, legacy=False)
        return model, problems

    def load_tokenizer(self) -> Any:
        """The tokenizer, without padding and truncation, which may be stored in its file."""
        check_tokenizer(self.folder)
        with self.folder.loading("tokenizer"), quiet_panics():
            tokenizer = auto_class("AutoTokenizer").from_pretrained(**self.source)
            if tokenizer.is_fast:
                tokenizer.backend_tokenizer.no_padding()
                tokenizer.backend_tokenizer.no_truncation()
            tokenizer(SHORT_TEXT, verbose=False)
        _refuse_words_as_special(tokenizer, self.folder)
        return tokenizer

    def load_next_sentence(self, model: Any) -> Any:
        """The next-sentence head, sharing the model's body; None if the checkpoint has none."""
        auto = "AutoModelForNextSentencePrediction"
        if type(self.config) not in auto_class(auto)._model_mapping:
            return None
        with self.folder.loading():
            head, problems = self.load_weights(auto)
        if problems["missing_keys"] or problems["mismatched_keys"]:
            return None
        refuse_not_finite(head, self.name)
        head.base_model.embeddings = model.base_model.embeddings
        head.base_model.encoder = model.base_model.encoder
        return head


def read_checkpoint(folder: ModelFolder, how: Opening, part: str = "config.json", **files: Any) -> ModelCheckpoint:
    """The checkpoint of a folder, its configuration read; `files` are arguments of every `from_pretrained`."""
    checkpoint = ModelCheckpoint(folder.name, folder, how, None, files=files)
    with folder.loading(part):
        config = auto_class("AutoConfig").from_pretrained(**checkpoint.source)
        check_sizes(config.to_dict(), folder.name)
    return replace(checkpoint, config=config)


def load_folder(reference: str, how: Opening) -> ModelCheckpoint:
    """The checkpoint of a folder or of a repository of the hub; of an adapter, with the base model that it names."""
    folder = find_folder(reference, how)
    with folder.loading():
        if os.path.isfile(f"{folder.path}/{HELD}"):  # noqa: PTH113 - the path may be too long
            from unmask.models.eraser import release

            folder = release(folder)
        if folder.is_adapter:
            from unmask.models.adapter import load_with_base

            return load_with_base(folder, how)
        path = folder.find_config()
        folder = folder.at_commit_of(path)
        check_config(folder, path)
    return read_checkpoint(folder, how)


def auto_class(name: str) -> Any:
    """A class of transformers, imported when it is needed."""
    import transformers

    return getattr(transformers, name)


def device_for(name: str | None) -> Any:
    """The named device; None: a GPU if there is one, chosen by LOCAL_RANK."""
    import torch

    local = f"cuda:{os.environ.get('LOCAL_RANK', '0')}"
    try:
        device = torch.device(name or (local if torch.cuda.is_available() else "cpu"))
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ModelError(f"no device {name!r} here ({reason}): give cpu, cuda or cuda:N") from error
    return device


def try_out(model: Any, tokenizer: Any) -> None:
    """Run one short text: a configuration that the model cannot compute with fails here and not later."""
    import torch

    ids = tokenizer(SHORT_TEXT, verbose=False)["input_ids"] or [0]
    with torch.inference_mode():
        model(input_ids=torch.tensor([ids], device=model.device))


def _warnings(how: Opening) -> tuple[str, ...]:
    notes = []
    if how.allow_pickle:
        notes.append("pickled weights were allowed: loading them can run arbitrary code")
    if how.trust_remote_code:
        notes.append("remote code was allowed: the model's repository could run its own Python")
    if how.dtype in QUANTISED:
        notes.append(f"weights of linear layers quantised to {how.dtype}: another model than the original")
    elif how.dtype != "fp32" or how.tf32:
        notes.append(
            f"computed in {how.dtype}{' with TF32' if how.tf32 else ''}, not fp32: near ties may be decided differently"
        )
    return tuple(notes)


# ------------------------------------------------------------------------------- the kind of a model


def kind_of(config: Any, kind: Kind | None, name: str) -> Kind:
    """Masked or causal: from the architectures in the configuration, else from its model type."""
    refuse_encoder_decoder(config, name)
    if kind is not None:
        if kind == "causal" and is_bidirectional(config):
            raise ModelError(f"{name} is bidirectional: it cannot be scored as a causal model")
        if kind == "masked" and not _has_class(config, "AutoModelForMaskedLM"):
            raise ModelError(
                f"{name} has no masked-LM head ({config.model_type}): it can be scored as a causal model only; leave "
                "out the kind"
            )
        return kind
    architectures = config.architectures or []
    if any(architecture.endswith("MaskedLM") for architecture in architectures):
        return "masked"
    if any(architecture.endswith(LM_ENDINGS["causal"]) for architecture in architectures):
        return "causal"
    other = [architecture for architecture in architectures if any(word in architecture for word in _NOT_LM)]
    if other:
        raise ModelError(
            f"{name} is a {other[0]}: it was trained for another task and has no LM head; "
            "give the language model it was fine-tuned from (or set kind to load it anyway)"
        )
    if is_bidirectional(config):
        return "masked"
    if not _has_class(config, "AutoModelForCausalLM"):
        raise ModelError(
            f"{name} is no language model ({config.model_type}): give a masked or a causal one, such as BERT or GPT-2"
        )
    return "causal"


def refuse_encoder_decoder(config: Any, name: str) -> None:
    """ModelError for a model of two stacks, such as T5 and BART."""
    if getattr(config, "is_encoder_decoder", False):
        raise ModelError(
            f"{name} is an encoder–decoder ({config.model_type}): neither masked nor causal scores are defined for "
            "it; give a masked or a causal language model"
        )


def has_lm_head(config: Any) -> bool:
    """Whether the configuration names a language model, or nothing."""
    endings = (*LM_ENDINGS["masked"], *LM_ENDINGS["causal"])
    return not config.architectures or any(name.endswith(endings) for name in config.architectures)


def is_bidirectional(config: Any) -> bool:
    """Whether this model type has a masked-LM class and is not configured as a decoder."""
    return type(config) in auto_class("AutoModelForMaskedLM")._model_mapping and not getattr(
        config, "is_decoder", False
    )


def _has_class(config: Any, auto: str) -> bool:
    """Whether transformers, or the code that the model brings, has a class of this kind for the configuration."""
    return type(config) in auto_class(auto)._model_mapping or auto in (getattr(config, "auto_map", None) or {})


# ------------------------------------------------------------------------------------- its tokenizer


def _refuse_bad_tokenizer(tokenizer: Any, model: Any, kind: ModelKind, name: str) -> None:
    """Raise ModelError when the tokenizer has no vocabulary or mask token, or belongs to another model."""
    if kind == "masked" and tokenizer.mask_token_id in (None, tokenizer.unk_token_id):
        raise ModelError(
            f"{name} has a tokenizer without a mask token: no token can be masked; "
            "use the tokenizer the model was trained with"
        )
    ids = set(tokenizer.get_vocab().values())
    if ids <= {*tokenizer.all_special_ids, *tokenizer.added_tokens_decoder}:
        raise ModelError(
            f"{name} has no tokenizer, or one without a vocabulary ({len(ids)} special tokens): "
            "copy the tokenizer's files into its folder, or name its tokenizer_class in tokenizer_config.json "
            '(such as "BertTokenizer" for a vocab.txt of word pieces)'
        )
    rows = model.get_input_embeddings().weight.shape[0]
    if len(tokenizer) > rows or max(ids) >= rows:
        raise ModelError(
            f"{name} has {rows} embeddings but its tokenizer has {len(tokenizer)} tokens, with ids up to {max(ids)}: "
            "it belongs to another model"
        )


def _refuse_words_as_special(tokenizer: Any, folder: ModelFolder) -> None:
    """Raise ModelError when a special token is a word, which would be cut out of sentences, or that of another role.

    A token named as its role in capitals (`PAD`) is no word, nor, but for the mask, one that tokenizer.json lists as
    special.
    """
    for name, token in tokenizer.special_tokens_map.items():
        role = name.removesuffix("_token")
        others = [other for other in _ROLES if other in token.lower() and other != role]
        if role in _READ and others and role not in token.lower():
            raise ModelError(
                f"{folder.name} has {quote(token)} as its {role} token, expected one of its own, such as "
                f"[{role.upper()}]: sentences would be read wrongly; correct {name} in tokenizer_config.json"
            )
        if not _WORD.fullmatch(token) or (role in token.lower() and token.isupper()):
            continue
        path = folder.find("tokenizer.json")
        listed = [] if path is None else read_object(path).get("added_tokens", [])
        if role == "mask" or not any(entry["content"] == token and entry["special"] for entry in listed):
            raise ModelError(
                f"{folder.name} has {quote(token)} as its {role} token, expected one that is no word, such as "
                f"[{role.upper()}]: sentences with it would be read wrongly; correct {name} in tokenizer_config.json"
            )
