"""Direct bias, RIPA and neighbours against hand-computed values and plain loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.decomposition import PCA

from unmask import data
from unmask.core.errors import DataError, StatsError
from unmask.vectors.directions import (
    GENDER,
    direct_bias,
    direction,
    direction_cosines,
    knn_bias,
    relative_norm_distance,
    ripa,
)
from unmask.vectors.static import WordVectors
from vectors import weat_reference

FLAT = WordVectors(
    ("he", "she", "nurse", "smith", "tree", "up"),
    np.array([[1.0, 0, 0], [-1, 0, 0], [-3, 4, 0], [2, 0, 0], [0, 5, 0], [1, 0, 1]]),
    "made",
)


def random_vectors(seed: int, names: list[str], size: int = 5) -> WordVectors:
    return WordVectors(tuple(names), np.random.default_rng(seed).normal(size=(len(names), size)), "made")


def test_every_pair_has_its_masculine_word_first() -> None:
    """A misspelt word would have no vector and be left out; a pair in the other order would turn the direction."""
    known = {(pair.masculine, pair.feminine) for pair in data.read("word-pairs").pairs}
    assert len(set(GENDER)) == 10
    assert set(GENDER) - known == {("John", "Mary")}


def test_hand_computed_values() -> None:
    found = direct_bias(FLAT, ["nurse", "smith", "tree", "up"], [("he", "she")])
    assert found.values == pytest.approx({"nurse": 0.6, "smith": 1.0, "tree": 0.0, "up": math.sqrt(0.5)})
    assert found.mean.value == pytest.approx((0.6 + 1 + math.sqrt(0.5)) / 4)
    assert (found.n, found.mean.method) == (4, "t over 4 words")
    assert 0 <= found.mean.low < found.mean.value < found.mean.high <= 1
    lean, size = ripa(FLAT, ["nurse", "smith", "tree"], [("he", "she")])
    assert lean.values == pytest.approx({"nurse": -3.0, "smith": 2.0, "tree": 0.0})
    assert lean.mean.value == pytest.approx(-1 / 3)
    assert size.mean.value == pytest.approx(5 / 3)
    assert direction_cosines(FLAT, direction(FLAT, [("she", "he")]))["smith"] == pytest.approx(-1)


def test_the_direction_is_the_published_principal_component() -> None:
    """Bolukbasi's: PCA of both words of each pair less the pair's middle, unit vectors."""
    vectors = random_vectors(1, [word for pair in GENDER for word in pair])
    rows = []
    for first, second in GENDER:
        u, v = (vectors.lookup([word])[0] for word in (first, second))
        u, v = u / np.linalg.norm(u), v / np.linalg.norm(v)
        rows += [u - (u + v) / 2, v - (u + v) / 2]
    pca = PCA(n_components=1).fit(np.array(rows))
    found = direction(vectors, GENDER)
    assert abs(found.vector @ pca.components_[0]) == pytest.approx(1)
    assert found.explained == pytest.approx(pca.explained_variance_ratio_[0])
    assert found.pairs == 10
    towards = sum(vectors.lookup([a])[0] / np.linalg.norm(vectors.lookup([a])) @ found.vector for a, _ in GENDER)
    away = sum(vectors.lookup([b])[0] / np.linalg.norm(vectors.lookup([b])) @ found.vector for _, b in GENDER)
    assert towards > away


def test_ripa_of_several_pairs_lies_between_the_words_length() -> None:
    vectors = random_vectors(2, ["a", "b", "c", "d", "w", "v"])
    found, _ = ripa(vectors, ["w", "v"], [("a", "b"), ("c", "d")])
    differences = vectors.lookup(["a", "c"]) - vectors.lookup(["b", "d"])
    values, columns = np.linalg.eigh(differences.T @ differences)
    towards = columns[:, values.argmax()]
    for word, value in found.values.items():
        assert abs(value) == pytest.approx(abs(vectors.lookup([word])[0] @ towards))
        assert abs(value) <= np.linalg.norm(vectors.lookup([word]))
    assert found.explained == pytest.approx(values.max() / values.sum())


def test_the_relative_norm_distance_is_that_of_garg() -> None:
    """Unit vectors: he (1, 0, 0), she (−1, 0, 0), nurse (−0.6, 0.8, 0): √(0.16 + 0.64) − √(2.56 + 0.64); tree: 0."""
    found = relative_norm_distance(FLAT, ["nurse", "smith", "tree"], [("he", "she")])
    assert found.values == pytest.approx({"nurse": math.sqrt(0.8) - math.sqrt(3.2), "smith": 2.0, "tree": 0.0})
    assert found.mean.value == pytest.approx((math.sqrt(0.8) - math.sqrt(3.2) + 2) / 3)
    assert (found.n, found.pairs, found.explained) == (3, 1, None)
    # the group is the mean of its unit vectors: of he and up, (1 + √½, 0, √½) / 2
    several = relative_norm_distance(FLAT, ["tree"], [("he", "she"), ("up", "she")])
    centre = np.array([1 + math.sqrt(0.5), 0, math.sqrt(0.5)]) / 2
    assert several.values["tree"] == pytest.approx(math.sqrt(2) - np.linalg.norm(centre - [0, 1, 0]))
    turned = relative_norm_distance(FLAT, ["nurse"], [("she", "he")])
    assert turned.values["nurse"] == pytest.approx(-found.values["nurse"])


def test_neighbour_shares_match_a_plain_loop() -> None:
    vectors = random_vectors(3, [f"w{number}" for number in range(40)])
    marks = {
        word: value
        for word, value in direction_cosines(vectors, direction(vectors, [("w0", "w1")])).items()
        if word != "w7"
    }
    marks["w9"] = 0.0
    words = [f"w{number}" for number in range(5, 20)]
    found = knn_bias(vectors, words, marks, k=6)
    shares = {}
    for word in words:
        others = [other for other in vectors.words if other != word]
        others.sort(key=lambda other: -weat_reference.cosine(vectors.lookup([word])[0], vectors.lookup([other])[0]))
        signs = [marks[other] > 0 for other in others[:6] if marks.get(other)]
        shares[word] = sum(signs) / len(signs)
        assert found.marked[word] == len(signs)
    assert found.shares == pytest.approx(shares)
    known = [word for word in words if word != "w7"]
    expected = np.corrcoef([shares[word] for word in known], [marks[word] for word in known])[0, 1]
    assert found.correlation.value == pytest.approx(expected)
    middle, half = math.atanh(expected), 1.959964 / math.sqrt(len(known) - 3)
    assert found.correlation.low == pytest.approx(math.tanh(middle - half), abs=1e-6)
    assert found.correlation.high == pytest.approx(math.tanh(middle + half), abs=1e-6)
    assert (found.n, found.k) == (len(known), 6)


def test_neighbours_without_marks_have_no_share() -> None:
    found = knn_bias(FLAT, ["nurse", "tree", "up"], {"she": 1.0}, k=1)
    assert math.isnan(found.shares["nurse"])
    assert (found.marked, found.n, found.p) == ({"nurse": 0, "tree": 0, "up": 0}, 0, None)
    assert found.correlation.method == "too few: 0 words"
    alike = knn_bias(FLAT, ["nurse", "tree", "up"], dict.fromkeys(FLAT.words, 1.0), k=2)
    assert alike.shares == {"nurse": 1.0, "tree": 1.0, "up": 1.0}
    assert alike.correlation.method == "no spread: 3 words alike"


def test_a_word_of_the_same_vector_is_a_neighbour_and_the_word_itself_is_not() -> None:
    twins = WordVectors(("a", "b", "c"), np.array([[1.0, 0], [1, 0], [0, 1]]), "made")
    found = knn_bias(twins, ["a", "b"], {"a": 1.0, "b": -1.0}, k=1)
    assert found.shares == {"a": 0.0, "b": 1.0}


def test_pairs_without_a_direction_are_refused() -> None:
    with pytest.raises(StatsError, match="at least one pair"):
        direction(FLAT, [])
    with pytest.raises(StatsError, match="same vector"):
        direction(FLAT, [("he", "he")])
    with pytest.raises(DataError, match="no vector for 'man'"):
        direction(FLAT, GENDER)
    with pytest.raises(StatsError, match="0 words"):
        direct_bias(FLAT, [], [("he", "she")])
    with pytest.raises(StatsError, match="2 words, 1 different"):
        ripa(FLAT, ["up", "up"], [("he", "she")])
    with pytest.raises(StatsError, match="expected 1 to 5"):
        knn_bias(FLAT, ["up"], {}, k=6)
