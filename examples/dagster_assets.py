"""An asset of Dagster: each day is a partition, each gate of the spec is a check of the asset.

The command runs as a process of its own, so its packages need not be those of Dagster. There it needs the extra
`sparkrank[dagster]`. With --pipes, a gate that stops the day is a failed check and no exit code: Dagster drops what
a command reports that fails. What waits for the asset does not start, because the checks are blocking.

A check has the name of its gate: `@` becomes `_at_`, and any other sign but letters, digits and `_` becomes `_`.

    SPARKRANK_CONF=/etc/sparkrank/nightly.yaml dagster dev -f examples/dagster_assets.py

To see whether Dagster takes it:

    python examples/dagster_assets.py
"""

import os

import dagster as dg

# Or ["spark-submit", "--master", "yarn", "jobs/evaluate.py"] in place of the first two words.
EVALUATE = ["sparkrank", "evaluate", "--pipes", "--quiet", "--conf", "{conf}", "--date", "{day}"]
GATES = ["few", "high"]  # the names of the gates in the spec

DAYS = dg.DailyPartitionsDefinition(start_date="2026-11-01")


@dg.asset(
    partitions_def=DAYS,
    check_specs=[dg.AssetCheckSpec(name, asset="nightly_eval", blocking=True) for name in GATES],
)
def nightly_eval(context: dg.AssetExecutionContext, client: dg.PipesSubprocessClient) -> dg.MaterializeResult:
    """The metrics of a day, with their intervals and the path of the report."""
    words = {"conf": os.environ["SPARKRANK_CONF"], "day": context.partition_key}
    command = [word.format(**words) for word in EVALUATE]
    return client.run(context=context, command=command).get_materialize_result()


LATER = dg.RetryPolicy(max_retries=3, delay=1800)  # the log may not be there yet
nightly = dg.define_asset_job("nightly", [nightly_eval], op_retry_policy=LATER)
defs = dg.Definitions(
    assets=[nightly_eval],
    jobs=[nightly],
    schedules=[dg.build_schedule_from_partitioned_job(nightly, hour_of_day=4)],
    resources={"client": dg.PipesSubprocessClient()},
)
