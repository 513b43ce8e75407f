"""A DAG of Airflow: the day before is evaluated every night, and the week is merged on Mondays.

Exit codes are interface (docs/schedulers.md). A gate that stops the day (3, 5) is no reason to try again: the tables
are written, and somebody has to look; nor is a wrong spec (2). A log that is not there (4) may come later, and a store
that failed (1) may answer later: Airflow tries these again.

Each command prints one JSON document, which the tasks return: warnings and verdicts stand in XCom. A day that passes is
an event of the asset `sparkrank_day`, with the `run_id` of its tables, for DAGs that wait for it. Put this file into
the folder of DAGs. To see whether Airflow imports it (make test-airflow):

    .venv-airflow/bin/python examples/airflow_dag.py
"""

from __future__ import annotations

import datetime as dt
import json
import subprocess
from typing import Any

from airflow.sdk import Asset, Param, dag, task
from airflow.sdk.exceptions import AirflowException, AirflowFailException

# Or ["spark-submit", "--master", "yarn", "jobs/evaluate.py"] in place of the first two words of a command.
EVALUATE = ["sparkrank", "evaluate", "--json", "--conf", "{conf}", "--date", "{day}"]
MERGE = ["sparkrank", "merge", "--json", "--conf", "{conf}", "--from", "{first}", "--to", "{day}"]
NOT_AGAIN = (2, 3, 5)  # exit codes after which the same command would end the same way
KEPT = ("day", "window", "run_id", "gates", "warnings", "tables")  # of the document, which has all metrics too
PASSED = Asset("sparkrank_day")


def run(command: list[str], **words: str) -> dict[str, Any]:
    """The document of ``command``. Raises what makes Airflow try again, or not."""
    done = subprocess.run([each.format(**words) for each in command], capture_output=True, text=True, check=False)
    if done.returncode:
        sentence = (done.stderr.strip().splitlines() or ["a gate stops the day"])[-1]
        kind = AirflowFailException if done.returncode in NOT_AGAIN else AirflowException
        raise kind(f"exit code {done.returncode}: {sentence}")
    document = json.loads(done.stdout)
    return {key: document[key] for key in KEPT if key in document}


@dag(
    dag_id="sparkrank_nightly",
    schedule="0 4 * * *",
    start_date=dt.datetime(2026, 11, 1, tzinfo=dt.timezone.utc),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 3, "retry_delay": dt.timedelta(minutes=30)},
    params={"conf": Param("/etc/sparkrank/nightly.yaml", type="string")},
    tags=["evaluation"],
)
def nightly() -> None:
    """The day before the run, and on Mondays the seven days up to it."""

    @task(outlets=[PASSED])
    def evaluate(logical_date: dt.datetime, params: dict[str, Any], outlet_events: Any) -> dict[str, Any]:
        document = run(EVALUATE, conf=params["conf"], day=_day(logical_date, 1))
        outlet_events[PASSED].extra = {name: document[name] for name in ("day", "run_id")}
        return document

    @task.short_circuit
    def is_monday(logical_date: dt.datetime) -> bool:
        return logical_date.isoweekday() == 1

    @task
    def merge(logical_date: dt.datetime, params: dict[str, Any]) -> dict[str, Any]:
        return run(MERGE, conf=params["conf"], first=_day(logical_date, 7), day=_day(logical_date, 1))

    evaluate() >> is_monday() >> merge()


def _day(of: dt.datetime, before: int) -> str:
    return (of - dt.timedelta(days=before)).date().isoformat()


nightly()
