"""What the benchmark makes of seconds: ratios, targets, and the page that says what was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks import report, run, suite
from benchmarks.contenders import ALONE, LARGEST, ON_SPARK
from benchmarks.results import LogTimes, Ratio, Session, Timing
from benchmarks.targets import TARGETS, AtMost, MemoryBelow, Place, targets_table


def session(*logs: LogTimes, **machine: str) -> Session:
    described = {"processor": "one", "cores": "2", "memory": "24 GiB", **machine}
    return Session("python -m benchmarks.run", described, ("ap", "auc"), {"spark.driver.memory": "6g"}, {}, 0, logs)


def log_of(rows: int, *timings: Timing, left_out: Mapping[str, str] | None = None) -> LogTimes:
    return LogTimes({"rows": rows}, {}, timings, left_out or {})


def timing(contender: str, seconds: Sequence[float], peak_bytes: int = 0) -> Timing:
    return Timing(contender, 2, True, 9.0, list(seconds), peak_bytes)


HALF = timing("sparkrank-scan", [1.0, 2.0, 3.0])  # median 2
WHOLE = timing("duckdb", [4.0, 4.0, 5.0])  # median 4; by round 1/4, 2/4, 3/5


def test_a_ratio_is_of_medians_and_its_range_of_rounds() -> None:
    assert Ratio.of(HALF.seconds, WHOLE.seconds) == (2 / 4, 1 / 4, 3 / 5)


SCAN, DUCK = Place("hand", "sparkrank-scan", 100), Place("hand", "duckdb", 100)


def test_a_target_is_met_by_the_median_and_memory_by_the_largest_process() -> None:
    """What was not measured is neither met nor missed."""
    measured = {"hand": session(log_of(100, HALF, WHOLE))}
    for limit, met in ((0.49, False), (0.5, True)):
        reached = AtMost("scan / DuckDB", limit, SCAN, DUCK).reached(measured)
        assert reached == ("0.50 (0.25 to 0.60)", met, 3)
    peak = MemoryBelow("peak", 2**30, (SCAN, DUCK))
    for peaks, met in (((2**30 - 1, 1), True), ((1, 2**30), False)):
        timings = timing("sparkrank-scan", [1.0], peaks[0]), timing("duckdb", [1.0], peaks[1])
        assert peak.reached({"hand": session(log_of(100, *timings))}) == ("1.00 GiB", met, 1)
    assert peak.reached({"hand": session(log_of(100, HALF, timing("duckdb", [1.0], 5)))}) is None
    target = AtMost("scan / DuckDB", 0.5, SCAN, DUCK)
    for sessions in ({}, {"hand": session(log_of(200, HALF, WHOLE))}, {"hand": session(log_of(100, HALF))}):
        assert target.reached(sessions) is None
        assert "not measured" in targets_table(sessions, [target])


def test_every_target_is_measured_by_some_session() -> None:
    """Each target's places run in the session that they name."""
    places = [place for each in TARGETS for place in ((each.of, each.to) if isinstance(each, AtMost) else each.places)]
    assert len(TARGETS) == 9
    for place in places:
        options = run.parser().parse_args(suite.SESSIONS[place.session].split()[1:])
        assert place.rows in options.rows
        assert place.contender in (options.contenders or [*ON_SPARK, *ALONE])
        assert place.rows <= LARGEST.get(place.contender, (place.rows,))[0]


PAGE = "Said by hand.\n\n<!-- begin a -->\nold\n<!-- end a -->\n<!-- begin b c -->\n<!-- end b c -->\n"


def test_the_pages_say_what_the_results_say() -> None:
    page = report.PAGE.read_text()
    assert report.fill(page, report.blocks(report.read(report.RESULTS), report.RESULTS)) == page
    page = report.SCALING_PAGE.read_text()
    assert report.fill(page, report.tables(report.SCALING, report.RESULTS)) == page
    assert report.NOT_MEASURED not in page
    figure = report.BARS.read_text()
    medians = report.bars(report.read(report.RESULTS)["20m"])
    assert medians.keys() == {*report.OWN_BARS.values(), *report.OTHER_BARS.values()}
    assert all(f">{name}<" in figure and f">{seconds:.1f} s<" in figure for name, seconds in medians.items())
