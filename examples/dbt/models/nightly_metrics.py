"""A Python model of dbt: the metrics of the model `impressions`, as a table. Its project is examples/dbt.

dbt run --project-dir examples/dbt --profiles-dir examples/dbt --vars '{day: 2026-11-19}'
"""

from typing import Any

import sparkrank as sr


def model(dbt: Any, session: Any) -> Any:  # noqa: ARG001 - dbt passes both
    dbt.config(materialized="table")
    evaluation = sr.evaluate(
        dbt.ref("impressions"), ["ndcg@10", "rr"], group="user_id", score={"production": "score"}, label="clicked"
    )
    return evaluation.metrics
