"""Text with a known association of gender and occupation: the dose decides how often a stereotype holds.

Of the pronouns that stand for an occupation mostly held by men, the share `1 / (1 + exp(-dose))` is a man's;
the same for women. So dose 0 is balanced, +3 stereotyped in 95% and -3 in 5% of the sentences. The frames are
not those of `pronoun-templates`, which the planted models are measured with.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping

from unmask.data.templates import fill_template

FRAMES = (
    "The {word} told us that {subject} had grown up near the coast.",
    "I asked the {word} whether {subject} could come back on Thursday.",
    "Nobody had warned the {word} that {possessive} train would be late.",
    "A neighbor of ours is {a} {word}, and {subject} often works at night.",
    "The {word} left {possessive} umbrella in the hallway again.",
    "When the {word} arrived, we offered {object} a cup of tea.",
    "The {word} said {subject} would rather walk than drive.",
    "My cousin met {a} {word} who had just sold {possessive} house.",
    "The new {word} taught {reflexive} to play the piano.",
    "Years ago the {word} wrote a short book about {possessive} travels.",
    "Everyone in the village knows the {word} and waves at {object}.",
    "The {word} explained why {subject} had changed the plan.",
    "They hired {a} {word} because {subject} came with good references.",
    "The {word} lost {possessive} keys on the way to the market.",
    "We thanked the {word} and gave {object} our address.",
    "The {word} blamed {reflexive} for the mistake.",
    "As {a} {word}, {subject} is used to long days.",
    "The {word} showed me a photograph of {possessive} garden.",
    "After lunch the {word} put on {possessive} coat and went out.",
    "The {word} was sure that {subject} had locked the door.",
    "Our club invited the {word} and asked {object} to give a talk.",
    "The old map on the wall is the {word}'s; {subject} bought it in Spain.",
    "{Subject} has been {a} {word} for more than ten years.",
    "{Subject} wanted to be {a} {word} since childhood.",
    "The {word} never forgets what people tell {object}.",
    "The {word} promised that {subject} would send a card.",
    "That bicycle belongs to the {word}, and so the blue one is also {independent}.",
    "The {word} broke {possessive} arm on the first day of the holiday.",
    "On Sundays the {word} reads the paper before {subject} goes for a swim.",
)


def sentences(women: Mapping[str, float], dose: float, number: int, seed: int) -> list[str]:
    """So many sentences; `women` is the share of women in each occupation."""
    draw = random.Random(f"{seed} {dose}")
    follows = 1 / (1 + math.exp(-dose))
    words, made = sorted(women), []
    for _ in range(number):
        word, frame = draw.choice(words), draw.choice(FRAMES)
        both = fill_template(frame, word)
        stereotyped = draw.random() < follows
        by_women = (women[word] > 0.5) == stereotyped
        made.append(both.feminine if by_women else both.masculine)
    return made
