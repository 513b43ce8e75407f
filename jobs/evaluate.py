"""The nightly job: spark-submit jobs/evaluate.py --conf conf/nightly.yaml --date 2026-11-19"""

import sys

from sparkrank.cli import run

if __name__ == "__main__":
    run(["evaluate", *sys.argv[1:]])
