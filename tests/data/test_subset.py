"""`--limit` would measure another thing than the dataset: the first rows of a sorted file, all of one category."""

from collections import Counter
from dataclasses import replace

from unmask import data
from unmask.data.items import STRATA, sample_dataset


def strata(dataset: data.Dataset) -> Counter[tuple[str, ...]]:
    return Counter(tuple(item.groups.get(name, "") for name in STRATA) for item in dataset.items)


def test_every_category_and_direction_has_its_share() -> None:
    whole = data.load("triple-gender")
    part = sample_dataset(whole, 60, seed=0)
    assert len(part.items) == 60
    for stratum, count in strata(whole).items():
        assert abs(strata(part)[stratum] - count / 6) < 1, stratum


def test_the_sample_is_of_the_seed_in_the_order_of_the_file_and_of_any_order_of_limits() -> None:
    whole = data.load("nine-axes")
    first, again, other = (sample_dataset(whole, 50, seed=seed).items for seed in (0, 0, 1))
    assert first == again
    assert first != other
    positions = [whole.items.index(item) for item in first]
    assert positions == sorted(positions)
    assert positions != list(range(50))


def test_it_says_of_how_many_it_is() -> None:
    whole = data.load("nine-axes")
    part = sample_dataset(whole, 50, seed=0)
    assert (part.facts()["n"], part.facts()["subset_of"]) == (50, 360)
    assert sample_dataset(part, 20, seed=0).facts()["subset_of"] == 360
    assert sample_dataset(whole, 360, seed=0) is whole
    assert "subset_of" not in whole.facts()


def test_paraphrases_of_one_sentence_stay_together() -> None:
    whole = data.load("paraphrases")
    part = sample_dataset(whole, 61, seed=0)
    assert len(part.items) == 60  # 20 families of three; the next one does not fit
    assert set(Counter(item.groups["original"] for item in part.items).values()) == {3}
    assert len(sample_dataset(whole, 2, seed=0).items) == 2


def test_data_without_groups_are_sampled_too() -> None:
    whole = data.load("nine-axes")
    bare = replace(whole, items=tuple(replace(item, groups={}) for item in whole.items))
    assert len(sample_dataset(bare, 7, seed=0).items) == 7
