"""`unmask mitigate`: mitigate the bias of a model, save the checkpoint, and measure before and after."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmask.cli import options
from unmask.cli.console import split_names, stderr_printer
from unmask.cli.training_progress import training_bar
from unmask.core.errors import DataError
from unmask.core.progress import progress_bar
from unmask.findings.terminal import show

if TYPE_CHECKING:
    from unmask.core.options import Opening, Options
    from unmask.data.texts import TrainingCorpus
    from unmask.findings import Finding
    from unmask.mitigate import Method, MitigationOptions
    from unmask.training import TrainSettings

Text = Annotated[
    list[str],
    typer.Option(help="Training text: txt, jsonl, csv, tsv, parquet; .gz, .xz. Optional for erasers."),
]
Out = Annotated[Path, typer.Option(help="Folder for the checkpoint.")]


def mitigate(  # noqa: PLR0913, PLR0917 - the options of the command
    method: Annotated[str, typer.Argument(help="Method (see `unmask list mitigations`).")],
    model: Annotated[
        str | None, typer.Argument(help="Hub name or folder; default: the built-in model.")
    ] = None,
    corpus: Text = [],  # noqa: B006 - typer copies it
    out: Out = Path("mitigated"),
    column: Annotated[list[str] | None, typer.Option(help="Column of a table with the text.")] = None,
    unit: Annotated[
        str, typer.Option(help="Unit of a document in text files: line, block or file.")
    ] = "line",
    held: Annotated[
        list[str] | None,
        typer.Option(help="Held-out text for evaluation.", show_default="5% of the corpus, by hash"),
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first N documents of the corpus.")] = None,
    epochs: Annotated[float, typer.Option(help="Number of epochs.")] = 3.0,
    lr: Annotated[float, typer.Option(help="Initial learning rate; it decays to zero.")] = 5e-5,
    batch: Annotated[int, typer.Option(help="Batch size per device.")] = 32,
    seed: Annotated[int, typer.Option(help="Random seed (data order, masking, dropout, CDS sampling).")] = 0,
    length: Annotated[int, typer.Option(help="Tokens per training sequence.")] = 128,
    save_every: Annotated[int, typer.Option(help="Steps between checkpoints to resume from.")] = 500,
    bf16: Annotated[bool, typer.Option("--bf16", help="Train in bfloat16 mixed precision (GPU).")] = False,
    axis: Annotated[
        str, typer.Option(help="Groups whose words are swapped: gender, race or religion.")
    ] = "gender",
    pairs: Annotated[Path | None, typer.Option(help="CSV of word pairs to swap.")] = None,
    swap_names: Annotated[
        bool | None, typer.Option("--names/--no-names", help="Swap first names.", show_default="cds only")
    ] = None,
    remind: Annotated[
        int, typer.Option(help="Add the reminder sentences to the training text this many times (1 to 3).")
    ] = 0,
    layers: Annotated[str, typer.Option(help="at: layers of the projection loss, all or last.")] = "all",
    level: Annotated[
        str, typer.Option(help="at: level of the projection loss, token or sentence.")
    ] = "token",
    strength: Annotated[float, typer.Option(help="at: weight of the projection loss.")] = 0.2,
    layer: Annotated[int, typer.Option(help="Erasers: layer whose hidden states are changed.")] = -1,
    curve: Annotated[
        str | None,
        typer.Option(help="Measure ASLD for these numbers of sentences (500,1000,…); writes no checkpoint."),
    ] = None,
    draws: Annotated[int, typer.Option(help="With --curve: random samples per size.")] = 5,
    report_to: Annotated[str, typer.Option(help="Log the training loss to tensorboard, wandb, …")] = "none",
    device: options.Device = None,
    kind: options.KindOf = None,
    tokens: options.Tokens = None,
    data_dir: options.DataDir = None,
    offline: options.Offline = False,
    allow_pickle: options.AllowPickle = False,
    trust_remote_code: options.TrustRemoteCode = False,
    no_store: options.NoStore = False,
    no_report: options.NoReport = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Mitigate the bias of a model and report what changed: bias, gendered words, language modelling.

    The output is an ordinary Hugging Face checkpoint with `mitigation.json` beside it. Run the same command
    again to resume an interrupted run.
    """
    from unmask.core.options import Opening, Options
    from unmask.data.text_files import TextLayout
    from unmask.data.texts import load_corpus
    from unmask.mitigate import MitigationOptions, find
    from unmask.training import TrainSettings
    from unmask.training.distributed import is_main_process, world_size

    chosen = find(method)
    settings = TrainSettings(
        epochs=epochs, rate=lr, batch=batch, seed=seed, save_every=save_every, bf16=bf16, report_to=report_to
    )
    wishes = MitigationOptions(axis, swap_names, pairs, remind, layers, level, length, layer, strength)
    how = Opening(kind, device, "fp32", False, offline, allow_pickle, trust_remote_code)  # type: ignore[arg-type]
    layout = TextLayout(tuple(split_names(column)), unit=unit)  # type: ignore[arg-type]
    files = split_names(corpus)
    if not files and chosen.trains:
        raise DataError("no training text: give --corpus FILE (txt, jsonl, csv, tsv, parquet; .gz, .xz)")
    text = load_corpus(files, layout, held_out=split_names(held), limit=limit)
    run = _Run(chosen, model, text, out, settings, wishes, how, quiet)
    if curve is not None and world_size() > 1:
        raise DataError("--curve trains models one after the other: start it without accelerate launch")
    if not is_main_process():
        run.train_along()
        return
    if curve is not None:
        content, finding = run.curve(curve, draws)
    else:
        with progress_bar(quiet=quiet) as progress:
            limits = Options(None, seed, tokens, not no_store, data_dir, offline, progress)
            content, finding = run.mitigate(limits)
    if as_json:
        typer.echo(json.dumps(content, indent=2, ensure_ascii=False))
    else:
        show(finding)
    if not no_report:
        _page(chosen, content, finding, out, curve=curve is not None)
    output = "curve" if curve is not None else "checkpoint"
    stderr_printer(quiet)(
        f"{output} in {out}" + ("" if no_report else f"; open {out / 'report.html'} in a browser")
    )


@dataclass(frozen=True, slots=True)
class _Run:
    """The arguments of one run, and its modes."""

    method: Method
    model: str | None
    text: TrainingCorpus
    out: Path
    settings: TrainSettings
    choices: MitigationOptions
    how: Opening
    quiet: bool

    def mitigate(self, limits: Options) -> tuple[dict[str, Any], Finding]:
        """Evaluate, mitigate, save, evaluate again and compare."""
        from unmask.audit.plan import engine_for
        from unmask.core.files import write_json
        from unmask.findings import as_json
        from unmask.mitigate.comparison import compare_evaluations
        from unmask.mitigate.evaluation import evaluate_model
        from unmask.mitigate.run import RECORD, check_request, load_finished_record, mitigate
        from unmask.models import open_lm

        lm, held, seed = open_lm(self.model, self.how), self.text.held_out_sentences, self.settings.seed
        record = load_finished_record(self.out, self.method, lm, self.text, self.settings, self.choices)
        if record is None:
            check_request(self.method, lm, self.choices, self.out)
        with engine_for(lm, limits) as engine:
            before = evaluate_model(engine, held, seed=seed, progress=limits.progress)
            if record is None:
                with training_bar(quiet=self.quiet) as bar:
                    done = mitigate(
                        *(self.method, engine, self.text, self.out),
                        settings=self.settings,
                        options=self.choices,
                        progress=bar(self.method.name),
                    )
                record = dict(done.record)
        with engine_for(open_lm(self.out, self.how), limits) as engine:
            after = evaluate_model(engine, held, seed=seed, progress=limits.progress)
        finding = compare_evaluations(before, after, seed=seed, probe=record["did"].get("probe"))
        content = {**_made_by(), **record, "judged": as_json(finding)}
        return write_json(self.out / RECORD, content), finding

    def train_along(self) -> None:
        """Take part in distributed training; rank 0 evaluates, prints and writes."""
        from unmask.mitigate.run import load_finished_record, mitigate
        from unmask.models import Engine, open_lm

        lm = open_lm(self.model, self.how)
        if load_finished_record(self.out, self.method, lm, self.text, self.settings, self.choices) is None:
            engine = Engine(lm)
            mitigate(self.method, engine, self.text, self.out, settings=self.settings, options=self.choices)

    def curve(self, sizes: str, draws: int) -> tuple[dict[str, Any], Finding]:
        """ASLD against the number of sentences."""
        from unmask.mitigate.curve import curve_finding, measure_curve
        from unmask.models import open_lm

        if not all(part.strip().isdigit() for part in sizes.split(",")):
            raise DataError(
                f"--curve {sizes}: give comma-separated numbers of sentences, such as 500,1000,2000"
            )
        numbers = sorted({int(part) for part in sizes.split(",")})
        with training_bar(quiet=self.quiet) as bar:
            measured = measure_curve(
                *(self.method, lambda: open_lm(self.model, self.how), self.text, numbers, draws, self.out),
                settings=self.settings,
                options=self.choices,
                progress=lambda size, draw: bar(f"{size:,} sentences, draw {draw + 1} of {draws}"),
            )
        return {**_made_by(), **measured}, curve_finding(measured, self.settings.seed)


def _made_by() -> dict[str, Any]:
    from importlib.metadata import version

    from unmask.findings.envelope import versions

    return {"unmask": version("unmask"), "versions": versions()}


def _page(method: Method, content: dict[str, Any], finding: Finding, out: Path, *, curve: bool) -> None:
    from unmask.findings import Section
    from unmask.findings.html import write
    from unmask.mitigate.curve import CURVE
    from unmask.mitigate.run import RECORD

    behaviour = "as published" if method.published else "corrected, see the documentation"
    lead = f"{method.title}: {method.about}. Behaviour: {behaviour}."
    title_and_lead = (
        ("How much text it takes", "ASLD after training on random samples of increasing size.")
        if curve
        else (
            "Before and after",
            "Changes of bias, of words that have a gender, and of language modelling ability.",
        )
    )
    section = Section(method.name, *title_and_lead, finding)
    write(f"Mitigation by {method.name}", lead, [section], content, out, download=CURVE if curve else RECORD)
