"""Three kinds of gender bias, 120 pairs each: occupations, benevolent and hostile sexism.

The kinds are those of Barza (2023), whose own sentences were not published; these are ours.
"""

from __future__ import annotations

from functools import partial

from unmask.data.items import DatasetSource
from unmask.data.ours import card, load_pairs

CARD = card(
    "triple-gender",
    "Three kinds of gender bias",
    file="triple-gender.csv",
    sha256="c8b33e839ad1583c2c8a385b2540729e37775c1018e26fd9c1ffa6a8d007d82c",
    size=360,
    problems=(
        "Stereotypes are those of the US and Europe. Two genders only. "
        "Occupations are balanced (60 in each direction), sexism is not: of either kind 94 pairs speak of "
        "women and 26 of men, so a plain preference for feminine words looks like sexism there; read the two "
        "directions apart. The 52 pairs about men measure something else than sexism as the "
        "literature defines it. Many sentences of sexism are general claims about women or men that few "
        "people would write of the other group, so likelihood mixes prejudice with what is usually said. "
        "No published numbers to compare with: the thesis used other sentences."
    ),
)
DATASET = DatasetSource(
    CARD, partial(load_pairs, name=CARD.name)
)  # the pairs with category (occupation, benevolent-sexism, hostile-sexism), direction and stereotype
