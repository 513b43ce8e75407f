"""docs/performance.md, its plot and docs/scaling.md from the results of all sessions.

    python -m benchmarks.report

The page's sentences are its own. What stands between ``<!-- begin NAME -->`` and ``<!-- end NAME -->`` is written here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from benchmarks import plot
from benchmarks.results import Session
from benchmarks.session_tables import log_table, provenance
from benchmarks.shape_table import session_names, shapes_block
from benchmarks.table import Table, markdown
from benchmarks.targets import NOT_MEASURED, Sessions, targets_table

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"
PAGE = ROOT / "docs" / "performance.md"
PLOT = ROOT / "docs" / "performance.svg"
BARS = ROOT / "docs" / "speed.svg"
# The contenders of the README's figure, of those that compute all metrics, and how it names them.
BAR_ROWS = 20_000_000
OWN_BARS = {
    "sparkrank-local": "sparkrank, one process",
    "sparkrank-scan": "sparkrank on Spark",
    "sparkrank-frame": "sparkrank on a Spark DataFrame",
}
OTHER_BARS = {
    "polars": "Polars",
    "duckdb": "DuckDB",
    "spark-arrays": "Spark SQL, arrays",
    "spark-windows": "Spark SQL, windows",
}

# Sessions on logs of one model with integer keys, whose sizes make the tables and the plot.
SIZES: Mapping[int, str] = {200_000: "1m", 1_000_000: "1m", 10_000_000: "100m", 20_000_000: "20m", 100_000_000: "100m"}
SHAPES = {"1 model, int": "", "3 models, int": "-3-models", "1 model, string": "-strings"}
SHAPED_SIZES = {"1m": 1_000_000, "20m": 20_000_000}
SCALING_PAGE = ROOT / "docs" / "scaling.md"
SCALING = (
    "scaling-pieces",
    "scaling-merging",
    "scaling-wide",
    "scaling-scanned",
    "scaling-buckets",
)
TABLES = ("cold", "submit", "kernels", "metric-costs", "day", "merging", "crossing", "crossing-strings")


def write(results: Path = RESULTS) -> None:
    """Bring the page and the plot to what the results say."""
    sessions = read(results)
    PAGE.write_text(fill(PAGE.read_text(), blocks(sessions, results)))
    SCALING_PAGE.write_text(fill(SCALING_PAGE.read_text(), tables(SCALING, results)))
    plot.draw(_points(sessions), PLOT)
    if (session := sessions.get(SIZES[BAR_ROWS])) is not None:
        million, metrics, cores = BAR_ROWS // 10**6, len(session.metrics), session.machine["cores"]
        title = f"{million} million impressions, {metrics} metrics, {cores} cores"
        plot.draw_bars(bars(session), OWN_BARS.values(), title, BARS)


def read(results: Path) -> Sessions:
    """The sessions that have a result, by name. Raises :class:`ValueError` where they are not of one machine."""
    names = dict.fromkeys([*SIZES.values(), *(size + shape for size in SHAPED_SIZES for shape in SHAPES.values())])
    sessions = _stored(names, results)
    machines = {
        name: tuple(found.machine[part] for part in ("processor", "cores", "memory"))
        for name, found in {**sessions, **_stored(session_names().values(), results)}.items()
    }
    if len(set(machines.values())) > 1:
        told = "; ".join(f"{name}: {', '.join(machine)}" for name, machine in machines.items())
        raise ValueError(f"the results in {results} are of different machines ({told}): measure them again on one")
    return sessions


def _stored(names: Iterable[str], results: Path) -> Sessions:
    return {name: Session.read(results / f"{name}.json") for name in names if (results / f"{name}.json").exists()}


def blocks(sessions: Sessions, results: Path) -> dict[str, str]:
    """Every block of the page."""
    found = {"targets": targets_table(sessions)}
    for rows, name in SIZES.items():
        log = sessions[name].times(rows) if name in sessions else None
        found[f"rows {rows}"] = log_table(log, sessions[name].metrics) if log else f"{NOT_MEASURED}."
    for size, rows in SHAPED_SIZES.items():
        found[f"shapes {size}"] = shapes_table(size, rows, sessions)
    found["sessions"] = "\n\n".join(provenance(session) for session in sessions.values()) or f"{NOT_MEASURED}."
    found["shapes"] = shapes_block(_stored(session_names().values(), results))
    return found | tables(TABLES, results)


def tables(names: Iterable[str], results: Path) -> dict[str, str]:
    """The blocks of results that are a table with its command."""
    found = {}
    for name in names:
        path = results / f"{name}.json"
        table = Table.read(path) if path.exists() else None
        found[name] = f"    {table.command}\n\n{table.text}" if table else f"{NOT_MEASURED}."
    return found


def shapes_table(size: str, rows: int, sessions: Sessions) -> str:
    """Median seconds of each contender on each kind of log of one size."""
    logs = {
        shape: sessions[size + suffix].times(rows) if size + suffix in sessions else None
        for shape, suffix in SHAPES.items()
    }
    names = dict.fromkeys(timing.contender for log in logs.values() if log for timing in log.timings)
    timings = {name: [log.timing(name) if log else None for log in logs.values()] for name in names}
    return markdown(
        (f"median seconds, {rows:,} rows", *SHAPES),
        [(name, *(f"{one.median:.2f}" if one else "" for one in found)) for name, found in timings.items()],
    )


def fill(page: str, found: Mapping[str, str]) -> str:
    """``page`` with its blocks as ``found`` says. Raises :class:`ValueError` unless these are the blocks it has."""
    block = re.compile(r"(<!-- begin (.+?) -->\n).*?(<!-- end \2 -->)", re.DOTALL)
    names = [name for _, name, _ in block.findall(page)]
    if sorted(names) != sorted(found):
        raise ValueError(f"the page has the blocks {sorted(names)}, the results {sorted(found)}")
    return block.sub(lambda match: f"{match[1]}\n{found[match[2]]}\n\n{match[3]}", page)


def _points(sessions: Sessions) -> dict[str, list[tuple[int, float]]]:
    """By contender, (rows, median seconds) of one model with integer keys."""
    points: dict[str, list[tuple[int, float]]] = {}
    for rows, name in SIZES.items():
        log = sessions[name].times(rows) if name in sessions else None
        for timing in log.timings if log else ():
            points.setdefault(timing.contender, []).append((rows, timing.median))
    return points


def bars(session: Session) -> dict[str, float]:
    """The median seconds of the contenders of the README's figure, by the names there."""
    log, names = session.times(BAR_ROWS), OWN_BARS | OTHER_BARS
    timings = () if log is None else log.timings
    return {names[timing.contender]: timing.median for timing in timings if timing.contender in names}


if __name__ == "__main__":
    write()
