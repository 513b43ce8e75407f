"""What the sessions of shapes found, beside their targets, as Markdown."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks import whole
from benchmarks.results import LogTimes, Ratio, Session
from benchmarks.shapes import LANES, LIBRARIES, LIBRARY_LIMIT, PLAIN, SHAPES, YARDSTICK
from benchmarks.table import markdown
from benchmarks.targets import NOT_MEASURED, Sessions

PREFIX = "shapes-"


def session_names() -> dict[str, str]:
    """The sessions of the table, by the shape that each measures."""
    return {**{name: f"{PREFIX}{name}" for name in SHAPES}, whole.SESSION: whole.SESSION}


def shapes_block(sessions: Sessions) -> str:
    """Both tables and where they come from; without any session, what makes them."""
    measured = {shape: sessions[name] for shape, name in session_names().items() if name in sessions}
    if not measured:
        return f"{NOT_MEASURED.capitalize()} yet: `make bench-all` makes the tables that stand here."
    tables = (over_yardstick(measured), over_libraries(measured), over_plain(measured), provenance(measured))
    return "\n\n".join(filter(None, tables))


def cell(times: LogTimes | None, of: str, to: str, limit: float | None) -> str:
    """A ratio with its range, and whether it meets its target; empty where the shape is not for the contender."""
    one, other = (times.timing(name) if times else None for name in (of, to))
    if one is None or other is None:
        return ""
    ratio = Ratio.of(one.seconds, other.seconds)
    return str(ratio) if limit is None else ratio.beside(limit)


def over_yardstick(measured: Mapping[str, Session]) -> str:
    """A row for each shape that the yardstick has, measured or not."""
    lines = []
    for name, shape in SHAPES.items():
        if YARDSTICK not in shape.contenders:
            continue
        times = measured[name].logs[0] if name in measured else None
        yardstick = times.timing(YARDSTICK) if times else None
        cells = [cell(times, lane, YARDSTICK, shape.limits.get(lane)) for lane in LANES]
        seconds = f"{yardstick.median:.2f}" if yardstick else NOT_MEASURED
        rows = f"{times.rows if times else shape.rows:,}"
        lines.append((shape.title, rows, seconds, *cells, cell(times, "polars", YARDSTICK, None)))
    return markdown(("shape", "rows", f"{YARDSTICK}, s", *LANES, "polars"), lines)


def over_libraries(measured: Mapping[str, Session]) -> str:
    """A row for each library that has a shape; empty where none was measured."""
    lines = []
    for name, shape in SHAPES.items():
        times = measured[name].logs[0] if name in measured else None
        for library in LIBRARIES:
            timing = times.timing(library) if times and library in shape.contenders else None
            if times is not None and timing is not None:
                cells = [cell(times, lane, library, LIBRARY_LIMIT) for lane in LANES]
                lines.append((shape.title, library, f"{times.rows:,}", f"{timing.median:.2f}", *cells))
    return markdown(("shape", "library", "rows", "its seconds", *LANES), lines) if lines else ""


def over_plain(measured: Mapping[str, Session]) -> str:
    """A row for each shape that has something to do without, and for the whole command over the bare one."""
    lines = []
    for name, shape in SHAPES.items():
        if PLAIN[0] in shape.contenders:
            times = measured[name].logs[0] if name in measured else None
            pairs = zip(LANES, PLAIN, strict=True)
            cells = [cell(times, lane, plain, shape.plain_limit) for lane, plain in pairs]
            lines.append((shape.title, f"{times.rows:,}" if times else NOT_MEASURED, *cells))
    times = measured[whole.SESSION].logs[0] if whole.SESSION in measured else None
    limits = {"sparkrank-scan": whole.LIMIT}
    cells = [cell(times, lane, whole.BARE, limits.get(lane)) for lane in LANES]
    lines.append(("a whole command over a bare spark-submit", f"{times.rows:,}" if times else NOT_MEASURED, *cells))
    return markdown(("over the same without it", "rows", *LANES), lines)


def provenance(measured: Mapping[str, Session]) -> str:
    """The machine of all sessions, and of each the command, the commit and the runs."""
    first = next(iter(measured.values()))
    described = ", ".join(
        f"{name} {value}" for name, value in first.machine.items() if name not in ("commit", "load before")
    )
    lines = [
        (
            session_names()[shape],
            f"`{session.command}`",
            str(min(len(timing.seconds) for timing in session.logs[0].timings)),
            session.machine.get("load before", ""),
            session.machine.get("commit", ""),
        )
        for shape, session in measured.items()
    ]
    return f"{described}.\n\n{markdown(('session', 'command', 'runs', 'load before', 'commit'), lines)}"
