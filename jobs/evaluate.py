"""The nightly job: spark-submit jobs/evaluate.py --conf conf/nightly.yaml --date 2026-11-19"""

import sys

from sparkrank.cli import main

if __name__ == "__main__":
    main(["evaluate", *sys.argv[1:]])
