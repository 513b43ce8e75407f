"""``make soak SECONDS=600``: random cases in all lanes against the slow oracles, for so long, from a seed that is told.

python -m tests.soak --seconds 600                  as many rounds as fit, of a random seed
python -m tests.soak --seconds 600 --seed 7         the same rounds again; the first is that of seed 7
python -m tests.soak --seconds 60 --lanes local     without Spark
"""

from __future__ import annotations

import argparse
import logging
import secrets
import sys
import tempfile
from pathlib import Path

from tests.soak.rounds import Soak, started


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="make soak", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--lanes", choices=("all", "local"), default="all")
    parser.add_argument("--failing", type=Path, default=Path("soak-failing.txt"))
    given = parser.parse_args()
    seed = secrets.randbelow(10**9) if given.seed is None else given.seed
    print(f"SEED={seed}", flush=True)
    logging.getLogger("sparkrank").setLevel(logging.CRITICAL)  # doubts about inputs, which are random
    with tempfile.TemporaryDirectory() as folder, started(given.lanes, Path(folder)) as spark:
        soak = Soak(Path(folder), spark, given.failing)
        is_same = soak.rounds(seed, given.seconds)
    if not is_same:
        print(soak.failing.read_text(encoding="utf-8"), f"(this is in {soak.failing})", sep="\n")
    print(soak.told(), flush=True)
    return 0 if is_same else 1


if __name__ == "__main__":
    sys.exit(main())
