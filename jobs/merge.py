"""A window from its days: spark-submit jobs/merge.py --conf conf/nightly.yaml --from 2026-11-13 --to 2026-11-19"""

import sys

from sparkrank.cli import run

if __name__ == "__main__":
    run(["merge", *sys.argv[1:]])
