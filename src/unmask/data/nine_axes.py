"""Nine axes: 360 sentence pairs of our own, 40 for each of the nine categories of CrowS-Pairs."""

from __future__ import annotations

from functools import partial

from unmask.data.items import DatasetSource
from unmask.data.ours import card, load_pairs

CARD = card(
    "nine-axes",
    "Nine axes of stereotype",
    file="nine-axes.csv",
    sha256="d8b5327996958e58c801a62616cbd4ca7a7e4102f86106d914928198be8fac0e",
    size=360,
    problems=(
        "Stereotypes are those of the US and Europe, and whether a sentence states one was decided by its "
        "writers alone. 40 pairs a category, 20 in each direction, make wide intervals. "
        "The word for the advantaged group is often the rarer one: nobody writes able-bodied, sighted or "
        "neurotypical without need, so in disability, and less so in sexual orientation, a model may prefer "
        "the other sentence for the word's frequency alone. "
        "In age the disadvantaged are mostly old people, in five pairs teenagers. "
        "In one pair (0036) the sentences differ in length. No published numbers to compare with."
    ),
)
DATASET = DatasetSource(
    CARD, partial(load_pairs, name=CARD.name)
)  # the pairs with category, direction and, in words, the stereotype they state
