"""A DAG of Airflow by SparkSubmitOperator: the job runs on a cluster, and `sparkrank gate` tells how the day is.

In cluster modes the exit code of a job is lost: spark-submit ends with 1 for a gate that stops the day as for a store
that failed, or not at all. So `gate` runs whatever became of the job, and ends with the exit code of the verdict. The
last task needs both, because a gate may pass a day that an earlier job has stored. It makes an event of the asset
`sparkrank_day`, with the `run_id` of the tables. The operator does not try again, as it cannot tell whether to.

The workers of Airflow need spark-submit, and sparkrank to read the tables. To see whether Airflow imports this file:

    .venv-airflow/bin/python examples/airflow_spark_dag.py
"""

from __future__ import annotations

import datetime as dt
import json
import subprocess
from typing import Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import Asset, Param, dag, task
from airflow.sdk.exceptions import AirflowException, AirflowFailException

DAY = "{{ macros.ds_add(ds, -1) }}"
GATE = ["sparkrank", "gate", "--json", "--conf", "{conf}", "--date", "{day}"]
NOT_AGAIN = (2, 3, 5)  # exit codes after which the same command would end the same way
PASSED = Asset("sparkrank_day")


@dag(
    dag_id="sparkrank_on_spark",
    schedule="0 4 * * *",
    start_date=dt.datetime(2026, 11, 1, tzinfo=dt.timezone.utc),
    catchup=False,
    max_active_runs=1,
    params={"conf": Param("/etc/sparkrank/nightly.yaml", type="string")},
    tags=["evaluation"],
)
def on_spark() -> None:
    """The day before the run."""
    evaluate = SparkSubmitOperator(  # its connection names the master and deploy-mode
        task_id="evaluate",
        application="jobs/evaluate.py",
        application_args=["--quiet", "--conf", "{{ params.conf }}", "--date", DAY],
    )

    @task(trigger_rule="all_done", retries=2, retry_delay=dt.timedelta(minutes=5))
    def gate(day: str, params: dict[str, Any]) -> dict[str, Any]:
        command = [word.format(conf=params["conf"], day=day) for word in GATE]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            kind = AirflowFailException if done.returncode in NOT_AGAIN else AirflowException
            raise kind(f"exit code {done.returncode}: {done.stderr.strip() or done.stdout}")
        return json.loads(done.stdout)

    @task(outlets=[PASSED])
    def passed(verdicts: dict[str, Any], outlet_events: Any) -> None:
        outlet_events[PASSED].extra = {"day": verdicts["name"], "run_id": verdicts["run_id"]}

    verdicts = gate(DAY)
    evaluate >> verdicts
    evaluate >> passed(verdicts)


on_spark()
