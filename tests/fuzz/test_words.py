"""Word lists: terms to count, pairs to swap, counts of words, WordNet."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from tests import zoo
from tests.fuzz.harness import BUDGET, Boundary, fuzz

from unmask.core.errors import Unscorable
from unmask.corpus.counting import TermCounter
from unmask.corpus.flagger import Flagger
from unmask.corpus.matching import Matcher
from unmask.corpus.terms import TermSets, builtin_terms, read_lists, read_terms, with_lexicon
from unmask.data.documents import Document
from unmask.data.formats import read_words
from unmask.diagnose.paraphrase.lexicon import WordNet
from unmask.diagnose.psychometrics.doses import read_doses
from unmask.diagnose.words import read_counts
from unmask.mitigate.methods.prompt import PromptOptions
from unmask.mitigate.swap import Swapper, build_lexicon, mark_words, read_names, read_pairs
from unmask.mitigate.vectors import read_similarities
from unmask.models import open_lm
from unmask.tasks.stsbias import StsBiasOptions, load_templates
from unmask.vectors.run import word_sets

TEXT = "She said that the king and the queen met him."
ENTRY = b"00000000 03 n 02 king 0 male_monarch 0 001 @ 00000000 n 0000 | a ruler\n"
WORDNET = {f"index.{part}": b"  1 licence\nking n 1 1 @ 1 1 00000000\n" for part in ("noun", "verb", "adj")} | {
    f"data.{part}": ENTRY for part in ("noun", "verb", "adj")
}


def count_terms(terms: TermSets) -> None:
    """Count them in a text."""
    matcher = Matcher((*terms.sets[0], *terms.sets[1]))
    matcher.find(TEXT.encode(), np.array([0, len(TEXT)]))


def flag_text(folder: Path) -> None:
    """Flag a text by the lexicon."""
    terms, expected = with_lexicon(builtin_terms(), next(folder.iterdir()))
    flagger = Flagger(TermCounter(terms), expected)
    str(list(flagger.flag([Document(TEXT, "a", 0)], flagger.empty()))).encode()


def read_wordnet(folder: Path) -> None:
    wordnet = WordNet(folder)
    for part in ("NOUN", "VERB", "ADJ"):
        str([wordnet.synonyms("king", part), wordnet.near("king", part), wordnet.antonyms("king", part)]).encode()


def read_prefixes(folder: Path) -> None:
    """Each line is an argument of `--prefix`."""
    prefixes = (folder / "p.txt").read_text("utf-8", errors="replace").split("\n")[:2]
    PromptOptions(prefix=tuple(prefixes))
    for prefix in prefixes:
        with suppress(Unscorable):  # of one sentence: it has no score, and its reason is counted
            open_lm(zoo.folder("bert-uncased")).with_prefix(prefix).encode(TEXT)


BOUNDARIES = [
    Boundary(
        "terms",
        lambda: [{"t.csv": b"feminine,masculine\nshe,he\nmrs.,mr.\nhen_party,stag\n"}],
        lambda folder: count_terms(read_terms(folder / "t.csv")),
        share=16,
    ),
    Boundary(
        "lists of terms",
        lambda: [{"a.txt": b"she\nher\n", "b.txt": "he\r\nhis\nnaïf\n".encode()}],
        lambda folder: count_terms(read_lists(folder / "a.txt", folder / "b.txt")),
        share=16,
    ),
    Boundary(
        "gendered words of STS-bias",
        lambda: [{"f.txt": b"woman\nshe\n", "m.txt": b"man\nhe\n"}],
        lambda folder: load_templates(
            StsBiasOptions(data_dir=zoo.MINIATURE, lists=(folder / "f.txt", folder / "m.txt"))
        ),
    ),
    Boundary(
        "prefixes of prompting",
        lambda: [{"p.txt": b"Women and men do every kind of work.\nBe fair, please:\n"}],
        read_prefixes,
    ),
    Boundary(
        "pairs to swap",
        lambda: [
            {"p.csv": b"masculine,feminine\nhe,she\nKing,Queen\n"},
            {"p.json": b'[["he", "she"], ["king", "queen"]]'},
        ],
        lambda folder: Swapper(build_lexicon(read_pairs(next(folder.iterdir()))))(TEXT).encode(),
        share=16,
    ),
    Boundary(
        "table of names",
        lambda: [
            {"n.csv": b"name,sex,count\nAnn,F,30\nTom,M,40\nKim,F,5\nKim,M,9\n"},
            {"n.json": b'[["tom", "ann"], ["jean-luc", "kim"]]'},
        ],
        lambda folder: str(mark_words(read_names(next(folder.iterdir())), [TEXT])).encode(),
        share=16,
    ),
    Boundary(
        "table of doses",
        lambda: [{"d.csv": b"model,seed,age,religion\na,0,-1,2\nb,1,0.5,0\norg/c@main,2,3,1\n"}],
        lambda folder: str(read_doses(folder / "d.csv")).encode(),
        share=16,
    ),
    Boundary(
        "counts of words",
        lambda: [
            {"c.csv": b"word,count\nshe,3\nhe,5\n"},
            {"c.jsonl": b'{"word": "she", "count": 3}\n'},
            {"c.txt": b"she 3\n"},
        ],
        lambda folder: read_counts(next(folder.iterdir())).log10("she"),
        share=16,
    ),
    Boundary(
        "words and pairs of vectors",
        lambda: [{"w.txt": b"nurse\nengineer\n", "p.csv": b"m,f\nhe,she\nman,woman\n"}],
        lambda folder: str(word_sets(folder / "w.txt", folder / "p.csv").lower()).encode(),
        share=16,
    ),
    Boundary(
        "lexicon of attributes",
        lambda: [{"l.csv": b"word,group\nmet,feminine\nsaid that,masculine\nrain,\n"}, {"l.txt": b"met\nking's\n"}],
        flag_text,
        share=8,
    ),
    Boundary(
        "list of words",
        lambda: [{"l.txt": "; a comment\r\nna\u00efve\ngood\n\n".encode()}, {"l.json": b'["she", "he"]'}],
        lambda folder: str(read_words(next(folder.iterdir()))).encode(),
        share=16,
    ),
    Boundary(
        "similarities",
        lambda: [{"s.csv": b"word1,word2,score\nking,queen,8.5\ncar,tree,1\n"}, {"s.tsv": b"king\tqueen\t8\n"}],
        lambda folder: str(read_similarities(next(folder.iterdir()))).encode(),
        share=16,
    ),
    Boundary("WordNet", lambda: [WORDNET], read_wordnet, share=16),
]


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=lambda each: each.name)
def test_damaged_input_is_accepted_or_refused(boundary: Boundary) -> None:
    fuzz(boundary, BUDGET)
