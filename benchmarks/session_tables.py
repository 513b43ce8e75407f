"""What a session found, as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.contenders import FLOOR
from benchmarks.results import LogTimes, Ratio, Session, Timing
from benchmarks.table import markdown

COMPARED_WITH = ("duckdb", FLOOR)
_TITLES = ("contender", "values", "group table", "first run, s", "median, s", "range, s")


def session_text(session: Session) -> str:
    """Everything of one session."""
    parts = [provenance(session)]
    for log in session.logs:
        parts += [f"Log: {log_text(log)}", log_table(log, session.metrics)]
    return "\n\n".join(parts)


def provenance(session: Session) -> str:
    """How it was measured and on what, and what was spent before and beside."""
    heap = session.settings["spark.driver.memory"]
    paragraphs = [
        "    " + session.command,
        ", ".join(f"{name} {value}" for name, value in session.machine.items()) + ".",
        "Before anything was timed: "
        + ", ".join(f"{what} {seconds:.1f} s" for what, seconds in session.startup.items())
        + ".",
    ]
    if session.java_peak_bytes:
        paragraphs.append(
            f"Peak memory of the Java process, all contenders: {_memory(session.java_peak_bytes)}, heap {heap}."
        )
    return "\n\n".join(paragraphs)


def log_text(log: LogTimes) -> str:
    return ", ".join(
        f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}" for name, value in log.log.items()
    )


def log_table(log: LogTimes, metrics: Sequence[str]) -> str:
    """The contenders on one log, and below which are not there."""
    references = [timing for name in COMPARED_WITH if (timing := log.timing(name))]
    titles = (*_TITLES, *(f"over {timing.contender}" for timing in references), "rows/s", "peak of a process")
    rows = [_row(timing, references, log.rows, len(metrics)) for timing in log.timings]
    left_out = "".join(f"\n\nNot run: {name} ({why})." for name, why in log.left_out.items())
    return markdown(titles, rows) + left_out


def _row(timing: Timing, references: Sequence[Timing], rows: int, metrics: int) -> tuple[str, ...]:
    return (
        timing.contender,
        f"{timing.values} of {metrics}",
        "yes" if timing.group_table else "no",
        f"{timing.first_seconds:.2f}",
        f"{timing.median:.2f}",
        f"{min(timing.seconds):.2f} to {max(timing.seconds):.2f}",
        *(str(Ratio.of(timing.seconds, reference.seconds)) for reference in references),
        f"{rows / timing.median:,.0f}",
        _memory(timing.peak_bytes) if timing.peak_bytes else "",
    )


def _memory(amount: int) -> str:
    return f"{amount / 2**30:.2f} GiB"
