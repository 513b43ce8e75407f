"""How often intervals hold the truth, and tests and gates find what is not there: the tables of docs/uncertainty.md.

python -m tests.simulations --trials 400                 all scenarios: an hour
python -m tests.simulations --trials 100 --only week     those whose names match the pattern
python -m tests.simulations --nights                     gates, night after night
python -m tests.simulations --shown                      metrics of what is shown
python -m tests.simulations --write docs/uncertainty.md  put the tables there, between its two marks
python -m tests.simulations --truth                      draw the true values anew, into tests/simulations/truth.json
"""

from __future__ import annotations

import argparse
import logging
import re
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from tests.simulations import shown_lists
from tests.simulations.nights import CHAINS, stops
from tests.simulations.nights import markdown as table_of_gates
from tests.simulations.scenarios import SCENARIOS
from tests.simulations.table import markdown
from tests.simulations.trials import outcome
from tests.simulations.truth import written


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.simulations", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=400)
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--nights", action="store_true")
    parser.add_argument("--shown", action="store_true")
    parser.add_argument("--truth", action="store_true")
    given = parser.parse_args()
    logging.getLogger("sparkrank").setLevel(logging.ERROR)  # few groups, which is what is simulated
    if given.truth:
        written()
        return
    text = _table(given)
    if given.write is None:
        print(text)
    else:
        mark = "gates" if given.nights else "shown" if given.shown else "intervals"
        begin, end = (f"<!-- simulated {mark}: {word} -->" for word in ("begin", "end"))
        before, _, rest = given.write.read_text(encoding="utf-8").partition(begin)
        _, _, after = rest.partition(end)
        given.write.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}", encoding="utf-8")


def _table(given: argparse.Namespace) -> str:
    names = [name for name in (CHAINS if given.nights else SCENARIOS) if re.search(given.only, name)]
    with ProcessPoolExecutor(given.processes, initializer=_quiet) as processes:
        if given.shown:
            shown = partial(shown_lists.coverages, users=shown_lists.USERS, trials=given.trials, seed=given.seed)
            return shown_lists.markdown(processes.map(shown, shown_lists.RUNS))
        if given.nights:
            return table_of_gates(processes.map(stops, names))
        trials = partial(outcome, trials=given.trials, seed=given.seed)
        return markdown(list(processes.map(trials, map(SCENARIOS.get, names))))


def _quiet() -> None:
    logging.getLogger("sparkrank").setLevel(logging.ERROR)


if __name__ == "__main__":
    main()
