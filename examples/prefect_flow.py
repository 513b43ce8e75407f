"""A flow of Prefect: the exit codes of a command say whether it is tried again, and how the flow ends.

Exit codes are interface (docs/schedulers.md). After 1 and 4 the same command may work later. After 2, 3 and 5 it would
end the same way, and somebody has to look. The flow returns the document of the day. To run the day before once:

    export SPARKRANK_CONF=/etc/sparkrank/nightly.yaml
    python examples/prefect_flow.py
"""

import datetime as dt
import json
import os
import subprocess
from typing import Any

from prefect import flow, task

# Or ["spark-submit", "--master", "yarn", "jobs/evaluate.py"] in place of the first two words.
EVALUATE = ["sparkrank", "evaluate", "--json", "--conf", "{conf}", "--date", "{day}"]
AGAIN = (1, 4)


class StoppedError(Exception):
    """A command that did not end with exit code 0."""

    def __init__(self, code: int, sentence: str) -> None:
        super().__init__(f"exit code {code}: {sentence}")
        self.code = code


def may_work_later(_task: Any, _run: Any, state: Any) -> bool:
    error = state.result(raise_on_failure=False)
    return isinstance(error, StoppedError) and error.code in AGAIN


@task(retries=3, retry_delay_seconds=1800, retry_condition_fn=may_work_later)
def evaluate(conf: str, day: str) -> dict[str, Any]:
    command = [word.format(conf=conf, day=day) for word in EVALUATE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise StoppedError(done.returncode, (done.stderr.strip().splitlines() or ["a gate stops the day"])[-1])
    return json.loads(done.stdout)


@flow
def nightly(conf: str, day: str) -> dict[str, Any]:
    """The metrics and verdicts of a day. Schedules are deployments: `nightly.serve(cron="0 4 * * *")`."""
    return evaluate(conf, day)


if __name__ == "__main__":
    yesterday = dt.datetime.now(tz=dt.timezone.utc).date() - dt.timedelta(days=1)
    nightly(os.environ["SPARKRANK_CONF"], yesterday.isoformat())
