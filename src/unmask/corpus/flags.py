"""`corpus flag`: the sentences that have a word of a group and an attribute of a lexicon."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from unmask.core.estimate import Estimate, Value
from unmask.core.files import file_name
from unmask.core.options import Options, TextLayout, fill_groups
from unmask.core.progress import Step, steps_of
from unmask.core.request import with_request
from unmask.core.seeds import generator
from unmask.corpus.counting import GROUPS, TermCounter
from unmask.corpus.counts import attribute_counts, attribute_estimates
from unmask.corpus.flagger import FlagCounts, FlaggedSentence, Flagger, sentence_writer
from unmask.corpus.ratios import scale_value, word_share
from unmask.corpus.spec import Files, FlagSettings
from unmask.corpus.terms import terms_of, with_lexicon
from unmask.data.documents import Document, Problems, existing_files, read_file
from unmask.findings import Cell, Finding, Section, Table
from unmask.findings.envelope import Result, build
from unmask.findings.folder import result_folder
from unmask.findings.sentences import quantity
from unmask.stats.shares import HitCounts, share_interval

MEASURE = "corpus-flag"
TITLE = "Flagged sentences of a corpus"
SENTENCES = "sentences.csv"
SHOWN = 15  # attributes in a table
EXAMPLES = 5  # sentences on the page
LONGEST = 300  # characters of a sentence on the page


@with_request("corpus flag", "files")
def flag(files: Files, *, out: str | Path | None = None, **options: Any) -> Result:
    """Write the sentences of a corpus that have a word of a group and an attribute of a lexicon.

    Args:
        files: text, JSON lines, CSV, TSV or Parquet, also compressed; memory does not grow with their size.
        out: the result folder, where the sentences are written to `sentences.csv`; None: sentences are written only
            to `table`, if it is given.
        options: fields of `FlagSettings`, `TextLayout` and `Options` (of these `seed` and `progress`), or
            these groups themselves as `settings`, `layout` and `options`.
    """
    settings, layout, run = fill_groups(options, settings=FlagSettings, layout=TextLayout, options=Options)
    with result_folder(out, "corpus", also=(SENTENCES,)) as folder:
        paths, problems = existing_files(files), Problems()
        table = settings.table or (None if folder.path is None else folder.path / SENTENCES)
        terms, expected = with_lexicon(terms_of(settings), settings.lexicon)
        flagger = Flagger(TermCounter(terms, layout, whitespace_only=settings.whitespace), expected)
        counts, step = flagger.empty(), steps_of(run.progress, "files", len(paths))
        examples, written = list[FlaggedSentence](), 0
        with nullcontext() if table is None else sentence_writer(table, terms.names) as write:
            for flagged in flagger.flag(_documents(paths, layout, problems, step), counts):
                if len(examples) < EXAMPLES:
                    examples.append(flagged)
                if write is not None and (settings.most is None or written < settings.most):
                    write(flagged)
                    written += 1
        attributes = attribute_counts(flagger.counter, counts.attributes)
        about = {"measure": MEASURE, "data": terms.source}
        totals = flag_estimates(counts, run.seed, **about)
        lead = f"Read: {', '.join(map(file_name, paths[:5]))}{' …' if paths[5:] else ''}."
        first, second = terms.names
        tables = [
            Table(
                "Attributes",
                ("attribute", "said of", "sentences", f"with {first}", f"with {second}", f"{first} share"),
                tuple(
                    (
                        each.profession,
                        _said_of(flagger, each.profession),
                        each.sentences,
                        each.first,
                        each.second,
                        each.share,
                    )
                    for each in attributes[:SHOWN]
                ),
                "Sentences with the attribute and a word of a group; with words of both it counts for both. Intervals: "
                "95%, Wilson, as if sentences were independent. The JSON has every attribute.",
            ),
            Table(
                "First sentences",
                ("file", "document", "offset", "sentence", first, second, "attributes", "reading"),
                tuple(map(_example, examples)),
                "Documents count from 0 in their file, characters from 0 in their document. Mixed: words of both "
                "groups, or attributes said of both.",
            ),
        ]
        notes = (
            *terms.notes,
            *problems.notes(),
            "flagged sentences are there to be read: words that occur together do not make a sentence biased",
        )
        place = "" if table is None else f"; {written:,} are in {file_name(table)}"
        shown = tuple(table for table in tables if table.rows)
        finding = Finding(tuple(_answers(counts, totals[1], place)), shown, (), notes)
        return folder.finish(
            build(
                "corpus",
                title=TITLE,
                lead=lead,
                data=[{"name": file_name(path), "bytes": path.stat().st_size} for path in paths],
                options=asdict(settings) | asdict(layout) | {"seed": run.seed},
                estimates=[*totals, *attribute_estimates(attributes, "attribute", first, **about)],
                findings=[Section("corpus", TITLE, lead, finding)],
                details={
                    "sets": terms.source,
                    "documents": counts.documents,
                    "counts": dict(zip(("stereotype", "counter", "flagged", "words"), counts.totals, strict=True)),
                    "written": written,
                    "attributes": attributes,
                    "problems": problems,
                },
            )
        )


def _documents(paths: Sequence[Path], layout: TextLayout, problems: Problems, step: Step) -> Iterator[Document]:
    """The documents of all files."""
    for number, path in enumerate(paths):
        yield from read_file(path, layout, problems)
        step((number + 1) / len(paths))


def flag_estimates(counts: FlagCounts, seed: int, **about: Any) -> list[Estimate]:
    """The rate of flagged sentences, and the share of those that follow the stereotype; intervals over documents."""
    unit = "groups of documents" if counts.documents > GROUPS else "documents"
    rows, (stereotype, counter, _, words) = counts.by_group(), counts.totals
    by_words = np.stack([rows[:, 2], rows[:, 2], rows[:, 3]], axis=1)[rows[:, 3] > 0]
    rate = scale_value(word_share(by_words, 0, seed=seed, unit=unit), 1000)
    decided = HitCounts.of(zip(rows[:, 0].tolist(), rows[:, :2].sum(1).tolist(), strict=True))
    share = Value(np.nan, method="no sentence with an expected group")
    if decided.trials.size:
        share = scale_value(share_interval(decided, rng=generator(seed, "stereotype"), unit=unit), 0.01)
    return [
        Estimate.of(rate, **about, statistic="per-1000-words", n=words),
        Estimate.of(share, **about, statistic="stereotype-share", n=stereotype + counter),
    ]


def _answers(counts: FlagCounts, share: Estimate, place: str) -> list[str]:
    """How many sentences there are, `place` says where, and how many follow the stereotype."""
    stereotype, counter, flagged, words = counts.totals
    answers = [
        f"{flagged:,} sentences have a word of a group and an attribute, among {words:,} words in "
        f"{counts.documents:,} documents{place}."
    ]
    if share.n:
        amount = quantity(scale_value(share, 100), "%", 1)
        answers.append(f"{stereotype:,} follow the stereotype and {counter:,} go against it: {amount}, {share.method}.")
    return answers


def _said_of(flagger: Flagger, attribute: str) -> str | None:
    """The group that an attribute is stereotypically said of."""
    side = flagger.expected.get(attribute)
    return None if side is None else flagger.counter.terms.names[side]


def _example(flagged: FlaggedSentence) -> tuple[Cell, ...]:
    """A flagged sentence as a row, cut if it is long."""
    terms = flagged.terms
    text = flagged.text if len(flagged.text) <= LONGEST else f"{flagged.text[:LONGEST]}…"
    words = (", ".join(part) for part in (terms.first, terms.second, terms.attributes))
    return flagged.file, flagged.document, flagged.offset, text, *words, terms.reading or None
