"""Exports: valid by the published schema of each format, and read by its own library where it is installed."""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import unmask
from report import fake
from unmask.audit.result import AuditResult
from unmask.core.errors import OutputError, ResultError, UnknownName
from unmask.interchange import FORMATS
from unmask.interchange.inspect_log import log_of
from unmask.interchange.trackers import Record

SCHEMAS = Path(__file__).parent / "schemas"


def schema(name: str) -> Any:
    return json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def records(audited: AuditResult, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an export to Every Eval Ever."""
    out = tmp_path_factory.mktemp("eee")
    assert unmask.export(audited, to="every-eval-ever", out=out) == str(out / "data")
    return out


def test_every_eval_ever_records_follow_its_schema(records: Path, audited: AuditResult) -> None:
    aggregates = sorted(records.glob("data/*/unknown/bert-uncased/*.json"))
    assert [path.parts[-4] for path in aggregates] == ["crows-pairs", "own"]
    for path in aggregates:
        record = read(path)
        jsonschema.validate(record, schema("eval"))
        detail = record["detailed_evaluation_results"]
        samples = records / detail["file_path"]
        assert samples.name == f"{path.stem}_samples.jsonl"
        assert hashlib.sha256(samples.read_bytes()).hexdigest() == detail["checksum"]
        rows = [json.loads(line) for line in samples.read_text(encoding="utf-8").splitlines()]
        assert len(rows) == detail["total_rows"]
        known = {result["evaluation_result_id"] for result in record["evaluation_results"]}
        for row in rows:
            jsonschema.validate(row, schema("instance_level_eval"))
            assert row["evaluation_result_id"] in known
            assert row["evaluation_id"] == record["evaluation_id"]


def test_every_eval_ever_has_all_finite_estimates_and_the_mean_of_its_items(
    records: Path, audited: AuditResult
) -> None:
    (path,) = records.glob("data/crows-pairs/*/*/*.json")
    results = {each["evaluation_result_id"]: each for each in read(path)["evaluation_results"]}
    wanted = [each for each in audited.estimates if each.data == "crows-pairs" and math.isfinite(each.value)]
    assert len(results) == len(wanted)
    for each in wanted:
        found = results[f"{each.measure}/{each.statistic}/{each.group}"]
        assert found["score_details"]["score"] == each.value
        assert found["metric_config"]["metric_parameters"]["reference_value"] == each.null
        if each.has_interval:
            interval = found["score_details"]["uncertainty"]["confidence_interval"]
            assert (interval["lower"], interval["upper"]) == (each.low, each.high)
    source = results["aul/bias-score/all"]["source_data"]
    assert (source["source_type"], source["hf_repo"]) == ("hf_dataset", "nyu-mll/crows_pairs")
    rows = [json.loads(line) for line in Path(f"{path.with_suffix('')}_samples.jsonl").read_text("utf-8").splitlines()]
    scores = [row["evaluation"]["score"] for row in rows if row["evaluation_result_id"] == "aul/bias-score/all"]
    assert 100 * sum(scores) / len(scores) == pytest.approx(results["aul/bias-score/all"]["score_details"]["score"])


@pytest.mark.parametrize(
    ("statistic", "unit", "ends"),
    [
        ("bias-score", "percent", (0.0, 100.0)),
        ("appd", "difference of probabilities", (-1.0, 1.0)),
        ("asld", "nats", (0.0, "Infinity")),
        ("effect-size", "standard deviations", ("-Infinity", "Infinity")),
        ("TPR gap, women − men", "difference of rates", (-1.0, 1.0)),
    ],
)
def test_every_eval_ever_names_the_unit_of_the_statistic(
    statistic: str, unit: str, ends: tuple[Any, Any], tmp_path: Path
) -> None:
    """All but percentages were nats: a difference of probabilities of 0.3 would be read as one of log-probabilities."""
    made = fake.run(fake.meta(), (fake.estimate("cps", 0.3, statistic=statistic, null=None),), (), fake.bare().items)
    unmask.export(made, to="every-eval-ever", out=tmp_path)
    (record,) = (read(path) for path in tmp_path.rglob("*.json"))
    (result,) = record["evaluation_results"]
    config = result["metric_config"]
    assert (config["metric_unit"], (config["min_score"], config["max_score"])) == (unit, ends)


def test_an_unscored_item_is_exported_with_its_reason(records: Path, audited: AuditResult) -> None:
    (path,) = records.glob("data/own/*/*/*_samples.jsonl")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    failed = [row for row in rows if row["error"]]
    assert [row["sample_id"] for row in failed] == ["own/0001"]
    assert failed[0]["error"].startswith("empty span")
    assert rows[0]["input"]["raw"] == 'He said, "sí".'


def test_an_inspect_log_follows_its_schema(audited: AuditResult, tmp_path: Path) -> None:
    path = Path(unmask.export(audited, to="inspect", out=tmp_path))
    log = read(path)
    jsonschema.validate(log, schema("inspect_log"))
    assert len(log["samples"]) == 14
    assert log["eval"]["dataset"]["sample_ids"] == [sample["id"] for sample in log["samples"]]
    by_item = {(row["measure"], row["item"]): row for row in audited.items.to_pylist()}
    for sample in log["samples"]:
        for measure in ("aul", "sss"):
            row = by_item[measure, sample["id"]]
            if row["outcome"] == "unscored":
                assert measure not in sample["scores"]
                assert sample["metadata"][f"not scored by {measure}"] == row["reason"]
            else:
                assert sample["scores"][measure]["value"] == {"more": 1, "less": 0, "tie": 0.5}[row["outcome"]]
    headline = next(each for each in audited.headlines(published=True) if each.measure == "aul")
    aul = next(each for each in log["results"]["scores"] if each["name"] == "aul")
    assert aul["metrics"]["crows-pairs/bias-score"]["value"] == headline.value
    assert aul["metrics"]["crows-pairs/bias-score"]["metadata"]["low"] == headline.low


def test_a_schema_refuses_what_is_wrong(audited: AuditResult) -> None:
    log = log_of(audited)
    del log["eval"]["task"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(log, schema("inspect_log"))


def test_a_tracker_gets_every_finite_estimate_under_a_name_of_its_own(audited: AuditResult) -> None:
    record = Record.of(audited)
    finite = [each for each in audited.estimates if math.isfinite(each.value)]
    ends = [name for name in record.metrics if name.endswith((".low", ".high"))]
    assert len(record.metrics) - len(ends) == len(finite)
    headline = audited.headlines()[0]
    assert record.metrics[f"crows-pairs/aul/{headline.statistic}"] == headline.value
    assert record.metrics[f"crows-pairs/aul/{headline.statistic}.low"] == headline.low
    assert record.parameters["model"] == "bert-uncased"
    assert record.parameters["data crows-pairs"] == audited.meta["data"][0]["sha256"]
    assert [path.name for path in record.files] == ["result.json", "items.parquet"]
    folders = {name.rpartition("/")[0] for name in record.metrics}
    assert not folders & {*record.metrics}  # a file store keeps them as files


def test_what_cannot_be_exported_is_refused(
    audited: AuditResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UnknownName, match="every-eval-ever, inspect, mlflow, trackio, wandb"):
        unmask.export(audited, to="excel", out=tmp_path)
    other = unmask.Result({**audited.meta, "kind": "task"})
    with pytest.raises(ResultError, match="takes audits, a task was given"):
        unmask.export(other, to="inspect", out=tmp_path)
    with pytest.raises(ResultError, match="no estimate to export"):
        unmask.export(unmask.Result({**audited.meta, "estimates": []}), to="mlflow", out=tmp_path)
    monkeypatch.setattr("unmask.interchange.run.find_spec", lambda _: None)
    for name in ("mlflow", "trackio", "wandb"):
        with pytest.raises(OutputError, match=f"{name} is not installed: run .pip install"):
            unmask.export(audited, to=name, out=tmp_path)
    assert {*FORMATS} == {"every-eval-ever", "inspect", "mlflow", "trackio", "wandb"}


# --------------------------------------------------------------------- read back by the libraries


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of pandas, about Inspect's own code
def test_inspect_reads_the_log(audited: AuditResult, tmp_path: Path, trackers: None) -> None:
    from inspect_ai.analysis import samples_df
    from inspect_ai.log import list_eval_logs, read_eval_log

    path = Path(unmask.export(audited, to="inspect", out=tmp_path))
    log = read_eval_log(path)
    assert (log.status, len(log.samples or [])) == ("success", 14)
    assert len(list_eval_logs(str(tmp_path))) == 1
    assert len(samples_df(str(tmp_path))) == 14


def test_mlflow_reads_the_run(audited: AuditResult, tmp_path: Path, trackers: None, monkeypatch: Any) -> None:
    from mlflow.tracking import MlflowClient

    unmask.export(audited, to="mlflow", out=tmp_path / "store")
    unmask.export(audited, to="mlflow", out=tmp_path / "store")  # into the same experiment
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    client = MlflowClient(tracking_uri=(tmp_path / "store").as_uri())
    experiment = client.get_experiment_by_name("unmask")
    runs = client.search_runs([experiment.experiment_id])
    assert len(runs) == 2
    assert runs[0].info.status == "FINISHED"
    assert runs[0].data.metrics == dict(Record.of(audited).metrics)
    assert {each.path for each in client.list_artifacts(runs[0].info.run_id)} == {"result.json", "items.parquet"}


def test_trackio_reads_the_run(audited: AuditResult, tmp_path: Path, trackers: None, capfd: Any) -> None:
    unmask.export(audited, to="trackio", out=tmp_path / "store")
    assert not capfd.readouterr().out
    with sqlite3.connect(tmp_path / "store" / "unmask.db") as database:
        ((name, metrics),) = database.execute("select run_name, metrics from metrics").fetchall()
    assert name == "bert-uncased"
    assert json.loads(metrics)["crows-pairs/aul/bias-score"] == audited.headlines()[0].value


def test_wandb_writes_an_offline_run(audited: AuditResult, tmp_path: Path, trackers: None) -> None:
    unmask.export(audited, to="wandb", out=tmp_path / "store")
    (run,) = (tmp_path / "store").glob("wandb/offline-run-*/run-*.wandb")
    assert b"crows-pairs/aul/bias-score" in run.read_bytes()
    assert (run.parent / "files" / "result.json").is_file()
