"""Seconds by size, a line for each contender, as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

OWN = "sparkrank"  # the names that start with it are drawn heavier
_OWN_WIDTH, _WIDTH = 2.4, 1.1


def draw(points: Mapping[str, Sequence[tuple[int, float]]], path: Path) -> None:
    """``points`` are (rows, seconds) by contender. Both axes are logarithmic: time that grows as the rows has slope 1.

    The same points give the same file.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.hashsalt": "sparkrank", "svg.fonttype": "none"}):
        figure = Figure(figsize=(9, 6), layout="constrained")
        axes = figure.add_subplot()
        colours = mpl.colormaps["tab20"].colors
        for number, (name, line) in enumerate(points.items()):
            own = name.startswith(OWN)
            axes.plot(
                *zip(*sorted(line), strict=True),
                label=name,
                color=colours[number % len(colours)],
                linewidth=_OWN_WIDTH if own else _WIDTH,
                linestyle="-" if own else "--",
                marker="o" if own else ".",
            )
        axes.set(xscale="log", yscale="log", xlabel="rows", ylabel="seconds, median", title="The nightly set")
        axes.grid(which="both", linewidth=0.3)
        if points:
            axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
