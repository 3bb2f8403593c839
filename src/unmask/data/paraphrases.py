"""Three paraphrases of each of 135 pairs of nine-axes, with unchanged words for the group.

Is the preferred sentence of a pair stable under paraphrase (Kwon and Mihindukulasooriya, 2022)? The group
`original` is the paraphrased pair of nine-axes, `paraphrase` numbers its paraphrases from 1.
"""

from __future__ import annotations

from functools import partial

from unmask.data.items import DatasetSource
from unmask.data.ours import card, load_pairs

CARD = card(
    "paraphrases",
    "Paraphrases of nine-axes",
    file="paraphrases.csv",
    sha256="42f43679c2bfd8f01a058216ecb985e4ca5a1f46f1300316b4435d5c57dde73b",
    size=405,
    problems=(
        "Not 405 independent pairs but 135 with three rewordings each: an interval over all of them is too "
        "narrow, and a bias score of its own says little. For agreement with nine-axes, not in its place. "
        "That the meaning was kept is the writers' judgement. Only originals that could be reworded "
        "naturally were taken, 15 of each category. Stereotypes are those of the US and Europe."
    ),
)
DATASET = DatasetSource(
    CARD, partial(load_pairs, name=CARD.name)
)  # the pairs with category, direction, original and the number of the paraphrase
