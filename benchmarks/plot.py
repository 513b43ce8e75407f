"""Seconds by size, a line for each contender, and seconds at one size, a bar for each, as SVG."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

OWN = "sparkrank"  # the names that start with it are drawn heavier
_OWN_WIDTH, _WIDTH = 2.4, 1.1
_INK, _OWN_BAR, _BAR = "#808080", "#2f7de1", "#a0a0a0"  # each can be read on white and on black

_SETTINGS = {"svg.hashsalt": "sparkrank", "svg.fonttype": "none"}
_FORMAT: Any = {"format": "svg", "metadata": {"Date": None, "Creator": None}}


def draw(points: Mapping[str, Sequence[tuple[int, float]]], path: Path) -> None:
    """``points`` are (rows, seconds) by contender. Both axes are logarithmic: time that grows as the rows has slope 1.

    The same points give the same file.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(_SETTINGS):
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
        figure.savefig(path, **_FORMAT)


def draw_bars(seconds: Mapping[str, float], own: Collection[str], title: str, path: Path) -> None:
    """Draw a bar of the ``seconds`` of each name, the shortest on top; those of ``own`` have a colour of their own."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    names = sorted(seconds, key=seconds.__getitem__, reverse=True)
    with mpl.rc_context(_SETTINGS | {"font.size": 11, "text.color": _INK, "ytick.color": _INK}):
        figure = Figure(figsize=(8, 0.36 * len(names) + 0.5), layout="constrained")
        axes = figure.add_subplot()
        bars = axes.barh(
            names, [seconds[name] for name in names], color=[_OWN_BAR if name in own else _BAR for name in names]
        )
        axes.bar_label(bars, [f"{seconds[name]:.1f} s" for name in names], padding=4)
        axes.set_title(title, loc="left", fontsize=11)
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)
        axes.set_xticks([])
        figure.savefig(path, transparent=True, **_FORMAT)
