"""The built-in tasks. Their functions are imported when called, so that tasks can be listed without torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unmask.core.lazy_imports import lazy_modules
from unmask.tasks.spec import Task

if TYPE_CHECKING:
    from unmask.tasks import (
        added_data,
        biasbios,
        finetune,
        nlibias,
        sentiment,
        sentiment_pairs,
        stsbias,
        toxicity,
        toxicity_sentences,
        winobias,
        winogender,
    )
else:
    added_data, biasbios, finetune, nlibias, sentiment, sentiment_pairs = lazy_modules(
        "unmask.tasks", "added_data", "biasbios", "finetune", "nlibias", "sentiment", "sentiment_pairs"
    )
    stsbias, toxicity, toxicity_sentences, winobias, winogender = lazy_modules(
        "unmask.tasks", "stsbias", "toxicity", "toxicity_sentences", "winobias", "winogender"
    )

BIASBIOS = Task(
    name="biasbios",
    title="BiasBios",
    question="Are women and men classified into their occupation equally often?",
    needs="training",
    observe=biasbios.observe,
    conclude=biasbios.conclude,
    estimates=biasbios.estimates,
    citation="de-arteaga-etal-2019-bias",
    load_data=biasbios.load_task_data,
    training=biasbios.training_files,
)

NLIBIAS = Task(
    name="nlibias",
    title="NLI-bias",
    question="Does the model infer gender from a premise that does not mention it?",
    needs="training",
    observe=nlibias.observe,
    conclude=nlibias.conclude,
    estimates=nlibias.estimates,
    citation="dev-etal-2020-measuring",
    load_data=nlibias.load_task_data,
    training=nlibias.training_files,
    sources=nlibias.sources,
)

SENTIMENT = Task(
    name="sentiment",
    title="Sentiment by gender",
    question="Does a classifier's score change when a sentence is about a woman instead of a man?",
    needs="classifier",
    observe=sentiment.observe,
    conclude=sentiment.conclude,
    estimates=sentiment.estimates,
    citation="kiritchenko-mohammad-2018-examining",
    load_data=sentiment_pairs.load_task_data,
    training=finetune.user_files,
)

STSBIAS = Task(
    name="stsbias",
    title="STS-bias",
    question="Does sentence similarity follow who usually works in a profession?",
    needs="training",
    observe=stsbias.observe,
    conclude=stsbias.conclude,
    estimates=stsbias.estimates,
    citation="webster-etal-2020-measuring",
    load_data=stsbias.load_task_data,
    training=stsbias.training_files,
    sources=stsbias.sources,
)

TOXICITY = Task(
    name="toxicity",
    title="Toxicity by identity term",
    question="Does a classifier rate a sentence as more toxic because of the group it names?",
    needs="classifier",
    observe=toxicity.observe,
    conclude=toxicity.conclude,
    estimates=toxicity.estimates,
    citation="dixon-etal-2018-measuring",
    load_data=toxicity_sentences.load_task_data,
    training=finetune.user_files,
    sources=toxicity_sentences.sources,
    variants=added_data.variants,
)

WINOBIAS = Task(
    name="winobias",
    title="WinoBias",
    question="Is a pronoun resolved as well against a stereotype of an occupation as with it?",
    needs="lm",
    observe=winobias.observe,
    conclude=winobias.conclude,
    estimates=winobias.estimates,
    citation="zhao-etal-2018-gender",
    sources=winobias.sources,
)

WINOGENDER = Task(
    name="winogender",
    title="Winogender",
    question="Does the resolution of a pronoun depend on its gender and on who works in the occupation?",
    needs="lm",
    observe=winogender.observe,
    conclude=winogender.conclude,
    estimates=winogender.estimates,
    citation="rudinger-etal-2018-gender",
    sources=winogender.sources,
)
