"""Draws docs/auc_up.svg: the AUC and the AUC_UP of a made-up day by the width of the blocks.

python examples/auc_up.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

import sparkrank as sr

ROWS = 200_000
DIGITS = (1, 2, 3, 4, 5, 6, 7)
JOINED = 1000
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 360, 60, 150, 24, 46
LOW, HIGH = 0.5, 1.0
COLOURS = {"auc": "#4477aa", "auc_up": "#cc3311", "joined": "#228833"}


def day() -> pa.Table:
    """Clicks of known chance, scored by a model that sees the chance through noise and is wrong about a fifth of it."""
    rng = np.random.default_rng(7)
    chance = rng.beta(2, 18, ROWS)
    seen = np.clip(chance * np.exp(rng.normal(0, 0.3, ROWS)), 0, 1)
    misjudged = (seen > 0.15) & (seen < 0.25)  # these scores should stand below the others
    clicks = rng.random(ROWS) < np.where(misjudged, 0.05, chance)
    return pa.table({"user": np.zeros(ROWS, np.int8), "score": seen, "click": clicks.astype(np.int8)})


def values(log: pa.Table) -> dict[str, list[float]]:
    """AUC, AUC_UP and AUC_UP of blocks of at least :data:`JOINED` rows, by digits."""
    metrics = {
        "auc": [f"auc(digits={digits})" for digits in DIGITS],
        "auc_up": [f"auc_up(digits={digits})" for digits in DIGITS],
        "joined": [f"auc_up(digits={digits},min_rows={JOINED})" for digits in DIGITS],
    }
    asked = [text for texts in metrics.values() for text in texts]
    found = sr.evaluate(log, asked, group="user", score="score", label="click")
    return {name: [found[text] for text in texts] for name, texts in metrics.items()}


def place(digits: float, value: float) -> tuple[float, float]:
    across = (digits - DIGITS[0]) / (DIGITS[-1] - DIGITS[0])
    up = (value - LOW) / (HIGH - LOW)
    return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)


def picture(lines: dict[str, list[float]]) -> str:
    names = {"auc": "auc", "auc_up": "auc_up", "joined": f"auc_up(min_rows={JOINED})"}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"',
        ' font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
    ]
    for value in np.linspace(LOW, HIGH, 6):
        x, y = place(DIGITS[0], value)
        parts.append(f'<line x1="{x:.0f}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#dddddd"/>')
        parts.append(f'<text x="{x - 8:.0f}" y="{y + 4:.1f}" text-anchor="end">{value:.1f}</text>')
    for digits in DIGITS:
        x, y = place(digits, LOW)
        parts.append(f'<text x="{x:.1f}" y="{y + 18:.0f}" text-anchor="middle">{digits}</text>')
    x, y = place((DIGITS[0] + DIGITS[-1]) / 2, LOW)
    parts.append(
        f'<text x="{x:.0f}" y="{y + 36:.0f}" text-anchor="middle">decimals of the score that make a block</text>'
    )
    for name, line in lines.items():
        points = [place(digits, value) for digits, value in zip(DIGITS, line, strict=True)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{COLOURS[name]}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{COLOURS[name]}"/>' for x, y in points]
        x, y = points[-1]
        parts.append(
            f'<text x="{x + 8:.0f}" y="{y + 4:.1f}" fill="{COLOURS[name]}">{names[name]} {line[-1]:.3f}</text>'
        )
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    found = values(day())
    for name, line in found.items():
        print(name, [round(value, 4) for value in line])
    (Path(__file__).parent.parent / "docs" / "auc_up.svg").write_text(picture(found), encoding="utf-8")
